/* The C interface of Distaff's leaves. It needs no other header, and stands
 * before or after any. A leaf is
 *
 *     int NAME(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
 *
 * and returns 0, or: 1 no memory, 2 integer division by zero, 3 a bound of the
 * schedule does not hold, 4 the points of fused variables are too many to number, 5 the
 * result's level arrays lack a coordinate.
 */
#ifndef DST_ABI_H
#define DST_ABI_H

#ifndef INT64_MAX /* else <stdint.h> is there */
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
#endif

/* len elements; first is the position of ptr[0] in the whole tensor's array. */
typedef struct {
    void *ptr;
    int64_t len;
    int64_t first;
} dst_array;

/* size and offset are a dense level's, pos and crd a compressed one's. */
typedef struct {
    int64_t size, offset;
    dst_array pos, crd;
} dst_level;

typedef struct {
    int32_t order;
    int32_t nlevels;
    dst_level *levels;
    dst_array vals;
} dst_tensor;

/* c += alpha*a*b, for a of m rows and k columns, b of k rows and n columns. Element
 * (i,j) of a is a[i*a_row + j*a_col]; c_col is 1, and so is one of the strides of a and
 * of b. type is that of the elements: 0 float, 1 double, 2 float _Complex, 3 double
 * _Complex. m, n and k are at least 1. */
typedef struct {
    int32_t type;
    int64_t m, n, k;
    const void *alpha;
    const void *a;
    int64_t a_row, a_col;
    const void *b;
    int64_t b_row, b_col;
    void *c;
    int64_t c_row, c_col;
} dst_gemm;

/* How far a leaf is: done of total parts of its loop number loop are done. The number counts the
 * loops that have begun. total is 0 before the first loop begins, and while another one begins.
 * The leaf changes the three by atomic operations, so that other threads may read them with such
 * operations while it runs. span belongs to the leaf. The caller sets all to zero before the call. */
typedef struct {
    int64_t loop, done, total, span;
} dst_progress;

/* What a call depends on beside its tensors; a null pointer to one stands for one
 * of zeros. threads is how many threads the leaf may use: 1 where it is less. The
 * functions for memory are called from any thread of the leaf; alloc and grow return 0
 * when there is no memory (a size that int64_t cannot hold is asked for as
 * INT64_MAX); a failed grow leaves the block as it was; bytes are what was last
 * asked for. Where alloc is null, memory is malloc's, and the other two are not
 * called. What the leaf stores into a tensor's array belongs to the caller; all else
 * it releases. After a failure, fail_coord holds fail_ncoord coordinates that say
 * where. gemm, which may be null, computes a product, and returns 1; or it returns
 * 0, having done nothing. It is called from any thread of the leaf, and uses no other.
 * values are the numbers of the statement, for leaves that have none in their text; null
 * for others, such as every leaf that Distaff writes as C for other programs. If has_progress
 * is 1, the leaf says in progress how far it is. If it is 0, it does not read that field, which
 * a caller that declares the structure itself may lack. */
typedef struct dst_env {
    int32_t threads;
    void *(*alloc)(struct dst_env *, int64_t bytes, int32_t zero);
    void *(*grow)(struct dst_env *, void *, int64_t old_bytes, int64_t new_bytes);
    void (*release)(struct dst_env *, void *, int64_t bytes);
    int32_t fail_ncoord;
    int32_t has_progress;
    int64_t fail_coord[16];
    int32_t (*gemm)(struct dst_env *, const dst_gemm *);
    const char *values;
    dst_progress *progress;
} dst_env;

#endif
