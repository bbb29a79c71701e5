// A program with classes for host and device: unified memory, Thrust, CUB, cooperative groups.
#include <cooperative_groups.h>
#include <cublas_v2.h>
#include <getopt.h>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/transform_reduce.h>

#include <cstring>
#include <cub/cub.cuh>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace std;
using std::cout;
using std::vector;
namespace cg = cooperative_groups;

#define INSTANTIATE(name) \
  template void name<float>::run(const std::vector<float>& values); \
  template class name<int>

typedef struct context {
  FILE* log;
  cublasHandle_t handle;
} context_t, *context_p;

class Managed {
 public:
  void* operator new(size_t size) {
    void* place;
    cudaMallocManaged(&place, size);
    return place;
  }
  void operator delete(void* place) { cudaFree(place); }
};

enum class Edge : char { kFixed, kPeriodic = 2 };

struct Node : Managed {
  float value;
  int id{7};
  Node() = default;
  __host__ Node(const char* text) : value(strlen(text)) { cout << text; }
  __host__ __device__ float energy() const { return 0.5f * value * value; }
  operator std::string() const { return to_string(id); }
  vector<float> flat() const { return {value}; }
  void dump(ostream& out = cout) const;
  friend ostream& operator<<(ostream& out, const Node& node);
};

void Node::dump(ostream& out) const { out << *this << endl; }
ostream& operator<<(ostream& out, const Node& node) { return out << node.value; }

template <class T>
class Solver final {
 public:
  explicit Solver(std::size_t size, const string& label = "none") : label_(label), host_(size) {}
  void run(const std::vector<T>& values);
  auto take() && -> std::unique_ptr<T[]>;

 private:
  string label_;
  vector<T> host_;
};

__global__ static void smoothed(const Node* nodes, float* out, int size, Edge edge) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  int next = edge == Edge::kPeriodic ? (i + 1) % size : min(i + 1, size - 1);
  out[i] = (nodes[i].energy() + nodes[next].energy()) / 2;
}

extern "C" {
__global__ void total(const Node* nodes, float* out) {
  using Reduce = cub::BlockReduce<float, 64>;
  __shared__ Reduce::TempStorage room;
  cg::thread_block block = cg::this_thread_block();
  float sum = Reduce(room).Sum(nodes[block.thread_rank()].value);
  if (block.thread_rank() == 0) *out = thrust::plus<float>()(sum, 1);
}
static void report(context_p context, const Node* node) { fprintf(context->log, "%d", node->id); }
}

template <class T>
void Solver<T>::run(const std::vector<T>& values) {
  thrust::device_vector<T> room(values.size());
  smoothed<<<1, 64>>>(nullptr, nullptr, 0, Edge::kFixed);
  total<<<1, 64>>>(nullptr, nullptr);
}
INSTANTIATE(Solver);

optional<int> number(int argc, char** argv) {
  if (getopt(argc, argv, "n:") == -1) return nullopt;
  return stoi(optarg);
}

auto main(int argc, char** argv) -> int {
  Node* node = new Node("}");
  context_t context = {stderr};
  report(&context, node);
  node->dump();
  Solver<float> solver(number(argc, argv).value_or(3));
  solver.run(node->flat());
  ofstream("x") << *node;
}
