"""Launches amid the program's own signals, forks and small stacks; each test is a process."""

from __future__ import annotations

from tests.helpers.processes import printed
from tests.helpers.samples import sample

START = r"""
import faulthandler, os, signal, sys, tempfile, threading, time
from contextlib import nullcontext
import numpy as np
import cudakern as ck
from cudakern.errors import SimulatorError
from cudakern.simulator import RawKernel, RawModule, checked, traffic

def kernel(body):
    return RawKernel('extern "C" __global__ void k(int* x, int n) {' + body + "}", "k")

def kernels(**bodies):
    code = "".join(
        'extern "C" __global__ void ' + name + "(int* x, int n) {" + body + "}\n"
        for name, body in bodies.items()
    )
    module = RawModule(code=code)
    return {name: module.get_function(name) for name in bodies}

ADD = kernel("x[threadIdx.x + blockIdx.x * blockDim.x] += n;")
WILD = kernel("*(int*)(size_t)n = 1;")

def works():
    x = np.zeros(64, np.int32)
    ADD((1,), (64,), (x, np.int32(3)))
    assert (x == 3).all()

def fault(kernel, x):
    try:
        kernel((1,), (32,), (x, np.int32(8)))
    except SimulatorError as error:
        return error.kind
    return "nothing"

works()
"""

SIGNALS = r"""
def beside():
    faulthandler.enable()
    assert fault(WILD, np.zeros(8, np.int32)) == "out_of_bounds"

def fork():
    child = os.fork()
    if child == 0:
        works()
        os._exit(fault(WILD, np.zeros(8, np.int32)) != "out_of_bounds")
    assert os.waitpid(child, 0)[1] == 0

faults = signal.SIGSEGV, signal.SIGBUS, signal.SIGILL
CHANGES = {
    "nothing": int,
    "faulthandler": faulthandler.enable,
    "amid": faulthandler.enable,
    "beside": beside,
    "handler": lambda: signal.signal(signal.SIGSEGV, lambda *_: None),
    "standard": lambda: signal.signal(signal.SIGSEGV, signal.SIG_DFL),
    "ignored": lambda: signal.signal(signal.SIGSEGV, signal.SIG_IGN),
    "blocked": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, faults),
    "fork": fork,
}
# It faults when it is told to, in a thread beside the one that changes something.
waits = kernel("while (((volatile int*)x)[40] == 0) atomicAdd(x + 41, 1); *(int*)(size_t)n = 1;")
waits.compile()
fault(WILD, np.zeros(64, np.int32))
for name, change in CHANGES.items():
    faulthandler.disable()
    x, kinds = np.zeros(1 << 19, np.int32), []
    thread = threading.Thread(target=lambda: kinds.append(fault(waits, x)))
    thread.start()
    while x[41] == 0:
        time.sleep(0.01)
    change()
    if name not in {"amid", "beside"}:
        time.sleep(0.1)  # until the launch has looked after its signals
    x[40] = 1
    thread.join()
    kinds.append(fault(WILD, np.zeros(64, np.int32)))
    print(name, *kinds)
"""


def test_faults_stay_exceptions_whatever_the_program_does_with_signals():
    lines = printed(START + SIGNALS, flags=["-W", "ignore"]).splitlines()
    names = ["nothing", "faulthandler", "amid", "beside", "handler"]
    names += ["standard", "ignored", "blocked", "fork"]
    assert lines == [f"{name} out_of_bounds out_of_bounds" for name in names]


PASSED_ON = r"""
import ctypes
enable = lambda: faulthandler.enable(sys.stdout)
beside = kernel("while (((volatile int*)x)[40] == 0) atomicAdd(x + 41, 1);")
beside.compile()
with checked():
    works()
x = np.zeros(1 << 19, np.int32)
thread = threading.Thread(target=lambda: beside((1,), (32,), (x, np.int32(0))))
thread.start()
while x[41] == 0:
    time.sleep(0.01)
enable()
time.sleep(0.1)  # until the launch has its signals back
x[40] = 1
thread.join()
with checked():
    works()
works()
if os.fork() == 0:
    ctypes.string_at(8)
print(os.WTERMSIG(os.wait()[1]))
"""


def test_a_fault_of_the_program_reaches_the_handler_that_came_last():
    lines = printed(START + PASSED_ON, flags=["-W", "ignore"]).splitlines()
    assert lines.count("Fatal Python error: Segmentation fault") == 1
    assert lines[-1] == "11"


INTERRUPTS = r"""
OBSERVED = kernels(
    stores="while (n) x[threadIdx.x] = n;",
    barriers="while (n) { __syncthreads(); x[threadIdx.x]++; }",
)
LOOPS = OBSERVED | kernels(
    one_block="if (blockIdx.x == 3) while (n) x[threadIdx.x] = n;",
    nothing='if (n) asm volatile("{ L: bra L; }");',
    shuffles="while (n) x[threadIdx.x] += __shfl_sync(~0u, n, 3);",
    atomics="while (n) atomicAdd(x, 1);",
    # Block 0 ends, on the launching thread, and has waited for another one, which does not.
    helpers=(
        "if (n && blockIdx.x == 0) { while (atomicAdd(x, 0) == 0) {} }"
        "if (n && blockIdx.x != 1) return; atomicExch(x, n);"
        "float a = n; while (a != 0) a = 2 + sinf(a * 1e9f); x[1] = a;"
    ),
    library="float a = n; while (a != 0) a = 2 + sinf(a * 1e9f); x[0] = a;",
    blocks="",
)
rang = []

def ring(*_):
    rang.append(1)
    if len(rang) > goes_on:
        signal.setitimer(signal.ITIMER_REAL, 0)  # before the next one rings amid the exception
        raise KeyboardInterrupt

signal.signal(signal.SIGALRM, ring)
for around in (nullcontext, checked, traffic):
    for name, loop in (LOOPS if around is nullcontext else OBSERVED).items():
        x = np.zeros(1 << 19, np.int32)
        with around():
            loop((1,), (32,), (x, np.int32(0)))  # compiled
        # Where the first handler raises nothing, the launch goes on.
        rang.clear()
        goes_on = name == "stores"
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        try:
            with around():
                loop((2**31 - 1 if name == "blocks" else 4,), (32,), (x, np.int32(1)))
        except KeyboardInterrupt:
            print(around.__name__, name)
        works()
"""


def test_a_signal_ends_any_launch():
    lines = printed(START + INTERRUPTS).splitlines()
    plain = ["stores", "barriers", "one_block", "nothing", "shuffles", "atomics"]
    plain += ["helpers", "library", "blocks"]
    expected = {"nullcontext": plain, "checked": plain[:2], "traffic": plain[:2]}
    assert lines == [f"{around} {name}" for around, names in expected.items() for name in names]


COMPILATION = r"""
terms = "".join(f"x[{i}] = sinf(x[{i + 1}]) + powf(x[{7 * i % 999}], {i});" for i in range(2000))
long = RawKernel('extern "C" __global__ void k(float* x) {' + terms + "}", "k")
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    long.compile()
except KeyboardInterrupt:
    works()
    print("stopped")
"""


def test_a_signal_stops_the_compiler():
    # If nothing stopped it, NVRTC would take more than a minute for this.
    assert printed(START + COMPILATION) == "stopped\n"


PARSING = r"""
import os, signal, threading
from cuda.bindings import nvrtc
from cudakern.compilation.nvrtc import Program, compile

text = "".join(f"__device__ int x{i};" for i in range(100_000))
nvrtc.nvrtcVersion()  # loads it
try:
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    compile(Program("k.cu", text, "compute_90", False))
except KeyboardInterrupt:
    print("stopped")
"""


def test_a_signal_comes_while_the_first_text_is_parsed():
    # NVRTC before 13.1 then has handlers of its own, which end the process.
    assert printed(PARSING) == "stopped\n"


PARSING_AT_ONCE = r"""
import ctypes, signal, threading
from cuda.bindings import nvrtc
from cudakern.compilation.nvrtc import Program, compile

def handlers():
    action, libc = ctypes.create_string_buffer(256), ctypes.CDLL(None)
    for number in (signal.SIGINT, signal.SIGTERM):
        libc.sigaction(number, None, action)
        yield action.raw[:8]

nvrtc.nvrtcVersion()
before = [*handlers()]
programs = [Program("k.cu", f"__device__ int x = {k};", "compute_90", False) for k in range(4)]
threads = [threading.Thread(target=compile, args=(program,)) for program in programs]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print([*handlers()] == before)
"""


def test_handlers_stay_where_first_texts_are_parsed_at_once():
    for _ in sample(range(4), 2):
        assert printed(PARSING_AT_ONCE) == "True\n"


REENTRY = r"""
value = time.monotonic_ns() % 10**9  # never compiled before
terms = "".join(f"x[{i % 8}] += n * {value + i};" for i in range(200))
new = kernel(terms)
new_sum = sum(value + i for i in range(200)) % 2**32
large = np.arange(2**24) % 1000
expected = large.sum()
ck.reduce(large, "sum")
rang = []

def ring(*_):
    x = np.zeros(8, np.int32)
    new((1,), (1,), (x, np.int32(1)))
    right = int(x.astype(np.uint32).sum()) % 2**32 == new_sum
    rang.append(right and bool(ck.reduce(large[::-1].copy(), "sum") == expected))

signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.02)
new((1,), (1,), (np.zeros(8, np.int32), np.int32(1)))  # rings while it is compiled
print(rang)
endless = kernel("while (((volatile int*)x)[40] == 0) atomicAdd(x + 41, 1);")
endless.compile()
x = np.zeros(1 << 19, np.int32)
signal.setitimer(signal.ITIMER_REAL, 0.05)
threading.Timer(0.5, lambda: x.__setitem__(40, 1)).start()
endless((2,), (64,), (x, np.int32(1)))
print(rang)
for _ in range(3):
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    print(ck.reduce(large, "sum") == expected)
signal.setitimer(signal.ITIMER_REAL, 0)
"""


def test_a_handler_launches_what_is_compiled_or_runs():
    lines = printed(START + REENTRY).splitlines()
    assert lines == ["[True]", "[True, True]", "True", "True", "True"]


NESTED = r"""
def ring(*_):
    try:
        works()
    except ck.BindingError as error:
        print(error)
        raise

signal.signal(signal.SIGALRM, ring)
with checked():
    works()
endless = kernel("while (n) x[threadIdx.x] = n;")
endless.compile()
signal.setitimer(signal.ITIMER_REAL, 0.5, 0.5)
try:
    with checked():
        endless((1,), (32,), (np.zeros(32, np.int32), np.int32(1)))
except ck.BindingError:
    signal.setitimer(signal.ITIMER_REAL, 0)
with checked():
    works()

def fork(*_):
    forked.append(os.fork())

forked = []
x = np.zeros(1 << 19, np.int32)
endless = kernel("while (((volatile int*)x)[40] == 0) atomicAdd(x + 41, 1);")
endless.compile()
signal.signal(signal.SIGALRM, fork)
signal.setitimer(signal.ITIMER_REAL, 0.1)
threading.Timer(1.5, lambda: x.__setitem__(40, 1)).start()
try:
    endless((4,), (64,), (x, np.int32(1)))
except SimulatorError as error:
    works()
    print(str(error).partition(" (")[0])
    sys.stdout.flush()
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(forked[0], 0)[1]))
works()
"""


def test_a_handler_cannot_do_everything_amid_a_launch():
    assert printed(START + NESTED, flags=["-W", "ignore"]).splitlines() == [
        "k: launch must not come from a signal's handler amid an observed launch",
        "k: a signal's handler must not go on in a forked process",
        "7",
    ]


FORKS_AMID_COMPILATION = r"""
class Child(Exception):
    pass

def fork(*_):
    forked.append(os.fork())
    if not forked[0] and raises:
        raise Child

signal.signal(signal.SIGALRM, fork)
value = time.monotonic_ns() % 10**9  # never compiled before
found = set()
for delay in map(int, sys.argv[1:]):
    for raises in False, True:
        value += 1
        forked, x = [], np.zeros(32, np.int32)
        new = kernel("".join(f"x[{i}] += n * {value + i};" for i in range(32)))
        signal.setitimer(signal.ITIMER_REAL, delay / 1000)
        try:
            new((1,), (1,), (x, np.int32(1)))
        except Child:
            os._exit(9)
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert (x == value + np.arange(32)).all()
        if forked:
            if not forked[0]:
                os._exit(7)
            found.add((raises, os.waitstatus_to_exitcode(os.waitpid(forked[0], 0)[1])))
print(sorted(found))
"""


def test_a_process_that_is_forked_amid_compilation_goes_on_as_its_parent_does():
    delays = map(str, sample(range(2, 160, 8), 5))
    said = printed(START + FORKS_AMID_COMPILATION, *delays, flags=["-W", "ignore"])
    assert said == "[(False, 7), (True, 9)]\n"


SMALL_STACKS = r"""
value = time.monotonic_ns() % 10**9  # never compiled before
new = kernel(f"x[threadIdx.x] = n + {value};")
with checked():
    works()
threading.stack_size(32 * 1024)

def work():
    x, large = np.zeros(32, np.int32), np.arange(2**18)
    new((1,), (32,), (x, np.int32(1)))
    wide = np.zeros(1 << 20, np.int32)
    ADD((1 << 14,), (64,), (wide, np.int32(3)))
    with checked():
        works()
    recursive = kernel(
        "struct F { __device__ __noinline__ static int f(int n) { volatile int a[9]; a[n & 7] = n; "
        "return n < 0 ? 0 : f(n + 1) + a[n & 7]; } }; x[0] = F::f(n);"
    )
    print((x == value + 1).all(), (wide == 3).all(), fault(WILD, x), fault(recursive, x))
    print(ck.reduce(large, "sum") == large.sum(), ck.gather(large, [5]), ck.nonzero(large[:3]))

thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def test_launches_need_little_stack():
    assert printed(START + SMALL_STACKS).splitlines() == [
        "True True out_of_bounds stack_overflow",
        "True [5] (array([1, 2]),)",
    ]


CUT_FILE = r"""
for around in (nullcontext, checked, traffic, lambda: traffic(blocks=1)):
    with tempfile.NamedTemporaryFile() as file:
        file.truncate(1 << 20)
        x = np.memmap(file.name, np.int32, "r+")
        file.truncate(1 << 12)
        try:
            with around():
                ADD((4096,), (64,), (x, np.int32(1)))
        except SimulatorError as error:
            print(error.kind, "mapped" in str(error))
        works()
"""


def test_a_file_that_was_cut_is_an_error():
    lines = printed(START + CUT_FILE).splitlines()
    assert lines == ["out_of_bounds True", "launch True", "launch True", "out_of_bounds True"]
