#ifndef DST_EMULATED
/* The block's shared memory, whose size is given at the launch. */
__device__ __forceinline__ unsigned char *dst_dynamic() {
    extern __shared__ __align__(16) unsigned char dst_shared[];
    return dst_shared;
}
#endif
