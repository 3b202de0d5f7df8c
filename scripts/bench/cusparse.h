// cuSPARSE and the CUDA driver, opened at run time: the names, constants and signatures that the
// comparisons need, as the interfaces are documented.
#ifndef BENCH_CUSPARSE_H
#define BENCH_CUSPARSE_H

#include <stddef.h>
#include <stdint.h>

typedef unsigned long long gb_ptr; // device memory

// A call that fails leaves what failed in gb_error, and returns non-zero.
extern char gb_error[256];

// gb_open opens both libraries and makes device 0's primary context current to the thread. cuSPARSE
// may be missing, which gb_has_sparse reports. gb_sparse_why then returns the reason.
int gb_open(const char *const *sparse, int names);
int gb_has_sparse(void);
const char *gb_sparse_path(void);
const char *gb_sparse_why(void);
int gb_attribute(int which);
const char *gb_device_name(void);
int gb_driver_version(void);

int gb_alloc(gb_ptr *p, size_t bytes);
int gb_free(gb_ptr p);
int gb_up(gb_ptr to, const void *from, size_t bytes);
int gb_down(void *to, gb_ptr from, size_t bytes);

// gb_copy times n device-to-device copies of that many bytes.
int gb_copy(gb_ptr to, gb_ptr from, size_t bytes, int n, float *ms);

// A CSR matrix on the device, of doubles and 32-bit positions and coordinates.
typedef struct {
    int64_t rows, cols, nnz;
    gb_ptr pos, crd, vals;
} gb_csr;

// Each function runs the operation twice without timing it and then n times, and stores the
// milliseconds of each run by the device's clock. If prepared is set, it calls the library's
// preprocessing first, which is not timed. The result is 0, or 1 for an error, or 2 if the library
// does not support the request.
int gb_spmv(const gb_csr *a, gb_ptr x, gb_ptr y, int algorithm, int prepared, int n, float *ms);
// b and c are row-major, of k columns.
int gb_spmm(const gb_csr *a, int64_t k, gb_ptr b, gb_ptr c, int algorithm, int prepared, int n, float *ms);
// x is rows * k and y is cols * k, both row-major; the products take the place of a's values.
int gb_sddmm(const gb_csr *a, int64_t k, gb_ptr x, gb_ptr y, int n, float *ms);
// C = A B by cuBLAS, the library at the path, for batch row-major square matrices of size n each, of
// floats (single) or doubles. If transposed is set, A and B are transposed.
int gb_gemm(const char *path, int single, int transposed, int n, int batch, gb_ptr a, gb_ptr b, gb_ptr c, int times, float *ms);

#endif
