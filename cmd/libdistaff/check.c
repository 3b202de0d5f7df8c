/* Checks of positions and coordinates that each run makes of small tensors: one pass over the
 * memory that vectorizes. */
#include "check.h"

#include <string.h>

/* Whether pos has npos numbers, starts at 0, ends at ncrd and does not decrease. */
#define POSITIONS(T)                                                                                 \
    static int positions_##T(const T *pos, int64_t npos, int64_t ncrd) {                           \
        if (npos < 1 || pos[0] != 0 || pos[npos - 1] != ncrd)                                      \
            return 0;                                                                                \
        int bad = 0;                                                                                 \
        for (int64_t k = 1; k < npos; k++)                                                           \
            bad |= pos[k] < pos[k - 1];                                                              \
        return !bad;                                                                                 \
    }
POSITIONS(int32_t)
POSITIONS(int64_t)

/* Whether all coordinates are in [0, size). */
#define RANGE(T, U)                                                                                  \
    static int range_##T(const T *crd, int64_t n, int64_t size) {                                  \
        int bad = 0;                                                                                 \
        for (int64_t k = 0; k < n; k++)                                                              \
            bad |= (U)crd[k] >= (U)size;                                                             \
        return !bad;                                                                                 \
    }
RANGE(int32_t, uint32_t)
RANGE(int64_t, uint64_t)

/* Whether the coordinates of each segment increase: all places where they do not are starts of
 * segments. Counts the places, and the starts among them. */
#define SORTED(T, P)                                                                                 \
    static int sorted_##T##_##P(const T *crd, int64_t n, const P *pos, int64_t npos) {           \
        int64_t steps = 0, starts = 0;                                                               \
        for (int64_t k = 1; k < n; k++)                                                              \
            steps += crd[k] <= crd[k - 1];                                                           \
        if (steps == 0)                                                                              \
            return 1;                                                                                \
        int64_t last = 0;                                                                            \
        for (int64_t p = 1; p < npos - 1; p++) {                                                     \
            int64_t at = pos[p];                                                                     \
            if (at != last && at < n && at > 0)                                                      \
                starts += crd[at] <= crd[at - 1];                                                    \
            last = at;                                                                               \
        }                                                                                            \
        return steps == starts;                                                                      \
    }
SORTED(int32_t, int32_t)
SORTED(int32_t, int64_t)
SORTED(int64_t, int32_t)
SORTED(int64_t, int64_t)

static int pos_ok(const distaff_level *v, int64_t above) {
    if (v->npos != above + 1 || v->pos == NULL)
        return 0;
    return v->pos_width == 4 ? positions_int32_t(v->pos, v->npos, v->ncrd)
                             : positions_int64_t(v->pos, v->npos, v->ncrd);
}

static int range_ok(const distaff_level *v, int64_t size) {
    if (v->ncrd > 0 && v->crd == NULL)
        return 0;
    if (v->crd_width == 4)
        return size <= INT32_MAX && range_int32_t(v->crd, v->ncrd, size);
    return range_int64_t(v->crd, v->ncrd, size);
}

static int sorted_ok(const distaff_level *v) {
    if (v->crd_width == 4)
        return v->pos_width == 4 ? sorted_int32_t_int32_t(v->crd, v->ncrd, v->pos, v->npos)
                                 : sorted_int32_t_int64_t(v->crd, v->ncrd, v->pos, v->npos);
    return v->pos_width == 4 ? sorted_int64_t_int32_t(v->crd, v->ncrd, v->pos, v->npos)
                             : sorted_int64_t_int64_t(v->crd, v->ncrd, v->pos, v->npos);
}

static int64_t coordinate(const distaff_level *v, int64_t k) {
    return v->crd_width == 4 ? ((const int32_t *)v->crd)[k] : ((const int64_t *)v->crd)[k];
}

/* Whether the entries of levels [from, to), a list of entries, increase. */
static int list_ok(const distaff_level *v, int32_t from, int32_t to) {
    int64_t n = v[from].ncrd;
    for (int64_t k = 1; k < n; k++) {
        int32_t l = from;
        while (l < to && coordinate(&v[l], k) == coordinate(&v[l], k - 1))
            l++;
        if (l == to || coordinate(&v[l], k) < coordinate(&v[l], k - 1))
            return 0;
    }
    return 1;
}

static int64_t position(const distaff_level *v, int64_t k) {
    return v->pos_width == 4 ? ((const int32_t *)v->pos)[k] : ((const int64_t *)v->pos)[k];
}

/* The lengths and the ends of the arrays of a tensor that is trusted otherwise. */
static int lengths_ok(const distaff_tensor *t, const distaff_layout *want) {
    int64_t above = 1;
    for (int32_t l = 0; l < t->order; l++) {
        const distaff_level *v = &t->levels[l];
        if (want->widths[l][0] &&
            (v->npos != above + 1 || !v->pos || position(v, 0) != 0 || position(v, above) != v->ncrd))
            return 0;
        if (want->widths[l][1] && (v->ncrd < 0 || (v->ncrd > 0 && !v->crd)))
            return 0;
        above = want->widths[l][1] ? v->ncrd : above * t->sizes[want->modes[l]];
    }
    return t->nvals == above;
}

static int arrays_ok(const distaff_tensor *t, const distaff_layout *want) {
    int64_t above = 1;
    for (int32_t l = 0; l < t->order; l++) {
        const distaff_level *v = &t->levels[l];
        int64_t size = t->sizes[want->modes[l]];
        switch (want->kinds[l]) {
        case 'd':
            if (size > 0 && above > INT64_MAX / 2 / size)
                return 0;
            above *= size;
            continue;
        case 's':
            if (!pos_ok(v, above) || !range_ok(v, size) || !sorted_ok(v))
                return 0;
            break;
        case 'u': {
            int32_t to = l + 1;
            if (l > 0 || !pos_ok(v, above) || !range_ok(v, size))
                return 0;
            while (to < t->order && (want->kinds[to] == 'q' || want->kinds[to] == 'c')) {
                const distaff_level *q = &t->levels[to];
                if (q->ncrd != v->ncrd || !range_ok(q, t->sizes[want->modes[to]]))
                    return 0;
                to++;
            }
            if (to < t->order || want->kinds[to - 1] != 'q' || !list_ok(t->levels, l, to))
                return 0;
            return t->nvals == v->ncrd;
        }
        default:
            return 0;
        }
        above = v->ncrd;
    }
    return t->nvals == above;
}

static int same_text(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

static int same_layout(const distaff_tensor *t, const distaff_layout *want) {
    if (t->order != want->order || !same_text(t->type, want->type) ||
        !same_text(t->format, want->format) || (t->order > 0 && (!t->sizes || !t->levels)))
        return 0;
    for (int32_t l = 0; l < t->order; l++) {
        const distaff_level *v = &t->levels[l];
        if (t->sizes[l] != want->sizes[l] ||
            (want->widths[l][0] && v->pos_width != want->widths[l][0]) ||
            (want->widths[l][1] && v->crd_width != want->widths[l][1]))
            return 0;
    }
    return 1;
}

int32_t distaff_check(int32_t n, const distaff_tensor *t, const distaff_layout *want,
                      int32_t *which) {
    for (int32_t k = 0; k < n; k++) {
        *which = k;
        if (!same_layout(&t[k], &want[k]))
            return CHECK_LAYOUT;
        int32_t align = want[k].value_bytes < 8 ? want[k].value_bytes : 8;
        int at = t[k].nvals == 0 || (t[k].vals && (uintptr_t)t[k].vals % align == 0);
        if (!at || !(t[k].trusted ? lengths_ok : arrays_ok)(&t[k], &want[k]))
            return CHECK_UNKNOWN;
    }
    return CHECK_OK;
}
