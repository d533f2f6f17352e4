"""Declarations that stand for HIP's headers when a kernel of somebody else is compiled for gfx942 without ROCm.

    clang -x hip --cuda-device-only --offload-arch=gfx942 -nogpuinc -nogpulib -include argus_hip.h kernel.hip

Written for this purpose, from what HIP documents: indices, LDS, barriers, exchanges between lanes, bf16 as a struct of
its bits, and functions of one float by the compiler's own builtins. Clang knows HIP's attributes itself; only their
usual names are missing. Conversions to bf16 round to nearest even. What a kernel uses beyond this is not declared, and
its solution is left out with the compiler's message.
"""

from __future__ import annotations

SOURCE = """
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define INFINITY __builtin_huge_valf()
#define NAN __builtin_nanf("")

typedef __INT8_TYPE__ int8_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __INT16_TYPE__ int16_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __INT32_TYPE__ int32_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __SIZE_TYPE__ size_t;

#define ARGUS_INDEX(name, of)                                                          \\
  struct ArgusIndex_##name {                                                           \\
    __device__ unsigned get_x() const { return __builtin_amdgcn_##of##_x(); }          \\
    __device__ unsigned get_y() const { return __builtin_amdgcn_##of##_y(); }          \\
    __device__ unsigned get_z() const { return __builtin_amdgcn_##of##_z(); }          \\
    __declspec(property(get = get_x)) unsigned x;                                      \\
    __declspec(property(get = get_y)) unsigned y;                                      \\
    __declspec(property(get = get_z)) unsigned z;                                      \\
  };                                                                                   \\
  static const __device__ ArgusIndex_##name name = {};
ARGUS_INDEX(threadIdx, workitem_id)
ARGUS_INDEX(blockIdx, workgroup_id)
ARGUS_INDEX(blockDim, workgroup_size)
#undef ARGUS_INDEX

static __device__ __forceinline__ void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

static __device__ __forceinline__ unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
static __device__ __forceinline__ float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
static __device__ __forceinline__ int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
static __device__ __forceinline__ float __int_as_float(int x) { return __builtin_bit_cast(float, x); }

static __device__ __forceinline__ float expf(float x) { return __builtin_expf(x); }
static __device__ __forceinline__ float exp2f(float x) { return __builtin_exp2f(x); }
static __device__ __forceinline__ float logf(float x) { return __builtin_logf(x); }
static __device__ __forceinline__ float log2f(float x) { return __builtin_log2f(x); }
static __device__ __forceinline__ float sqrtf(float x) { return __builtin_sqrtf(x); }
static __device__ __forceinline__ float rsqrtf(float x) { return __builtin_amdgcn_rsqf(x); }
static __device__ __forceinline__ float fabsf(float x) { return __builtin_fabsf(x); }
static __device__ __forceinline__ float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
static __device__ __forceinline__ float fmaxf(float x, float y) { return __builtin_fmaxf(x, y); }
static __device__ __forceinline__ float fminf(float x, float y) { return __builtin_fminf(x, y); }
static __device__ __forceinline__ float ldexpf(float x, int n) { return __builtin_ldexpf(x, n); }
static __device__ __forceinline__ float __expf(float x) { return __builtin_amdgcn_exp2f(x * 0x1.715476p+0f); }
static __device__ __forceinline__ bool isfinite(float x) { return __builtin_isfinite(x); }
static __device__ __forceinline__ bool isinf(float x) { return __builtin_isinf(x); }
static __device__ __forceinline__ bool isnan(float x) { return __builtin_isnan(x); }
static __device__ __forceinline__ int min(int x, int y) { return x < y ? x : y; }
static __device__ __forceinline__ int max(int x, int y) { return x > y ? x : y; }

static __device__ __forceinline__ int argus_lane() {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
}
template <class T> static __device__ __forceinline__ T argus_from_lane(T value, int lane) {
  static_assert(sizeof(T) == 4, "lanes exchange four bytes");
  return __builtin_bit_cast(T, __builtin_amdgcn_ds_bpermute(lane << 2, __builtin_bit_cast(int, value)));
}
template <class T> static __device__ __forceinline__ T __shfl(T value, int from, int width = 64) {
  int lane = argus_lane();
  return argus_from_lane(value, (from & (width - 1)) + (lane & ~(width - 1)));
}
template <class T> static __device__ __forceinline__ T __shfl_down(T value, unsigned by, int width = 64) {
  int lane = argus_lane();
  return argus_from_lane(value, (int)((lane & (width - 1)) + by) >= width ? lane : lane + (int)by);
}
template <class T> static __device__ __forceinline__ T __shfl_up(T value, unsigned by, int width = 64) {
  int lane = argus_lane();
  return argus_from_lane(value, (lane & (width - 1)) < (int)by ? lane : lane - (int)by);
}
template <class T> static __device__ __forceinline__ T __shfl_xor(T value, int with, int width = 64) {
  int lane = argus_lane(), other = lane ^ with;
  return argus_from_lane(value, other >= ((lane + width) & ~(width - 1)) ? lane : other);
}

static __device__ __forceinline__ float atomicAdd(float *place, float value) {
  return __hip_atomic_fetch_add(place, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
static __device__ __forceinline__ int atomicAdd(int *place, int value) {
  return __hip_atomic_fetch_add(place, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

struct hip_bfloat16 {
  uint16_t data;
  hip_bfloat16() = default;
  __device__ explicit hip_bfloat16(float x) {
    unsigned bits = __builtin_bit_cast(unsigned, x);
    unsigned nearest = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    data = (uint16_t)(x != x ? (bits >> 16) | 0x40u : nearest);
  }
  __device__ operator float() const { return __builtin_bit_cast(float, (unsigned)data << 16); }
};
typedef hip_bfloat16 __hip_bfloat16;
namespace at {
typedef hip_bfloat16 BFloat16;
}
namespace c10 {
typedef hip_bfloat16 BFloat16;
}
"""
