"""Other processes: pickles and forks."""

from __future__ import annotations

import copy
import pickle
from operator import attrgetter

import numpy as np
import pytest

import cudakern as ck
from cudakern import FeatureLevel, TensorDesc
from cudakern.operators.operator import examples
from tests.helpers.bindings import DESC, EXPECTED, INDICES, OWNED, STRIDED, X, change, strided_view
from tests.helpers.processes import printed
from tests.helpers.rows import each
from tests.helpers.samples import sample

PROTOCOLS = sample(range(pickle.HIGHEST_PROTOCOL + 1), pickle.HIGHEST_PROTOCOL)
BROKEN = 'extern "C" __global__ void broken(int* x) { x[threadIdx.x + 1] = 1; }'


def sent(value, protocol=pickle.HIGHEST_PROTOCOL):
    return pickle.loads(pickle.dumps(value, protocol))  # noqa: S301  our own bytes


def run(program, *arguments):
    """Run a program that forks on purpose, in a process of its own."""
    return printed(program, *arguments, flags=("-W", "ignore"))


@each("protocol", PROTOCOLS)
def test_descriptors_enumerations_and_coordinates_arrive_as_they_were(protocol):
    strided = TensorDesc(ck.DataType.FLOAT16, (2, 3), (8, 1), 64, 16, ck.TensorFlags.OWNED_BY_DML)
    for value in [*(example.desc for example in examples()), DESC, STRIDED, strided]:
        arrived = sent(value, protocol)
        assert type(arrived) is type(value)
        assert arrived == value
        assert hash(arrived) == hash(value)
        assert repr(arrived) == repr(value)
    kinds = ck.DataType, ck.FeatureLevel, ck.TensorFlags, ck.ReduceFunction, ck.AxisDirection
    for member in (member for kind in kinds for member in kind):
        assert sent(member, protocol) is member
    coordinates = ck.nonzero_coordinates([[0, 3], [5, 7]])
    arrived = sent(coordinates, protocol)
    assert type(arrived) is ck.NonzeroCoordinates
    assert arrived.count.tolist() == [3]
    np.testing.assert_array_equal(arrived.coordinates, coordinates.coordinates, strict=True)


@each("protocol", PROTOCOLS)
@each("example", examples(), ids=attrgetter("title"))
def test_operators_do_the_same_where_they_arrive(example, protocol):
    operator = ck.compile_operator(example.desc, FeatureLevel.LEVEL_6_3)
    operator(*example.inputs)  # keeps a bound launch, which pickles do not have
    arrived = sent(operator, protocol)
    assert repr(arrived) == repr(operator)
    assert (arrived.desc, arrived.feature_level) == (example.desc, operator.feature_level)
    outputs = arrived(*example.inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    for output, expected in zip(outputs, example.expected, strict=True):
        np.testing.assert_array_equal(output[tuple(map(slice, expected.shape))], expected)


@each("protocol", PROTOCOLS)
@each("how", ["packed", "padded", "permuted", "buffer", "read-only"])
def test_owned_inputs_arrive_with_their_operator(how, protocol):
    """Inputs arrive however they were bound, although NumPy's pickles do not keep strides."""
    strides = {"padded": (6, 1), "permuted": (1, 3)}.get(how, (4, 1))
    x = strided_view(np.zeros(16, np.float32), (3, 4), strides)
    x[...] = X
    x.flags.writeable = how != "read-only"
    desc = change(DESC, "input_tensor", flags=OWNED, strides=strides)
    operator = ck.compile_operator(desc).initialize(x.ravel() if how == "buffer" else x)
    arrived = sent(sent(operator, protocol), protocol)
    np.testing.assert_array_equal(arrived(INDICES), EXPECTED, strict=True)
    np.testing.assert_array_equal(operator(INDICES), EXPECTED, strict=True)


def test_t16_owned_buffer_of_the_shape_of_a_repeated_tensor():
    """A buffer of four elements is bound to a tensor whose four elements are all the first one."""
    desc = ck.GatherOperatorDesc(
        TensorDesc(ck.DataType.FLOAT32, (4,), strides=(0,), flags=OWNED),
        TensorDesc(ck.DataType.INT32, (2,)),
        TensorDesc(ck.DataType.FLOAT32, (2,)),
        axis=0,
        index_dimensions=1,
    )
    operator = ck.compile_operator(desc).initialize(np.array([5, 6, 7, 8], np.float32))
    for gather in (operator, sent(operator)):
        assert gather(np.array([0, 3], np.int32)).tolist() == [5, 5]


def test_owned_inputs_out_of_band_are_copied():
    desc = change(DESC, "input_tensor", flags=OWNED)
    buffers = []
    pickled = pickle.dumps(
        ck.compile_operator(desc).initialize(X), protocol=5, buffer_callback=buffers.append
    )
    memory = [bytearray(buffer.raw()) for buffer in buffers]
    arrived = pickle.loads(pickled, buffers=memory)  # noqa: S301  our own bytes
    for part in memory:
        part[:] = bytes(len(part))
    np.testing.assert_array_equal(arrived(INDICES), EXPECTED)


def test_an_operator_that_waits_for_owned_inputs_arrives_waiting():
    arrived = sent(ck.compile_operator(change(DESC, "input_tensor", flags=OWNED)))
    with pytest.raises(ck.BindingError, match=r"must be given to initialize\(\) before the call"):
        arrived(INDICES)
    np.testing.assert_array_equal(arrived.initialize(X)(INDICES), EXPECTED)


def test_a_descriptor_is_validated_where_it_arrives(monkeypatch):
    pickled = pickle.dumps(ck.compile_operator(DESC))

    def refuse(*_):
        raise ck.DescriptorError("gather", "axis", "must be what this version knows")

    monkeypatch.setattr(ck.GatherOperatorDesc, "validate", refuse)
    with pytest.raises(ck.DescriptorError, match="this version"):
        pickle.loads(pickled)  # noqa: S301  our own bytes


@each("how", [copy.copy, copy.deepcopy, lambda op: copy.deepcopy([op])[0]])
def test_a_copy_of_an_operator_is_itself(how):
    operator = ck.compile_operator(DESC)
    assert how(operator) is operator


@each("protocol", PROTOCOLS)
def test_findings_of_the_simulator_arrive(protocol):
    kernel = ck.simulator.RawKernel(BROKEN, "broken")
    with (
        pytest.raises(ck.SimulatorError) as caught,
        ck.simulator.checked() as report,
        ck.simulator.traffic() as traffic,
    ):
        kernel((1,), (4,), (np.zeros(4, np.int32),))
    arrived = sent(caught.value, protocol)
    assert str(arrived) == str(caught.value)
    assert arrived.findings == caught.value.findings
    assert arrived.findings[0].kind == "out_of_bounds"
    assert str(sent(report, protocol)) == str(report)
    assert str(sent(traffic, protocol)) == str(traffic)


POOL = """
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
import numpy as np
import cudakern as ck
from tests.helpers.bindings import DESC, EXPECTED, INDICES, OWNED, X, change
from tests.helpers.mixed_calls import call_all
operator = ck.compile_operator(DESC)
owner = ck.compile_operator(change(DESC, "input_tensor", flags=OWNED)).initialize(X)
call_all()
with ProcessPoolExecutor(2, mp_context=get_context(sys.argv[1])) as pool:
    for turn in range(4):
        assert (pool.submit(operator, X, INDICES).result(120) == EXPECTED).all()
        assert (pool.submit(owner, INDICES).result(120) == EXPECTED).all()
        assert (pool.submit(ck.gather, X, INDICES[0]).result(120) == EXPECTED).all()
        assert pool.submit(call_all, turn).result(120) is None
        assert pool.submit(ck.clear_caches).result(120) is None
    error = pool.submit(ck.gather, X, [9], mode="raise").exception(120)
    assert type(error) is ck.IndexRangeError, error
    error = pool.submit(ck.gather, X, [0], 5).exception(120)
    assert isinstance(error, ck.ArgumentError), error
    assert isinstance(error, np.exceptions.AxisError), error
    assert (error.operator, error.field) == ("gather", "axis"), error
call_all()
print("done")
"""


@pytest.mark.parametrize("method", sample(["spawn", "forkserver", "fork"], 2))
def test_pools_of_processes(method):
    assert run(POOL, method) == "done\n"


FORK = """
import os, signal, sys, threading
import numpy as np
import cudakern as ck
from cudakern.engines import HOST, engine_for
from cudakern.simulator.launching import observation
from tests.helpers.mixed_calls import CALLS, call, call_all

def few():  # whose checked kernels are few
    for number in (0, 30):
        call(number, np.random.default_rng(0))

def child_works(work):
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a child that waits forever is killed
        try:
            work()
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, "the child failed"
"""
BUSY = """
stop = threading.Event()
def work(number):
    random = np.random.default_rng(number)
    while not stop.is_set():
        call(int(random.integers(len(CALLS))), random)
        if random.random() < 0.1:
            ck.clear_caches()
        if number == 1:
            with ck.simulator.checked(), ck.simulator.traffic():
                call(0, random)
def child():
    assert not observation.active
    call_all()
    with ck.simulator.checked() as report:
        few()
    assert report.launches == 2
call_all()
with ck.simulator.checked():
    few()
threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
for thread in threads:
    thread.start()
try:
    for _ in range(4):
        child_works(child)
finally:
    stop.set()
for thread in threads:
    thread.join()
call_all()
print("done")
"""
INSIDE = """
with ck.simulator.checked() as report:
    few()
    before = report.launches
    def child():
        assert observation.active == [report]  # of this thread, which goes on in the child
        few()
        assert report.launches > before
    child_works(child)
    assert report.launches == before
assert not observation.active
print("done")
"""


LOADING = """
from cudakern.engines.simulator import SimulatorEngine
done, loaded = threading.Event(), []
def load():
    (spec, *_) = next(iter(engine_for(HOST)._kernels))
    while not done.is_set():
        loaded.append(SimulatorEngine().kernel(spec, checked=True))
x = np.ones((64, 300), np.float32)
with ck.simulator.checked() as report:
    ck.reduce(x, "sum", 1)
    thread = threading.Thread(target=load)
    thread.start()
    try:
        for _ in range(20):
            assert ck.reduce(x, "sum", 1).tolist() == [300] * 64
    finally:
        done.set()
    thread.join()
assert report.launches == 21
assert loaded
print("done")
"""


def test_kernels_are_loaded_beside_observed_launches():
    """Code that runs while a library is loaded must not report to another thread's launch."""
    assert run(FORK + LOADING) == "done\n"


@each("program", [BUSY, INSIDE], ids=["busy", "inside"])
def test_a_fork_works(program):
    assert run(FORK + program) == "done\n"
