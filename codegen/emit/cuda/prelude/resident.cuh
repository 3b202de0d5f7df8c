/* The number of threads that a multiprocessor can hold. Kernels that wait for memory need them all. */
#if __CUDA_ARCH__ % 100 == 0 && __CUDA_ARCH__ < 1200
#define DST_RESIDENT 2048
#else
#define DST_RESIDENT 1024
#endif
