"""The command `check`: scripts run as in Python, and their kernels' faults are reported."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import zipapp

import pytest

from cudakern.__main__ import main
from tests.helpers.processes import TERMINAL
from tests.helpers.readmes import ROOT, blocks, read, section
from tests.helpers.rows import each

#: The beginning of scripts. Launches of `once` have no findings.
BEGIN = """\
import os, sys
import numpy as np
import cudakern as ck
code = '''extern "C" __global__ void total(const float* x, float* y) {
  __shared__ float s[128];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
    BARRIER
  }
  if (threadIdx.x == 0) *y = s[0];
}
extern "C" __global__ void same(const float* x, float* y) { *y = x[0]; }
extern "C" __global__ void odd(const int* x, int* y) {
  if (atomicAdd(y, 1) == 0 && threadIdx.x % 2) y[1] = x[0];
}'''
def launch(name="total", barrier="__syncthreads();", dtype=np.float32):
    kernel = ck.simulator.RawModule(code=code.replace("BARRIER", barrier)).get_function(name)
    x, y = np.ones(128, dtype), np.zeros(1, dtype)
    kernel((1,), (128,), (x, y))
    return y[0]
def once():
    return launch()
"""
FAULT = "launch(barrier='')"
RACE = """\
total: race: module.cu:6: read of 4 bytes at element 56 of shared array s of 512 bytes, in units \
of 4 bytes must be ordered with the write at module.cu:6 by block (0, 0, 0), thread (56, 0, 0): no \
barrier does, nor a release with an acquire (block (0, 0, 0), thread (24, 0, 0))
  module.cu:6 |     if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
              |                             ^ read by block (0, 0, 0), thread (24, 0, 0) and 31 more
              |                               write by block (0, 0, 0), thread (56, 0, 0)
module.cu:6 is folder/script.py:9
"""
NOTHING = """\
cudakern: nothing was launched in the simulator, so nothing was checked; RawKernel of \
cudakern.simulator and operators on NumPy arrays run there, and with --cupy kernels of CuPy
"""


def python(*words, cwd, coding="utf-8", **options):
    """Run Python in a folder; return the finished process."""
    options = {"capture_output": True, "text": True, "timeout": 300} | options
    path = {"PYTHONPATH": str(ROOT)}  # in any folder
    return subprocess.run(
        [sys.executable, *map(str, words)],
        check=False,
        cwd=cwd,
        env=os.environ | path | {"COLUMNS": "100", "PYTHONIOENCODING": coding},
        **options,
    )


@pytest.fixture
def check(tmp_path):
    """Check a script with options of the command, and with arguments of its own."""

    def run(script, *options, arguments=(), **more):
        (tmp_path / "folder").mkdir(exist_ok=True)
        (tmp_path / "folder/script.py").write_text(f"{BEGIN}{script}\n", encoding="utf-8")
        words = ("-m", "cudakern", "check", *options, "folder/script.py", *arguments)
        return python(*words, cwd=tmp_path, **more)

    return run


def test_a_missing_barrier(check):
    script = f"""
print('before')
def size():  # of what is written down
    files = filter(os.path.lexists, (f"/proc/self/fd/{{n}}" for n in range(3, 30)))
    return max(os.stat(file).st_size for file in files if "memfd:cudakern" in os.readlink(file))
{FAULT}
first = size()
for _ in range(50): {FAULT}
print(first > 500, size() - first < 50 * 100)
ck.gather([1, 2], [0])"""
    result = check(script)
    assert result.stderr == ""
    assert result.stdout == f"before\nTrue True\n{RACE}\ncudakern: 1 finding in 52 launches\n"
    assert result.returncode == 1


def test_a_kernel_that_does_not_compile(check):
    result = check("launch(barrier='synchronise();')")
    assert result.returncode == 1
    assert re.findall(r"line \d+, in (.*)", result.stderr) == ["<module>", "launch"]
    assert (
        """ error: identifier "synchronise" is undefined
  5 |   for (int half = 64; half > 0; half /= 2) {
  6 |     if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
> 7 |     synchronise();
    |     ^
  8 |   }
  9 |   if (threadIdx.x == 0) *y = s[0];
module.cu:7 is folder/script.py:10
cudakern: the script ended with status 1
"""
        in result.stderr
    )


def test_nothing_launched(check):
    result = check("")
    assert (result.stdout, result.stderr, result.returncode) == ("", NOTHING, 0)


#: Python does the same with these scripts, without the command.
ALIKE = {
    "ends_well": """
import atexit, pickle, threading, time, warnings
if __name__ == '__main__': print(once(), sys.argv, __file__, sys.path[0], sys.flags.optimize)
print(sys.stdin.read(), sys.modules['__main__'].__dict__ is globals())
class C: pass
print(type(pickle.loads(pickle.dumps(C()))))
warnings.warn('old', DeprecationWarning)
atexit.register(lambda: print('at exit', once()))
def late(): time.sleep(0.3); print('late', once())
threading.Thread(target=late).start()
print('main', file=sys.stderr)
sys.exit()""",
    "raises": """
once()
def f():
    try: 1 / 0
    except ZeroDivisionError as e: raise KeyError('b') from e
f()""",
    "hook": "once()\nsys.excepthook = lambda *a: print('hook', *a[:2], a[2].tb_lineno)\n1 / 0",
    "syntax": "once(",
    "exit": "once(); sys.exit(200)",
    "exit_with_words": "once(); sys.exit('words')",
    "leaves": "once(); print('out', flush=True); os._exit(5)",
}


@each("name", ALIKE)
def test_a_script_runs_as_in_python(check, tmp_path, name):
    arguments = ("--", "--strict", "-m", "--", "a b")
    result = check(ALIKE[name], arguments=arguments, input="read")
    alone = python("folder/script.py", *arguments, cwd=tmp_path, input="read")
    assert result.returncode == alone.returncode
    ended = f"cudakern: the script ended with status {alone.returncode}\n"
    launches = "3 launches" if name == "ends_well" else "1 launch"
    launched, told = f"cudakern: nothing found in {launches}\n", ended * (name != "ends_well")
    if name == "syntax":
        launched, told = "", ended + NOTHING
    assert result.stderr == alone.stderr + told
    assert result.stdout == alone.stdout + launched


@each("script", ["sys.exit(3)", "os._exit(0)"])
def test_findings_come_before_the_scripts_own_status(check, script):
    result = check(f"{FAULT}\n{script}")
    assert result.returncode == 1
    assert result.stdout == f"{RACE}\ncudakern: 1 finding in 1 launch\n"


def test_seeds_that_launch_different_kernels(check, tmp_path):
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    script = f"""
import pathlib
seen = pathlib.Path("seen")
if seen.exists(): launch("same"); launch("same")
else: {FAULT}
seen.touch()"""
    result = check(script, "--seeds", "0,1", "--json", "out.json", "--html", "out.html")
    assert result.stdout.endswith(
        "cudakern: 1 finding in at most 2 launches with each of 2 seeds\n"
    )
    checked = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["checked"]
    assert checked == {"total": 1, "same": 2}


@pytest.mark.parametrize("option", [(), ("--traffic",)])
def test_a_folder_that_has_been_removed(check, option):
    folder = "import tempfile\nfolder = tempfile.mkdtemp(); os.chdir(folder); os.rmdir(folder)"
    result = check(f"{folder}\n{FAULT}", *option)
    assert result.stdout.endswith("cudakern: 1 finding in 1 launch\n")
    assert (result.stderr, result.returncode) == ("", 1)


def test_an_archive(tmp_path):
    (tmp_path / "app").mkdir()
    (tmp_path / "app/__main__.py").write_text(f"{BEGIN}print(once())", encoding="utf-8")
    zipapp.create_archive(tmp_path / "app")
    result = python("-m", "cudakern", "check", "app.pyz", cwd=tmp_path)
    assert result.stdout == "128.0\ncudakern: nothing found in 1 launch\n"


def test_output_that_is_closed(check):
    result = check(FAULT, preexec_fn=lambda: os.close(1), capture_output=False, stderr=-1)
    assert (result.returncode, result.stderr) == (1, "")


def test_a_module(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    body = "print(once(), sys.argv[1:], __package__, __spec__.name)"
    (package / "part.py").write_text(f"{BEGIN}{body}", encoding="utf-8")
    result = python("-m", "cudakern", "check", "-m", "package.part", "-m", "x", cwd=tmp_path)
    printed = "128.0 ['-m', 'x'] package package.part\n"
    assert result.stdout == f"{printed}cudakern: nothing found in 1 launch\n"
    assert result.returncode == 0
    result = python("-m", "cudakern", "check", "-m", "package.no", cwd=tmp_path)
    assert result.stderr.startswith("ImportError: No module named package.no\n")
    assert result.returncode == 1


def test_a_folder_and_text_that_standard_output_cannot_hold(tmp_path):
    script = """
code = 'extern "C" __global__ void f(int* x) { /* é */ x[1] = 1; }'
ck.simulator.RawKernel(code, "f")((1,), (1,), (np.zeros(1, np.int32),))"""
    (tmp_path / "__main__.py").write_text(f"{BEGIN}{script}", encoding="utf-8")
    result = python("-m", "cudakern", "check", tmp_path, cwd=ROOT, coding="ascii")
    assert "/* \\xe9 */ x[1] = 1; }" in result.stdout


def test_seeds_traffic_and_files(check, tmp_path):
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    script = "print(os.getpid(), hasattr(np, 'mark')); np.mark = 1\nlaunch('odd', dtype=np.int32)"
    files = ("--json", "out.json", "--html", "out.html")
    result = check(f"{script}\n{FAULT}; once()", "--seeds", "0,1,2,1", "--traffic", *files)
    assert result.stderr == "".join(f"cudakern: seed {seed}\n" for seed in range(3))
    processes = re.findall(r"^(\d+) False$", result.stdout, re.MULTILINE)
    assert len({*processes}) == 3
    _, some, every = re.split(r"(?=with seeds?)", result.stdout)
    every, first, *traffic = re.split(r"\n\n(?=odd:|total\(|cudakern:)", every)
    assert first.startswith("odd: 1 launch, ")
    assert [text.partition("\n")[0] for text in traffic] == [
        "total(float32, float32) #1: 1 launch, 516 bytes requested, 544 bytes moved",
        "total(float32, float32) #2: 1 launch, 516 bytes requested, 544 bytes moved",
        "cudakern: 2 findings in 3 launches with each of 3 seeds",
    ]
    row = r"\n  module.cu:3 is folder/script.py:6 +load +argument 0 \(x\) +4 requests +4.00 sectors"
    assert re.search(row, traffic[0])
    # The seed decides which thread comes first.
    assert re.match(r"with seeds? [0-2, ]+:\n\nodd: out_of_bounds: module.cu:13: write", some)
    assert every.startswith("with seeds 0, 1, 2:\n\ntotal: race: module.cu:6")
    assert every.count("race:") == 1
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert {(f["kind"], f["line"]) for f in found["findings"]} == {
        ("race", 6), ("out_of_bounds", 13)}  # fmt: skip
    assert {f["origin"]["file"] for f in found["findings"]} == {"folder/script.py"}
    ends = [*found["findings"], *(f["other"] for f in found["findings"] if f["other"])]
    assert [end["origin"]["line"] - end["line"] for end in ends] == [3, 3, 3]
    assert (found["launches"], found["seeds"]) == (3, [0, 1, 2])
    assert found["checked"] == {"odd": 1, "total": 2}
    seeds = {f["kind"]: f["seeds"] for f in found["findings"]}
    assert seeds["race"] == [0, 1, 2]
    assert re.search(f"with seeds? {', '.join(map(str, seeds['out_of_bounds']))}:", some)
    moved = json.loads((tmp_path / "out-traffic.json").read_text(encoding="utf-8"))
    assert [kernel["launches"] for kernel in moved["kernels"]] == [1, 1, 1]
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "s[threadIdx.x + half]" in page
    assert "<dt>seeds</dt><dd>0, 1, 2</dd>" in page
    assert "with seeds 0, 1, 2</td>" in page
    assert "<dt>script</dt><dd>folder/script.py</dd>" in page
    assert "4.00" in (tmp_path / "out-traffic.html").read_text(encoding="utf-8")


def test_strict(check):
    result = check("launch('same')", "--strict")
    assert result.returncode == 1
    assert "same: race: module.cu:11: write of 4 bytes at element 0 of argument 1" in result.stdout
    assert "which only strict reports" in result.stdout


CUPY = """\
import cupy as cp
code = r'''extern "C" __global__ void shift(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x + 1];
}'''
x = cp.arange(64, dtype=cp.float32)
y = cp.empty_like(x)
cp.RawKernel(code, "shift")((1,), (64,), (x, y))
print(cp.asnumpy(y)[:3])
"""


def test_a_script_of_cupy(tmp_path):
    (tmp_path / "script.py").write_text(CUPY, encoding="utf-8")
    words = ("-m", "cudakern", "check", "--cupy", "script.py")
    result = python(*words, cwd=tmp_path)
    assert result.stderr == ""
    assert result.stdout.startswith("[1. 2. 3.]\nshift: out_of_bounds: shift.cu:2: read")
    assert result.stdout.endswith("\n\ncudakern: 1 finding in 1 launch\n")
    assert result.returncode == 1


def test_a_script_of_cupy_without_kernels(tmp_path):
    (tmp_path / "script.py").write_text("import cupy\ncupy.zeros(3)", encoding="utf-8")
    result = python("-m", "cudakern", "check", "--cupy", "script.py", cwd=tmp_path)
    assert result.stderr.endswith(
        "nothing was checked; CuPy's RawKernel, ElementwiseKernel and ReductionKernel run there\n"
    )
    assert result.returncode == 0


WITHOUT = """
import cupy
try:
    from cupyx.absent import gaussian_filter
except ImportError:
    gaussian_filter = None
has_graphs = hasattr(cupy.cuda, "Graph")
hasattr(cupy, "__wrapped__"), hasattr(cupy, "float128")
import importlib.util, pydoc
assert importlib.util.find_spec("cupy.cuda.cudnn") is None
pydoc.render_doc(cupy.linalg)  # asks for names of its own
"""


def test_names_that_a_script_goes_on_without(tmp_path):
    (tmp_path / "script.py").write_text(WITHOUT, encoding="utf-8")
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    words = ("-m", "cudakern", "check", "--cupy", "--seeds=0,1")
    files = ("--json=out.json", "--html=out.html")
    result = python(*words, *files, "script.py", cwd=tmp_path)
    assert result.stdout == (
        "in_place_of_cupy has none of these names; the script went on without them:\n"
        "  script.py:4  cupyx.absent\n  script.py:7  cupy.cuda.Graph\n"
        "  script.py:10  cupy.cuda.cudnn\n\n"
    )
    told = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["refused"]
    assert [(row["name"], row["line"]) for row in told] == [
        ("cupyx.absent", 4), ("cupy.cuda.Graph", 7), ("cupy.cuda.cudnn", 10)]  # fmt: skip
    assert "cupyx.absent" in (tmp_path / "out.html").read_text(encoding="utf-8")
    (tmp_path / "script.py").write_text(f"{WITHOUT}cupy.cuda.Texture", encoding="utf-8")
    ended = python(*words[:4], "script.py", cwd=tmp_path)
    assert "cupy.cuda.Graph" in ended.stdout
    assert "Texture" not in ended.stdout  # the error says so
    assert ended.returncode == 1


def test_a_kernel_that_is_not_launched(tmp_path):
    text = "import cupy\nk = cupy.RawKernel('', 'k')\nl = cupy.RawKernel('', 'l')"
    (tmp_path / "script.py").write_text(text, encoding="utf-8")
    result = python("-m", "cudakern", "check", "--cupy", "script.py", cwd=tmp_path)
    assert "nothing was checked, though the script has made a kernel; CuPy's" in result.stderr
    assert result.returncode == 1


FAR = """
far = '''extern "C" __global__ void far(int** at, int* y) {
  y[0] = at[0][1];
  at[0][2] = 7;
}'''
x, y = np.arange(4, dtype=np.int32), np.zeros(1, np.int32)
at = np.array([x.ctypes.data], np.uint64)
ck.simulator.RawKernel(far, "far")((1,), (1,), (at, y))
print(x.tolist(), y.tolist())"""


def test_memory_that_only_an_address_leads_to(check):
    result = check(FAR)
    place = "far.cu:2 is folder/script.py:27"
    note = f"far: not checked: {place}: memory that an address in argument 0 leads to"
    end = "cudakern: nothing found in 1 launch"
    assert result.stdout == f"[0, 1, 7, 3] [1]\n{note}\n\n{end}\n"
    assert result.returncode == 0


def test_forked_processes_are_checked(check):
    script = f"""
if os.fork() == 0:
    {FAULT}
    os._exit(0)
os.wait()
if os.fork() == 0:
    sys.exit(0)
os.wait()
once()"""
    result = check(script, "--traffic")
    assert result.stdout.count("total: 1 launch,") == 1
    assert result.stdout.startswith(f"{RACE}\ntotal: 1 launch,")
    assert result.stdout.endswith("\n\ncudakern: 1 finding in 2 launches\n")
    script = "once()\nif os.fork() == 0: sys.exit(0)\nos.wait(); os._exit(0)"
    assert "the script ended before its traffic" in check(script, "--traffic").stdout


def test_blocks_of_the_scripts_own(check):
    block = f"with ck.simulator.checked() as report: {FAULT}"
    caught = f"try:\n  {block}\nexcept ck.SimulatorError: print(len(report.findings))"
    result = check(f"{caught}\n{block}")
    assert "cudakern.errors.SimulatorError: total: race: module.cu:6" in result.stderr
    assert result.stdout == f"1\n{RACE}\ncudakern: 1 finding in 2 launches\n"


@each("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_from_outside(tmp_path, number):
    (tmp_path / "script.py").write_text(
        f"{BEGIN}{FAULT}\nprint('ready', flush=True)\nimport time; time.sleep(100)",
        encoding="utf-8",
    )
    words = (sys.executable, "-m", "cudakern", "check", "--seeds=0,1", "--traffic", "script.py")
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    environment = os.environ | {"COLUMNS": "100"}
    with subprocess.Popen(words, cwd=tmp_path, env=environment, text=True, **pipes) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=100)
    race = RACE.replace("folder/", "")
    assert f"with seed 0:\n\n{race}\n" in out
    assert out.endswith("cudakern: 1 finding in 1 launch\n")
    assert err.endswith(f"cudakern: {number.name} ended the script\n")
    assert ("KeyboardInterrupt" in err) is (number == signal.SIGINT)
    assert ("total: 1 launch," in out) is (number == signal.SIGINT)  # it ran to the end
    assert process.returncode == 128 + number


def test_ctrl_c(tmp_path):
    late = (
        "try: print('ready', flush=True); time.sleep(100)\nfinally: time.sleep(0.5); print(once())"
    )
    script = f"{BEGIN}{FAULT}\nimport time\n{late}"
    (tmp_path / "script.py").write_text(script, encoding="utf-8")
    result = python("-c", TERMINAL, "ready", "-m", "cudakern", "check", "script.py", cwd=tmp_path)
    shown = re.sub(r"\x1b\[[0-9;]*m|\r", "", result.stdout)
    assert shown.count("KeyboardInterrupt") == 1
    assert "128.0\nTraceback" in shown  # the end of the script is not interrupted
    assert shown.endswith("\ncudakern: 1 finding in 2 launches\n 130\n")
    assert "cudakern: SIGINT ended the script\n" in shown


def test_a_signal_of_the_scripts_own(check):
    result = check(f"{FAULT}; import signal; signal.raise_signal(signal.SIGKILL)")
    assert result.stdout == f"{RACE}\ncudakern: 1 finding in 1 launch\n"
    assert result.stderr == "cudakern: SIGKILL ended the script\n"
    assert result.returncode == 128 + signal.SIGKILL


def test_a_reader_that_has_ended(check):
    read, write = os.pipe()
    os.close(read)
    pipes = {"stdout": write, "stderr": subprocess.PIPE, "capture_output": False}
    result = check(FAULT, **pipes)
    os.close(write)
    assert (result.returncode, result.stderr) == (1, "")


SEEDS = "must be integers of at least 0, separated by commas"
NOTEBOOK = "a notebook: `jupyter nbconvert --to script` makes a script of it"


@each(
    "words, message",
    [
        (["no.py"], "FILE must be a Python script; 'no.py' is no file"),
        (["-"], "FILE must be a Python script; '-' is standard input"),
        (["kernels"], "FILE must be a Python script; 'kernels' is a folder without __main__.py"),
        (["a.cu"], "FILE must be a Python script; 'a.cu' is CUDA C++: check what launches it"),
        (["a.ipynb"], f"FILE must be a Python script; 'a.ipynb' is {NOTEBOOK}"),
        (["-m", "no_such.module"], "-m needs the name of a module; there is no 'no_such.module'"),
        (
            ["--html", "no/x.html", "x.py"],
            "--html must be a file that can be written; got 'no/x.html'",
        ),
        (
            ["--json", "kernels", "x.py"],
            "--json must be a file that can be written; got 'kernels'",
        ),
        (
            ["--json", "x.out", "--html", "x.out", "x.py"],
            "--html and --json must be two files; got 'x.out' for both",
        ),
    ],
)
def test_words_that_name_nothing_to_run(capsys, monkeypatch, tmp_path, words, message):
    (tmp_path / "kernels").mkdir(exist_ok=True)
    for file in ("a.cu", "a.ipynb"):
        (tmp_path / file).touch()
    monkeypatch.chdir(tmp_path)
    assert main(["check", *words]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", f"cudakern check: {message}\n")


def test_a_page_without_jinja2(capsys, monkeypatch, tmp_path):
    (tmp_path / "script.py").write_text("raise ValueError", encoding="utf-8")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert main(["check", "--html", f"{tmp_path}/a.html", f"{tmp_path}/script.py"]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("cudakern: report.html needs jinja2; ")
    assert captured.out == ""


@each(
    "words, message",
    [
        ([], "the following arguments are required: FILE.py"),
        *(
            (
                ["--seeds", seeds, "x.py"],
                f"argument --seeds: {SEEDS}; got {seeds!r}",
            )
            for seeds in ("a", "", "0,-1")
        ),
    ],
)
def test_words_that_are_wrong(capsys, words, message):
    with pytest.raises(SystemExit) as caught:
        main(["check", *words])
    assert caught.value.code == 2
    assert capsys.readouterr().err.endswith(f": error: {message}\n")


def test_the_readme_shows_what_is_printed(tmp_path):
    path = "cudakern/simulator/README.md"
    code, message = blocks(read(path))[0]
    kernel, _, launch = code.partition("try:\n    with ck.simulator.checked():\n    ")
    script = f"{kernel}{launch.partition('except')[0].lstrip()}"
    assert "checked" not in script
    (tmp_path / "total.py").write_text(script, encoding="utf-8")
    text = section(path, "## From the command line")
    words, said = re.search(r"```console\n\$ python (.*)\n((?s:.*?))```", text).groups()
    result = python(*words.split(), cwd=tmp_path)
    assert result.stdout == said
    assert result.stdout.startswith(message)


def test_the_reference_lists_the_options(capsys):
    with pytest.raises(SystemExit):
        main(["check", "--help"])
    options = {*re.findall(r"^  (--?\w+)", capsys.readouterr().out, re.MULTILINE)} - {"-h"}
    text = section("cudakern/simulator/reference.md", "## Command line")
    assert {*re.findall(r"^\| `(--?\w+)", text, re.MULTILINE)} == options
