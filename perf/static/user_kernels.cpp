// What the kernels of user_kernels.cu do, in loops as one writes them for one core of a processor.
// They take the kernel's arguments and the number of elements of the array that it writes.

#include <math.h>
#include <string.h>

extern "C" {

void saxpy(int n, float a, const float* x, float* y, int) {
  for (int i = 0; i < n; i++) y[i] = a * x[i] + y[i];
}

void stencil(const float* x, float* y, int h, int w, int) {
  for (int r = 1; r < h - 1; r++) {
    for (int c = 1; c < w - 1; c++) {
      y[r * w + c] =
          0.25f * (x[(r - 1) * w + c] + x[(r + 1) * w + c] + x[r * w + c - 1] + x[r * w + c + 1]);
    }
  }
}

void matrix_product(const float* x, const float* y, float* out, int n, int) {
  for (int row = 0; row < n; row++) {
    float* sums = out + row * n;
    memset(sums, 0, n * sizeof(float));
    for (int k = 0; k < n; k++) {
      float a = x[row * n + k];
      const float* b = y + k * n;
      for (int j = 0; j < n; j++) sums[j] += a * b[j];
    }
  }
}

void global_histogram(int n, const unsigned char* x, int* counts, int) {
  for (int i = 0; i < n; i++) counts[x[i]]++;
}

void shared_histogram(int n, const unsigned char* x, int* counts, int bins) {
  global_histogram(n, x, counts, bins);
}

static void sums_of(int size, const float* x, float* sums, int count) {
  for (int b = 0; b < count; b++) {
    float s[256];
    memcpy(s, x + b * size, size * sizeof(float));
    for (int half = size / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; i++) s[i] += s[i + half];
    }
    sums[b] = s[0];
  }
}

void tree_sum(const float* x, float* sums, int count) { sums_of(256, x, sums, count); }

void warp_sum(const float* x, float* sums, int count) { sums_of(32, x, sums, count); }

// One sum of all: the others stay zero.
void grid_sum(const float* x, float* sums, int n, int) {
  float s[256] = {};
  for (int i = 0; i < n; i += 256) {
    for (int j = 0; j < 256; j++) s[j] += x[i + j];
  }
  for (int j = 0; j < 256; j++) sums[0] += s[j];
}

void bitonic_step(unsigned* x, int j, int k, int n) {
  for (unsigned i = 0; i < (unsigned)n; i++) {
    unsigned o = i ^ j;
    if (o > i) {
      unsigned a = x[i], b = x[o];
      if ((a > b) == ((i & k) == 0)) {
        x[i] = b;
        x[o] = a;
      }
    }
  }
}

void bitonic_sort(unsigned* x, int n) {
  for (unsigned* s = x; s < x + n; s += 512) {
    for (unsigned k = 2; k <= 512; k *= 2) {
      for (unsigned j = k / 2; j > 0; j /= 2) {
        for (unsigned t = 0; t < 256; t++) {
          unsigned i = 2 * t - (t & (j - 1)), o = i + j;
          unsigned a = s[i], b = s[o];
          if ((a > b) == ((i & k) == 0)) {
            s[i] = b;
            s[o] = a;
          }
        }
      }
    }
  }
}

void n_body(const float* bodies, float* forces, int n, int) {
  for (int i = 0; i < n; i++) {
    const float* me = bodies + 4 * i;
    float fx = 0, fy = 0, fz = 0;
    for (int j = 0; j < n; j++) {
      const float* other = bodies + 4 * j;
      float dx = other[0] - me[0], dy = other[1] - me[1], dz = other[2] - me[2];
      float inverse = 1 / sqrtf(dx * dx + dy * dy + dz * dz + 1e-3f);
      float s = other[3] * inverse * inverse * inverse;
      fx += dx * s;
      fy += dy * s;
      fz += dz * s;
    }
    forces[3 * i] = fx;
    forces[3 * i + 1] = fy;
    forces[3 * i + 2] = fz;
  }
}
}
