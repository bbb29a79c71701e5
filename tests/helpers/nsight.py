"""Stand-ins for nsys, ncu and compute-sanitizer.

The programs note how they were called and leave what the real ones would, but for what the variable
FAKE says.
"""

from __future__ import annotations

import csv
import io
import sys

NSYS = """
base = option("--output")
if sys.argv[1] == "profile":
    if "empty" not in FAKE:
        open(base + ".nsys-rep", "w").close()
else:
    assert sys.argv[-1] == base + ".nsys-rep" and os.path.exists(sys.argv[-1])
    head = "Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns)"
    tables = {
        "cuda_gpu_kern_sum": f"Time (%),Total Time (ns),Instances,{head},Name\\n"
            "60.0,1200,12,100.0,101.0,90,111,1.5,ck_gather_rows\\n",
        "nvtx_kern_sum": f"NVTX Range,Style,PID,TID,NVTX Inst,Kern Inst,Total Time (ns),{head},"
            'Kernel Name\\n"cudakern:G-1 [2^12] f32, random",PushPop,7,7,1,12,1200,100.0,101.0,90,'
            "111,1.5,ck_gather_rows\\n",
    }
    assert [a for p, a in zip(sys.argv, sys.argv[1:]) if p == "--report"] == [
        *tables, "nvtx_gpu_proj_sum", "cuda_gpu_mem_size_sum"]
    for name, text in tables.items():
        if "no kernels" not in FAKE:
            open(f"{base}_{name}.csv", "w").write(text)
    print("SKIPPED: the report has no such data")
"""
NCU = """
if "--import" in sys.argv:
    assert sys.argv[3:] == "--page raw --csv --print-units base".split()
    print("==PROF== a message")
    print(open(option("--import")).read())
    sys.exit()
print("==PROF== Connected to process 7")
if "refused" in FAKE:
    print("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access counters")
    sys.exit(1)
if "slow" in FAKE:
    time.sleep(60)
if "empty" not in FAKE:
    with open(option("--export") + ".ncu-rep", "w") as file:
        file.write(__PAGE__)
"""
#: Of a raw page: a kernel with all counters, and one whose counters have no values.
COUNTERS = {
    "ID": ("", "0", "1"),
    "Process Name": ("", "python3.12", "python3.12"),
    "Kernel Name": ("", "ck_gather_rows", "ck_bare"),
    "Block Size": ("", "(512, 1, 1)", "(1, 1, 1)"),
    "Grid Size": ("", "(264, 2, 1)", "(1, 1, 1)"),
    "CC": ("", "9.0", "9.0"),
    **{f"launch__grid_dim_{a}": ("", n, "") for a, n in zip("xyz", (264, 2, 1), strict=True)},
    **{f"launch__block_dim_{a}": ("", n, "") for a, n in zip("xyz", (512, 1, 1), strict=True)},
    "gpu__time_duration.sum": ("ns", "123,456", "n/a"),
    "dram__bytes_read.sum": ("byte", "2,500,000", ""),
    "dram__bytes_write.sum": ("byte", "1750000", ""),
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": ("%", "87.25", ""),
    "lts__t_sector_hit_rate.pct": ("%", "31.5", ""),
    **{
        f"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_{kind}.ratio": ("", n, "")
        for kind, n in (("ld", "4.125"), ("st", "16"))
    },
    **{
        f"l1tex__t_sectors_pipe_lsu_mem_global_op_{kind}.sum": ("sector", n, "")
        for kind, n in (("ld", "3,072"), ("st", "2048"))
    },
    "launch__registers_per_thread": ("register/thread", "40", ""),
    "sm__warps_active.avg.pct_of_peak_sustained_active": ("%", "62.5", ""),
    **{
        f"smsp__average_warps_issue_stalled_{why}_per_issue_active.ratio": ("inst", n, "")
        for why, n in (("selected", "99"), ("long_scoreboard", "12.34"), ("barrier", "3"))
    },
}


def page(names=("ck_gather_rows", "ck_bare")):
    """Return a raw page of kernels of these names, every second one without values."""
    rows = [[*COUNTERS], [unit for unit, *_ in COUNTERS.values()]]
    for i, name in enumerate(names):
        row = {heading: values[1 + i % 2] for heading, values in COUNTERS.items()}
        rows.append([*(row | {"ID": i, "Kernel Name": name}).values()])
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(rows)
    return text.getvalue()


SANITIZER = """
tool = option("--tool")
state, _, of = FAKE.partition(" ")
state = state if of == tool else "clean"
clean = "ERROR SUMMARY: 0 errors"
if tool == "racecheck":
    clean = "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"
found = "Invalid __global__ read of size 4 bytes\\n========= ERROR SUMMARY: 2 errors"
warned = "RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)"
print("========= COMPUTE-SANITIZER", flush=True)
if state == "slow":
    time.sleep(60)
if state != "silent":
    print("=========", {"found": found, "warned": warned}.get(state, clean))
error = int(option("--error-exitcode"))
sys.exit({"found": error, "denied": error, "failed": 1}.get(state, 0))
"""
PROGRAM = """#!{python}
import json, os, sys, time

FAKE = os.environ.get("FAKE", "")

def option(name):
    return sys.argv[sys.argv.index(name) + 1]

with open({log!r}, "a") as file:
    file.write(json.dumps([sys.argv[1:], os.environ.get("CUDAKERN_LINEINFO"), os.getcwd()]) + "\\n")
{body}"""


def install(folder, names=("ck_gather_rows", "ck_bare")):
    """Write the programs into a new folder; return their log. ncu's reports have these kernels."""
    log = folder / "log"
    folder.mkdir()
    log.touch()
    ncu = NCU.replace("__PAGE__", repr(page(names)))
    for name, body in (("nsys", NSYS), ("ncu", ncu), ("compute-sanitizer", SANITIZER)):
        path = folder / name
        path.write_text(PROGRAM.format(python=sys.executable, log=str(log), body=body))
        path.chmod(0o755)
    return log
