// Matrix instructions (9.7.14). The lanes of a warp hold fragments of matrices; the lane that comes
// last computes for all of them.
//
// Sums of integers are exact modulo 2^32, or exact and then clamped (.satfinite). Products of
// floats up to 32 bits are exact. They are added to c in double precision, by ascending k, and the
// sum is rounded once to d's type. The manual asks for at least d's precision and leaves the order
// open. f64 is a chain of fused multiply-adds by ascending k, from c on. Subnormals count.
#pragma once

#include "ptx.hpp"
#include "small_floats.hpp"

namespace ck_ptx {
namespace matrix {

// Types of elements: how many bits they have, the factor in a word, and the word of a sum.

template <int count>
struct Real {
  using Factor = double;
  using Sum = double;
  static constexpr int bits = count;
};
struct f16 : Real<16> {
  static Factor value(u32 word) { return to_f32(ck_ptx::f16{static_cast<u16>(word)}); }
  static u32 word(Sum sum) { return rounded<ck_ptx::f16, rn>(sum).bits; }
};
struct bf16 : Real<16> {
  static Factor value(u32 word) { return bit_cast<float>(word << 16); }
};
struct tf32 : Real<32> {  // the manual does not say what the lower bits do; processors ignore them
  static Factor value(u32 word) { return bit_cast<float>(word & 0xffffe000u); }
};
struct e4m3 : Real<8> {
  static Factor value(u32 word) { return value_of<e4m3x2>(word); }
};
struct e5m2 : Real<8> {
  static Factor value(u32 word) { return value_of<e5m2x2>(word); }
};
struct f32 : Real<32> {
  static Factor value(u32 word) { return bit_cast<float>(word); }
  static u32 word(Sum sum) {
    return sum == sum ? bit_cast<u32>(static_cast<float>(sum)) : 0x7fffffffu;
  }
};
struct f64 : Real<64> {
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

// Kinds of products. `step` adds a product to a sum.

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

// Layouts: which elements of a matrix each lane has.

/// The row and the column of an element, and which of the warp's products has it.
struct Coordinates {
  int row, column, product;
};
enum Part { part_a, part_b, part_c };
constexpr int kLanes = 32;

/// How many elements of a type a register of 32 or 64 bits has.
template <typename E>
constexpr int per_register() {
  return E::bits == 64 ? 1 : 32 / E::bits;
}

/// 9.7.14.5.2 to 9.7.14.5.15, all shapes but m8n8k4 of f16. A matrix consists of tiles of 8 rows
/// (of b: columns) by one register of each lane in a group of four, of c by two columns of each, of
/// whatever type; groupID = laneid / 4 is the row in the tile. A lane's registers are those of the
/// tiles, first down, then to the right (of b the other way round).
/// wmma, whose layout the manual leaves open (9.7.14.4.1), has the same; more registers repeat it.
template <int rows, int columns, int depth>
struct Tiles {
  static constexpr int m = rows, n = columns, k = depth, products = 1;

  template <typename E, Part part>
  static constexpr int registers() {
    const int elements = part == part_a ? m * k : part == part_b ? n * k : m * n;
    return elements / kLanes / per_register<E>();
  }
  template <typename E, Part part>
  static Coordinates coordinates(int lane, int i) {
    constexpr int per = part == part_c ? 2 : per_register<E>();
    constexpr int side = part == part_b ? k / per / 4 : m / 8;  // tiles from top to bottom
    const int tile = i / per, group = lane / 4, member = lane % 4 * per + i % per;
    const int down = tile % side, right = tile / side;
    return part == part_b ? Coordinates{down * 4 * per + member, right * 8 + group, 0}
                          : Coordinates{down * 8 + group, right * 4 * per + member, 0};
  }
};

enum Major { row, col };

/// 9.7.14.5.1: m8n8k4 of f16. Lanes 4 q to 4 q + 3 and those 16 higher make the product q.
template <Major a_major, Major b_major>
struct Quads {
  static constexpr int m = 8, n = 8, k = 4, products = 4;

  template <typename E, Part part>
  static constexpr int registers() {
    return part == part_c ? E::bits / 4 : 2;
  }
  template <typename E, Part part>
  static Coordinates coordinates(int lane, int i) {
    const int high = lane / 16 * 4, q = lane / 4 % 4;
    if (part == part_a) {
      return a_major == row ? Coordinates{lane % 4 + high, i, q}
                            : Coordinates{i + high, lane % 4, q};
    }
    if (part == part_b) {
      return b_major == row ? Coordinates{lane % 4, i + high, q}
                            : Coordinates{i, lane % 4 + high, q};
    }
    return E::bits == 16
               ? Coordinates{lane % 4 + high, i, q}
               : Coordinates{(lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1), q};
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
  Fragment d, a, b, c;  // of a move: what it loads or stores, as d alone
  char* address;
  int stride;  // elements in memory from a row (or column) to the next one
  const ck_sim::Site* site;
  // In checked launches: what is undefined of what the lane gives, then of what it gets, and a bit
  // for each register with undefined bytes: those of a, b and c together, then those of d.
  u64 undefined, registers;
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

CK_INLINE Operands& operands_of(void* const* lanes, int lane) {
  return *static_cast<Operands*>(lanes[lane]);
}

// Undefined values. The product of a row and a column is undefined if one of their elements is.

/// Has the warp carry out an instruction that hands on undefined values by itself.
CK_INLINE void together(Operands& mine, ck_sim_warp_function function) {
#ifdef CK_SIM_CHECKED
  const ck_sim::View* const me = ck_sim_current;
  mine.undefined |= taken(me);
  mine.registers |= me->undefined_behind;
#endif
  ck_sim_warp(0xffffffffu, &mine, function, mine.site);
#ifdef CK_SIM_CHECKED
  me->undefined = mine.undefined;
  me->undefined_behind = mine.registers;
#endif
}

#ifdef CK_SIM_CHECKED
/// Calls `note(coordinates)` for undefined elements of a fragment with registers from `first` on.
template <typename S, typename E, Part part, typename Note>
static void each_undefined(void* const* lanes, int first, Note note) {
  for (int lane = 0; lane < kLanes; ++lane) {
    const u64 registers = operands_of(lanes, lane).registers >> first;
    for (int i = 0; i < S::template registers<E, part>() * per_register<E>(); ++i) {
      if ((registers >> i / per_register<E>() & 1) != 0)
        note(S::template coordinates<E, part>(lane, i));
    }
  }
}
template <typename S, typename A, typename B, typename C, typename D>
static void share_products(void* const* lanes) {
  u64 undefined = 0;
  for (int lane = 0; lane < kLanes; ++lane) undefined |= operands_of(lanes, lane).undefined;
  if (!has_bytes(undefined)) return;
  bool rows[S::products][S::m] = {}, columns[S::products][S::n] = {};
  bool sums[S::products][S::m][S::n] = {};
  const int b = operands_of(lanes, 0).a.count, c = b + operands_of(lanes, 0).b.count;
  each_undefined<S, A, part_a>(lanes, 0, [&](Coordinates at) { rows[at.product][at.row] = true; });
  each_undefined<S, B, part_b>(lanes, b,
                               [&](Coordinates at) { columns[at.product][at.column] = true; });
  each_undefined<S, C, part_c>(lanes, c,
                               [&](Coordinates at) { sums[at.product][at.row][at.column] = true; });
  for (int lane = 0; lane < kLanes; ++lane) {
    u64 registers = 0;
    for (int i = 0; i < S::template registers<D, part_c>() * per_register<D>(); ++i) {
      const Coordinates at = S::template coordinates<D, part_c>(lane, i);
      const bool is = rows[at.product][at.row] || columns[at.product][at.column] ||
                      sums[at.product][at.row][at.column];
      registers |= static_cast<u64>(is) << i / per_register<D>();
    }
    operands_of(lanes, lane).undefined = registers == 0 ? 0 : whole(undefined);
    operands_of(lanes, lane).registers = registers;
  }
}
#endif

/// Collects the matrices of all products from the lanes' fragments; b is transposed.
template <typename S, typename E, Part part, typename Matrices>
static void collect(void* const* lanes, Fragment Operands::* from, Matrices& to) {
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < S::template registers<E, part>() * per_register<E>(); ++i) {
      const Coordinates at = S::template coordinates<E, part>(lane, i);
      const int line = part == part_b ? at.column : at.row;
      const int k = part == part_b ? at.row : at.column;
      to[at.product][line][k] = element<E>(operands_of(lanes, lane).*from, i);
    }
  }
}

/// d = a b + c of a warp's fragments.
template <typename S, typename A, typename B, typename C, typename D, typename Step, bool clamps>
static void multiply_warp(void* const* lanes, unsigned mask) {
  all_lanes(mask, operands_of(lanes, __builtin_ctz(mask)).site);
  using Sum = typename D::Sum;
  typename A::Factor a[S::products][S::m][S::k];
  typename B::Factor b[S::products][S::n][S::k];
  Sum d[S::products][S::m][S::n];
  collect<S, A, part_a>(lanes, &Operands::a, a);
  collect<S, B, part_b>(lanes, &Operands::b, b);
  collect<S, C, part_c>(lanes, &Operands::c, d);
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
    const Operands& of = operands_of(lanes, lane);
    for (int i = 0; i < S::template registers<D, part_c>() * per_register<D>(); ++i) {
      const Coordinates at = S::template coordinates<D, part_c>(lane, i);
      set_element<D>(of.d, i, d[at.product][at.row][at.column]);
    }
  }
#ifdef CK_SIM_CHECKED
  share_products<S, A, B, C, D>(lanes);
#endif
}
template <typename S, typename A, typename B, typename C, typename D, typename Step = Products,
          bool clamps = false, typename W, typename X, typename Y, typename Z>
CK_OUTLINE void multiply(const W& d, const X& a, const Y& b, const Z& c, const ck_sim::Site* site) {
  Operands mine = {fragment(d), fragment(a), fragment(b), fragment(c), nullptr, 0, site, 0, 0};
  check_size(mine.a, S::template registers<A, part_a>(), site);
  check_size(mine.b, S::template registers<B, part_b>(), site);
  check_size(mine.c, S::template registers<C, part_c>(), site);
  check_size(mine.d, S::template registers<D, part_c>(), site);
  together(mine, multiply_warp<S, A, B, C, D, Step, clamps>);
}

// Matrices of 8 by 8 elements of 16 bits (9.7.14.5.16 to 9.7.14.5.18). Lane l has two neighbours of
// each matrix: elements 2 (l % 4) and the next one of row l / 4; with .trans, of the transpose.

constexpr int kSide = 8, kRowBytes = 16;

/// The i-th element of 16 bits in a fragment.
CK_INLINE char* half_at(const Fragment& of, int i) { return static_cast<char*>(of.words) + 2 * i; }

#ifdef CK_SIM_CHECKED
/// Hands undefined bytes of rows to the lanes that get them, as bytes of one vector.
template <int count, bool transposed>
static void share_rows(void* const* lanes) {
  u64 of_rows[kLanes], any = 0;
  for (int lane = 0; lane < kLanes; ++lane)
    any |= of_rows[lane] = operands_of(lanes, lane).undefined;
  for (int lane = 0; has_bytes(any) && lane < kLanes; ++lane) {
    u64 undefined = 0;
    for (int i = 0; i < 2 * count; ++i) {
      const int first = lane / 4, second = lane % 4 * 2 + i % 2;
      const int row = transposed ? second : first, column = transposed ? first : second;
      const u64 part = part_of(of_rows[i / 2 * kSide + row], static_cast<u32>(2 * column), 0x3);
      undefined |= has_bytes(part) ? placed_at(part, static_cast<u32>(2 * i), 0x3) : 0;
    }
    operands_of(lanes, lane).undefined = undefined;
  }
}
/// Hands each lane the undefined bytes that its row gets from registers.
template <int count, bool transposed>
static void share_registers(void* const* lanes) {
  u64 undefined = 0, registers[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    undefined |= operands_of(lanes, lane).undefined;
    registers[lane] = operands_of(lanes, lane).registers;
  }
  for (int lane = 0; has_bytes(undefined) && lane < count * kSide; ++lane) {
    u64 bytes = 0;
    for (int column = 0; column < kSide; ++column) {
      const int row = lane % kSide;
      const int from = transposed ? column * 4 + row / 2 : row * 4 + column / 2;
      bytes |= (registers[from] >> lane / kSide & 1) != 0 ? u64{0x3} << 2 * column : 0;
    }
    operands_of(lanes, lane).undefined =
        bytes == 0 ? 0 : (undefined & ~ck_sim::kUndefinedBytes) | bytes;
  }
}
#endif

template <int count, bool transposed, bool stores>
static void move_matrices(void* const* lanes, unsigned mask) {
  all_lanes(mask, operands_of(lanes, __builtin_ctz(mask)).site);
  for (int matrix = 0; matrix < count; ++matrix) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const Operands& of = operands_of(lanes, lane);
      for (int e = 0; e < 2; ++e) {
        const int first = lane / 4, second = lane % 4 * 2 + e;
        const int row = transposed ? second : first, column = transposed ? first : second;
        char* const memory = operands_of(lanes, matrix * kSide + row).address + 2 * column;
        if (stores) {
          memcpy(memory, half_at(of.d, 2 * matrix + e), 2);
        } else {
          memcpy(half_at(of.d, 2 * matrix + e), memory, 2);
        }
      }
    }
  }
#ifdef CK_SIM_CHECKED
  stores ? share_registers<count, transposed>(lanes) : share_rows<count, transposed>(lanes);
#endif
}
template <int count, bool transposed, bool stores>
CK_OUTLINE void move_rows(Fragment own, char* address, const ck_sim::View* me,
                          const ck_sim::Site* site) {
  check_size(own, count, site);
  Operands mine = {own, {}, {}, {}, address, 0, site, 0, 0};
  const bool has_row = me->lane < static_cast<unsigned>(count * kSide);
  alignas(kRowBytes) char copy[kRowBytes];
  if (ck_sim::kChecked) {
    // Each lane accesses its row itself, before the warp meets or afterwards; the warp has a copy.
    mine.address = copy;
    if (has_row && !stores) {
      memcpy(copy, to_read<b128>(address, site), kRowBytes);
    }
  } else if (has_row && (reinterpret_cast<u64>(address) & (kRowBytes - 1)) != 0) {
    ck_sim_stop("misaligned", "a row of a matrix must start at a multiple of 16 bytes", site);
  }
  together(mine, move_matrices<count, transposed, stores>);
#ifdef CK_SIM_CHECKED
  if (has_row && stores) {
    memcpy(to_write<b128>(address, copy, site, mine.undefined), copy, kRowBytes);
  }
#endif
}

static void transpose_warp(void* const* lanes, unsigned mask) {
  all_lanes(mask, operands_of(lanes, __builtin_ctz(mask)).site);
  for (int i = 0; i < kSide * kSide; ++i) {
    const int other = i % kSide * kSide + i / kSide;
    memcpy(half_at(operands_of(lanes, other / 2).d, other % 2),
           half_at(operands_of(lanes, i / 2).a, i % 2), 2);
  }
}
CK_OUTLINE u32 transpose(u32 a, const ck_sim::Site* site) {
  u32 d;
  Operands mine = {fragment(d), fragment(a), {}, {}, nullptr, 0, site, 0, 0};
  ck_sim_warp(0xffffffffu, &mine, transpose_warp, site);
  return d;
}

// wmma.load and wmma.store (9.7.14.4.3, 9.7.14.4.4)

/// Elements of a register that are apart in memory are moved one by one.
template <typename S, typename E, Part part, Major major, bool stores>
static void move_fragment(Operands& of, int lane) {
  constexpr int per = per_register<E>(), unit = E::bits < 8 ? per : 1;
  constexpr int bytes = unit * E::bits / 8, own = S::template registers<E, part>() * per;
  char* const words = static_cast<char*>(of.d.words);
  for (int i = 0; i < (stores ? own : of.d.count * per); i += unit) {
    const Coordinates at = S::template coordinates<E, part>(lane, i % own);
    const s64 offset = major == row ? static_cast<s64>(at.row) * of.stride + at.column
                                    : static_cast<s64>(at.column) * of.stride + at.row;
    char* const memory = of.address + offset * E::bits / 8;
    char* const word = words + i / unit * bytes;
    if (stores) {
#ifdef CK_SIM_CHECKED
      u64 undefined[bytes];
      for (u64& of_byte : undefined) of_byte = of_register(of.undefined, of.registers, i / per);
      memcpy(to_write<u8>(memory, word, of.site, undefined), word, bytes);
#else
      memcpy(to_write<u8>(memory, word, of.site), word, bytes);
#endif
    } else {
      memcpy(word, to_read<u8>(memory, of.site), bytes);
#ifdef CK_SIM_CHECKED
      const u64 undefined = taken(ck_sim_current);
      of.undefined |= undefined;
      of.registers |= static_cast<u64>(has_bytes(undefined)) << i / per;
#endif
    }
  }
}
template <typename S, typename E, Part part, Major major, bool stores>
static void move_fragments(void* const* lanes, unsigned mask) {
  all_lanes(mask, operands_of(lanes, __builtin_ctz(mask)).site);
  for (int lane = 0; !ck_sim::kChecked && lane < kLanes; ++lane) {
    move_fragment<S, E, part, major, stores>(operands_of(lanes, lane), lane);
  }
}
/// In checked launches each lane moves its own elements, before the warp meets or afterwards.
template <typename S, typename E, Part part, Major major, bool stores>
CK_OUTLINE void move(Fragment own, char* address, int stride, const ck_sim::Site* site) {
  check_size(own, S::template registers<E, part>(), site);
  Operands mine = {own, {}, {}, {}, address, stride, site, 0, 0};
  const int lane = static_cast<int>(ck_sim_current->lane);
  if (ck_sim::kChecked && !stores) {
    move_fragment<S, E, part, major, stores>(mine, lane);
  }
  together(mine, move_fragments<S, E, part, major, stores>);
  if (ck_sim::kChecked && stores) {
    move_fragment<S, E, part, major, stores>(mine, lane);
  }
}
/// The default stride is the matrix's own width (or height).
template <typename S, Part part, Major major>
constexpr int default_stride() {
  constexpr int height = part == part_b ? S::k : S::m, width = part == part_a ? S::k : S::n;
  return major == row ? width : height;
}
template <typename S, typename E, Part part, Major major, typename W>
CK_INLINE void load(const W& d, char* address, const ck_sim::Site* site,
                    int stride = default_stride<S, part, major>()) {
  move<S, E, part, major, false>(fragment(d), address, stride, site);
}
template <typename S, typename E, Major major, typename W>
CK_INLINE void store(const W& a, char* address, const ck_sim::Site* site,
                     int stride = default_stride<S, part_c, major>()) {
  move<S, E, part_c, major, true>(fragment(a), address, stride, site);
}

}  // namespace matrix
}  // namespace ck_ptx
