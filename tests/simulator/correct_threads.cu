// Kernels of correct_threads.py, each under its row's name.
// clang-format off
//// histogram_global
extern "C" __global__ void k(const int* x, int n, unsigned* bins) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(bins + x[i], 1u);
}
//// histogram_shared
extern "C" __global__ void k(const unsigned char* x, int n, int* bins) {
  __shared__ int s[256];
  for (int j = threadIdx.x; j < 256; j += blockDim.x) s[j] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&s[x[i]], 1);
  __syncthreads();
  for (int j = threadIdx.x; j < 256; j += blockDim.x)
    if (s[j] != 0) atomicAdd(&bins[j], s[j]);
}
//// atomic_minimum_and_maximum
extern "C" __global__ void k(const int* x, int n, int* low, int* high) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicMin(low, x[i]);
  atomicMax(high, x[i]);
}
//// float_maximum_by_cas
__device__ void maximum(float* address, float v) {
  int* const word = reinterpret_cast<int*>(address);
  int seen = atomicCAS(word, 0, 0);
  while (__int_as_float(seen) < v) {
    const int before = atomicCAS(word, seen, __float_as_int(v));
    if (before == seen) break;
    seen = before;
  }
}
extern "C" __global__ void k(const float* x, float* out) {
  maximum(out, x[blockIdx.x * blockDim.x + threadIdx.x]);
}
//// hash_table_of_counts
extern "C" __global__ void k(const int* x, int* keys, int* counts, int* out) {
  const int key = x[threadIdx.x];
  int slot = key * 7 % 128;
  for (;;) {
    const int before = atomicCAS(keys + slot, -1, key);
    if (before == -1 || before == key) break;
    slot = (slot + 1) % 128;
  }
  atomicAdd(counts + slot, 1);
  __syncthreads();
  out[threadIdx.x] = keys[slot] == key ? counts[slot] : -1;
}
//// list_by_exchange
extern "C" __global__ void k(const int* x, int* next, int* out) {
  __shared__ int head;
  const int t = threadIdx.x;
  if (t == 0) head = -1;
  __syncthreads();
  next[t] = atomicExch(&head, t);
  __syncthreads();
  if (t == 0) {
    int sum = 0, length = 0;
    for (int i = head; i >= 0; i = next[i]) {
      sum += x[i];
      ++length;
    }
    out[0] = sum;
    out[1] = length;
  }
}
//// spin_lock
extern "C" __global__ void k(const int* x, int* lock, int* total) {
  if (threadIdx.x % 16 == 0) {
    while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);
    __threadfence();
    total[0] += x[blockIdx.x * blockDim.x + threadIdx.x];
    total[1] += 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}
//// ring_of_flags
extern "C" __global__ void k(int* value, unsigned* turn, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const unsigned mine = round * gridDim.x + blockIdx.x;
    if (threadIdx.x == 0) {
      while (atomicAdd(turn, 0u) != mine) {
      }
      __threadfence();
    }
    __syncthreads();
    value[threadIdx.x] = value[threadIdx.x] * 3 + blockIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicExch(turn, mine + 1);
    }
  }
}
//// barrier_of_the_grid
extern "C" __global__ void k(const int* x, int* between, int* out, unsigned* arrived) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  between[i] = 2 * x[i];
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1u);
    while (atomicAdd(arrived, 0u) < gridDim.x) {
    }
    __threadfence();
  }
  __syncthreads();
  out[i] = between[n - 1 - i];
}
//// message_by_volatile_flag
extern "C" __global__ void k(const int* x, int* message, volatile int* ready, int* out) {
  if (blockIdx.x == 0) {
    message[threadIdx.x] = x[threadIdx.x] + 1;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) *ready = 1;
  } else {
    if (threadIdx.x == 0) {
      while (*ready == 0) __nanosleep(20);
      __threadfence();
    }
    __syncthreads();
    out[threadIdx.x] = message[blockDim.x - 1 - threadIdx.x];
  }
}
//// ticket_lock
extern "C" __global__ void k(const int* x, unsigned* lock, int* out) {
  if (threadIdx.x != 0) return;
  const unsigned ticket = atomicAdd(&lock[0], 1u);
  while (atomicAdd(&lock[1], 0u) != ticket) {
  }
  __threadfence();
  out[0] += x[blockIdx.x];
  out[1] = max(out[1], x[blockIdx.x]);
  __threadfence();
  atomicAdd(&lock[1], 1u);
}
//// lock_released_by_a_volatile_write
extern "C" __global__ void k(const int* x, int* lock, int* total) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence();
  *total += x[blockIdx.x];
  __threadfence();
  *(volatile int*)lock = 0;
}
//// chain_of_three_blocks
extern "C" __global__ void k(const int* x, int* data, int* flags, int* out) {
  const int b = blockIdx.x;
  if (b == 0) data[0] = x[0];
  if (b > 0) {
    while (atomicAdd(flags + b - 1, 0) == 0) {
    }
    __threadfence();
  }
  if (b == 2) out[0] = data[0];
  __threadfence();
  atomicExch(flags + b, 1);
}
//// flag_polled_by_one_lane_for_its_warp
extern "C" __global__ void k(const int* x, int* data, int* flag, int* out) {
  const int lane = threadIdx.x;
  if (blockIdx.x == 0) {
    data[lane] = x[lane] - 1;
    __syncwarp();
    if (lane == 0) {
      __threadfence();
      atomicExch(flag, 1);
    }
  } else {
    if (lane == 0) {
      while (atomicAdd(flag, 0) == 0) {
      }
      __threadfence();
    }
    __syncwarp();
    out[lane] = data[31 - lane];
  }
}
//// producer_and_consumer_warps
extern "C" __global__ void k(const int* x, int* out, int rounds) {
  __shared__ int s[2][32];
  const int lane = threadIdx.x % 32;
  const bool producer = threadIdx.x < 32;
  for (int round = 0; round <= rounds; ++round) {
    if (producer) {
      if (round < rounds) s[round % 2][lane] = x[round * 32 + lane] * 5;
    } else if (round > 0) {
      out[(round - 1) * 32 + lane] = s[(round - 1) % 2][31 - lane];
    }
    __syncthreads();
  }
}
//// halves_of_a_warp
extern "C" __global__ void k(const int* x, int* out) {
  const int lane = threadIdx.x;
  int sum = x[lane];
  if (lane < 16) {
    for (int d = 8; d > 0; d /= 2) sum += __shfl_xor_sync(0x0000ffffu, sum, d);
  } else {
    int largest = sum;
    for (int d = 8; d > 0; d /= 2)
      largest = max(largest, __shfl_xor_sync(0xffff0000u, largest, d));
    sum = largest;
  }
  __syncwarp();
  out[lane] = sum + __shfl_sync(0xffffffffu, sum, 31 - lane);
}
//// mask_of_the_lanes_inside
extern "C" __global__ void k(const int* x, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned inside = __ballot_sync(0xffffffffu, i < n);
  if (i >= n) return;
  const int first = __shfl_sync(inside, x[i], 0);
  out[i] = x[i] - first + __popc(inside);
}
//// votes_of_the_block
extern "C" __global__ void k(const int* x, int* out) {
  const int v = x[blockIdx.x * blockDim.x + threadIdx.x];
  const int count = __syncthreads_count(v > 0);
  const int any = __syncthreads_or(v == 7);
  const int all = __syncthreads_and(v > -50);
  if (threadIdx.x == 0) {
    out[3 * blockIdx.x] = count;
    out[3 * blockIdx.x + 1] = any != 0;
    out[3 * blockIdx.x + 2] = all != 0;
  }
}
//// barrier_in_a_uniform_branch
extern "C" __global__ void k(const int* x, int* out) {
  __shared__ int s[64];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = x[i];
  if (blockIdx.x % 2 == 0) {
    __syncthreads();
    out[i] = s[63 - t];
    return;
  }
  out[i] = s[t];
}
