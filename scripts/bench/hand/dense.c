/* The product of the square matrices t[1] and t[2] by a direct call of OpenBLAS. It uses
 * env->threads threads. Later calls of OpenBLAS use one thread. */
#include <dlfcn.h>

typedef void threads_fn(int);
typedef void dgemm_fn(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);

/* Returns 1 if OpenBLAS is missing. */
int openblas(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
{
    static threads_fn *threads;
    static dgemm_fn *dgemm;
    const int n = (int)bounds[0][1];
    if (!dgemm) {
        void *lib = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
        if (!lib && !(lib = dlopen("libopenblas.so", RTLD_NOW | RTLD_LOCAL)))
            return 1;
        threads = (threads_fn *)dlsym(lib, "openblas_set_num_threads");
        dgemm = (dgemm_fn *)dlsym(lib, "cblas_dgemm");
        if (!threads || !dgemm)
            return 1;
    }
    threads(env->threads);
    dgemm(101, 111, 111, n, n, n, 1, t[1]->vals.ptr, n, t[2]->vals.ptr, n, 0, t[0]->vals.ptr, n);
    threads(1);
    return 0;
}
