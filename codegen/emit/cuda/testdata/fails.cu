// The kernels of fails.

/* Arithmetic that wraps, of tensors' values. */
__device__ __forceinline__ long long dst_add_i64(long long x, long long y) { return (long long)((unsigned long long)x + (unsigned long long)y); }
__device__ __forceinline__ long long dst_sub_i64(long long x, long long y) { return (long long)((unsigned long long)x - (unsigned long long)y); }
__device__ __forceinline__ long long dst_mul_i64(long long x, long long y) { return (long long)((unsigned long long)x * (unsigned long long)y); }

/* The first failure of the leaf's kernels; a code of 0 says that there is none. */
struct dst_status { int code, count; long long coord[16]; };

/* Whether this thread is the first that fails, and says where. */
__device__ __forceinline__ bool dst_fail(dst_status *status, int code, int count) {
    if (atomicCAS(&status->code, 0, code) != 0)
        return false;
    status->count = count;
    return true;
}

// (n + 63) / 64 blocks of 64 threads.
extern "C" __global__ void __launch_bounds__(64)
fails_1(const long long *__restrict__ x, long long *__restrict__ y, long long n, dst_status *status) {
    const long long b = blockIdx.x;
    const long long t = threadIdx.x;
    __shared__ long long s[64];
    const long long k = b * 64 + t;
    if (k < n) {
        if (x[k] < 0) {
            if (dst_fail(status, 3, 3)) {
                status->coord[0] = k;
                status->coord[1] = dst_mul_i64(x[k], 2);
                status->coord[2] = -1;
            }
            return;
        }
        s[t] = x[k];
    }
    __syncthreads();
    __syncwarp();
    if (k < n && t == 0) {
        y[b] = s[0];
    }
}
