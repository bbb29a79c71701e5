// A C++ program: templates, classes with members for host and device, namespaces, lambdas, Thrust.
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std;
using Clock = std::chrono::high_resolution_clock;
typedef std::vector<float> Values;

static std::mt19937 generator(42);
const std::string kName = R"(classes } { ")";
std::map<std::string, double> timings{{"saxpy", 0.0}};
auto report = [](const std::string& text) { std::cerr << text << " }" << std::endl; };

namespace app {

struct Options {
  int rows = 3, columns = 5;
  std::string name = kName;
  std::vector<int> sizes{1, 2, 3};
};

namespace {
void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    throw std::runtime_error(std::string(what) + cudaGetErrorString(status));
}
}  // namespace

/// A matrix that kernels take by value; the host makes and prints it.
template <typename T>
class Matrix {
 public:
  Matrix(int rows, int columns) : rows_(rows), columns_{columns}, data_(nullptr) {
    check(cudaMalloc(&data_, sizeof(T) * rows * columns), "Matrix: ");
  }

  __host__ __device__ int rows() const { return rows_; }
  __host__ __device__ int columns() const { return columns_; }
  __device__ T& operator()(int row, int column) const { return data_[row * columns_ + column]; }

  std::vector<T> to_host() const;

  void fill(std::function<T(int)> value) {
    std::vector<T> values(rows_ * columns_);
    for (int i = 0; i < rows_ * columns_; ++i) values[i] = value(i);
    check(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
          "fill: ");
  }

  friend std::ostream& operator<<(std::ostream& out, const Matrix& m) {
    return out << m.rows_ << " x " << m.columns_;
  }

 private:
  int rows_, columns_;
  T* data_;
};

template <typename T>
std::vector<T> Matrix<T>::to_host() const {
  std::vector<T> values(rows_ * columns_);
  cudaMemcpy(values.data(), data_, values.size() * sizeof(T), cudaMemcpyDeviceToHost);
  return values;
}

template <typename T>
struct Plus {
  static constexpr T identity = T(0);
  __host__ __device__ T operator()(T a, T b) const { return a + b; }
  static std::string name() { return "plus"; }
};

template <>
struct Plus<int> {
  static constexpr int identity = 0;
  __host__ __device__ int operator()(int a, int b) const { return a + b; }
  static std::string name() { return "plus of int"; }
};

class Timer {
 public:
  explicit Timer(std::string name) : name_(std::move(name)), begin_(Clock::now()) {}
  ~Timer() { timings[name_] = std::chrono::duration<double>(Clock::now() - begin_).count(); }

 private:
  std::string name_;
  Clock::time_point begin_;
};

template <typename T, typename Op>
__global__ void reduce_rows(Matrix<T> m, T* out, Op op) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m.rows()) return;
  T sum = Op::identity;
  for (int column = 0; column < m.columns(); ++column) sum = op(sum, m(row, column));
  out[row] = sum;
}

__global__ void transpose(Matrix<float> from, Matrix<float> to) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < from.rows() * from.columns()) {
    to(i % from.columns(), i / from.columns()) = from(i / from.columns(), i % from.columns());
  }
}

// Goes one column too far.
__global__ void doubled(Matrix<float> m) {
  for (int column = 0; column <= m.columns(); ++column) {
    m(threadIdx.x, column) *= 2;
  }
}

template <typename T>
Values run(const Options& options) {
  Timer timer(Plus<T>::name());
  Matrix<T> m(options.rows, options.columns);
  m.fill([](int i) { return T(i); });
  thrust::device_vector<T> out(options.rows);
  reduce_rows<<<1, 32>>>(m, thrust::raw_pointer_cast(out.data()), Plus<T>{});
  check(cudaDeviceSynchronize(), "reduce_rows: ");
  thrust::host_vector<T> result = out;
  return Values(result.begin(), result.end());
}

}  // namespace app

int main() {
  app::Options options;
  std::uniform_int_distribution<int> sizes(1, 9);
  options.rows = sizes(generator);
  Values floats = app::run<float>(options), ints = app::run<int>(options);
  app::Matrix<float> m(4, 4), t(4, 4);
  app::transpose<<<1, 32>>>(m, t);
  app::doubled<<<1, 4>>>(m);
  report(kName);
  cout << m << ": " << std::accumulate(floats.begin(), floats.end(), 0.0f) << " " << m.to_host()[0]
       << " " << *std::max_element(ints.begin(), ints.end()) << endl;
  for (const auto& [name, seconds] : timings) std::cout << name << ": " << seconds << '\n';
  return 0;
}
