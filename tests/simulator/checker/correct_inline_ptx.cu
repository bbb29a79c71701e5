// Correct kernels with inline PTX.
// clang-format off
//// sums_of_128_bits_by_carry(words(rng, 64, np.uint64), words(rng, 64, np.uint64), poison(64,
////     np.uint64), block=32) -> *given: wide_sums(*given)
(const ulonglong2* x, const ulonglong2* y, ulonglong2* out)
  const ulonglong2 a = x[threadIdx.x], b = y[threadIdx.x];
  ulonglong2 sum;
  asm("add.cc.u64 %0, %2, %4;\n\taddc.u64 %1, %3, %5;"
      : "=l"(sum.x), "=l"(sum.y) : "l"(a.x), "l"(a.y), "l"(b.x), "l"(b.y));
  out[threadIdx.x] = sum;
//// loop_and_predicates_in_the_text(ints(rng, 40, np.uint32, 1, 1000), poison(40, np.uint32),
////     block=40) -> x, _: {1: np.array([collatz(int(n)) for n in x], np.uint32)}
extern "C" __global__ void k(const unsigned* x, unsigned* out) {
  unsigned steps;  // of the Collatz sequence
  asm volatile(R"({
    .reg .pred done, odd;
    .reg .u32 n, t;
    mov.u32 n, %1;
    mov.u32 %0, 0;
  again%=:
    setp.le.u32 done, n, 1;
    @done bra.uni end%=;
    and.b32 t, n, 1;
    setp.ne.u32 odd, t, 0;
    @odd mad.lo.u32 n, n, 3, 1;
    @!odd shr.u32 n, n, 1;
    add.u32 %0, %0, 1;
    bra again%=;
  end%=:
  })" : "=&r"(steps) : "r"(x[threadIdx.x]));
  out[threadIdx.x] = steps;
}
//// vectors_past_the_cache(ints(rng, (32, 4)), poison((32, 4), np.int32), block=32)
////     -> x, _: {1: x[:, ::-1]}
(const int4* x, int4* out)
  int4 v;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.s32 {%0, %1, %2, %3}, [%4];"
      : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(x + threadIdx.x));
  asm volatile("st.global.cs.v4.s32 [%0], {%4, %3, %2, %1};"
      :: "l"(out + threadIdx.x), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
//// last_block_by_atom_inc(ints(rng, 9), poison(9, np.int32), np.zeros(1, np.uint32), poison(1,
////     np.int32), grid=9, block=1)
////     -> x, *_: {2: np.zeros(1, np.uint32), 3: 3 * x.sum(keepdims=True, dtype=np.int32)}
(const int* x, int* parts, unsigned* count, int* out)
  unsigned before;
  parts[blockIdx.x] = 3 * x[blockIdx.x];
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
      : "=r"(before) : "l"(count), "r"(gridDim.x - 1) : "memory");
  if (before == gridDim.x - 1) {
    int sum = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) sum += parts[i];
    *out = sum;
  }
//// copies_behind_the_work(ints(rng, (3, 128)), poison((3, 128), np.int32), np.int32(3), block=32)
////     -> x, *_: {1: copied(x)}
(const int* x, int* out, int rounds)
  __shared__ alignas(16) int s[2][128];
  const unsigned at = (unsigned)__cvta_generic_to_shared(&s[0][4 * threadIdx.x]);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(at), "l"(x + 4 * threadIdx.x));
  asm volatile("cp.async.commit_group;");
  for (int i = 0; i < rounds; ++i) {
    if (i + 1 < rounds) {
      const int* const from = x + (i + 1) * 128 + 4 * threadIdx.x;
      const unsigned to = at + 512 * ((i + 1) % 2);
      asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" :: "r"(to), "l"(from));
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to + 8), "l"(from + 2));
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4, 0;" :: "r"(to + 12), "l"(from));
    }
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    for (int j = 0; j < 4; ++j)
      out[i * 128 + 4 * threadIdx.x + j] = s[i % 2][(4 * threadIdx.x + j + 5) % 128];
    __syncthreads();
  }
//// named_barriers_of_two_warps(ints(rng, (4, 32)), poison((4, 32), np.int32), np.int32(4),
////     block=64) -> x, *_: {1: 2 * x[:, ::-1]}
(const int* x, int* out, int rounds)
  __shared__ int s[32];
  const int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (int i = 0; i < rounds; ++i) {
      asm volatile("bar.sync 2, 64;" ::: "memory");  // s is free
      s[lane] = x[i * 32 + lane] * 2;
      asm volatile("bar.arrive 1, 64;" ::: "memory");
    }
  } else {
    asm volatile("bar.arrive 2, 64;" ::: "memory");
    for (int i = 0; i < rounds; ++i) {
      asm volatile("bar.sync 1, 64;" ::: "memory");
      out[i * 32 + lane] = s[31 - lane];
      if (i + 1 < rounds) asm volatile("bar.arrive 2, 64;" ::: "memory");
    }
  }
//// reductions_of_the_warp(ints(rng, 32), poison(64, np.int32), block=32)
////     -> x, _: {1: np.repeat(np.array([x.sum() + 3 * x.min() + 5 * np.bitwise_xor.reduce(x), 1],
////     np.int32), 32)}
  const int v = x[threadIdx.x];
  int sum, low;
  unsigned either, elected;
  asm volatile("redux.sync.add.s32 %0, %1, 0xffffffff;" : "=r"(sum) : "r"(v));
  asm volatile("redux.sync.min.s32 %0, %1, 0xffffffff;" : "=r"(low) : "r"(v));
  asm volatile("redux.sync.xor.b32 %0, %1, 0xffffffff;" : "=r"(either) : "r"(v));
  asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, 0xffffffff;\n\tselp.u32 %0, 1, 0, p;\n\t}"
      : "=r"(elected));
  out[threadIdx.x] = sum + 3 * low + 5 * (int)either;
  out[32 + threadIdx.x] = __popc(__ballot_sync(0xffffffffu, elected));
//// shuffle_with_its_predicate(ints(rng, 32), poison(64, np.int32), block=32)
////     -> x, _: {1: shifted_in_segments(x)}
  int v = x[threadIdx.x], in_segment;
  asm volatile("{\n\t.reg .pred p;\n\tshfl.sync.down.b32 %0|p, %2, 3, 0x181f, 0xffffffff;\n\t"
      "selp.s32 %1, 1, 0, p;\n\t}" : "=r"(v), "=r"(in_segment) : "r"(v));
  out[threadIdx.x] = v;
  out[32 + threadIdx.x] = in_segment;
//// special_registers(poison(96, np.uint32), grid=2, block=(16, 3)) -> _: {0: np.tile(np.arange(48)
////     % 32 + 100 * (np.arange(48) // 32) + 10000, 2).astype(np.uint32)}
(unsigned* out)
  unsigned lane, warp, below, above, same, threads, block;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
  asm("mov.u32 %0, %%lanemask_ge;" : "=r"(above));
  asm("mov.u32 %0, %%lanemask_eq;" : "=r"(same));
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
  asm("mov.u32 %0, %%ntid.y;" : "=r"(threads));
  asm("mov.u32 %0, %%ctaid.x;" : "=r"(block));
  const unsigned i = (block * threads + threadIdx.y) * blockDim.x + threadIdx.x;
  out[i] = lane + 100 * warp + 10000 * (below + 1 == same && (below ^ above) == 0xffffffffu);
