// Matrix instructions (9.7.14): the lanes of a warp hold fragments of matrices, and the one that
// comes last computes for all of them.
//
// Sums: integers are exact modulo 2^32, or exact and then clamped (.satfinite). Products of floats
// up to 32 bits are exact; they are added to c in double precision, by ascending k, and the sum is
// rounded once to d's type. The manual asks for at least d's precision and leaves the order open.
// f64 is a chain of fused multiply-adds by ascending k, which starts with c. Subnormals count.
#pragma once

#include "ptx.hpp"

namespace ck_ptx {
namespace matrix {

// Elements: how many bits; what a word holds, as a factor; and a sum as a word.

/// A float of few bits: sign, exponent, mantissa. `ieee`: the largest exponent is of inf and NaN,
/// else only the largest word is NaN.
template <int exponent_bits, int mantissa_bits, bool ieee>
static inline double small_float(u32 word) {
  constexpr int bias = (1 << (exponent_bits - 1)) - 1, last = (1 << exponent_bits) - 1;
  const int exponent = static_cast<int>(word >> mantissa_bits) & last;
  const int mantissa = static_cast<int>(word & ((1u << mantissa_bits) - 1));
  u64 bits;
  if (ieee ? exponent == last : exponent == last && mantissa == (1 << mantissa_bits) - 1) {
    bits = 0x7ffull << 52 | static_cast<u64>(ieee ? mantissa : 1) << 51;
    bits |= static_cast<u64>(mantissa != 0) << 51;
  } else if (exponent != 0) {
    bits = static_cast<u64>(exponent - bias + 1023) << 52 | static_cast<u64>(mantissa)
                                                                << (52 - mantissa_bits);
  } else {  // exact: a small integer times a power of two
    bits = bit_cast<u64>(mantissa *
                         bit_cast<double>(static_cast<u64>(1024 - bias - mantissa_bits) << 52));
  }
  return bit_cast<double>(bits | static_cast<u64>(word >> (exponent_bits + mantissa_bits) & 1)
                                     << 63);
}

/// A double as f16, rounded once to nearest, ties to even.
static inline u32 half_of(double value) {
  const u64 bits = bit_cast<u64>(value);
  const u32 sign = static_cast<u32>(bits >> 48) & 0x8000;
  const double size = bit_cast<double>(bits & ~(1ull << 63));
  if (!(size < 65520.0)) return size >= 65520.0 ? sign | 0x7c00 : 0x7fff;
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  const int lowest = exponent < -14 ? -24 : exponent - 10;  // of the result's mantissa
  // Added to a power of two so large that its last bit is the result's.
  const double large = bit_cast<double>(static_cast<u64>(lowest + 52 + 1023) << 52);
  const u32 units = static_cast<u32>(bit_cast<u64>(size + large) - bit_cast<u64>(large));
  return sign | (units + (exponent < -14 ? 0 : static_cast<u32>(exponent + 14) << 10));
}

struct f16 {
  using Factor = double;
  using Sum = double;
  static constexpr int bits = 16;
  static Factor value(u32 word) { return small_float<5, 10, true>(word); }
  static u32 word(Sum sum) { return half_of(sum); }
};
struct bf16 {
  using Factor = double;
  using Sum = double;
  static constexpr int bits = 16;
  static Factor value(u32 word) { return bit_cast<float>(word << 16); }
};
struct tf32 {  // the manual leaves open what the lower bits do; processors ignore them
  using Factor = double;
  using Sum = double;
  static constexpr int bits = 32;
  static Factor value(u32 word) { return bit_cast<float>(word & 0xffffe000u); }
};
struct e4m3 {
  using Factor = double;
  using Sum = double;
  static constexpr int bits = 8;
  static Factor value(u32 word) { return small_float<4, 3, false>(word); }
};
struct e5m2 {
  using Factor = double;
  using Sum = double;
  static constexpr int bits = 8;
  static Factor value(u32 word) { return small_float<5, 2, true>(word); }
};
struct f32 {
  using Factor = double;
  using Sum = double;
  static constexpr int bits = 32;
  static Factor value(u32 word) { return bit_cast<float>(word); }
  static u32 word(Sum sum) {
    return sum == sum ? bit_cast<u32>(static_cast<float>(sum)) : 0x7fffffffu;
  }
};
struct f64 {
  using Factor = double;
  using Sum = double;
  static constexpr int bits = 64;
  static Factor value(u64 word) { return bit_cast<double>(word); }
  static u64 word(Sum sum) { return bit_cast<u64>(sum); }
};
template <int count, bool is_signed>
struct Integer {
  using Factor = int32_t;
  using Sum = s64;
  static constexpr int bits = count;
  static Factor value(u32 word) {
    const u32 high = word << (32 - count);
    return is_signed ? static_cast<Factor>(high) >> (32 - count)
                     : static_cast<Factor>(high >> (32 - count));
  }
  static u32 word(Sum sum) { return static_cast<u32>(sum); }
};
struct s4 : Integer<4, true> {};
struct u4 : Integer<4, false> {};
struct s8 : Integer<8, true> {};
struct u8 : Integer<8, false> {};
struct s32 : Integer<32, true> {};
struct b1 : Integer<1, false> {};

// What is added up. `step` adds a product to a sum.

struct Products {
  static double step(double sum, double a, double b) { return sum + a * b; }
  static s64 step(s64 sum, int a, int b) { return sum + a * b; }
};
struct Fused {
  static double step(double sum, double a, double b) { return __builtin_fma(a, b, sum); }
};
struct Both {  // .and.popc of b1
  static s64 step(s64 sum, int a, int b) { return sum + (a & b); }
};
struct Differ {  // .xor.popc of b1
  static s64 step(s64 sum, int a, int b) { return sum + (a ^ b); }
};

// Layouts. `Place`: the row and column of an element, and which of the warp's products has it.

struct Place {
  int row, column, product;
};
constexpr int kLanes = 32;

/// The element type's elements in a register of 32 bits, or of 64.
template <typename E>
constexpr int per_register() {
  return E::bits == 64 ? 1 : 32 / E::bits;
}

/// 9.7.14.5.2 to 9.7.14.5.15, all shapes but m8n8k4 of f16. A matrix consists of tiles of 8 rows
/// (of b: columns) by one register of each lane in a group of four; groupID = laneid / 4 is the row
/// in the tile. A lane's registers are those of the tiles, first down, then to the right (of b the
/// other way round).
/// wmma, whose layout the manual leaves open (9.7.14.4.1), has the same; registers that it has
/// beyond these repeat them.
template <int rows, int columns, int depth>
struct Tiles {
  static constexpr int m = rows, n = columns, k = depth, products = 1;

  template <typename E>
  static constexpr int registers_of_a() {
    return m * k / kLanes / per_register<E>();
  }
  template <typename E>
  static constexpr int registers_of_b() {
    return n * k / kLanes / per_register<E>();
  }
  template <typename E>
  static constexpr int registers_of_c() {
    return m * n / kLanes / per_register<E>();
  }
  template <typename E>
  static Place of_a(int lane, int i) {
    constexpr int per = per_register<E>(), down = m / 8;
    const int tile = i / per;
    return {tile % down * 8 + lane / 4, tile / down * 4 * per + lane % 4 * per + i % per, 0};
  }
  template <typename E>
  static Place of_b(int lane, int i) {
    constexpr int per = per_register<E>(), down = k / (4 * per);
    const int tile = i / per;
    return {tile % down * 4 * per + lane % 4 * per + i % per, tile / down * 8 + lane / 4, 0};
  }
  template <typename E>
  static Place of_c(int lane, int i) {  // two columns of a tile, of whatever type
    const int tile = i / 2, down = m / 8;
    return {tile % down * 8 + lane / 4, tile / down * 8 + lane % 4 * 2 + i % 2, 0};
  }
};

enum Major { row, col };

/// 9.7.14.5.1: m8n8k4 of f16. Lanes 4 q to 4 q + 3 and those 16 higher make the product q.
template <Major a_major, Major b_major>
struct Quads {
  static constexpr int m = 8, n = 8, k = 4, products = 4;

  template <typename E>
  static constexpr int registers_of_a() {
    return 2;
  }
  template <typename E>
  static constexpr int registers_of_b() {
    return 2;
  }
  template <typename E>
  static constexpr int registers_of_c() {
    return E::bits / 4;
  }
  template <typename E>
  static Place of_a(int lane, int i) {
    const int high = lane / 16 * 4, q = lane / 4 % 4;
    return a_major == row ? Place{lane % 4 + high, i, q} : Place{i + high, lane % 4, q};
  }
  template <typename E>
  static Place of_b(int lane, int i) {
    const int high = lane / 16 * 4, q = lane / 4 % 4;
    return b_major == row ? Place{lane % 4, i + high, q} : Place{i, lane % 4 + high, q};
  }
  template <typename E>
  static Place of_c(int lane, int i) {
    const int high = lane / 16 * 4, q = lane / 4 % 4;
    return E::bits == 16 ? Place{lane % 4 + high, i, q}
                         : Place{(lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1), q};
  }
};

struct m8n8k4 : Tiles<8, 8, 4> {};
struct m8n8k16 : Tiles<8, 8, 16> {};
struct m8n8k32 : Tiles<8, 8, 32> {};
struct m8n8k128 : Tiles<8, 8, 128> {};
struct m16n8k4 : Tiles<16, 8, 4> {};
struct m16n8k8 : Tiles<16, 8, 8> {};
struct m16n8k16 : Tiles<16, 8, 16> {};
struct m16n8k32 : Tiles<16, 8, 32> {};
struct m16n8k64 : Tiles<16, 8, 64> {};
struct m16n8k128 : Tiles<16, 8, 128> {};
struct m16n8k256 : Tiles<16, 8, 256> {};
struct m16n16k16 : Tiles<16, 16, 16> {};
struct m8n32k16 : Tiles<8, 32, 16> {};
struct m32n8k16 : Tiles<32, 8, 16> {};
struct m16n16k8 : Tiles<16, 16, 8> {};

// The warp

/// A lane's registers.
struct Fragment {
  void* words;
  int count;
};
// A fragment of one register may stand without braces.
template <typename T, int n>
CK_INLINE Fragment fragment(const T (&registers)[n]) {
  return {const_cast<T*>(registers), n};
}
template <typename T>
CK_INLINE Fragment fragment(const T& only) {
  return {const_cast<T*>(&only), 1};
}

/// What a lane gives.
struct Operands {
  Fragment d, a, b, c;
  char* address;
  int stride;  // elements in memory from a row (or column) to the next one
  const ck_sim::Site* site;
};

template <typename E>
static inline auto element(const Fragment& from, int i) {
  constexpr int per = per_register<E>();
  if constexpr (E::bits == 64) {
    return E::value(static_cast<const u64*>(from.words)[i]);
  } else {
    const u32 word = static_cast<const u32*>(from.words)[i / per];
    if constexpr (E::bits == 32) {
      return E::value(word);
    } else {
      return E::value(word >> i % per * E::bits & ((1u << E::bits) - 1));
    }
  }
}
template <typename E, typename Sum>
static inline void set_element(const Fragment& of, int i, Sum sum) {
  constexpr int per = per_register<E>();
  if constexpr (E::bits == 64) {
    static_cast<u64*>(of.words)[i] = E::word(sum);
  } else {
    u32* const word = static_cast<u32*>(of.words) + i / per;
    const u32 rest = i % per == 0 ? 0 : *word;
    *word = rest | E::word(sum) << i % per * E::bits;
  }
}

CK_INLINE void check_size(const Fragment& one, int registers, const ck_sim::Site* site) {
  if (one.count < registers) {
    ck_sim_stop("trap", "a fragment must have the registers that its shape asks for", site);
  }
}
static inline void all_lanes(unsigned mask, const ck_sim::Site* site) {
  if (mask != 0xffffffffu) {
    ck_sim_stop("barrier_divergence", "all 32 lanes of a warp must execute a matrix instruction",
                site);
  }
}

static inline const Operands& given(void* const* lanes, int lane) {
  return *static_cast<const Operands*>(lanes[lane]);
}

/// d = a b + c of a warp's fragments.
template <typename S, typename A, typename B, typename C, typename D, typename Step, bool clamps>
static void multiply_warp(void* const* lanes, unsigned mask) {
  all_lanes(mask, given(lanes, __builtin_ctz(mask)).site);
  using Sum = typename D::Sum;
  typename A::Factor a[S::products][S::m][S::k];
  typename B::Factor b[S::products][S::n][S::k];
  Sum d[S::products][S::m][S::n];
  for (int lane = 0; lane < kLanes; ++lane) {
    const Operands& of = given(lanes, lane);
    for (int i = 0; i < S::template registers_of_a<A>() * per_register<A>(); ++i) {
      const Place at = S::template of_a<A>(lane, i);
      a[at.product][at.row][at.column] = element<A>(of.a, i);
    }
    for (int i = 0; i < S::template registers_of_b<B>() * per_register<B>(); ++i) {
      const Place at = S::template of_b<B>(lane, i);
      b[at.product][at.column][at.row] = element<B>(of.b, i);
    }
    for (int i = 0; i < S::template registers_of_c<C>() * per_register<C>(); ++i) {
      const Place at = S::template of_c<C>(lane, i);
      d[at.product][at.row][at.column] = element<C>(of.c, i);
    }
  }
  for (int q = 0; q < S::products; ++q) {
    for (int i = 0; i < S::m; ++i) {
      for (int j = 0; j < S::n; ++j) {
        Sum sum = d[q][i][j];
        for (int k = 0; k < S::k; ++k) {
          sum = Step::step(sum, a[q][i][k], b[q][j][k]);
        }
        if (clamps) {
          const Sum largest = static_cast<Sum>(0x7fffffff), smallest = -largest - 1;
          sum = sum > largest ? largest : sum < smallest ? smallest : sum;
        }
        d[q][i][j] = sum;
      }
    }
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    const Operands& of = given(lanes, lane);
    for (int i = 0; i < S::template registers_of_c<D>() * per_register<D>(); ++i) {
      const Place at = S::template of_c<D>(lane, i);
      set_element<D>(of.d, i, d[at.product][at.row][at.column]);
    }
  }
}
template <typename S, typename A, typename B, typename C, typename D, typename Step = Products,
          bool clamps = false>
CK_INLINE void multiply(Fragment d, Fragment a, Fragment b, Fragment c, const ck_sim::Site* site) {
  check_size(a, S::template registers_of_a<A>(), site);
  check_size(b, S::template registers_of_b<B>(), site);
  check_size(c, S::template registers_of_c<C>(), site);
  check_size(d, S::template registers_of_c<D>(), site);
  Operands mine = {d, a, b, c, nullptr, 0, site};
  ck_sim_warp(0xffffffffu, &mine, multiply_warp<S, A, B, C, D, Step, clamps>, site);
}

// Rows of 8 by 8 matrices of 16 bits (9.7.14.5.16 to 9.7.14.5.18). Lane l has, of each matrix, the
// elements 2 (l % 4) and the next one of row l / 4; of its transpose with .trans.

constexpr int kSide = 8, kRowBytes = 16;

static inline int fragment_offset(int lane, int element, bool transposed) {
  const int first = lane / 4, second = lane % 4 * 2 + element;
  return transposed ? second * kSide + first : first * kSide + second;
}

template <int count, bool transposed, bool stores>
static void move_matrices(void* const* lanes, unsigned mask) {
  all_lanes(mask, given(lanes, __builtin_ctz(mask)).site);
  for (int matrix = 0; matrix < count; ++matrix) {
    u16 values[kSide * kSide];
    for (int i = 0; i < kSide; ++i) {
      char* const address = given(lanes, matrix * kSide + i).address;
      if (!stores) {
        memcpy(values + i * kSide, address, kRowBytes);
      }
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      const Operands& of = given(lanes, lane);
      for (int e = 0; e < 2; ++e) {
        u16* const value = values + fragment_offset(lane, e, transposed);
        if (stores) {
          *value = static_cast<u16>(static_cast<const u32*>(of.a.words)[matrix] >> 16 * e);
        } else if (e == 0) {
          static_cast<u32*>(of.d.words)[matrix] = *value;
        } else {
          static_cast<u32*>(of.d.words)[matrix] |= static_cast<u32>(*value) << 16;
        }
      }
    }
    for (int i = 0; stores && i < kSide; ++i) {
      memcpy(given(lanes, matrix * kSide + i).address, values + i * kSide, kRowBytes);
    }
  }
}
template <int count, bool transposed, bool stores>
CK_INLINE void move_rows(Fragment d, Fragment a, char* address, const ck_sim::View* me,
                         const ck_sim::Site* site) {
  Operands mine = {d, a, {}, {}, address, 0, site};
  const bool has_row = me->lane < static_cast<unsigned>(count * kSide);
#ifdef CK_SIM_CHECKED
  // The lane itself accesses its row, before the warp meets or after; the warp has a copy.
  alignas(kRowBytes) char copy[kRowBytes];
  mine.address = copy;
  if (has_row && !stores) {
    memcpy(copy, to_read<b128>(address, site), kRowBytes);
  }
#else
  if (has_row && (reinterpret_cast<u64>(address) & (kRowBytes - 1)) != 0) {
    ck_sim_stop("misaligned", "a row of a matrix must start at a multiple of 16 bytes", site);
  }
#endif
  ck_sim_warp(0xffffffffu, &mine, move_matrices<count, transposed, stores>, site);
#ifdef CK_SIM_CHECKED
  if (has_row && stores) {
    memcpy(to_write<b128>(address, copy, site), copy, kRowBytes);
  }
#endif
}
template <int count, bool transposed>
CK_INLINE void load_matrices(Fragment d, char* address, const ck_sim::View* me,
                             const ck_sim::Site* site) {
  check_size(d, count, site);
  move_rows<count, transposed, false>(d, {}, address, me, site);
}
template <int count, bool transposed>
CK_INLINE void store_matrices(char* address, Fragment a, const ck_sim::View* me,
                              const ck_sim::Site* site) {
  check_size(a, count, site);
  move_rows<count, transposed, true>({}, a, address, me, site);
}

static void transpose_warp(void* const* lanes, unsigned mask) {
  all_lanes(mask, given(lanes, __builtin_ctz(mask)).site);
  u16 values[kSide * kSide];
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int e = 0; e < 2; ++e) {
      const u32 word = *static_cast<const u32*>(given(lanes, lane).a.words);
      values[fragment_offset(lane, e, false)] = static_cast<u16>(word >> 16 * e);
    }
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    const u32 low = values[fragment_offset(lane, 0, true)];
    const u32 high = values[fragment_offset(lane, 1, true)];
    *static_cast<u32*>(given(lanes, lane).d.words) = low | high << 16;
  }
}
CK_INLINE u32 transpose(u32 a, const ck_sim::Site* site) {
  u32 d;
  Operands mine = {fragment(d), fragment(a), {}, {}, nullptr, 0, site};
  ck_sim_warp(0xffffffffu, &mine, transpose_warp, site);
  return d;
}

// wmma.load and wmma.store (9.7.14.4.3, 9.7.14.4.4)

enum Part { part_a, part_b, part_c };

template <typename S, typename E, Part part>
static inline Place place(int lane, int i) {
  return part == part_a   ? S::template of_a<E>(lane, i)
         : part == part_b ? S::template of_b<E>(lane, i)
                          : S::template of_c<E>(lane, i);
}
template <typename S, typename E, Part part>
constexpr int registers() {
  return part == part_a   ? S::template registers_of_a<E>()
         : part == part_b ? S::template registers_of_b<E>()
                          : S::template registers_of_c<E>();
}

/// Elements that a register holds but memory has apart from each other are moved one by one.
template <typename S, typename E, Part part, Major major, bool stores>
static void move_fragment(const Operands& of, int lane) {
  constexpr int per = per_register<E>(), unit = E::bits < 8 ? per : 1;
  constexpr int bytes = unit * E::bits / 8, own = registers<S, E, part>() * per;
  char* const words = static_cast<char*>(stores ? of.a.words : of.d.words);
  for (int i = 0; i < (stores ? own : of.d.count * per); i += unit) {
    const Place at = place<S, E, part>(lane, i % own);
    const s64 offset = major == row ? static_cast<s64>(at.row) * of.stride + at.column
                                    : static_cast<s64>(at.column) * of.stride + at.row;
    char* const memory = of.address + offset * E::bits / 8;
    char* const word = words + i / unit * bytes;
    if (stores) {
      memcpy(to_write<u8>(memory, word, of.site), word, bytes);
    } else {
      memcpy(word, to_read<u8>(memory, of.site), bytes);
    }
  }
}
template <typename S, typename E, Part part, Major major, bool stores>
static void move_fragments(void* const* lanes, unsigned mask) {
  all_lanes(mask, given(lanes, __builtin_ctz(mask)).site);
#ifndef CK_SIM_CHECKED
  for (int lane = 0; lane < kLanes; ++lane) {
    move_fragment<S, E, part, major, stores>(given(lanes, lane), lane);
  }
#endif
}
/// In checked launches each lane moves its own, before the warp meets or after.
template <typename S, typename E, Part part, Major major, bool stores>
CK_INLINE void move(Operands mine) {
#ifdef CK_SIM_CHECKED
  const int lane = static_cast<int>(ck_sim_current->lane);
  if (!stores) {
    move_fragment<S, E, part, major, stores>(mine, lane);
  }
#endif
  ck_sim_warp(0xffffffffu, &mine, move_fragments<S, E, part, major, stores>, mine.site);
#ifdef CK_SIM_CHECKED
  if (stores) {
    move_fragment<S, E, part, major, stores>(mine, lane);
  }
#endif
}
/// The default stride is the matrix's own width (or height).
template <typename S, Part part, Major major>
constexpr int default_stride() {
  constexpr int height = part == part_b ? S::k : S::m, width = part == part_a ? S::k : S::n;
  return major == row ? width : height;
}
template <typename S, typename E, Part part, Major major>
CK_INLINE void load_fragment(Fragment d, char* address, int stride, const ck_sim::Site* site) {
  check_size(d, registers<S, E, part>(), site);
  move<S, E, part, major, false>({d, {}, {}, {}, address, stride, site});
}
template <typename S, typename E, Major major>
CK_INLINE void store_fragment(char* address, Fragment a, int stride, const ck_sim::Site* site) {
  check_size(a, registers<S, E, part_c>(), site);
  move<S, E, part_c, major, true>({{}, a, {}, {}, address, stride, site});
}

}  // namespace matrix
}  // namespace ck_ptx
