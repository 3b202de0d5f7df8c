/* The loops that package tune times. Each is a leaf. t[0] is the buffer that the loop works on.
 * t[1] receives the result: the seconds, the number of units done (bytes, loads, operations),
 * and a check value that shows that the work was done. bounds[0] is the range of elements of the
 * buffer, and bounds[1] the number of repetitions. t[2], if there is one, holds random numbers
 * of 32 bits. All threads start together, and the time ends when the last thread is done. */
#include <stdint.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_thread_num(void) { return 0; }
static int omp_get_num_threads(void) { return 1; }
#endif

#if defined __AVX512F__
#define LANE_BYTES 64
#elif defined __AVX__
#define LANE_BYTES 32
#else
#define LANE_BYTES 16
#endif
typedef double lane64 __attribute__((vector_size(LANE_BYTES)));
typedef float lane32 __attribute__((vector_size(LANE_BYTES)));
typedef lane64 lane64_any __attribute__((aligned(8), may_alias));
#define LANES64 (LANE_BYTES / 8)
#define LANES32 (LANE_BYTES / 4)

/* Threads share elements in groups of GROUP elements. The loops below work on whole groups. */
#define GROUP 64

/* The compiler assumes nothing about memory across FENCE. */
#define FENCE() __asm__ volatile("" ::: "memory")

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* share computes the range of n elements that the calling thread works on, in whole groups. */
static void share(int64_t n, int64_t *from, int64_t *to) {
    int64_t k = omp_get_thread_num(), all = omp_get_num_threads(), groups = n / GROUP;
    *from = groups * k / all * GROUP;
    *to = groups * (k + 1) / all * GROUP;
}

static void found(dst_tensor **t, double seconds, double units, double check) {
    double *out = t[1]->vals.ptr;
    out[0] = seconds;
    out[1] = units;
    out[2] = check;
}

/* sum adds n elements. n is a multiple of GROUP. */
static double sum(const double *v, int64_t n) {
    lane64 a = {0}, b = a, c = a, d = a, e = a, f = a, g = a, h = a;
    for (int64_t i = 0; i < n; i += 8 * LANES64) {
        const lane64_any *p = (const lane64_any *)(v + i);
        a += p[0], b += p[1], c += p[2], d += p[3];
        e += p[4], f += p[5], g += p[6], h += p[7];
    }
    a = ((a + b) + (c + d)) + ((e + f) + (g + h));
    double s = 0;
    for (int k = 0; k < LANES64; k++)
        s += a[k];
    return s;
}

int probe_read(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {
    const double *v = t[0]->vals.ptr;
    int64_t n = bounds[0][1], reps = bounds[1][1];
    double total = 0, begin = 0, end = 0;
    #pragma omp parallel num_threads(env->threads) reduction(+:total)
    {
        int64_t from, to;
        share(n, &from, &to);
        #pragma omp barrier
        #pragma omp master
        begin = now();
        for (int64_t r = 0; r < reps; r++) {
            total += sum(v + from, to - from);
            FENCE();
        }
        #pragma omp barrier
        #pragma omp master
        end = now();
    }
    found(t, end - begin, 8.0 * (double)(n / GROUP * GROUP) * (double)reps, total);
    return 0;
}

/* fill sets n elements. n is a multiple of GROUP. */
static void fill(double *v, int64_t n, double value) {
    lane64 x = value - (lane64){0};
    for (int64_t i = 0; i < n; i += 4 * LANES64) {
        lane64_any *p = (lane64_any *)(v + i);
        p[0] = x, p[1] = x, p[2] = x, p[3] = x;
    }
}

int probe_write(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {
    double *v = t[0]->vals.ptr;
    int64_t n = bounds[0][1], reps = bounds[1][1];
    double begin = 0, end = 0;
    #pragma omp parallel num_threads(env->threads)
    {
        int64_t from, to;
        share(n, &from, &to);
        #pragma omp barrier
        #pragma omp master
        begin = now();
        for (int64_t r = 1; r <= reps; r++) {
            fill(v + from, to - from, (double)r);
            FENCE();
        }
        #pragma omp barrier
        #pragma omp master
        end = now();
    }
    found(t, end - begin, 8.0 * (double)(n / GROUP * GROUP) * (double)reps,
        n >= GROUP ? v[n / GROUP * GROUP - 1] : 0);
    return 0;
}

/* next_random is xorshift64*. It returns the upper 32 bits. */
static uint32_t next_random(uint64_t *s) {
    *s ^= *s >> 12;
    *s ^= *s << 25;
    *s ^= *s >> 27;
    return (uint32_t)(*s * 0x2545F4914F6CDD1DULL >> 32);
}

int probe_random(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {
    uint32_t *v = t[0]->vals.ptr;
    uint64_t s = 0x9E3779B97F4A7C15ULL;
    (void)env;
    for (int64_t k = 0; k < bounds[0][1]; k++)
        v[k] = next_random(&s);
    return 0;
}

/* One element of each cache line of LINE elements is a link. The links of a range form one cycle
 * through all of its lines (Sattolo's shuffle). */
#define LINE 8

int probe_link(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {
    int64_t *v = (int64_t *)t[0]->vals.ptr + bounds[0][0], n = (bounds[0][1] - bounds[0][0]) / LINE;
    uint64_t s = 0x9E3779B97F4A7C15ULL;
    (void)env;
    for (int64_t k = 0; k < n; k++)
        v[k * LINE] = k * LINE;
    for (int64_t k = n - 1; k > 0; k--) {
        int64_t j = (int64_t)((uint64_t)next_random(&s) * (uint64_t)k >> 32), x = v[k * LINE];
        v[k * LINE] = v[j * LINE];
        v[j * LINE] = x;
    }
    return 0;
}

/* STEPS is the number of links per repetition. */
#define STEPS 1024

int probe_dependent(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {
    const int64_t *v = (const int64_t *)t[0]->vals.ptr + bounds[0][0];
    int64_t reps = bounds[1][1], at = 0;
    (void)env;
    double begin = now();
    for (int64_t r = 0; r < reps; r++)
        for (int k = 0; k < STEPS; k++)
            at = v[at];
    FENCE();
    double end = now();
    found(t, end - begin, (double)reps * STEPS, (double)at);
    return 0;
}

/* gather adds m elements of v at random places. v has mask + 1 elements, a power of two. */
static double gather(const double *v, const uint32_t *random, int64_t m, uint32_t mask) {
    double a = 0, b = 0, c = 0, d = 0;
    for (int64_t k = 0; k < m; k += 4) {
        a += v[random[k] & mask], b += v[random[k + 1] & mask];
        c += v[random[k + 2] & mask], d += v[random[k + 3] & mask];
    }
    return (a + b) + (c + d);
}

/* rows adds m rows of ROW elements (256 bytes) at random places. v has mask + 1 rows, a power of
 * two. If v has at least FAR_ROWS rows, rows prefetches them as leaves do
 * (codegen/strategy/memory.go). */
#define ROW 32
#define FAR_ROWS (1 << 13)
#define FAR_AHEAD 64
#define NEAR_AHEAD 16

static double rows(const double *v, const uint32_t *random, int64_t m, uint32_t mask) {
    lane64 a = {0}, b = a, c = a, d = a;
    const int64_t ahead = mask + 1 < FAR_ROWS ? 0 : m - FAR_AHEAD;
    for (int64_t k = 0; k < m; k++) {
        if (k < ahead) {
            const double *far = v + (int64_t)(random[k + FAR_AHEAD] & mask) * ROW;
            const double *near = v + (int64_t)(random[k + NEAR_AHEAD] & mask) * ROW;
            for (int i = 0; i < ROW; i += LINE) {
                __builtin_prefetch(far + i, 0, 2);
                __builtin_prefetch(near + i);
            }
        }
        const double *row = v + (int64_t)(random[k] & mask) * ROW;
        for (int i = 0; i < ROW; i += 4 * LANES64) {
            const lane64_any *p = (const lane64_any *)(row + i);
            a += p[0], b += p[1], c += p[2], d += p[3];
        }
    }
    a = (a + b) + (c + d);
    double s = 0;
    for (int k = 0; k < LANES64; k++)
        s += a[k];
    return s;
}

/* Both probes read the same number of cache lines. Each uses only the first len / share_of
 * random numbers. */
#define GATHERS(name, elements, share_of)                                                         \
    int probe_##name(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {                  \
        const double *v = t[0]->vals.ptr;                                                         \
        const uint32_t *random = t[2]->vals.ptr;                                                  \
        int64_t m = t[2]->vals.len / (share_of), reps = bounds[1][1];                             \
        uint32_t mask = (uint32_t)(bounds[0][1] / (elements) - 1);                                \
        double total = 0, begin = 0, end = 0;                                                     \
        _Pragma("omp parallel num_threads(env->threads) reduction(+:total)")                      \
        {                                                                                         \
            int64_t from, to;                                                                     \
            share(m, &from, &to);                                                                 \
            _Pragma("omp barrier")                                                                \
            _Pragma("omp master")                                                                 \
            begin = now();                                                                        \
            for (int64_t r = 0; r < reps; r++) {                                                  \
                total += name(v, random + from, to - from, mask);                                 \
                FENCE();                                                                          \
            }                                                                                     \
            _Pragma("omp barrier")                                                                \
            _Pragma("omp master")                                                                 \
            end = now();                                                                          \
        }                                                                                         \
        found(t, end - begin, (double)(m / GROUP * GROUP) * (double)reps, total);                 \
        return 0;                                                                                 \
    }
GATHERS(gather, 1, 1)
GATHERS(rows, ROW, ROW / LINE)

/* ROUNDS multiply-adds depend on one another in each of ACCUMULATORS vectors. ACCUMULATORS is
 * large enough to hide the latency. The values converge to 2. All vectors start at 0, which the
 * compiler must not know: it would merge vectors that it knows to be equal. */
#define ROUNDS 1000
#define ACCUMULATORS 12
#define STEP(a) a = a * x + y
#define MULTIPLY_ADDS(name, type, lane, lanes)                                                    \
    static double name(int64_t reps) {                                                            \
        lane x = (type)0.5 - (lane){0}, y = (type)1 - (lane){0};                                  \
        lane start[ACCUMULATORS] = {0};                                                           \
        __asm__ volatile("" : : "r"(start) : "memory");                                           \
        lane a = start[0], b = start[1], c = start[2], d = start[3], e = start[4], f = start[5];  \
        lane g = start[6], h = start[7], i = start[8], j = start[9], k = start[10],               \
            l = start[11];                                                                        \
        for (int64_t r = 0; r < reps * ROUNDS; r++) {                                             \
            STEP(a); STEP(b); STEP(c); STEP(d); STEP(e); STEP(f);                                 \
            STEP(g); STEP(h); STEP(i); STEP(j); STEP(k); STEP(l);                                 \
        }                                                                                         \
        a = (((a + b) + (c + d)) + ((e + f) + (g + h))) + ((i + j) + (k + l));                    \
        double s = 0;                                                                             \
        for (int n = 0; n < lanes; n++)                                                           \
            s += (double)a[n];                                                                    \
        return s / lanes / ACCUMULATORS;                                                          \
    }                                                                                             \
    int probe_##name(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {                  \
        int64_t reps = bounds[1][1];                                                              \
        double total = 0, begin = 0, end = 0;                                                     \
        int threads = 1;                                                                          \
        _Pragma("omp parallel num_threads(env->threads) reduction(+:total)")                      \
        {                                                                                         \
            _Pragma("omp barrier")                                                                \
            _Pragma("omp master")                                                                 \
            begin = now(), threads = omp_get_num_threads();                                       \
            total += name(reps);                                                                  \
            _Pragma("omp barrier")                                                                \
            _Pragma("omp master")                                                                 \
            end = now();                                                                          \
        }                                                                                         \
        found(t, end - begin, (double)reps * ROUNDS * ACCUMULATORS * lanes * threads,             \
            total / threads);                                                                     \
        return 0;                                                                                 \
    }
MULTIPLY_ADDS(multiply64, double, lane64, LANES64)
MULTIPLY_ADDS(multiply32, float, lane32, LANES32)

/* BRANCHES is larger than the history of any branch predictor. */
#define BRANCHES (1 << 17)

/* All threads add to one place. */
int probe_atomic(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {
    double *v = t[0]->vals.ptr, begin = 0, end = 0;
    int64_t reps = bounds[1][1];
    int threads = 1;
    *v = 0;
    #pragma omp parallel num_threads(env->threads)
    {
        #pragma omp barrier
        #pragma omp master
        begin = now(), threads = omp_get_num_threads();
        for (int64_t r = 0; r < reps * ROUNDS; r++) {
            #pragma omp atomic
            *v += 1;
        }
        #pragma omp barrier
        #pragma omp master
        end = now();
    }
    found(t, end - begin, (double)reps * ROUNDS * threads, *v);
    return 0;
}

/* A random bit chooses which of two counters grows. No predictor can predict it, so half of the
 * branches are mispredicted. */
int probe_branch(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {
    const uint32_t *random = t[2]->vals.ptr;
    int64_t m = t[2]->vals.len < BRANCHES ? t[2]->vals.len : BRANCHES;
    int64_t reps = bounds[1][1], a = 0, b = 0;
    (void)env;
    double begin = now();
    for (int64_t r = 0; r < reps; r++) {
        for (int64_t k = 0; k < m; k++) {
            if (random[k] >> 31) {
                a++;
                /* prevents a conditional move instead of the branch */
                __asm__ volatile("" : "+r"(a));
            } else {
                b++;
                __asm__ volatile("" : "+r"(b));
            }
        }
    }
    double end = now();
    found(t, end - begin, 0.5 * (double)m * (double)reps, (double)(a + b));
    return 0;
}

/* probe_segment sums segments of one value each. It loads the end of each segment, and each
 * segment starts where the previous one ends (ir.Carry). */
#define SEGMENTS 1024

int probe_segment(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {
    double *v = t[0]->vals.ptr, sums[SEGMENTS] = {0}, total = 0;
    int64_t reps = bounds[1][1];
    int32_t ends[SEGMENTS + 1];
    (void)env;
    for (int k = 0; k <= SEGMENTS; k++)
        ends[k] = k;
    double begin = now();
    for (int64_t r = 0; r < reps; r++) {
        __asm__ volatile("" : : "r"(ends), "r"(sums) : "memory");
        int64_t p = ends[0];
        for (int k = 0; k < SEGMENTS; k++) {
            double s = 0;
            for (int64_t end = ends[k + 1]; p < end; p++)
                s += v[p];
            sums[k] = s;
        }
    }
    __asm__ volatile("" : : "r"(sums) : "memory");
    double end = now();
    for (int k = 0; k < SEGMENTS; k++)
        total += sums[k];
    found(t, end - begin, SEGMENTS * (double)reps, total);
    return 0;
}

int probe_region(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {
    int64_t reps = bounds[1][1];
    double entered = 0, begin = now();
    for (int64_t r = 0; r < reps; r++) {
        #pragma omp parallel num_threads(env->threads)
        {
            #pragma omp master
            entered += 1;
        }
    }
    found(t, now() - begin, (double)reps, entered);
    return 0;
}

int probe_call(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {
    double *out = t[1]->vals.ptr;
    (void)bounds, (void)env;
    out[2] += 1;
    return 0;
}
