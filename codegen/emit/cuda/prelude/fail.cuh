/* The first failure of the leaf's kernels; a code of 0 says that there is none. */
struct dst_status { int code, count; long long coord[16]; };

/* Whether this thread is the first that fails, and says where. */
__device__ __forceinline__ bool dst_fail(dst_status *status, int code, int count) {
    if (atomicCAS(&status->code, 0, code) != 0)
        return false;
    status->count = count;
    return true;
}
