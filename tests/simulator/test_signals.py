"""Launches amid the program's own signals, forks and small stacks; each test is a process."""

from __future__ import annotations

import pytest

from tests.helpers.processes import printed

START = r"""
import faulthandler, os, signal, sys, tempfile, threading, time
from contextlib import nullcontext
import numpy as np
import cudakern as ck
from cudakern.errors import SimulatorError
from cudakern.simulator import RawKernel, checked, traffic

def kernel(body):
    return RawKernel('extern "C" __global__ void k(int* x, int n) {' + body + "}", "k")

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

signal.signal(signal.SIGINT, signal.default_int_handler)
works()
"""

SIGNALS = r"""
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
    "handler": lambda: signal.signal(signal.SIGSEGV, lambda *_: None),
    "standard": lambda: signal.signal(signal.SIGSEGV, signal.SIG_DFL),
    "ignored": lambda: signal.signal(signal.SIGSEGV, signal.SIG_IGN),
    "blocked": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, faults),
    "fork": fork,
}
# It faults when it is told to, in a thread beside the one that changes something.
waits = kernel("while (((volatile int*)x)[40] == 0) x[41] = 1; *(int*)(size_t)n = 1;")
waits.compile()
fault(WILD, np.zeros(64, np.int32))
for name, change in CHANGES.items():
    x, kinds = np.zeros(1 << 19, np.int32), []
    thread = threading.Thread(target=lambda: kinds.append(fault(waits, x)))
    thread.start()
    while x[41] == 0:
        time.sleep(0.01)
    change()
    kinds.append(fault(WILD, np.zeros(64, np.int32)))
    time.sleep(0.1)
    x[40] = 1
    thread.join()
    kinds.append(fault(WILD, np.zeros(64, np.int32)))
    print(name, *kinds)
"""


def test_faults_stay_exceptions_whatever_the_program_does_with_signals():
    lines = printed(START + SIGNALS, flags=["-W", "ignore"]).splitlines()
    names = ["nothing", "faulthandler", "handler", "standard", "ignored", "blocked", "fork"]
    assert lines == [f"{name} out_of_bounds out_of_bounds out_of_bounds" for name in names]


PASSED_ON = r"""
import ctypes
enable = lambda: faulthandler.enable(sys.stdout)
beside = kernel("while (((volatile int*)x)[40] == 0) x[41] = 1;")
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
class Expired(Exception):
    pass

def expire(*_):
    raise Expired

signal.signal(signal.SIGALRM, expire)
LOOPS = {
    "stores": kernel("while (1) x[threadIdx.x] = n++;"),
    "one_block": kernel("if (blockIdx.x == 3) while (1) x[threadIdx.x] = n++;"),
    "nothing": kernel('asm volatile("{ L: bra L; }");'),
    "barriers": kernel("while (1) { __syncthreads(); x[threadIdx.x]++; }"),
    "shuffles": kernel("while (1) x[threadIdx.x] += __shfl_sync(~0u, n++, 3);"),
    "atomics": kernel("while (1) atomicAdd(x, 1);"),
    "library": kernel("float a = n; while (a != 7) a = sinf(a) + cosf(a * 1e9f); x[0] = a;"),
}
EMPTY = kernel("")

def interrupted(kernel, grid, around):
    x = np.zeros(4096, np.int32)
    # Longer for those that are compiled first.
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    while True:
        try:
            with around():
                kernel((grid,), (64 if grid < 9 else 1,), (x, np.int32(0)))
        except Expired:
            break
    works()

def compiled(kernel, around):
    try:
        with around():
            kernel((1,), (1024,), (np.zeros(1024, np.int32), np.int32(0)), shared_mem=1 << 17)
    except (ck.BindingError, SimulatorError):
        pass

for around in (nullcontext, checked, traffic):
    for name, loop in LOOPS.items():
        if around is nullcontext or name in {"stores", "barriers"}:
            compiled(loop, around)
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            try:
                with around():
                    loop((4,), (64,), (np.zeros(4096, np.int32), np.int32(0)))
            except Expired:
                print(around.__name__, name)
            works()
EMPTY.compile()
signal.setitimer(signal.ITIMER_REAL, 0.1)
try:
    EMPTY((2**31 - 1,), (1,), (np.zeros(1, np.int32), np.int32(0)))
except Expired:
    print("empty")
os.kill(os.getpid(), signal.SIGINT) if False else signal.alarm(0)
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    LOOPS["stores"]((2,), (64,), (np.zeros(4096, np.int32), np.int32(0)))
except KeyboardInterrupt:
    print("Ctrl-C")
works()
"""
