// What CUDA's own headers declare, for Clang without them.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(threads) __attribute__((launch_bounds(threads)))
#define __align__(bytes) __attribute__((aligned(bytes)))
typedef __SIZE_TYPE__ size_t;
#define DST_DECLARED static __device__ __forceinline__

struct dst_thread_x { __device__ __forceinline__ operator unsigned() const { return __nvvm_read_ptx_sreg_tid_x(); } };
struct dst_block_x { __device__ __forceinline__ operator unsigned() const { return __nvvm_read_ptx_sreg_ctaid_x(); } };
struct dst_grid_x { __device__ __forceinline__ operator unsigned() const { return __nvvm_read_ptx_sreg_nctaid_x(); } };
static const __device__ struct { dst_thread_x x; } threadIdx = {};
static const __device__ struct { dst_block_x x; } blockIdx = {};
static const __device__ struct { dst_grid_x x; } gridDim = {};

// __syncthreads is a builtin function of Clang.
DST_DECLARED void __syncwarp(unsigned mask = 0xffffffffu) { __nvvm_bar_warp_sync(mask); }
DST_DECLARED unsigned __activemask() {
    unsigned mask;
    asm volatile("activemask.b32 %0;" : "=r"(mask));
    return mask;
}

template <class T> DST_DECLARED T dst_shuffle_words(T x, int lane, bool up) {
    union { T x; int words[(sizeof(T) + 3) / 4]; } u = {x};
    for (unsigned k = 0; k < sizeof(T) / 4; k++)
        u.words[k] = up ? __nvvm_shfl_sync_up_i32(0xffffffffu, u.words[k], lane, 0) : __nvvm_shfl_sync_bfly_i32(0xffffffffu, u.words[k], lane, 31);
    return u.x;
}
template <class T> DST_DECLARED T __shfl_sync(unsigned, T x, int from) {
    union { T x; int words[(sizeof(T) + 3) / 4]; } u = {x};
    for (unsigned k = 0; k < sizeof(T) / 4; k++)
        u.words[k] = __nvvm_shfl_sync_idx_i32(0xffffffffu, u.words[k], from, 31);
    return u.x;
}
template <class T> DST_DECLARED T __shfl_xor_sync(unsigned, T x, int bits) { return dst_shuffle_words(x, bits, false); }
template <class T> DST_DECLARED T __shfl_up_sync(unsigned, T x, int by) { return dst_shuffle_words(x, by, true); }

DST_DECLARED unsigned __match_all_sync(unsigned mask, unsigned long long x, int *same) {
    unsigned all;
    asm volatile("{ .reg .pred p; match.all.sync.b64 %0|p, %2, %3; selp.s32 %1, 1, 0, p; }" : "=r"(all), "=r"(*same) : "l"(x), "r"(mask));
    return all;
}

DST_DECLARED size_t __cvta_generic_to_shared(const void *p) { return (size_t)(const __attribute__((address_space(3))) void *)p; }

DST_DECLARED unsigned atomicAdd(unsigned *a, unsigned x) { return __nvvm_atom_add_gen_i((int *)a, (int)x); }
DST_DECLARED unsigned long long atomicAdd(unsigned long long *a, unsigned long long x) { return __nvvm_atom_add_gen_ll((long long *)a, (long long)x); }
DST_DECLARED float atomicAdd(float *a, float x) { return __nvvm_atom_add_gen_f(a, x); }
DST_DECLARED double atomicAdd(double *a, double x) { return __nvvm_atom_add_gen_d(a, x); }
DST_DECLARED unsigned atomicCAS(unsigned *a, unsigned is, unsigned to) { return __nvvm_atom_cas_gen_i((int *)a, (int)is, (int)to); }
DST_DECLARED unsigned long long atomicCAS(unsigned long long *a, unsigned long long is, unsigned long long to) { return __nvvm_atom_cas_gen_ll((long long *)a, (long long)is, (long long)to); }
DST_DECLARED int atomicCAS(int *a, int is, int to) { return __nvvm_atom_cas_gen_i(a, is, to); }

DST_DECLARED double __longlong_as_double(long long bits) { return __builtin_bit_cast(double, bits); }
DST_DECLARED float __int_as_float(int bits) { return __builtin_bit_cast(float, bits); }
