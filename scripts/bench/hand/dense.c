/* The product of the matrices t[1] and t[2], of as many rows as columns, by OpenBLAS, called directly: with as
 * many threads as env says, and one of them in each call from then on. */
#include <dlfcn.h>

typedef void threads_fn(int);
typedef void dgemm_fn(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);

/* 1 where there is no OpenBLAS. */
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
