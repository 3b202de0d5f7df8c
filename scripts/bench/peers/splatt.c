/* Times SPLATT's MTTKRP on tensors that `bench` dumped. splatt KERNEL THREADS REPEAT TENSOR
 * MATRIX MATRIX prints, in one line, the times in seconds and the sum of the result's values.
 * The last letter of KERNEL is the mode that is left, and the matrices belong to the other two
 * modes in order. For mttkrp the program stores a CSF for every mode, with the mode first, as
 * ours does. For onecopy it stores one CSF. */
#include "files.h"
#include <splatt.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc != 7)
        return 2;
    int mode = argv[1][strlen(argv[1]) - 1] - '0', repeat = atoi(argv[3]);
    struct coords in = read_coords(argv[4]);
    splatt_idx_t *crd[3];
    for (int m = 0; m < 3; m++) {
        crd[m] = malloc(sizeof(splatt_idx_t) * in.entries);
        for (int64_t p = 0; p < in.entries; p++)
            crd[m][p] = in.crd[m][p];
        free(in.crd[m]);
    }

    double *opts = splatt_default_opts();
    opts[SPLATT_OPTION_NTHREADS] = atoi(argv[2]);
    opts[SPLATT_OPTION_CSF_ALLOC] = strncmp(argv[1], "onecopy", 7) ? SPLATT_CSF_ALLMODE : SPLATT_CSF_ONEMODE;
    opts[SPLATT_OPTION_VERBOSITY] = SPLATT_VERBOSITY_NONE;
    splatt_csf *csf;
    if (splatt_csf_convert(3, in.entries, crd, in.vals, &csf, opts) != SPLATT_SUCCESS) {
        fprintf(stderr, "splatt_csf_convert failed\n");
        return 1;
    }

    double *matrices[3] = {0};
    int64_t columns = 0;
    for (int m = 0, k = 5; m < 3; m++) {
        if (m == mode)
            continue;
        struct rows x = read_rows(argv[k++]);
        matrices[m] = x.vals;
        columns = x.columns;
    }
    const int64_t places = in.sizes[mode] * columns;
    double *y = calloc(places, 8);
    for (int r = 0; r <= repeat; r++) {
        double at = now();
        if (splatt_mttkrp(mode, columns, csf, matrices, y, opts) != SPLATT_SUCCESS)
            return 1;
        if (r > 0)
            printf("%.9f ", now() - at);
    }
    printf("%.17g\n", sum_of(y, places));
    return 0;
}
