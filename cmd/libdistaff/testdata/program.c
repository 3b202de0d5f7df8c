/* A program of libdistaff: each function checks a part of distaff.h and exits if it is wrong. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../distaff.h"

#define CHECK(x)                                                                 \
    do {                                                                         \
        if (!(x)) {                                                              \
            printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #x);         \
            exit(1);                                                             \
        }                                                                        \
    } while (0)

static distaff_env *env;

/* The matrix 2 0 1 / 0 3 0 in CSR, and vectors. */
static const int64_t matrix_sizes[] = {2, 3}, three[] = {3}, two[] = {2};
static int32_t pos[] = {0, 2, 3}, crd[] = {0, 2, 1};
static double vals[] = {2, 1, 3};

static distaff_tensor csr(distaff_level *levels, int32_t *p, int32_t *c, double *v, int64_t n) {
    levels[0] = (distaff_level){0};
    levels[1] = (distaff_level){p, c, 3, n, 4, 4};
    return (distaff_tensor){"float64", "ds", 2, 0, matrix_sizes, levels, v, n, NULL};
}

static distaff_tensor vector(distaff_level *level, const int64_t *size, double *v) {
    *level = (distaff_level){0};
    return (distaff_tensor){"float64", "d", 1, 0, size, level, v, size[0], NULL};
}

static distaff_statement *prepare(const char *text, const char *format, int n, const char *const *names,
                                  const distaff_tensor *t) {
    distaff_error e;
    distaff_statement *s = distaff_prepare(env, text, format, NULL, n, names, t, &e);
    if (s == NULL)
        printf("%s: %s\n", text, e.message);
    CHECK(s != NULL);
    return s;
}

static void dense_result(void) {
    distaff_level a[2], b[1];
    double x[] = {1, 10, 100}, y[2] = {-1, -1};
    const char *names[] = {"A", "x"};
    distaff_tensor t[] = {csr(a, pos, crd, vals, 3), vector(b, three, x)}, r = {0};
    distaff_statement *s = prepare("y(i) = A(i,j) * x(j)", NULL, 2, names, t);
    distaff_result(s, &r);
    CHECK(r.order == 1 && r.sizes[0] == 2 && !strcmp(r.type, "float64") && !strcmp(r.format, "d"));
    for (int k = 0; k < 200; k++) { /* also over the change from the interpreter to a compiled leaf */
        x[0] = k;
        r = (distaff_tensor){.vals = y, .nvals = 2};
        CHECK(distaff_run(s, t, &r, NULL) == DISTAFF_OK);
        CHECK(y[0] == 2 * k + 100 && y[1] == 30);
    }
    r = (distaff_tensor){0};
    CHECK(distaff_run(s, t, &r, NULL) == DISTAFF_OK);
    CHECK(r.nvals == 2 && ((double *)r.vals)[1] == 30 && r.memory != NULL);
    distaff_release(&r);
    CHECK(r.memory == NULL);
    distaff_free(s);
}

static void sparse_result(void) {
    distaff_level a[2];
    const char *names[] = {"A"};
    distaff_tensor t = csr(a, pos, crd, vals, 3), r = {0}, d = {0};
    distaff_statement *s = prepare("B(i,j) = A(i,j) * A(i,j)", NULL, 1, names, &t);
    CHECK(distaff_run(s, &t, &r, NULL) == DISTAFF_OK);
    CHECK(!strcmp(r.format, "ds") && r.nvals == 3 && ((double *)r.vals)[2] == 9);
    CHECK(r.levels[1].crd != (void *)crd && ((const int32_t *)r.levels[1].crd)[1] == 2);
    distaff_free(s); /* a result outlives its statement */
    CHECK(((double *)r.vals)[0] == 4);
    CHECK(distaff_convert(env, &r, "dd:1,0", &d, NULL) == DISTAFF_OK);
    CHECK(d.nvals == 6 && ((double *)d.vals)[4] == 1);
    distaff_release(&d);
    distaff_release(&r);
}

static void adds(void) {
    distaff_level a[2], b[1], c[1];
    double x[] = {1, 1, 1}, y[] = {5, 6};
    const char *names[] = {"A", "x", "y"};
    distaff_tensor t[] = {csr(a, pos, crd, vals, 3), vector(b, three, x), vector(c, two, y)};
    distaff_tensor r = {.vals = y, .nvals = 2};
    distaff_statement *s = prepare("y(i) += A(i,j) * x(j)", NULL, 3, names, t);
    CHECK(distaff_run(s, t, &r, NULL) == DISTAFF_OK && y[0] == 8 && y[1] == 9);
    CHECK(distaff_run(s, t, &r, NULL) == DISTAFF_OK && y[0] == 11 && y[1] == 12);
    distaff_free(s);
}

static void errors(void) {
    distaff_error e;
    distaff_level a[2], b[1];
    double x[] = {1, 10, 100}, y[4];
    const char *names[] = {"A", "x"};
    distaff_tensor t[] = {csr(a, pos, crd, vals, 3), vector(b, three, x)}, r = {.vals = y, .nvals = 2};
    CHECK(distaff_prepare(env, "y(i) = A(i,j * x(j)", NULL, NULL, 2, names, t, &e) == NULL);
    CHECK(e.code == DISTAFF_STATEMENT && e.offset > 0 && strchr(e.message, '^'));
    CHECK(distaff_prepare(env, "y(i) = A(i,j) * z(j)", NULL, NULL, 2, names, t, &e) == NULL);
    CHECK(e.code == DISTAFF_STATEMENT && e.offset == 16 && e.length == 4);
    CHECK(distaff_prepare(env, "y(i) = A(i,j) * z(j)", NULL, NULL, 2, names, t, NULL) == NULL);
    distaff_statement *s = prepare("y(i) = A(i,j) * x(j)", NULL, 2, names, t);
    int32_t bad[] = {0, 7, 1}, *good = (int32_t *)a[1].crd;
    a[1].crd = bad;
    CHECK(distaff_run(s, t, &r, &e) == DISTAFF_DATA && strstr(e.message, "7"));
    a[1].crd = good, a[1].npos = 2;
    CHECK(distaff_run(s, t, &r, &e) == DISTAFF_DATA);
    a[1].npos = 3, t[0].nvals = 2;
    CHECK(distaff_run(s, t, &r, &e) == DISTAFF_DATA);
    t[0].nvals = 3, t[1].type = "float32";
    CHECK(distaff_run(s, t, &r, &e) == DISTAFF_LAYOUT);
    t[1].type = "float64", t[1].sizes = two;
    CHECK(distaff_run(s, t, &r, &e) == DISTAFF_LAYOUT);
    t[1].sizes = three, r.nvals = 3;
    CHECK(distaff_run(s, t, &r, &e) == DISTAFF_DATA);
    r.nvals = 2;
    CHECK(distaff_run(s, t, &r, &e) == DISTAFF_OK && y[0] == 102);
    distaff_free(s);
    distaff_options o = {.size = sizeof o, .target = "nowhere"};
    CHECK(distaff_open(&o, &e) == NULL && e.code == DISTAFF_STATEMENT);
    o.size = 3;
    CHECK(distaff_open(&o, &e) == NULL);
    CHECK(distaff_read(env, "no-such-file.mtx", NULL, NULL, &r, &e) != DISTAFF_OK);
}

static int polls;
static int32_t interrupted(void *user) {
    CHECK(user == &polls);
    return ++polls > 2;
}

/* A long run ends at the caller's wish, and its memory is not used after distaff_ended. */
static void interruption(void) {
    distaff_error e;
    distaff_options o = {.size = sizeof o, .interrupted = interrupted, .user = &polls};
    distaff_env *mine = distaff_open(&o, &e);
    int64_t n = 1200, sizes[] = {n, n};
    double *v = malloc(n * n * sizeof *v), t[1];
    for (int64_t k = 0; k < n * n; k++)
        v[k] = 1;
    distaff_level level[2] = {{0}};
    distaff_tensor a = {"float64", "dd", 2, 0, sizes, level, v, n * n, NULL}, r = {.vals = t, .nvals = 1};
    const char *names[] = {"A"};
    polls = -1000000;
    distaff_statement *s = distaff_prepare(mine, "t = A(i,j) * A(k,j) * A(k,i) * A(i,k)", NULL, NULL, 1,
                                           names, &a, &e);
    CHECK(s != NULL);
    polls = 0;
    int32_t code = DISTAFF_OK;
    while (code == DISTAFF_OK)
        code = distaff_run(s, &a, &r, &e);
    CHECK(code == DISTAFF_INTERRUPTED && polls > 2);
    while (e.ticket != 0 && !distaff_ended(e.ticket))
        ;
    free(v);
    distaff_free(s);
    distaff_close(mine);
}

static distaff_statement *shared;

static void *work(void *arg) {
    double seed = (double)(intptr_t)arg, x[3], y[2];
    distaff_level a[2], b[1];
    distaff_tensor t[] = {csr(a, pos, crd, vals, 3), vector(b, three, x)}, r = {.vals = y, .nvals = 2};
    for (int k = 0; k < 2000; k++) {
        x[0] = seed, x[1] = k, x[2] = seed + k;
        CHECK(distaff_run(shared, t, &r, NULL) == DISTAFF_OK);
        CHECK(y[0] == 3 * seed + k && y[1] == 3 * k);
    }
    return NULL;
}

static void threads(void) {
    distaff_level a[2], b[1];
    double x[3] = {0};
    const char *names[] = {"A", "x"};
    distaff_tensor t[] = {csr(a, pos, crd, vals, 3), vector(b, three, x)};
    shared = prepare("y(i) = A(i,j) * x(j)", NULL, 2, names, t);
    pthread_t list[6];
    for (intptr_t k = 0; k < 6; k++)
        CHECK(pthread_create(&list[k], NULL, work, (void *)k) == 0);
    for (int k = 0; k < 6; k++)
        pthread_join(list[k], NULL);
    distaff_free(shared);
}

static int lines;
static double total;
static void say(void *user, const char *line) { lines += user == &lines && strlen(line) > 0; }
static void given(void *user, const char *name, distaff_tensor *t) {
    CHECK(user == &lines);
    if (!strcmp(name, "total"))
        total = ((double *)t->vals)[0];
    distaff_release(t);
}

static void job(void) {
    distaff_error e;
    distaff_level a[2];
    const char *names[] = {"A"}, *params[] = {"n=2"};
    distaff_tensor t = csr(a, pos, crd, vals, 3);
    int32_t code = distaff_job(env, "sum.dst", "param n = 1\ntensor A(m, k): ds\ntotal = n * A(i,j)\nprint total\n",
                               1, params, 1, names, &t, given, say, &lines, &e);
    if (code != DISTAFF_OK)
        puts(e.message);
    CHECK(code == DISTAFF_OK && total == 12 && lines == 1);
    CHECK(distaff_job(env, "bad.dst", "total = \n", 0, NULL, 0, NULL, NULL, given, say, NULL, &e) ==
          DISTAFF_STATEMENT);
    CHECK(strstr(e.message, "bad.dst:1"));
}

static void files(const char *folder) {
    char path[4096];
    snprintf(path, sizeof path, "%s/a.mtx", folder);
    distaff_level a[2];
    distaff_tensor t = csr(a, pos, crd, vals, 3), r = {0};
    CHECK(distaff_write(env, path, &t, NULL) == DISTAFF_OK);
    CHECK(distaff_read(env, path, NULL, NULL, &r, NULL) == DISTAFF_OK);
    CHECK(r.order == 2 && r.sizes[1] == 3 && r.nvals == 3);
    distaff_release(&r);
    char *out, *err;
    const char *words[] = {"distaff", "info", path};
    CHECK(distaff_command(3, words, 0, &out, &err) == 0 && strstr(out, "2 x 3"));
    distaff_free_text(out), distaff_free_text(err);
    words[1] = "nonsense";
    CHECK(distaff_command(3, words, 0, &out, &err) == 2 && strstr(err, "nonsense"));
    distaff_free_text(out), distaff_free_text(err);
}

int main(int argc, char **argv) {
    CHECK(argc == 2 && distaff_api() == DISTAFF_API && strlen(distaff_version()) > 0);
    CHECK(strstr(distaff_types(), "float64"));
    env = distaff_open(NULL, NULL);
    CHECK(env != NULL);
    dense_result();
    sparse_result();
    adds();
    errors();
    interruption();
    threads();
    job();
    files(argv[1]);
    distaff_close(env);
    puts("all is right");
    return 0;
}
