// All inline PTX of the kernels: what CUDA C++ has no words for.
#pragma once

#include "common/types.cuh"

namespace ck {

/// A vector that is read once: it takes no place in L1.
CK_DEVICE uint4 load_once(const uint4* address) {
  uint4 value;
  asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
      : "l"(address));
  return value;
}

/// A vector if it exists, else `value`: without a branch, so that many are in flight. A vector that
/// is read once takes no place in L1.
template <bool kOnce>
CK_DEVICE uint4 load_if(bool exists, const uint4* address, uint4 value = make_uint4(0, 0, 0, 0)) {
  if constexpr (kOnce) {
    asm("{\n"
        "  .reg .pred exists;\n"
        "  setp.ne.u32 exists, %5, 0;\n"
        "  @exists ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];\n"
        "}"
        : "+r"(value.x), "+r"(value.y), "+r"(value.z), "+r"(value.w)
        : "l"(address), "r"(static_cast<uint32>(exists)));
  } else {
    asm("{\n"
        "  .reg .pred exists;\n"
        "  setp.ne.u32 exists, %5, 0;\n"
        "  @exists ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];\n"
        "}"
        : "+r"(value.x), "+r"(value.y), "+r"(value.z), "+r"(value.w)
        : "l"(address), "r"(static_cast<uint32>(exists)));
  }
  return value;
}

/// The dynamic shared memory that a block has, in bytes.
CK_DEVICE uint32 dynamic_shared_bytes() {
  uint32 bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
  return bytes;
}

/// An address in shared memory.
CK_DEVICE uint32 shared_address(const void* pointer) {
  return static_cast<uint32>(__cvta_generic_to_shared(pointer));
}

/// Begins to copy a vector that is read once to an address in shared memory; before sm_80, copies
/// it. Copies that have begun since the last call are one group, and all but so many groups, at
/// most 2, are waited for.
constexpr bool kCopiesAsync = __CUDA_ARCH__ >= 800;
CK_DEVICE void copy_async(uint32 target, const uint4* source) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(target), "l"(source) : "memory");
#else
  const uint4 value = load_once(source);
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(target), "r"(value.x), "r"(value.y),
               "r"(value.z), "r"(value.w)
               : "memory");
#endif
}
CK_DEVICE void commit_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
CK_DEVICE void wait_for_copies(uint32 groups) {
#if __CUDA_ARCH__ >= 800
  if (groups == 0) {
    asm volatile("cp.async.wait_group 0;" ::: "memory");
  } else if (groups == 1) {
    asm volatile("cp.async.wait_group 1;" ::: "memory");
  } else {
    asm volatile("cp.async.wait_group 2;" ::: "memory");
  }
#endif
}

/// Takes an element of `kBytes`, or half of one of 16, in place of a value, if its position lies
/// among the `size` from `start` on. The position is put together of bytes of two words; the
/// element at position 0 would lie at `base` in shared memory. It is one volatile piece: the
/// compiler would keep what it finds out about a position, which takes registers.
#define CK_TAKE_IF_INSIDE(load, kind) \
  asm volatile( \
      "{\n" \
      "  .reg .pred inside;\n" \
      "  .reg .u32 position, place;\n" \
      "  prmt.b32 position, %1, %2, %3;\n" \
      "  sub.u32 place, position, %4;\n" \
      "  setp.lt.u32 inside, place, %5;\n" \
      "  mad.lo.u32 place, position, %6, %7;\n" \
      "  @inside " load \
      " %0, [place];\n" \
      "}" \
      : kind(value) \
      : "r"(low), "r"(high), "r"(bytes), "r"(start), "r"(size), "n"(kBytes), "r"(base) \
      : "memory")
template <uint32 kBytes, typename T>
CK_DEVICE void take_if_inside(T& value, uint32 low, uint32 high, uint32 bytes, uint32 start,
                              uint32 size, uint32 base) {
  if constexpr (kBytes == 1) {
    CK_TAKE_IF_INSIDE("ld.shared.u8", "+r");
  } else if constexpr (kBytes == 2) {
    CK_TAKE_IF_INSIDE("ld.shared.u16", "+r");
  } else if constexpr (kBytes == 4) {
    CK_TAKE_IF_INSIDE("ld.shared.u32", "+r");
  } else {
    CK_TAKE_IF_INSIDE("ld.shared.u64", "+l");
  }
}
#undef CK_TAKE_IF_INSIDE

/// The lower halves of two words, the first one lowest.
CK_DEVICE uint32 join_halves(uint32 low, uint32 high) { return __byte_perm(low, high, 0x5410); }

/// |x|. Of abs(x), where x is an int16 made wider, the compiler makes an operation of 16 bits,
/// which takes sm_100 and sm_120 many instructions.
CK_DEVICE int32 absolute_word(int32 x) {
  int32 y;
  asm("abs.s32 %0, %1;" : "=r"(y) : "r"(x));
  return y;
}

/// A barrier for the first `kCount` threads of a block, which are whole warps.
template <uint32 kCount>
CK_DEVICE void sync_first_threads() {
  asm volatile("bar.sync 1, %0;" ::"n"(kCount) : "memory");
}

/// A read of a word that blocks exchange, if it exists, and a write. They order no other word. The
/// read has no branch, so that many are in flight.
CK_DEVICE void load_relaxed_if(bool exists, const uint64* address, uint64& value) {
  asm volatile(
      "{\n"
      "  .reg .pred exists;\n"
      "  setp.ne.u32 exists, %2, 0;\n"
      "  @exists ld.relaxed.gpu.global.u64 %0, [%1];\n"
      "}"
      : "+l"(value)
      : "l"(address), "r"(static_cast<uint32>(exists)));
}
CK_DEVICE void store_relaxed(uint64* address, uint64 value) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(address), "l"(value));
}

/// Adds 1, by lane 0 of a warp; returns the value before. The lane is part of the addend: the
/// compiler adds up a uniform addend over the warp and shuffles the answer, and all that follows
/// would wait for that.
CK_DEVICE uint64 draw_relaxed(uint64* address) {
  uint64 before;
  asm volatile(
      "{\n"
      "  .reg .u32 lane;\n"
      "  .reg .u64 one;\n"
      "  mov.u32 lane, %%laneid;\n"
      "  add.u32 lane, lane, 1;\n"
      "  cvt.u64.u32 one, lane;\n"
      "  atom.relaxed.gpu.global.add.u64 %0, [%1], one;\n"
      "}"
      : "=l"(before)
      : "l"(address));
  return before;
}

/// Adds 1, or goes back to 0 from `limit`; returns the value before. Afterwards the thread can read
/// what the threads that counted before it wrote.
CK_DEVICE uint32 increment_acquire_release(uint32* address, uint32 limit) {
  uint32 before;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(address), "r"(limit)
               : "memory");
  return before;
}

/// A 16-bit float, given as its bits, as a float; and back, rounded to nearest, ties to even.
CK_DEVICE float half_to_float(uint16 bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
CK_DEVICE uint16 float_to_half(float x) {
  uint16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}

/// The sum of the products of four bytes each, and of a number.
CK_DEVICE int32 dot_product_signed(uint32 a, uint32 b, int32 sum) {
  int32 value;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(value) : "r"(a), "r"(b), "r"(sum));
  return value;
}
CK_DEVICE int32 dot_product_unsigned(uint32 a, uint32 b, int32 sum) {
  int32 value;
  asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(value) : "r"(a), "r"(b), "r"(sum));
  return value;
}

/// The sum of the products of a word's halves with the two lower bytes of another, and of a number.
CK_DEVICE int32 dot_product_of_halves(uint32 halves, uint32 bytes, int32 sum) {
  int32 value;
  asm("dp2a.lo.u32.u32 %0, %1, %2, %3;" : "=r"(value) : "r"(halves), "r"(bytes), "r"(sum));
  return value;
}

/// The lane, which is read anew wherever it is used: then it takes no register in between.
CK_DEVICE uint32 read_lane() {
  uint32 lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

/// x * y, which no addition is contracted with.
CK_DEVICE float rounded_product(float x, float y) { return __fmul_rn(x, y); }
CK_DEVICE double rounded_product(double x, double y) { return __dmul_rn(x, y); }

/// 2^x to two units in the last place; subnormal arguments and results count as zero.
CK_DEVICE float exp2_approximate(float x) {
  float value;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(value) : "f"(x));
  return value;
}

/// x * y + z, clamped to [0, 1]; 0 for NaN.
CK_DEVICE float saturated_fma(float x, float y, float z) {
  float value;
  asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(value) : "f"(x), "f"(y), "f"(z));
  return value;
}

}  // namespace ck
