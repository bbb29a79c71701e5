// Kernels in the style of users: templates that use the headers of C++.
// clang-format off
//// traits(rng.random(64, np.float32), poison(64, np.float32), kernel="k<float>", block=64)
////     -> x, _: {1: x / 2}
#include <type_traits>
template <typename T>
__device__ std::enable_if_t<std::is_floating_point<T>::value, T> half(T v) { return v / 2; }
template <typename T>
__device__ typename std::enable_if<std::is_integral<T>::value, T>::type half(T v) { return v >> 1; }
template <typename T>
__global__ void k(const T* x, T* y) { y[threadIdx.x] = half(x[threadIdx.x]); }
//// traits_of_integers(ints(rng, 64), poison(64, np.int32), kernel="k<int>", block=64)
////     -> x, _: {1: np.abs(x) % 10}
#include <type_traits>
template <typename T>
__global__ void k(const T* x, T* y) {
  static_assert(std::is_same_v<std::remove_cv_t<const T>, T> && !std::is_const_v<T>);
  using Unsigned = std::make_unsigned_t<T>;
  using Wide = std::conditional_t<sizeof(T) < 8, long long, T>;
  Wide v = x[threadIdx.x];
  if constexpr (std::is_signed_v<T>) v = v < 0 ? -v : v;
  y[threadIdx.x] = static_cast<Unsigned>(v) % 10u;
}
//// limits_by_templates(rng.random((32, 8), np.float32), poison((32, 2), np.float32), kernel="k<float, 8>", block=32)
////     -> x, _: {1: np.stack([x.min(1), x.max(1)], 1)}
#include <limits>
template <typename T, int n>
__global__ void k(const T* x, T* y) {
  T low = std::numeric_limits<T>::max(), high = std::numeric_limits<T>::lowest();
  for (int i = 0; i < n; ++i) {
    const T v = x[n * threadIdx.x + i];
    low = v < low ? v : low;
    high = v > high ? v : high;
  }
  y[2 * threadIdx.x] = low;
  y[2 * threadIdx.x + 1] = std::numeric_limits<T>::has_infinity ? high : -std::numeric_limits<T>::infinity();
}
//// tuples(ints(rng, 64), poison(64, np.int32), block=64)
////     -> x, _: {1: x * 3 + 5 + (x > 0)}
#include <tuple>
__device__ std::tuple<int, int, bool> parts(int v) { return std::make_tuple(v * 3, 5, v > 0); }
extern "C" __global__ void k(const int* x, int* y) {
  auto [product, sum, positive] = parts(x[threadIdx.x]);
  int a, b;
  std::tie(a, b, std::ignore) = parts(x[threadIdx.x]);
  const auto all = std::make_tuple(product, sum, positive);
  static_assert(std::tuple_size<decltype(all)>::value == 3);
  y[threadIdx.x] = (a == product && b == sum) ? std::get<0>(all) + std::get<1>(all) + std::get<2>(all) : -1;
}
//// apply_and_sequences(ints(rng, 64), poison(64, np.int32), block=64)
////     -> x, _: {1: x + 2 * (x + 1) + 3 * (x + 2)}
#include <tuple>
#include <utility>
template <int... i>
__device__ int weighted(int v, std::integer_sequence<int, i...>) { return ((i * (v + i - 1)) + ... + 0); }
template <class... T>
__device__ int total(T... v) { return std::apply([](auto... each) { return (each + ...); }, std::tuple<T...>(v...)); }
extern "C" __global__ void k(const int* x, int* y) {
  const int v = x[threadIdx.x];
  y[threadIdx.x] = total(weighted(v, std::integer_sequence<int, 1, 2>()), 3 * v, 6);
}
//// small_arrays(ints(rng, (16, 8)), poison((16, 8), np.int32), block=16)
////     -> x, _: {1: np.sort(x, 1)}
#include <array>
#include <algorithm>
template <typename T, std::size_t n>
__device__ void sort(std::array<T, n>& items) {
  for (std::size_t i = 1; i < items.size(); ++i)
    for (std::size_t j = i; j > 0 && items[j] < items[j - 1]; --j) std::swap(items[j], items[j - 1]);
}
extern "C" __global__ void k(const int* x, int* y) {
  std::array<int, 8> items;
  std::copy_n(x + 8 * threadIdx.x, items.size(), items.begin());
  sort(items);
  for (const int& v : items) *(y + 8 * threadIdx.x + (&v - items.data())) = v;
}
//// arrays_by_value(rng.random((32, 3), np.float32), np.array((2, 0.5, 4), "f4,f4,f4"), poison((32, 3), np.float32), block=32)
////     -> x, s, _: {2: x * np.array([2, 0.5, 4], np.float32)}
#include <array>
extern "C" __global__ void k(const float* x, std::array<float, 3> scale, float* y) {
  for (int i = 0; i < 3; ++i) y[3 * threadIdx.x + i] = x[3 * threadIdx.x + i] * scale[i];
}
//// searched(np.sort(ints(rng, 50)), ints(rng, 64), poison(64, np.int32), block=64)
////     -> x, v, _: {2: np.searchsorted(x, v) * 100 + np.array([np.sum(x == one) for one in v])}
#include <algorithm>
extern "C" __global__ void k(const int* x, const int* v, int* y) {
  const auto* first = std::lower_bound(x, x + 50, v[threadIdx.x]);
  y[threadIdx.x] = int(first - x) * 100 + int(std::count(x, x + 50, v[threadIdx.x]));
}
//// clamped(rng.random(64, np.float32) * 4 - 2, poison(64, np.float32), block=64)
////     -> x, _: {1: np.clip(x, -1, 1)}
#include <algorithm>
extern "C" __global__ void k(const float* x, float* y) { y[threadIdx.x] = std::clamp(x[threadIdx.x], -1.f, 1.f); }
//// functors(ints(rng, (32, 4)), poison((32, 2), np.int32), block=32)
////     -> x, _: {1: np.stack([x.sum(1), x.max(1)], 1)}
#include <functional>
#include <numeric>
template <class F>
__device__ int folded(const int* x, int first, F f) { return std::accumulate(x, x + 4, first, f); }
extern "C" __global__ void k(const int* x, int* y) {
  const int* row = x + 4 * threadIdx.x;
  y[2 * threadIdx.x] = folded(row, 0, std::plus<int>());
  y[2 * threadIdx.x + 1] = folded(row, row[0], [](int a, int b) { return std::less<>()(a, b) ? b : a; });
}
//// greatest_divisors(rng.integers(1, 400, (64, 2)).astype(np.int32), poison((64, 2), np.int32), block=64)
////     -> x, _: {1: np.stack([np.gcd(x[:, 0], x[:, 1]), np.lcm(x[:, 0], x[:, 1])], 1)}
#include <numeric>
extern "C" __global__ void k(const int* x, int* y) {
  const int a = x[2 * threadIdx.x], b = x[2 * threadIdx.x + 1];
  y[2 * threadIdx.x] = std::gcd(a, b);
  y[2 * threadIdx.x + 1] = std::lcm(a, b);
}
//// perfect_forwarding(ints(rng, 64), poison(64, np.int32), block=64)
////     -> x, _: {1: x + 8}
#include <utility>
struct Box {
  int value;
  __device__ Box(Box&& other) : value(std::exchange(other.value, 0)) {}
  __device__ explicit Box(int v) : value(v) {}
};
template <class F, class... A>
__device__ auto call(F&& f, A&&... a) -> decltype(std::declval<F>()(std::declval<A>()...)) {
  return std::forward<F>(f)(std::forward<A>(a)...);
}
extern "C" __global__ void k(const int* x, int* y) {
  Box box(x[threadIdx.x]);
  Box other(std::move(box));
  y[threadIdx.x] = call([](int a, const int& b) { return a + b; }, other.value, 8) + box.value;
}
//// variants(ints(rng, 64), poison(64, np.int32), block=64)
////     -> x, _: {1: np.where(x % 2 == 0, x, x * 10 + 1)}
#include <variant>
#include <optional>
using Number = std::variant<int, float>;
extern "C" __global__ void k(const int* x, int* y) {
  const int v = x[threadIdx.x];
  std::optional<Number> number;
  if (v % 2 == 0) number = Number(v); else number = Number(v * 10.f + 1);
  y[threadIdx.x] = std::visit([](auto each) { return static_cast<int>(each); }, number.value());
}
//// bits_of_cpp20(words(rng, 64), poison((64, 3), np.int32), options=("-std=c++20",), block=64)
////     -> x, _: {1: np.stack([np.bitwise_count(x), [32 - int(v).bit_length() for v in x], x.view(np.int32)], 1)}
#include <bit>
#include <concepts>
#include <numbers>
#include <span>
template <std::integral T>
__device__ int ones(T v) { return std::popcount(v); }
extern "C" __global__ void k(const unsigned* x, int* y) {
  std::span<int> row(y + 3 * threadIdx.x, 3);
  row[0] = ones(x[threadIdx.x]);
  row[1] = std::countl_zero(x[threadIdx.x]);
  row[2] = std::numbers::pi > 3 ? std::bit_cast<int>(x[threadIdx.x]) : 0;
}
//// complex_of_std(rng.random((64, 4), np.float32), poison((64, 3), np.float32), block=64, rtol=1e-5)
////     -> x, _: {1: complex_answers(x)}
#include <complex>
extern "C" __global__ void k(const std::complex<float>* x, float* y) {
  const std::complex<float> a = x[2 * threadIdx.x], b = x[2 * threadIdx.x + 1];
  const auto c = a * std::conj(b) + std::exp(a) + std::pow(b, 2);
  y[3 * threadIdx.x] = c.real();
  y[3 * threadIdx.x + 1] = std::imag(c);
  y[3 * threadIdx.x + 2] = std::abs(a);
}
//// iterators(ints(rng, 12), poison(12, np.int32), block=1)
////     -> x, _: {1: x[::-1] + ramp(12)}
#include <iterator>
#include <ratio>
extern "C" __global__ void k(const int* x, int* y) {
  int items[12];
  for (auto it = std::begin(items); it != std::end(items); std::advance(it, 1)) *it = std::distance(items, it);
  int* out = y;
  for (auto it = std::make_reverse_iterator(x + 12); out != y + std::size(items); ++it, ++out) *out = *it + items[out - y] * std::ratio<2, 2>::num;
}
//// templates_of_std_for_own_types(ints(rng, 32, low=0), poison(32, np.int32), block=32, alone=True)
////     -> x, _: {1: x % 7 * 10 + 5}
#include <functional>
#include <limits>
struct Item { int value; };
namespace std {
template <> struct hash<Item> {
  __device__ size_t operator()(const Item& item) const { return item.value % 7; }
};
template <> class numeric_limits<Item> {
 public:
  static constexpr int digits = 5;
};
}
extern "C" __global__ void k(const int* x, int* y) {
  y[threadIdx.x] = (int)std::hash<Item>()(Item{x[threadIdx.x]}) * 10 + std::numeric_limits<Item>::digits;
}
