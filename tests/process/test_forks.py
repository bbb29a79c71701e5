"""A process that is forked after CUDA was used: on the stand-in for CuPy, and on a GPU."""

from __future__ import annotations

import pytest

from tests.helpers.processes import printed

REFUSED = (
    "cudakern: a GPU must not be used in a process that was forked after its parent had used one, "
    "which CUDA does not allow; start processes with multiprocessing's spawn or forkserver"
)
PROGRAM = """
import os, sys
import numpy as np
import cudakern as ck

X, I = np.arange(6, dtype=np.float32), np.array([4, 1], np.int32)

def calls(put):
    x, i, out = put(X), put(I), put(np.zeros(2, np.float32))
    tensors = (ck.TensorDesc(ck.DataType.FLOAT32, (6,)), ck.TensorDesc(ck.DataType.INT32, (2,)))
    desc = ck.GatherOperatorDesc(*tensors, ck.TensorDesc(ck.DataType.FLOAT32, (2,)), 0, 1)
    operator = ck.compile_operator(desc, ck.FeatureLevel.EXTENDED)
    return (
        lambda: ck.gather(x, i),
        lambda: ck.gather(x, i, out=out),
        lambda: operator(x, i, out=out),
        lambda: ck.reduce(x, "max", out=out[:1].reshape(())),
    )

def main(put):
    before = calls(put)
    if "use" in sys.argv:
        for call in before:
            call()
    if os.fork():
        sys.exit(os.wait()[1])
    try:
        for call in (*before, lambda: ck.gather(X, I)):
            try:
                print(type(call()).__module__, flush=True)
            except ck.CudakernError as error:
                print(error, flush=True)
    finally:
        os._exit(0)
"""
ON_STAND_IN = """
import tempfile
from tests.helpers.recorded_cupy import on_device, recorded

with tempfile.TemporaryDirectory() as folder, recorded(folder):
    main(on_device)
"""
ON_GPU = "import cupy\nmain(cupy.asarray)\n"


def lines(program, *arguments):
    return printed(PROGRAM + program, *arguments, flags=("-W", "ignore")).splitlines()


def test_a_fork_after_the_first_use_is_told_to_be_spawned_others_are_like_any_process():
    assert lines(ON_STAND_IN, "use") == [REFUSED] * 4 + ["numpy"]
    assert lines(ON_STAND_IN) == ["cupy"] * 4 + ["numpy"]


@pytest.mark.gpu
def test_a_fork_of_a_process_with_a_context_is_told_to_be_spawned():
    assert lines(ON_GPU, "use") == [REFUSED] * 4 + ["numpy"]


AMID = """
import os, sys, threading, time
from cudakern.process.forks import AwaitedLock, run_to_completion
locks, state = [], []
begun, made, taken = (threading.Event() for _ in range(3))

def work(_):
    begun.set()
    time.sleep(0.1)
    locks.append(AwaitedLock())
    made.set()
    taken.wait()

def hold():
    made.wait()
    with locks[0]:
        state.append("begun")
        taken.set()
        time.sleep(0.2)
        state.append("ended")

threads = [threading.Thread(target=run) for run in (lambda: run_to_completion(work), hold)]
for thread in threads:
    thread.start()
begun.wait()
if os.fork() == 0:
    with locks[0]:
        print(*state, flush=True)
    os._exit(0)
os.wait()
for thread in threads:
    thread.join()
"""


def test_a_lock_that_is_made_while_a_fork_waits_is_waited_for():
    assert printed(AMID, flags=("-W", "ignore")) == "begun ended\n"
