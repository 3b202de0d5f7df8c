/* Handwritten kernels that compute the values of a result with a known pattern. The cost of
 * assembly is measured against them. t[0] has the positions and coordinates. The compiler sees
 * this text after kernels.c. */

/* returns x if c is 1 and 0 if c is 0, without a branch */
static inline double pick(int c, double x)
{
    unsigned long u;
    memcpy(&u, &x, sizeof u);
    u &= -(unsigned long)c;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* An operand of a sum, at position p of a row that ends at e. */
#define OPERAND(k) const I *pos##k = POS(t[k], 1), *crd##k = CRD(t[k], 1); const double *val##k = VAL(t[k]); const I last##k = (I)t[k]->vals.len - 1
#define ROW(k) I p##k = pos##k[i], e##k = pos##k[i + 1]
#define TERM(k) I at##k = p##k <= last##k ? p##k : last##k; int here##k = (p##k < e##k) & (crd##k[at##k] == j); s += pick(here##k, val##k[at##k]); p##k += here##k

int values_spadd(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
{
    int64_t n = bounds[0][1];
    const I *pos = POS(t[0], 1), *crd = CRD(t[0], 1);
    double *val = VAL(t[0]);
    OPERAND(1);
    OPERAND(2);
    int chunks = CHUNKS(env);
    EACH(c) {
        int64_t lo, hi;
        cut(pos, n, c, chunks, &lo, &hi);
        for (int64_t i = lo; i < hi; i++) {
            ROW(1);
            ROW(2);
            for (I o = pos[i]; o < pos[i + 1]; o++) {
                I j = crd[o];
                double s = 0;
                TERM(1);
                TERM(2);
                val[o] = s;
            }
        }
    }
    return 0;
}

int values_spadd3(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
{
    int64_t n = bounds[0][1];
    const I *pos = POS(t[0], 1), *crd = CRD(t[0], 1);
    double *val = VAL(t[0]);
    OPERAND(1);
    OPERAND(2);
    OPERAND(3);
    int chunks = CHUNKS(env);
    EACH(c) {
        int64_t lo, hi;
        cut(pos, n, c, chunks, &lo, &hi);
        for (int64_t i = lo; i < hi; i++) {
            ROW(1);
            ROW(2);
            ROW(3);
            for (I o = pos[i]; o < pos[i + 1]; o++) {
                I j = crd[o];
                double s = 0;
                TERM(1);
                TERM(2);
                TERM(3);
                val[o] = s;
            }
        }
    }
    return 0;
}

int values_spgemm(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
{
    int64_t n = bounds[0][1], m = t[0]->levels[1].size;
    const I *pos = POS(t[0], 1), *crd = CRD(t[0], 1);
    const I *bp = POS(t[1], 1), *bc = CRD(t[1], 1), *cp = POS(t[2], 1), *cc = CRD(t[2], 1);
    const double *bv = VAL(t[1]), *cv = VAL(t[2]);
    double *val = VAL(t[0]);
    int chunks = CHUNKS(env);
    EACH(c) {
        int64_t lo, hi;
        cut(bp, n, c, chunks, &lo, &hi);
        double *w = calloc(m, sizeof *w);
        for (int64_t i = lo; i < hi; i++) {
            for (I p = bp[i]; p < bp[i + 1]; p++) {
                double v = bv[p];
                for (I q = cp[bc[p]]; q < cp[bc[p] + 1]; q++) w[cc[q]] += v * cv[q];
            }
            for (I o = pos[i]; o < pos[i + 1]; o++) {
                val[o] = w[crd[o]];
                w[crd[o]] = 0;
            }
        }
        free(w);
    }
    return 0;
}
