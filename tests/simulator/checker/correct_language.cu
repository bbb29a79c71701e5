// Correct kernels that use what CUDA C++ has beyond C: objects, calls by address, constants.
// clang-format off
//// pairs_of_halves_in_shared_memory(rng.integers(-99, 99, (64, 2)).astype(np.float16), poison((64,
////     2), np.float16), block=64) -> x, _: {1: np.stack([(x[::-1] * 2 + x)[:, 0],
////     np.maximum((x[::-1] * 2 + x)[:, 1], np.float16(0))], 1)}
#include <cuda_fp16.h>
(const __half* x, __half* out)
  __shared__ half2 s[64];
  s[threadIdx.x] = __halves2half2(x[2 * threadIdx.x], x[2 * threadIdx.x + 1]);
  __syncthreads();
  const half2 v = __hfma2(s[63 - threadIdx.x], __float2half2_rn(2.0f), s[threadIdx.x]);
  out[2 * threadIdx.x] = __low2half(v);
  out[2 * threadIdx.x + 1] = __high2half(__hmax2(v, __float2half2_rn(0.0f)));
//// pairs_of_bfloat16((ints(rng, (32, 2)).astype(np.float32).view(np.uint32) >>
////     16).astype(np.uint16), poison((32, 2), np.float32), block=32)
////     -> x, _: {1: widened(x) + widened(x)[::-1]}
#include <cuda_bf16.h>
(const unsigned short* x, float* out)
  __shared__ __nv_bfloat162 s[32];
  s[threadIdx.x] = __halves2bfloat162(__ushort_as_bfloat16(x[2 * threadIdx.x]),
                                      __ushort_as_bfloat16(x[2 * threadIdx.x + 1]));
  __syncthreads();
  const float2 v = __bfloat1622float2(__hadd2(s[31 - threadIdx.x], s[threadIdx.x]));
  out[2 * threadIdx.x] = v.x;
  out[2 * threadIdx.x + 1] = v.y;
//// classes_with_constructors(ints(rng, 301, high=9999), poison(2, np.int32), np.int32(301),
////     block=64) -> x, *_: {1: np.array([x.min(), x.max()], np.int32)}
struct Range {
  int low, high;
  __device__ Range() : low(2147483647), high(-2147483647 - 1) {}
  __device__ explicit Range(int v) : low(v), high(v) {}
  __device__ Range operator+(const Range& o) const {
    Range both(*this);
    both.low = min(low, o.low);
    both.high = max(high, o.high);
    return both;
  }
  __device__ ~Range() {}
};
template <typename T, int n>
class Stack {
 public:
  __device__ void push(const T& v) { items_[size_++] = v; }
  __device__ T pop() { return items_[--size_]; }
  __device__ bool empty() const { return size_ == 0; }

 private:
  T items_[n];
  int size_ = 0;
};
(const int* x, int* out, int n)
  __shared__ char storage[sizeof(Range) * 64];
  Range* const s = reinterpret_cast<Range*>(storage);
  Stack<Range, 8> stack;
  for (int i = threadIdx.x; i < n; i += blockDim.x) stack.push(Range(x[i]));
  Range all;
  while (!stack.empty()) all = all + stack.pop();
  new (s + threadIdx.x) Range(all);
  __syncthreads();
  for (int d = 32; d > 0; d /= 2) {
    if (threadIdx.x < d) s[threadIdx.x] = s[threadIdx.x] + s[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    out[0] = s[0].low;
    out[1] = s[0].high;
  }
//// virtual_functions(ints(rng, (64, 2), low=0), poison(64, np.int32), block=64) -> x, _: {1:
////     np.where(x[:, 0] % 2 == 0, x.prod(1) * 10 + 4, x.prod(1) // 2 * 10 + 3).astype(np.int32)}
struct Shape {
  __device__ virtual int area() const = 0;
  __device__ virtual int corners() const { return 4; }
  __device__ virtual ~Shape() {}
};
struct Box : Shape {
  int a, b;
  __device__ Box(int a, int b) : a(a), b(b) {}
  __device__ int area() const override { return a * b; }
};
struct Triangle : Shape {
  int a, b;
  __device__ Triangle(int a, int b) : a(a), b(b) {}
  __device__ int area() const override { return a * b / 2; }
  __device__ int corners() const override { return 3; }
};
__device__ __noinline__ int measure(const Shape* shape) {
  return shape->area() * 10 + shape->corners();
}
(const int2* x, int* out)
  const int2 v = x[threadIdx.x];
  Shape* shape = new Triangle(v.x, v.y);
  if (v.x % 2 == 0) {
    delete shape;
    shape = new Box(v.x, v.y);
  }
  out[threadIdx.x] = measure(shape);
  delete shape;
//// functions_by_address(ints(rng, 64), ints(rng, 64, low=0, high=3), poison(64, np.int32),
////     block=64)
////     -> x, which, _: {2: np.choose(which, [x + x[::-1], x - x[::-1], np.maximum(x, x[::-1])])}
using Function = int (*)(int, int);
__device__ __noinline__ int sum(int a, int b) { return a + b; }
__device__ __noinline__ int difference(int a, int b) { return a - b; }
__device__ __noinline__ int larger(int a, int b) { return a > b ? a : b; }
__device__ Function table[3] = {sum, difference, larger};
(const int* x, const int* which, int* out)
  const Function f = table[which[threadIdx.x]];
  out[threadIdx.x] = f(x[threadIdx.x], x[63 - threadIdx.x]);
//// recursion(poison(64, np.int32), block=64)
////     -> _: {0: np.tile([fibonacci(n) + 1000 * (2 * n + 3) for n in range(16)], 4)}
__device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}
(int* out)
  out[threadIdx.x] = fibonacci(threadIdx.x % 16) + 1000 * ackermann(2, threadIdx.x % 16);
//// structures_to_functions_and_back(rng.standard_normal((32, 5)), poison((32, 5), np.float64),
////     poison(32, np.int8), block=32) -> x, *_: {1: np.stack([np.roll(row, -(i % 5)) for i, row in
////     enumerate(x)]), 2: np.arange(3, 35, dtype=np.int8)}
struct Big {
  double values[5];
  char tag;
};
__device__ __noinline__ Big turned(Big b, short by, char tag) {
  Big result;
  for (int i = 0; i < 5; ++i) result.values[i] = b.values[(i + by) % 5];
  result.tag = b.tag + tag;
  return result;
}
(const double* x, double* out, signed char* tags)
  Big b;
  for (int i = 0; i < 5; ++i) b.values[i] = x[5 * threadIdx.x + i];
  b.tag = static_cast<char>(threadIdx.x);
  b = turned(b, threadIdx.x % 5, 3);
  for (int i = 0; i < 5; ++i) out[5 * threadIdx.x + i] = b.values[i];
  tags[threadIdx.x] = b.tag;
//// a_table_of_branches(ints(rng, 64, low=0), poison(64, np.int32), block=64)
////     -> x, _: {1: np.array([switched(int(v)) for v in x], np.int64).astype(np.int32)}
  const int v = x[threadIdx.x];
  int d;
  switch (v & 15) {
    case 0: d = v * v; break;
    case 1: d = v / 3; break;
    case 2: d = v ^ 0x55; break;
    case 3: d = -v; break;
    case 4: d = __popc(v); break;
    case 5: d = __clz(v); break;
    case 6: d = v % 7; break;
    case 7: d = v << 3; break;
    case 8: d = __brev(v); break;
    case 9: d = abs(v - 40); break;
    default: d = 1000;
  }
  out[threadIdx.x] = d;
//// constants(ints(rng, 64, np.float32), poison(64, np.float32), np.int32(64), block=64)
////     -> x, *_: {1: np.roll(x, -1) * np.float32(0.25) - np.roll(x, -2) + np.roll(x, -3) *
////     np.float32(0.5) + np.roll(x, -4) * 2 + 1}
struct Filter {
  float taps[4];
  int shift;
};
__constant__ Filter filter = {{0.5f, -1.0f, 2.0f, 0.25f}, 1};
__constant__ int order[4] = {3, 1, 0, 2};
__constant__ const int* start = order + 1;
(const float* x, float* out, int n)
  const int i = threadIdx.x;
  float sum = 0;
  for (int j = 0; j < 4; ++j) sum += filter.taps[order[j]] * x[(i + j + filter.shift) % n];
  out[i] = sum + *start;
//// early_exit_before_a_barrier(ints(rng, 96), np.full(96, -1, np.int32), block=96,
////     options=("-DTHREADS=96", "-D", "COUNT=70"), strict=False)
////     -> x, _: {1: np.concatenate([x[69::-1], np.full(26, -1, np.int32)])}
  __shared__ int s[THREADS];
  if (t >= COUNT) return;
  s[t] = x[t];
  __syncthreads();
  out[t] = s[COUNT - 1 - t];
//// tree_whose_threads_return_in_its_loop(ints(rng, 64), zeros(64), block=64, strict=False)
////     -> x, _: {1: np.concatenate([[x.sum()], np.zeros(63, np.int32)])}
  __shared__ int s[64];
  s[t] = x[t];
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (t >= half) return;
    s[t] += s[t + half];
    __syncthreads();
  }
  out[0] = s[0];
//// counters_of_lanes_that_are_active_in_two_branches(zeros(2), zeros(96), block=96)
////     -> *_: {0: np.array([32, 64], np.int32), 1: np.ones(96, np.int32)}
__device__ int take(int* count) {
  const unsigned active = __activemask(), lane = threadIdx.x % 32;
  const int first = __ffs(active) - 1;
  int taken = 0;
  if (lane == first) taken = atomicAdd(count, __popc(active));
  return __shfl_sync(active, taken, first) + __popc(active & ((1u << lane) - 1));
}
(int* counts, int* out)
  if (t % 3 == 0) out[take(counts)] = 1; else out[32 + take(counts + 1)] = 1;
//// search_whose_threads_return_in_its_loop(np.array([70, 3, 90, 41], np.int32), zeros(128),
////     block=128, strict=False)
////     -> x, _: {1: np.array([([*x, t].index(t) + 1) % 5 - 1 for t in range(128)], np.int32)}
// The compiler merges the stores.
  __shared__ int probe;
  for (int j = 0; j < 4; ++j) {
    __syncthreads();
    if (t == 0) probe = x[j];
    __syncthreads();
    if (probe == t) {
      out[t] = j;
      return;
    }
  }
  out[t] = -1;
//// barriers_in_a_loop_after_an_early_exit(ints(rng, 96), np.full(96, -1, np.int32), block=96,
////     strict=False) -> x, _: {1: np.concatenate([3 * x[69::-1], np.full(26, -1, np.int32)])}
  __shared__ int s[96];
  s[t] = 0;
  __syncthreads();
  if (t >= 70) return;
  for (int i = 0; i < 3; ++i) {
    s[t] += x[t];
    __syncthreads();
  }
  out[t] = s[69 - t];
//// kernel_named_as_a_function_of_c(ints(rng, 32), poison(32, np.int32), block=32, kernel="write",
////     alone=True) -> x, _: {1: x - 1}
extern "C" __global__ void signal(const int* x, int* out) { out[threadIdx.x] = x[threadIdx.x] + 1; }
extern "C" __global__ void write(const int* x, int* out) { out[threadIdx.x] = x[threadIdx.x] - 1; }
//// template_named_as_a_function_of_c(ints(rng, 32, np.float32), poison(32, np.float32), block=32,
////     kernel="exp2<float>", alone=True) -> x, _: {1: x * x}
template <typename T>
__global__ void exp2(const T* x, T* out) {
  out[threadIdx.x] = x[threadIdx.x] * x[threadIdx.x];
}
//// globals_named_as_functions_of_c(ints(rng, 64), poison(64, np.int32), block=64, alone=True)
////     -> x, _: {1: x[::-1] * 3 + 7}
__device__ int index[64];
__device__ float signal = 2.5f;
__device__ int write = 3;
namespace {
__device__ int time;
}
extern "C" __global__ void k(const int* x, int* out) {
  static __shared__ int close, end, free;
  const int t = threadIdx.x;
  if (t == 0) {
    close = write;
    end = static_cast<int>(signal * 2);
    time = free = 1;
  }
  index[63 - t] = x[t];
  __syncthreads();
  out[t] = index[t] * close + end + free + time;
}
//// registers_named_as_words_of_cpp(ints(rng, 32), poison(32, np.int32), block=32)
////     -> x, _: {1: x * (x + 1) - 3}
(const int* int_, int* register_)
  int d;
  asm(R"({
    .reg .s32 int, auto, class, me, window;
    mov.s32 int, %1;
    add.s32 auto, int, 1;
    mul.lo.s32 class, auto, int;
    mov.s32 me, class;
    sub.s32 window, me, 3;
    mov.s32 %0, window;
  })" : "=r"(d) : "r"(int_[threadIdx.x]));
  register_[threadIdx.x] = d;
