
// Products of dense matrices: C += alpha A B. A has m rows and k columns, and B has k rows and n
// columns. Each matrix has a stride for rows and one for columns, so it may be transposed.
//
// A block computes one tile of C. It copies tiles of A and B to a ring of buffers in shared memory,
// some steps before it multiplies them. A step is TERMS terms of each sum. In a buffer, the elements
// of one term are side by side.

#if __CUDA_ARCH__ >= 800
#define DST_ASYNC 1
#endif

// Copies an element to shared memory, or 0 instead. The copy need not be complete at return.
template <class T> __device__ __forceinline__ void dst_fetch(T *to, const T *from, bool inside) {
#ifdef DST_ASYNC
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
                 "l"(from), "n"((int)sizeof(T)), "r"(inside ? (int)sizeof(T) : 0)
                 : "memory");
#else
    *to = inside ? *from : T{};
#endif
}

// Ends the thread's copies of a step.
__device__ __forceinline__ void dst_fetched() {
#ifdef DST_ASYNC
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits for the thread's copies of all steps except the latest LATER ones.
template <int LATER> __device__ __forceinline__ void dst_await() {
#ifdef DST_ASYNC
    asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
#endif
}

// The copies of a matrix's tiles, each of ROWS rows and TERMS columns, by THREADS threads. If
// columns are nearer to each other in memory than rows, neighbouring threads copy neighbouring
// columns of 64 bytes; otherwise they copy neighbouring rows. A transposed B has its columns as rows.
template <class T, int ROWS, int TERMS, int LD, int THREADS> struct dst_tiles {
    const T *from;
    long long step, next, left; // left: the columns from the next tile on
    int row, term, row_step, term_step, rows;

    __device__ dst_tiles(const T *at, long long by_row, long long by_term, long long height, long long width)
        : from(at), next(by_term * TERMS), left(width) {
        constexpr int ALONG = 64 / sizeof(T) < TERMS ? 64 / sizeof(T) : TERMS, HIGH = THREADS / TERMS;
        const int t = threadIdx.x;
        if (by_term * by_term < by_row * by_row) {
            term = t % ALONG + t / (ALONG * HIGH) * ALONG;
            row = t / ALONG % HIGH;
            row_step = HIGH;
            term_step = 0;
        } else {
            term = t / ROWS;
            row = t % ROWS;
            row_step = 0;
            term_step = THREADS / ROWS;
        }
        rows = height < ROWS ? (int)height : ROWS;
        from += row * by_row + term * by_term;
        step = row_step * by_row + term_step * by_term;
    }

    __device__ __forceinline__ void fetch(T *buffer) {
        constexpr int COUNT = ROWS * TERMS / THREADS;
        const T *p = from;
        T *to = buffer + term * LD + row;
        const int to_step = term_step * LD + row_step;
        if (rows == ROWS && left >= TERMS) {
#pragma unroll
            for (int e = 0; e < COUNT; e++, p += step, to += to_step)
                dst_fetch(to, p, true);
        } else {
            const int terms = left < TERMS ? (int)left : TERMS;
#pragma unroll
            for (int e = 0; e < COUNT; e++, p += step, to += to_step)
                dst_fetch(to, p, row + e * row_step < rows && term + e * term_step < terms);
        }
        from += next;
        left -= TERMS;
    }
};

template <class T> struct __align__(16) dst_pack { T x[16 / sizeof(T)]; };

template <class T> __device__ __forceinline__ void dst_add_product(T &sum, T x, T y) { sum += x * y; }
template <class T> __device__ __forceinline__ void dst_add_scaled(T *to, T alpha, T x, bool alone) {
    if (alone)
        *to += alpha * x;
    else
        atomicAdd(to, alpha * x);
}

// Sums of four warps of threads. Each thread has HIGH x WIDE sums, and each warp 8 x 4 threads.
template <class E, int HIGH, int WIDE, int STEP, int BUFFERS> struct dst_plain {
    typedef E T;
    static constexpr int THREADS = 128, ROWS = 16 * HIGH, COLS = 8 * WIDE, TERMS = STEP, RING = BUFFERS;
    static constexpr int PACK = 16 / sizeof(T), LDA = ROWS + PACK, LDB = COLS + PACK;
    T sums[HIGH][WIDE];
    int row, col;

    __device__ dst_plain() : sums{} {
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        row = warp / 2 * 8 * HIGH + lane / 4 * PACK;
        col = warp % 2 * 4 * WIDE + lane % 4 * PACK;
    }

    __device__ __forceinline__ void step(const T *a, const T *b) {
#pragma unroll 8
        for (int k = 0; k < TERMS; k++) {
            dst_pack<T> x[HIGH / PACK], y[WIDE / PACK];
#pragma unroll
            for (int i = 0; i < HIGH / PACK; i++)
                x[i] = *(const dst_pack<T> *)(a + k * LDA + row + i * 8 * PACK);
#pragma unroll
            for (int j = 0; j < WIDE / PACK; j++)
                y[j] = *(const dst_pack<T> *)(b + k * LDB + col + j * 4 * PACK);
#pragma unroll
            for (int i = 0; i < HIGH; i++)
#pragma unroll
                for (int j = 0; j < WIDE; j++)
                    dst_add_product(sums[i][j], x[i / PACK].x[i % PACK], y[j / PACK].x[j % PACK]);
        }
    }

    // Calls f with the row, the column and the value of each sum of the thread.
    template <class F> __device__ __forceinline__ void each(F f) const {
#pragma unroll
        for (int i = 0; i < HIGH; i++)
#pragma unroll
            for (int j = 0; j < WIDE; j++)
                f(row + i / PACK * 8 * PACK + i % PACK, col + j / PACK * 4 * PACK + j % PACK, sums[i][j]);
    }
};

// Adds to a tile of 16 x 8 sums the products of 16 x 8 and 8 x 8 elements, by the tensor cores. A
// warp calls it. Of each tile, a thread has the elements that dst_tensor lists.
__device__ __forceinline__ void dst_tensor_step(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#elif __CUDA_ARCH__ >= 800
#pragma unroll
    for (int k = 0; k < 2; k++)
#pragma unroll
        for (int h = 0; h < 2; h++)
            asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                         : "+d"(c[2 * h]), "+d"(c[2 * h + 1])
                         : "d"(a[2 * k + h]), "d"(b[k]));
#else
    const int lane = threadIdx.x % 32;
    for (int k = 0; k < 8; k++)
        for (int v = 0; v < 4; v++) {
            const double x = __shfl_sync(0xffffffffu, a[k / 4 * 2 + v / 2], lane / 4 * 4 + k % 4);
            const double y = __shfl_sync(0xffffffffu, b[k / 4], (lane % 4 * 2 + v % 2) * 4 + k % 4);
            c[v] += x * y;
        }
#endif
}

// Sums of eight warps on tensor cores. Each warp has 64 x 32 sums, as 4 x 4 tiles of 16 x 8.
struct dst_tensor {
    typedef double T;
    static constexpr int THREADS = 256, ROWS = 128, COLS = 128, TERMS = 16, RING = 4;
    static constexpr int LDA = ROWS + 4, LDB = COLS + 4;
    double sums[4][4][4];
    int row, col, group, lane;

    __device__ dst_tensor() : sums{} {
        const int warp = threadIdx.x / 32;
        row = warp / 4 * 64;
        col = warp % 4 * 32;
        group = threadIdx.x % 32 / 4;
        lane = threadIdx.x % 4;
    }

    __device__ __forceinline__ void step(const double *a, const double *b) {
#pragma unroll
        for (int k = 0; k < TERMS; k += 8) {
            double x[4][4], y[4][2];
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int v = 0; v < 4; v++)
                    x[i][v] = a[(k + lane + v / 2 * 4) * LDA + row + i * 16 + group + v % 2 * 8];
#pragma unroll
            for (int j = 0; j < 4; j++)
#pragma unroll
                for (int v = 0; v < 2; v++)
                    y[j][v] = b[(k + lane + v * 4) * LDB + col + j * 8 + group];
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    dst_tensor_step(sums[i][j], x[i], y[j]);
        }
    }

    template <class F> __device__ __forceinline__ void each(F f) const {
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
#pragma unroll
                for (int v = 0; v < 4; v++)
                    f(row + i * 16 + group + v / 2 * 8, col + j * 8 + lane * 2 + v % 2, sums[i][j][v]);
    }
};

// A matrix of a batch: its first element, and the distances of rows, of columns, and of the
// matrices of the batch.
template <class T> struct dst_dense {
    T *at;
    long long row, col, batch;
};

// The grid has a block for each tile of C, each part of the terms, and each product of the batch. A
// part has the given number of terms. If there are several parts, they add to C atomically.
template <class M, class T = typename M::T>
__device__ __forceinline__ void dst_product(dst_dense<const T> a, dst_dense<const T> b, dst_dense<T> c, T alpha,
                                            long long m, long long n, long long k, long long part) {
    constexpr int NEAR = 8; // rows of tiles whose blocks run at about the same time, so that they share caches
    const long long high = (m + M::ROWS - 1) / M::ROWS, wide = (n + M::COLS - 1) / M::COLS;
    const long long parts = (k + part - 1) / part, place = blockIdx.x / (high * wide);
    const long long tile = blockIdx.x % (high * wide), band = tile / (NEAR * wide) * NEAR;
    const long long rows = high - band < NEAR ? high - band : NEAR, inside = tile % (NEAR * wide);
    const long long i = (band + inside % rows) * M::ROWS, j = inside / rows * M::COLS;
    const long long first = place % parts * part, end = first + part < k ? first + part : k, batch = place / parts;

    dst_tiles<T, M::ROWS, M::TERMS, M::LDA, M::THREADS> left(a.at + batch * a.batch + i * a.row + first * a.col, a.row,
                                                             a.col, m - i, end - first);
    dst_tiles<T, M::COLS, M::TERMS, M::LDB, M::THREADS> right(b.at + batch * b.batch + j * b.col + first * b.row, b.col,
                                                              b.row, n - j, end - first);
    constexpr int SIZE = M::TERMS * (M::LDA + M::LDB);
    T *const ring = (T *)dst_dynamic();
    const long long steps = (end - first + M::TERMS - 1) / M::TERMS;
    int to = 0, from = 0;
    const auto fetch = [&](bool any) {
        if (any) {
            left.fetch(ring + to * SIZE);
            right.fetch(ring + to * SIZE + M::TERMS * M::LDA);
        }
        dst_fetched();
        to = to + 1 < M::RING ? to + 1 : 0;
    };
    for (int s = 0; s < M::RING - 1; s++)
        fetch(s < steps);
    M sums;
    for (long long s = 0; s < steps; s++) {
        dst_await<M::RING - 2>();
        __syncthreads(); // the step's elements are there, and the buffer of the step before is free
        fetch(s + M::RING - 1 < steps);
        sums.step(ring + from * SIZE, ring + from * SIZE + M::TERMS * M::LDA);
        from = from + 1 < M::RING ? from + 1 : 0;
    }
    T *const out = c.at + batch * c.batch + i * c.row + j * c.col;
    const long long below = m - i, beside = n - j;
    sums.each([&](int x, int y, T sum) {
        if (x < below && y < beside)
            dst_add_scaled(out + x * c.row + y * c.col, alpha, sum, parts == 1);
    });
}

#define DST_COMPLEX_PRODUCTS(TYPE)                                                                                     \
    __device__ __forceinline__ void dst_add_product(TYPE &sum, TYPE x, TYPE y) {                                       \
        sum.re += x.re * y.re;                                                                                         \
        sum.re -= x.im * y.im;                                                                                         \
        sum.im += x.re * y.im;                                                                                         \
        sum.im += x.im * y.re;                                                                                         \
    }                                                                                                                  \
    __device__ __forceinline__ void dst_add_scaled(TYPE *to, TYPE alpha, TYPE x, bool alone) {                         \
        TYPE y = {};                                                                                                   \
        dst_add_product(y, alpha, x);                                                                                  \
        if (alone) {                                                                                                   \
            *to += y;                                                                                                  \
        } else {                                                                                                       \
            atomicAdd(&to->re, y.re);                                                                                  \
            atomicAdd(&to->im, y.im);                                                                                  \
        }                                                                                                              \
    }

#define DST_PRODUCT(NAME, ...)                                                                                         \
    typedef __VA_ARGS__ NAME##_sums;                                                                                   \
    extern "C" __global__ void __launch_bounds__(NAME##_sums::THREADS)                                                 \
        NAME(const NAME##_sums::T *a, long long a_row, long long a_col, long long a_batch, const NAME##_sums::T *b,    \
             long long b_row, long long b_col, long long b_batch, NAME##_sums::T *c, long long c_row, long long c_col, \
             long long c_batch, NAME##_sums::T alpha, long long m, long long n, long long k, long long part) {         \
        dst_product<NAME##_sums>({a, a_row, a_col, a_batch}, {b, b_row, b_col, b_batch}, {c, c_row, c_col, c_batch},   \
                                 alpha, m, n, k, part);                                                                \
    }
