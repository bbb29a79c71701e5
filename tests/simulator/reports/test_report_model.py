"""Reports about lines: their arrays, threads, texts, executions; and the same as JSON."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import cudakern as ck
from cudakern.simulator import RawKernel, RawModule, checked, empty, traffic
from cudakern.simulator.sources.source_texts import find_index_column
from tests.helpers.rows import each
from tests.simulator.launches import findings_of, schema


def moved(code, arguments, **options):
    """Return the requests and bytes of one launch, by kind and array."""
    module = RawModule(code=code)
    with traffic(**options) as report:
        module.get_function("k")((1,), (32,), arguments)
    (kernel,) = report.kernels
    found = {(x.kind, x.array): (x.requests, x.sectors or x.wavefronts) for x in kernel.lines}
    assert {x.name for x in kernel.lines} <= {"x", "y", "z", "mine"}
    assert len(found) == len(kernel.lines)
    return found


def test_every_memory_has_names():
    code = """__constant__ int weights[4];
__device__ int total[32];
extern "C" __global__ void k(int* x) {
  extern __shared__ int dynamic[];
  __shared__ int fixed[32], other[32];
  const int t = threadIdx.x;
  fixed[t] = weights[0];
  other[t] = fixed[31 - t];
  dynamic[t] = other[31 - t];
  __syncthreads();
  total[t] = dynamic[31 - t];
  atomicAdd(x, total[t]);
}"""
    module = RawModule(code=code)
    with traffic() as report:
        module.get_function("k")((1,), (32,), (np.zeros(1, np.int32),), shared_mem=128)
    names = {(line.kind, line.array) for line in report.kernels[0].lines}
    assert (
        names
        == {
            ("constant load", "weights"),
            *(("shared store", name) for name in ("fixed", "other", "dynamic")),
            *(("shared load", name) for name in ("fixed", "other", "dynamic")),
            ("store", "total"),
            ("atomic", 0),
        }
        | {("load", "total")} & names
    )  # a compiler may leave out this load


def test_arrays_of_a_line():
    head = 'extern "C" __global__ void k(const int* x, const int* y, int* z) {'
    t, x, y, z = "threadIdx.x", *(np.zeros(256, np.int32) for _ in range(3))
    y[:32] = np.arange(32) * 8
    once = {("load", 0): (1, 4), ("store", 2): (1, 4)}
    two = f"{head} z[{t}] = x[y[{t}]] + x[{t}]; }}"
    assert moved(two, (x, y, z)) == once | {("load", 1): (1, 4), ("load", 0): (2, 32 + 4)}
    # A request to two arrays counts once; two halves of an array are two arrays.
    one = f"{head} const int* p = {t} < 8 ? x : y; z[{t}] = *(volatile const int*)(p + {t}); }}"
    assert moved(one, (x[:32], y[:32], z)) == once
    assert moved(one, (x[:32], y[:32], x[32:])) == once


def test_given_arrays_and_operators_have_their_names():
    code = 'struct A { int* p; }; extern "C" __global__ void k(A a) { a.p[threadIdx.x] = 1; }'
    x = np.zeros(32, np.int32)
    argument = np.array([(x.ctypes.data,)], [("p", np.uint64)])[0]
    assert moved(code, (argument,), arrays={"mine": x}) == {("store", "mine"): (1, 4)}
    with traffic() as report:
        ck.gather(np.arange(100.0), [1, 2, 3])
    names = {line.array for line in report.kernels[0].lines if line.sectors}
    assert names == {"x", "indices", "out"}


def test_arrays_of_several_launches_are_those_of_their_arguments():
    code = 'extern "C" __global__ void k(const int* x, int* y) { y[threadIdx.x] = x[threadIdx.x]; }'
    kernel = RawKernel(code, "k")
    with traffic() as report:
        for _ in range(3):
            kernel((2,), (32,), (np.zeros(32, np.int32), np.zeros(32, np.int32)))
    counts = {(x.kind, x.array): x.requests for x in report.kernels[0].lines}
    assert counts == {("load", 0): 6, ("store", 1): 6}


def test_efficiency_and_the_worst_lines():
    code = """extern "C" __global__ void k(const float* x, float* y) {
  const int t = threadIdx.x;
  float s = x[t];
  s += x[8 * t];
  s += x[2 * t];
  y[t] = s + x[0];
}"""
    module = RawModule(code=code)
    with traffic() as report:
        module.get_function("k")((1,), (32,), (np.ones(256, np.float32), np.ones(32, np.float32)))
    kernel = report.kernels[0]
    worst = [(line.source[1], line.kind, line.efficiency) for line in kernel.worst()]
    assert worst[:2] == [(4, "load", 1 / 8), (5, "load", 1 / 2)]
    assert worst[-1] == (6, "load", 1.0)
    assert math.isnan(ck.simulator.Requests().efficiency)
    assert kernel.worst() != kernel.lines


def test_totals_have_the_names_of_nsight_compute():
    code = """extern "C" __global__ void k(const float* x, float* y, int* n) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[2 * t] = x[t];
  __syncthreads();
  y[8 * t] = s[2 * (31 - t)];
  atomicAdd(n, 1);
  n[1 + t] = atomicAdd(n + 33, 1);
}"""
    module = RawModule(code=code)
    x, y, n = np.ones(32, np.float32), np.ones(256, np.float32), np.zeros(40, np.int32)
    with traffic() as report:
        module.get_function("k")((1,), (32,), (x, y, n))
    totals = {name: count for name, count in report.kernels[0].metrics.items() if count}
    assert totals == {
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld": 1,
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld": 4,
        "smsp__sass_data_bytes_mem_global_op_ld": 128,
        "l1tex__t_requests_pipe_lsu_mem_global_op_st": 2,
        "l1tex__t_sectors_pipe_lsu_mem_global_op_st": 32 + 5,
        "smsp__sass_data_bytes_mem_global_op_st": 256,
        "l1tex__t_requests_pipe_lsu_mem_global_op_red": 1,
        "l1tex__t_sectors_pipe_lsu_mem_global_op_red": 1,
        "smsp__sass_data_bytes_mem_global_op_red": 128,
        "l1tex__t_requests_pipe_lsu_mem_global_op_atom": 1,
        "l1tex__t_sectors_pipe_lsu_mem_global_op_atom": 1,
        "smsp__sass_data_bytes_mem_global_op_atom": 128,
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld": 2,
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st": 2,
    }


def test_lines_are_executed_as_often_as_warps_come_to_them():
    code = """extern "C" __global__ void k(volatile int* x, int n) {
  for (int i = 0; i < n; ++i) {
    x[threadIdx.x] = i;
  }
  x[32] = 0;
}"""
    module = RawModule(code=code)
    counts = []
    for n in (5, 25):
        with traffic() as report:
            module.get_function("k")((3,), (64,), (np.zeros(64, np.int32), np.int32(n)))
        (kernel,) = report.kernels
        assert sum(kernel.executed.values()) == kernel.instruction_count
        counts.append(kernel.executed)
    few, many = ({line: count for (_, line), count in found.items()} for found in counts)
    assert few[5] == many[5] > 0
    turns = 3 * 2 * (25 - 5)  # how many more turns six warps take
    assert many[3] - few[3] >= turns
    assert (many[3] - few[3]) % 6 == 0


@each("threads, grid", [(1, 1), (5, 1), (32, 1), (100, 1), (32, 7)])
def test_threads_are_counted_once(threads, grid):
    write = "for (int i = 0; i < 9; ++i) ((volatile int*)x)[8 + threadIdx.x] = i;"
    code = f'extern "C" __global__ void k(int* x, int n) {{ if (threadIdx.x < n) {write} }}'
    (finding,) = findings_of(code, np.zeros(8, np.int32), threads, block=128, grid=grid)
    assert (finding.kind, finding.array, finding.name) == ("out_of_bounds", 0, "x")
    assert finding.threads == grid * threads


def test_threads_of_a_race_and_its_other_place():
    code = """extern "C" __global__ void k(int* x, int* y) {
  __shared__ int s[64];
  const int t = threadIdx.x; s[t] = x[t];
  /* no barrier */  y[t] = s[t ^ 32];
}"""
    found = findings_of(code, np.zeros(64, np.int32), np.zeros(64, np.int32), block=64)
    (finding,) = [finding for finding in found if finding.kind == "race"]
    other = finding.other
    assert {finding.source[1], other.source[1]} == {3, 4}
    assert {finding.access, other.access} == {"read", "write"}
    for access in (finding, other):
        start = access.code[access.column - 1 :]
        assert start.startswith("s[t] =" if access.access == "write" else "s[t ^ 32]")
    assert finding.thread[0] ^ 32 == other.thread[0]
    assert finding.threads == 32  # the later of two threads in a race counts


def test_where_an_undefined_value_is_used():
    code = """extern "C" __global__ void k(int* y) {
  __shared__ int s[32];
  int v = s[threadIdx.x];
  if (v > 3) y[threadIdx.x] = 1;
}"""
    (finding,) = findings_of(code, np.zeros(32, np.int32), block=32)
    other = finding.other
    assert (finding.access, finding.source[1], finding.threads) == ("read", 3, 32)
    assert (other.access, other.source[1]) == ("use", 4)
    assert other.code == "  if (v > 3) y[threadIdx.x] = 1;"


def test_texts_of_files_and_of_lines(tmp_path):
    (tmp_path / "mine.cuh").write_text("__device__ void put(int* x) {\n  x[32] = 1;\n}\n")
    code = '#include "mine.cuh"\nextern "C" __global__ void k(int* x) {\n  put(x);\n'
    code += '#line 71 "model.txt"\n  x[33] = 1;\n}'
    kernel = RawKernel(code, "k", (f"-I{tmp_path}",))
    with pytest.raises(ck.SimulatorError) as caught, checked() as report:
        kernel((1,), (1,), (np.zeros(32, np.int32),))
    finding, other = caught.value.findings
    assert (finding.source, finding.code) == ((f"{tmp_path}/mine.cuh", 2), "  x[32] = 1;")
    assert (other.source, other.code) == (("model.txt", 71), "  x[33] = 1;")
    text = report.sources[finding.library, "k.cu"]
    assert text == code.partition("#line")[0].removesuffix("\n")
    text = report.sources[finding.library, f"{tmp_path}/mine.cuh"]
    assert text.split("\n")[1] == finding.code


def test_texts_of_operators_are_the_files_of_the_package():
    with traffic() as report:
        ck.gather(np.arange(100.0), [1, 2, 3])
    folder = next(
        p for p in (Path(ck.__file__).parents[k] for k in (0, 1)) if (p / "kernels").is_dir()
    )
    assert len(report.sources) > 1
    for (_, file), text in report.sources.items():
        for known, line in zip(
            text.split("\n"), (folder / file).read_text().split("\n"), strict=False
        ):
            assert known in {line, ""}  # includes and pragmas do not shift lines
    (kernel,) = report.kernels
    for line in kernel.lines:
        file, number = line.source
        assert report.sources[kernel.library, file].split("\n")[number - 1].strip()


def test_ptx_is_its_own_text():
    text = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [p];
  st.global.u32 [%rd1+128], 0;
  ret;
}
"""
    with pytest.raises(ck.SimulatorError) as caught, checked():
        RawKernel(text, "k")((1,), (1,), (np.zeros(32, np.int32),))
    (finding,) = caught.value.findings
    assert finding.code == "  st.global.u32 [%rd1+128], 0;"
    assert finding.column is None


def test_traffic_is_json_as_the_schema_says():
    code = """extern "C" __global__ void k(const float* x, float* y, int* n) {
  __shared__ float s[32];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = s[31 - threadIdx.x];
  atomicAdd(n, 1);
}"""
    kernel = RawKernel(code, "k")
    with traffic() as report:
        schema()(json.loads(report.json()))
        kernel((2,), (32,), (np.ones(32, np.float32), np.ones(32, np.float32), empty(1, np.int32)))
    record = json.loads(report.json())
    schema()(record)
    (counted,), (found,) = report.kernels, record["kernels"]
    assert (found["kernel"], found["launches"], found["blocks"]) == ("k", 1, 2)
    assert found["metrics"] == counted.metrics
    assert found["instructions"] == counted.instructions
    for line, entry in zip(counted.lines, found["lines"], strict=True):
        assert (entry["kind"], entry["array"], entry["requests"]) == (
            line.kind,
            line.array,
            line.requests,
        )
        assert entry["efficiency"] == (line.efficiency if line.sectors else None)
    assert {
        (e["file"], e["line"]): e["instructions"] for e in found["executed"]
    } == counted.executed


def test_the_schema_refuses_other_names():
    error = pytest.importorskip("fastjsonschema").JsonSchemaException
    record = json.loads(ck.simulator.CheckReport().json())
    schema()(record)
    for wrong in ({**record, "more": 1}, {**record, "findings": [{"kind": "race"}]}):
        with pytest.raises(error):
            schema()(wrong)


@each(
    "code, write, read",
    [
        ("a = x[i];", 5, 5),
        ("x[i] = 1;", 1, 1),
        ("x[i] = x[i + 1];", 1, 8),
        ("x[x[i]] = 2;", 1, 3),
        ("if (x[i] == 1) x[j].y = 2;", 16, 5),
        ("a = x[i]; x [j][k] = a;", 11, 5),
        ("x[i] += x[i + n];", 1, 1),
        ("y[x[i]] <<= 1; x[y[i]] >>= 1;", 16, 3),
        ("x[f(i,", 1, 1),
        ("max[i] = p.x[i];", None, None),
    ],
)
def test_where_in_a_line_an_array_is_accessed(code, write, read):
    assert find_index_column(code, "x", "write") == write
    assert find_index_column(code, "x", "read") == read
    assert find_index_column(code, "", "read") is None
