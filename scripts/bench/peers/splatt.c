/* Times SPLATT's MTTKRP on what `bench` dumped (peers.go gives the layouts).
 * splatt mttkrpMODE THREADS REPEAT TENSOR MATRIX MATRIX, the matrices being those
 * of the other two modes in order, prints, in one line, the times in seconds and
 * the sum of the result's values. SPLATT keeps a CSF for every mode, each with
 * that mode first, as ours are stored. */
#include <splatt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *get(FILE *f, size_t size, size_t n)
{
    void *p = malloc(size * n + 1);
    if (!p || fread(p, size, n, f) != n) {
        fprintf(stderr, "a file cannot be read\n");
        exit(1);
    }
    return p;
}

static FILE *open_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        exit(1);
    }
    return f;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc != 7)
        return 1;
    int mode = argv[1][6] - '0', repeat = atoi(argv[3]);
    FILE *f = open_file(argv[4]);
    int64_t *head = get(f, 8, 4); /* three sizes, stored entries */
    splatt_idx_t *crd[3];
    for (int m = 0; m < 3; m++) {
        int32_t *from = get(f, 4, head[3]);
        crd[m] = malloc(sizeof(splatt_idx_t) * head[3]);
        for (int64_t p = 0; p < head[3]; p++)
            crd[m][p] = from[p];
        free(from);
    }
    double *vals = get(f, 8, head[3]);
    fclose(f);

    double *opts = splatt_default_opts();
    opts[SPLATT_OPTION_NTHREADS] = atoi(argv[2]);
    opts[SPLATT_OPTION_CSF_ALLOC] = SPLATT_CSF_ALLMODE;
    opts[SPLATT_OPTION_VERBOSITY] = SPLATT_VERBOSITY_NONE;
    splatt_csf *csf;
    if (splatt_csf_convert(3, head[3], crd, vals, &csf, opts) != SPLATT_SUCCESS) {
        fprintf(stderr, "splatt_csf_convert failed\n");
        return 1;
    }

    double *matrices[3] = {0};
    int64_t columns = 0;
    for (int m = 0, k = 5; m < 3; m++) {
        if (m == mode)
            continue;
        f = open_file(argv[k++]);
        int64_t *sizes = get(f, 8, 3);
        matrices[m] = get(f, 8, sizes[0] * sizes[1]);
        columns = sizes[1];
        fclose(f);
    }
    double *y = calloc(head[mode] * columns, 8);
    for (int r = 0; r <= repeat; r++) {
        double at = now();
        if (splatt_mttkrp(mode, columns, csf, matrices, y, opts) != SPLATT_SUCCESS)
            return 1;
        if (r > 0)
            printf("%.9f ", now() - at);
    }
    double sum = 0;
    for (int64_t p = 0; p < head[mode] * columns; p++)
        sum += y[p];
    printf("%.17g\n", sum);
    return 0;
}
