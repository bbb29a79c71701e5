"""Features of PTX kernels beyond instructions: exits, clusters, heaps, and errors."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest

import cudakern as ck
from cudakern.errors import BindingError, SimulatorError
from cudakern.simulator.ptx.instructions.special import REGISTERS
from tests.helpers.rows import each
from tests.simulator.ptx.harness import launch, poison

pytestmark = pytest.mark.timeout(120)


#: The kernels of this file's first tests.
CODE = r"""
#define KERNEL extern "C" __global__ void

__device__ __noinline__ void leave(unsigned* y) {
  if (threadIdx.x % 2 == 1) asm volatile("exit;");
  y[threadIdx.x] = 3;
}
KERNEL exit_in_a_function(unsigned* y) {
  leave(y);
  __syncthreads();
  y[threadIdx.x] += __syncthreads_count(1);
}
KERNEL exit_before_a_barrier(unsigned* y, unsigned left) {
  if (threadIdx.x >= left) return;
  __syncthreads();
  y[threadIdx.x] = 1;
}
KERNEL exit_while_others_wait(unsigned* y) {
  if (threadIdx.x < 40) { __syncthreads(); y[threadIdx.x] = __ballot_sync(~0u, 1); return; }
  while (threadIdx.x < 90 && *(volatile unsigned*)(y + 95) == 0) __nanosleep(10);
  if (threadIdx.x == 95) atomicExch(y + 95, 1);
}
KERNEL exited_lanes_of_a_mask(unsigned* y) {
  if (threadIdx.x % 32 > 20) return;
  y[threadIdx.x] = __reduce_add_sync(~0u, 1);
}
KERNEL copies_of_a_collective(unsigned* y) {
  unsigned v;
#define BALLOT(LEFT, RIGHT) \
  asm volatile("{.reg .pred p; setp.eq.u32 p, " LEFT ", " RIGHT ";" \
               " vote.sync.ballot.b32 %0, p, -1;}" : "=r"(v) : "n"(1));
  if (threadIdx.x < 16) { BALLOT("%1", "1") }
  else { BALLOT("1", "%1") }
  y[threadIdx.x] = v;
}
KERNEL lanes_at_another_place(unsigned* y) {
  unsigned v;
  if (threadIdx.x % 4 == 0) asm volatile("{activemask.b32 %0;}" : "=r"(v));
  else
    asm volatile("activemask.b32 %0;" : "=r"(v));
  y[threadIdx.x] = v;
}
KERNEL copies_that_nobody_waits_for(unsigned* y) {
  __shared__ __align__(16) unsigned cells[40][4];
  for (int i = 0; i < 4; ++i) cells[threadIdx.x][i] = blockIdx.x * 1000 + threadIdx.x + i;
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 16;" ::
      "l"(y + 4 * (40 * blockIdx.x + threadIdx.x)),
      "r"((unsigned)__cvta_generic_to_shared(cells[threadIdx.x])) : "memory");
}
KERNEL lock(unsigned* y) {  // of threads of a warp and of blocks
  while (atomicCAS(y, 0, 1) != 0) {}
  __threadfence();
  *(volatile unsigned*)(y + 1) = *(volatile unsigned*)(y + 1) + 1;
  __threadfence();
  atomicExch(y, 0);
}
KERNEL atomics_of_16_bytes(unsigned long long* y) {
  unsigned long long a = 0, b = 0;
  for (atomicAdd(y + 2, 1); atomicAdd(y + 2, 0) < 4;) {}
  for (int i = 0; i < 200000;) {
    unsigned long long c, d;
    asm volatile("{.reg .b128 %%x, %%y; mov.b128 %%x, {%2, %3}; mov.b128 %%y, {%4, %5};"
                 " atom.cas.b128 %%x, [%6], %%x, %%y; mov.b128 {%0, %1}, %%x;}"
                 : "=l"(c), "=l"(d) : "l"(a), "l"(b), "l"(a + 1), "l"(b + 3), "l"(y) : "memory");
    const bool done = a == c && b == d;
    i += done, a = c + done, b = d + 3 * done;
  }
}
KERNEL loop_of_plain_loads(unsigned* y) {  // lets others run
  if (threadIdx.x == 1) { y[1] = 1; return; }
  unsigned seen;
  do asm volatile("ld.global.u32 %0, [%1];" : "=r"(seen) : "l"(y + 1) : "memory");
  while (seen == 0);
  y[0] = seen;
}
KERNEL barrier_of_a_part(unsigned* y) {  // which is used again and again
  __shared__ unsigned cell[2];
  for (int i = 0; i < 5; ++i) {
    if (threadIdx.x < 32) {  // the producer
      if (i > 0) asm volatile("bar.sync 2, 64;");
      if (threadIdx.x == 0) cell[0] = 10 * i;
      asm volatile("bar.arrive 1, 64;");
    } else {
      asm volatile("bar.sync 1, 64;");
      y[threadIdx.x] += cell[0];
      if (i < 4) asm volatile("bar.arrive 2, 64;");
    }
  }
}
KERNEL clocks(unsigned long long* y) {
  for (int i = 0; i < 2; ++i) {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(y[i]));
    y[2 + i] = clock64();
  }
}
KERNEL heaps(unsigned* y) {  // of threads are apart, and used again
  for (int round = 0; round < 20; ++round) {
    const unsigned n = 1 + (threadIdx.x * 37 + round) % 500;
    unsigned* p = (unsigned*)malloc(n * sizeof(unsigned));
    for (unsigned i = 0; i < n; ++i) p[i] = threadIdx.x + i;
    __syncthreads();
    unsigned wrong = ((unsigned long long)p % 16) != 0;
    for (unsigned i = 0; i < n; ++i) wrong += p[i] != threadIdx.x + i;
    y[blockIdx.x * 64 + threadIdx.x] += wrong == 0;
    free(p);
  }
}
KERNEL malloc_of_too_much(unsigned* y) {
  y[0] = !malloc(1ull << 40); y[1] = !malloc(~0ull); free(nullptr); y[2] = 5;
}
KERNEL trap_before_a_barrier(unsigned* y, unsigned threads) {
  if (threadIdx.x < threads) {
    if (threadIdx.x == 95) __trap();
    asm volatile("{.reg .pred p; setp.ne.u32 p, 1, 0; barrier.red.and.pred p, 1, %1, p;"
                 " selp.u32 %0, 1, 0, p;}" : "=r"(y[threadIdx.x]) : "r"(threads));
  }
}
KERNEL offset_beyond_dynamic(unsigned* y) {
  extern __shared__ unsigned r[]; __shared__ unsigned s[4];
  y[0] = s[y[1]] + r[20000];
}
KERNEL mbarrier_at_its_limits(unsigned* y) {
  __shared__ unsigned long long b;
  unsigned long long s;
  const unsigned a = (unsigned)__cvta_generic_to_shared(&b);
  asm volatile("mbarrier.init.shared.b64 [%0], 1048575;" :: "r"(a));
  asm volatile("mbarrier.expect_tx.shared::cta.b64 [%0], 1048575;" :: "r"(a));
  for (int i = 0; i < 3; ++i) {
    const unsigned n = i == 0 ? 1048573 : 1;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1], %2;" : "=l"(s) : "r"(a), "r"(n));
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(y[i]) : "l"(s));
  }
}
"""


def run(name, *arguments, grid=1, block=32, shared_mem=0):
    """Launch one of the kernels."""
    kernel = ck.simulator.RawModule(code=CODE).get_function(name)
    kernel((grid,), (block,), arguments, shared_mem=shared_mem)


FULL = 2**32 - 1
#: Grids and blocks, and an array of words before and after the launch.
ROWS = {
    "exit_in_a_function": (1, 96, [0] * 96, [51, 0] * 48),
    "exit_while_others_wait": (1, 96, [0] * 96, [FULL] * 32 + [255] * 8 + [0] * 55 + [1]),
    "exited_lanes_of_a_mask": (1, 64, [0] * 64, ([21] * 21 + [0] * 11) * 2),
    "copies_of_a_collective": (1, 32, [0] * 32, [FULL] * 32),
    "lanes_at_another_place": (1, 64, [0] * 64, [0x11111111, *[0xEEEEEEEE] * 3] * 16),
    "lock": (6, 64, [0, 0], [0, 384]),
    "loop_of_plain_loads": (1, 2, [0, 0], [1, 1]),
    "barrier_of_a_part": (1, 64, [0] * 64, [0] * 32 + [100] * 32),
    "heaps": (4, 64, [0] * 256, [20] * 256),
    "malloc_of_too_much": (1, 1, [9] * 3, [1, 1, 5]),
    "mbarrier_at_its_limits": (1, 1, [9] * 3, [1048575, 2, 1]),
}


@each("name", ROWS)
def test_what_a_kernel_leaves(name):
    grid, block, before, after = ROWS[name]
    y = np.array(before, np.uint32)
    run(name, y, grid=grid, block=block)
    assert y.tolist() == after


@each("left", [0, 1, 31, 32, 33, 64, 95])
def test_exited_threads_count_as_arrived(left):
    y = np.zeros(96, np.uint32)
    run("exit_before_a_barrier", y, np.uint32(left), block=96)
    assert y.tolist() == [1] * left + [0] * (96 - left)


def test_copies_that_nobody_waits_for_happen_when_their_thread_ends():
    y = poison((3, 40, 4), np.uint32)
    run("copies_that_nobody_waits_for", y, grid=3, block=40)
    block, thread, word = np.indices(y.shape)
    assert (y == 1000 * block + thread + word).all()


def test_atomics_of_16_bytes_are_one_step():
    y = np.zeros(3, np.uint64)
    run("atomics_of_16_bytes", y, grid=4, block=1)
    assert y.tolist() == [800000, 2400000, 4]


def test_clocks_go_on():
    y = np.zeros(4, np.uint64)
    before = time.time_ns()
    run("clocks", y, block=1)
    assert before <= y[0] <= y[1] <= time.time_ns()
    assert y[2] <= y[3]


def test_threads_of_a_launch_that_failed_wait_nowhere():
    y = np.zeros(96, np.uint32)
    with pytest.raises(SimulatorError, match="trap"):
        run("trap_before_a_barrier", y, np.uint32(96), block=96)
    run("trap_before_a_barrier", y, np.uint32(32), block=96)
    assert y.tolist() == [1] * 32 + [0] * 64


def test_offset_beyond_dynamic_shared_memory():
    with pytest.raises(SimulatorError, match="within its 48 bytes; offset 80016 is not"):
        run("offset_beyond_dynamic", np.zeros(2, np.uint32), shared_mem=32)


# Clusters

OF_CLUSTERS = r"""
#define MEET asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory")
template <int kSize>
__global__ void __cluster_dims__(kSize, 1, 1) sum(unsigned* y, int threads) {
  __shared__ unsigned char mine[2];
  if (threadIdx.x >= threads) return;
  if (threadIdx.x == 0) mine[1] = blockIdx.x + 1;
  MEET;
  unsigned sum = 0;
  for (unsigned r = 0; r < kSize; ++r) {
    const unsigned char* other;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(other) : "l"(mine + 1), "r"(r));
    sum += *other;
  }
  y[blockIdx.x * threads + threadIdx.x] = sum;
  MEET;
}
__global__ void __cluster_dims__(4, 1, 1) leave(unsigned* y) {
  for (unsigned i = 0; i < 150; ++i) {
    if (threadIdx.x == i) return;
    MEET;
  }
  atomicAdd(y, 1);
}
__global__ void __cluster_dims__(2, 1, 1) copy(unsigned* y) {
  __shared__ unsigned long long bar;
  __shared__ __align__(16) unsigned from[64], s[64];
  const unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(at));
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 256;" :: "r"(at));
  }
  from[threadIdx.x] = 100 * blockIdx.x + threadIdx.x;
  MEET;
  if (threadIdx.x == 0) {
    asm volatile("{.reg .u32 to, bar; mapa.shared::cluster.u32 to, %0, %1;"
        " mapa.shared::cluster.u32 bar, %2, %1;"
        " cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
        " [to], [%3], 256, [bar];}" :: "r"((unsigned)__cvta_generic_to_shared(s)),
        "r"(1 - blockIdx.x), "r"(at), "r"((unsigned)__cvta_generic_to_shared(from)) : "memory");
  }
  asm volatile("{.reg .pred p; W%=: mbarrier.try_wait.parity.shared.b64 p, [%0], 0;"
      " @!p bra W%=;}" :: "r"(at) : "memory");
  y[64 * blockIdx.x + threadIdx.x] = s[threadIdx.x];
}
"""
EXPRESSIONS = ("sum<1>", "sum<2>", "sum<8>", "leave", "copy")
CLUSTERS = ck.simulator.RawModule(code=OF_CLUSTERS, name_expressions=EXPRESSIONS)


@each(("size", "blocks", "threads"), [(1, 3, 8), (2, 10, 33), (8, 16, 8)])
def test_blocks_of_a_cluster_read_each_others_memory(size, blocks, threads):
    y = poison((blocks, threads), np.uint32)
    CLUSTERS.get_function(f"sum<{size}>")((blocks,), (threads + 7,), (y, threads))
    wanted = (np.arange(blocks) + 1).reshape(-1, size).sum(axis=1).repeat(size)
    assert (y == wanted[:, None]).all()


def test_the_grid_must_be_a_multiple_of_the_cluster():
    requirement = "launch must have a grid that is a multiple of clusters of (2, 1, 1) blocks"
    with pytest.raises(BindingError) as caught:
        CLUSTERS.get_function("sum<2>")((3,), (8,), (np.zeros(64, np.uint32), 8))
    assert str(caught.value) == f"sum<2>: {requirement}; got (3, 1, 1)"


def test_threads_of_a_cluster_leave_one_after_the_other():
    y = np.zeros(1, np.uint32)
    CLUSTERS.get_function("leave")((8,), (200,), (y,))
    assert y[0] == 8 * 50


def test_blocks_of_a_cluster_wait_for_copies_of_each_other():
    y = np.zeros((2, 64), np.uint32)
    CLUSTERS.get_function("copy")((2,), (64,), (y,))
    assert y.tolist() == [[*range(100, 164)], [*range(64)]]


# Special registers


def _wanted(block, thread, grid, size, cluster):
    """Return the values of special registers that are known, by thread and block."""
    linear = thread[0] + size[0] * (thread[1] + size[1] * thread[2])
    lane = linear % 32
    rank = block[0] % cluster[0] + cluster[0] * (block[1] % cluster[1])
    known = {
        "laneid": lane,
        "warpid": linear // 32,
        "is_explicit_cluster": 1,
        "cluster_ctarank": rank,
        "cluster_nctarank": cluster[0] * cluster[1],
        "lanemask_eq": 1 << lane,
        "lanemask_le": (2 << lane) - 1,
        "lanemask_lt": (1 << lane) - 1,
        "lanemask_ge": (-1 << lane) % 2**32,
        "lanemask_gt": (-2 << lane) % 2**32,
        "dynamic_smem_size": 1000,
        "total_smem_size": 1000,
    }
    vectors = {
        "tid": thread,
        "ntid": size,
        "ctaid": block,
        "nctaid": grid,
        "clusterid": [b // c for b, c in zip(block, cluster, strict=True)],
        "nclusterid": [g // c for g, c in zip(grid, cluster, strict=True)],
        "cluster_ctaid": [b % c for b, c in zip(block, cluster, strict=True)],
        "cluster_nctaid": cluster,
    }
    for name, values in vectors.items():
        known.update({f"{name}.{axis}": v for axis, v in zip("xyzw", (*values, 0), strict=True)})
    return known


def test_special_registers():
    names = [*REGISTERS]
    body = []
    for i, name in enumerate(names):
        if name == "is_explicit_cluster":
            body.append(f"mov.pred %p, %{name}; selp.u32 %v, 1, 0, %p; cvt.u64.u32 %w, %v;")
        elif name in {"gridid", "clock64", "globaltimer", "current_graph_exec"} or "_64" in name:
            body.append(f"mov.u64 %w, %{name};")
        else:
            body.append(f"mov.u32 %v, %{name}; cvt.u64.u32 %w, %v;")
        body.append(f"st.global.u64 [%at+{8 * i}], %w;")
    grid, size, cluster = (4, 3, 2), (5, 3, 4), (2, 3, 1)
    lines = "\n".join(body)
    text = f"""
    .version 8.6
    .target sm_90a
    .address_size 64
    .visible .entry k(.param .u64 out) .reqnctapercluster 2, 3, 1
    {{
    .reg .b32 %v, %i, %n; .reg .b64 %w, %at; .reg .pred %p;
    mov.u32 %i, %ctaid.z; mad.lo.u32 %i, %i, 3, %ctaid.y; mad.lo.u32 %i, %i, 4, %ctaid.x;
    mad.lo.u32 %i, %i, 4, %tid.z; mad.lo.u32 %i, %i, 3, %tid.y; mad.lo.u32 %i, %i, 5, %tid.x;
    ld.param.u64 %at, [out]; mad.wide.u32 %at, %i, {8 * len(names)}, %at;
    {lines}
    ret;
    }}
    """
    out = poison((*grid[::-1], *size[::-1], len(names)), np.uint64)
    launch(text, "k", (out,), grid=grid, block=size, shared_bytes=1000)
    for place in np.ndindex(out.shape[:-1]):
        block, thread = place[2::-1], place[:2:-1]
        registers = dict(zip(names, out[place].tolist(), strict=True))
        wanted = _wanted(block, thread, grid, size, cluster)
        assert {name: registers[name] for name in wanted} == wanted
        assert registers["nsmid"] == 132 > registers["smid"]
        assert registers["clock64"] > 0
        assert abs(registers["globaltimer"] - registers["globaltimer_hi"] * 2**32) <= 2**33
    assert len(np.unique(out[..., names.index("gridid")])) == 1


# Formats


#: Arguments of printf, and the output.
PRINTED = [
    ('"%d %q %d|", 5, 6', "5 %q 6|"),
    ('"%s|", (char*)0', "(null)|"),
    ('"100%|"', "100%|"),
    ('"100%"', "100%"),
    ('"%d|"', "%d|"),
    ('"%-*d|%0*d", -4, 7, 3, 8', "7   |008"),
    ('"%.*f|", -1, 0.5', "0.500000|"),
    ('"%n%5c|%-3c|", 65, 66', "%n    A|B  |"),
    ('"%.2s|%5.1s|", "abc", "xyz"', "ab|    x|"),
    ('"%+ -#0x|", 255', "0xff|"),
    ('"%jd %td %hhu|", 1ll << 40, -1ll, 511', f"{2**40} -1 255|"),
]
PRINTING = "".join(
    f'extern "C" __global__ void k{number}() {{ printf({arguments}); }}\n'
    for number, (arguments, _) in enumerate(PRINTED)
)


@each(("number", "printed"), [(number, printed) for number, (_, printed) in enumerate(PRINTED)])
def test_printf_of_unusual_formats(number, printed, capfd):
    ck.simulator.RawModule(code=PRINTING).get_function(f"k{number}")((1,), (1,), ())
    assert capfd.readouterr().out == printed


def test_printf_of_a_width_beyond_measure(capfd):
    code = 'extern "C" __global__ void k() { printf("%1000000000d|%.99999999999f|", 1, 2.0); }'
    ck.simulator.RawKernel(code, "k")((1,), (1,), ())
    printed = capfd.readouterr().out
    assert printed.split("|")[0].strip() == "1"
    assert float(printed.split("|")[1]) == 2


# Errors: one for each launch, whatever the kernel does

MACROS = r"""
#define SHARED __shared__ unsigned long long b; const unsigned a = __cvta_generic_to_shared(&b);
#define INIT(COUNT) \
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], " #COUNT ";" :: "r"(a)); \
  __syncthreads();
#define ARRIVE(COUNT) \
  asm volatile("{.reg .b64 s; mbarrier.arrive.shared.b64 s, [%0], " #COUNT ";}" :: "r"(a));
#define WAIT asm volatile( \
  "{.reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra W;}" :: "r"(a));
#define COPY asm volatile( \
  "cp.async.ca.shared.global [%0], [%1], 4, %2;" :: "r"(a), "l"(y), "r"(8u + y[0]));
"""
#: Faults that test_faults.py does not have: kinds, messages and instructions.
BROKEN = re.findall(
    r"^(\w+): (\w+)\n    (.*)\n    (.*)$",
    r"""
other_counts: barrier_divergence
    all threads must give a barrier the same number of threads; another came by bar.sync
    asm volatile("bar.sync 1, %0;" :: "r"(threadIdx.x < 16 ? 64 : 96));
twice: barrier_divergence
    a thread must reach a barrier once before it completes; another came by bar.arrive
    asm volatile("bar.arrive 3, 64;"); asm volatile("bar.arrive 3, 64;");
too_few: barrier_divergence
    64 threads of the block must reach barrier 3; 32 came, 0 exited and 0 wait elsewhere
    asm volatile("bar.sync 3, 64;");
barrier_number: misuse
    a barrier must have a number below 16; got 16
    asm volatile("bar.sync %0;" :: "r"(y[0] + 16));
barrier_threads: misuse
    a barrier's threads must be a multiple of 32; got 40
    asm volatile("bar.sync 1, %0;" :: "r"(y[0] + 40));
cluster_wait: barrier_divergence
    a thread must arrive at the barrier of its cluster before it waits there
    asm volatile("barrier.cluster.wait;");
cluster_arrive: barrier_divergence
    a thread must wait at the barrier of its cluster before it arrives again
    asm volatile("barrier.cluster.arrive;"); asm volatile("barrier.cluster.arrive;");
mbarrier_forever: deadlock
    every resident thread polls or waits, and none changes memory
    SHARED INIT(100) WAIT
mbarrier_unknown: misuse
    an mbarrier must be initialized before it is used
    SHARED b = 0; ARRIVE(1)
mbarrier_bytes: misuse
    an mbarrier must count fewer than 2**20 arrivals and bytes
    SHARED INIT(64) asm volatile("mbarrier.expect_tx.shared::cta.b64 [%0], 32768;" :: "r"(a));
mbarrier_overrun: misuse
    an mbarrier must get no more arrivals in a phase than it expects
    SHARED INIT(1) ARRIVE(2)
shared_offset: out_of_bounds
    shared memory must be accessed within its 16 bytes; offset 80000 is not
    __shared__ unsigned s[4]; y[0] = s[y[1] + 20000];
shared_negative: out_of_bounds
    shared memory must be accessed within its 16 bytes; offset 4294966896 is not
    __shared__ unsigned s[4]; y[0] = s[(int)y[1] - 100];
text: out_of_bounds
    address 0x10 is not
    printf("%s", (char*)0x10);
breakpoint: trap
    the kernel must not reach a breakpoint
    __brkpt();
free: misuse
    free must get an address that malloc returned and nobody freed
    free(y);
free_twice: misuse
    free must get an address that malloc returned and nobody freed
    void* p = malloc(100); free(p); free(p);
misaligned: misaligned
    an access with an order must be aligned to its size
    atomicAdd((unsigned*)((char*)y + 2), 1u);
copy_size: misuse
    an asynchronous copy must read no more bytes than it writes
    SHARED COPY
""",
    re.MULTILINE,
)
GOOD = "__syncthreads(); y[threadIdx.x] = __ballot_sync(~0u, 1);"
MISUSE = MACROS + "".join(
    f'extern "C" __global__ void {name}_(unsigned* y) {{ {body} }}\n'
    for name, *_, body in [*BROKEN, ("good", GOOD)]
)


@each(("name", "kind", "message"), [row[:3] for row in BROKEN])
def test_misuse_is_one_error_and_the_next_launch_works(name, kind, message):
    module, y = ck.simulator.RawModule(code=MISUSE), np.zeros(1024, np.uint32)
    with pytest.raises(SimulatorError) as caught:
        module.get_function(f"{name}_")((1,), (32,), (y,))
    assert caught.value.kind == kind
    assert message in str(caught.value)
    place = f"module.cu:{MISUSE.partition(f' {name}_(')[0].count(chr(10)) + 1}: "
    assert (place in str(caught.value)) == (kind != "out_of_bounds")
    assert "\n" not in str(caught.value)
    y[:] = 0
    module.get_function("good_")((1,), (32,), (y,))
    assert y[:32].tolist() == [2**32 - 1] * 32
