"""Kernels that do not wait for their asynchronous copies, or wait wrongly at an mbarrier."""

from __future__ import annotations

from tests.simulator.copies import WORDS
from tests.simulator.tables import Broken, ramp, zeros


def kernel(name, body, kind="race", *, also=(), array="s", **options):
    """Return a kernel that copies from x, of 256 numbers, by 64 threads; it is found in `array`."""
    head = 'extern "C" __global__ void k(int* x, int* out) {\n  const int t = threadIdx.x;\n'
    given = lambda: (ramp(256), zeros(256))  # noqa: E731
    return Broken(name, f"{WORDS}{head}{body}}}\n", kind, given, also=also, array=array, **options)


#: What is read before a copy was written there, is also uninitialized.
EARLY = ("uninitialized",)

COPIES = (
    kernel(
        "copy_read_before_its_wait",
        r"""
  __shared__ __align__(16) int s[256];
  copy_16(s + 4 * t, x + 4 * t);  // fault
  commit();
  const int v = s[4 * t + 1];  // fault
  wait_group<0>();
  out[t] = v;
""",
        also=EARLY,
    ),
    kernel(
        "copy_read_while_one_group_is_pending",
        r"""
  __shared__ __align__(16) int s[2][256];
  copy_16(s[0] + 4 * t, x + 4 * t);
  commit();
  copy_16(s[1] + 4 * t, x + 4 * t);  // fault
  commit();
  wait_group<1>();
  out[t] = s[0][4 * t] + s[1][4 * t];  // fault
""",
        also=EARLY,
    ),
    kernel(
        "copy_waited_for_before_its_commit",
        r"""
  __shared__ __align__(16) int s[256];
  copy_16(s + 4 * t, x + 4 * t);  // fault
  wait_group<0>();
  commit();
  out[t] = s[4 * t];  // fault
""",
        also=EARLY,
    ),
    kernel(
        "copy_read_by_others_without_a_barrier",
        r"""
  __shared__ __align__(16) int s[256];
  copy_16(s + 4 * t, x + 4 * t);  // fault
  commit();
  wait_group<0>();
  out[t] = s[255 - t];  // fault
""",
        also=EARLY,
    ),
    kernel(
        "copy_waited_for_after_the_barrier",
        r"""
  __shared__ __align__(16) int s[256];
  copy_16(s + 4 * t, x + 4 * t);  // fault
  commit();
  __syncthreads();
  wait_group<0>();
  out[t] = s[255 - t];  // fault
""",
        also=EARLY,
    ),
    kernel(
        "copy_into_what_others_still_read",
        r"""
  __shared__ __align__(16) int s[256];
  for (int i = 0; i < 2; ++i) {
    copy_16(s + 4 * t, x + 4 * t);  // fault
    commit();
    wait_group<0>();
    __syncthreads();
    out[64 * i + t] = s[255 - t];  // fault
  }
""",
    ),
    kernel(
        "source_overwritten_before_it_is_copied",
        r"""
  __shared__ __align__(16) int s[256];
  copy_16(s + 4 * t, x + 4 * t);  // fault
  commit();
  x[4 * t] = 7;  // fault
  wait_group<0>();
  __syncthreads();
  out[t] = s[255 - t];
""",
        array=0,
    ),
    kernel(
        "copy_past_the_end",
        r"""
  __shared__ __align__(16) int s[256];
  copy_16(s + 4 * t, x + 4 * t + 4);  // fault
  commit();
  wait_group<0>();
  __syncthreads();
  out[t] = s[t];
""",
        "out_of_bounds",
        array=0,
        index=256,
    ),
)

BULK_COPIES = (
    kernel(
        "bulk_copy_read_before_its_mbarrier",
        r"""
  __shared__ __align__(16) int s[256];
  __shared__ unsigned long long bar;
  if (t == 0) init(&bar, 1);
  __syncthreads();
  if (t == 0) {
    expect(&bar, 1024);
    bulk_in(s, x, 1024, &bar);  // fault
  }
  __syncthreads();
  out[t] = s[255 - t];  // fault
  wait(&bar, 0);
""",
        also=EARLY,
    ),
    kernel(
        "bulk_copy_waited_for_with_the_wrong_parity",
        r"""
  __shared__ __align__(16) int s[256];
  __shared__ unsigned long long bar;
  if (t == 0) init(&bar, 1);
  __syncthreads();
  if (t == 0) {
    expect(&bar, 1024);
    bulk_in(s, x, 1024, &bar);  // fault
  }
  wait(&bar, 1);  // fault
  out[t] = s[255 - t];  // fault
""",
        also=("uninitialized", "deadlock"),
    ),
    kernel(
        "second_bulk_copy_waited_for_with_the_first_parity",
        r"""
  __shared__ __align__(16) int s[2][128];
  __shared__ unsigned long long bar;
  if (t == 0) init(&bar, 1);
  __syncthreads();
  for (int i = 0; i < 2; ++i) {
    if (t == 0) {
      expect(&bar, 512);
      bulk_in(s[i], x + 128 * i, 512, &bar);  // fault
    }
    wait(&bar, 0);  // fault
    out[64 * i + t] = s[i][t];  // fault
    __syncthreads();
  }
""",
        also=("uninitialized", "deadlock"),
    ),
    kernel(
        "bulk_copy_out_of_what_is_overwritten",
        r"""
  __shared__ __align__(16) int s[64];
  s[t] = x[t];
  see_copies();
  __syncthreads();
  if (t == 0) {
    bulk_out(out, s, 256);  // fault
    s[1] = 0;  // fault
    bulk_wait();
  }
""",
        index=1,
    ),
    kernel(
        "bulk_copy_out_before_the_barrier",
        r"""
  __shared__ __align__(16) int s[64];
  s[t] = x[t];  // fault
  see_copies();
  if (t == 0) {
    bulk_out(out, s, 256);  // fault
    bulk_wait();
  }
""",
        also=EARLY,
    ),
)

MBARRIERS = (
    kernel(
        "mbarrier_that_one_thread_does_not_arrive_at",
        r"""
  __shared__ unsigned long long bar;
  if (t == 0) init(&bar, 64);
  __syncthreads();
  if (t != 5) arrive(&bar);
  wait(&bar, 0);  // fault
  out[t] = x[t];
""",
        "deadlock",
        array=None,
    ),
    kernel(
        "mbarrier_that_expects_more_bytes_than_come",
        r"""
  __shared__ __align__(16) int s[256];
  __shared__ unsigned long long bar;
  if (t == 0) init(&bar, 1);
  __syncthreads();
  if (t == 0) {
    expect(&bar, 1024);
    bulk_in(s, x, 512, &bar);
  }
  wait(&bar, 0);  // fault
  out[t] = s[t];
""",
        "deadlock",
        array=None,
    ),
    kernel(
        "mbarrier_used_before_others_see_its_start",
        r"""
  __shared__ unsigned long long bar;
  __shared__ int s[64];
  if (t == 0) init(&bar, 64);  // fault
  s[t] = x[t];
  arrive(&bar);  // fault
  wait(&bar, 0);  // fault
  out[t] = s[63 - t];
""",
        "uninitialized",
        also=("misuse", "race"),
        array="bar",
    ),
    kernel(
        "mbarrier_that_producers_do_not_wait_for",
        r"""
  // The first warp fills s again without waiting until the second has read it.
  __shared__ unsigned long long full;
  __shared__ int s[32];
  if (t == 0) init(&full, 32);
  __syncthreads();
  for (int i = 0; i < 2; ++i) {
    if (t < 32) {
      s[t] = x[32 * i + t];  // fault
      arrive(&full);
      wait(&full, i);
    } else {
      wait(&full, i);  // fault
      out[32 * i + t] = s[63 - t];  // fault
    }
  }
""",
        also=("deadlock",),
    ),
    kernel(
        "mbarrier_arrived_at_before_the_write",
        r"""
  __shared__ unsigned long long bar;
  __shared__ int s[64];
  if (t == 0) init(&bar, 64);
  __syncthreads();
  arrive(&bar);
  s[t] = x[t];  // fault
  wait(&bar, 0);
  out[t] = s[63 - t];  // fault
""",
        also=EARLY,
    ),
)
