// Times ALTO's MTTKRP on what `bench` dumped. alto KERNEL THREADS REPEAT TENSOR MATRIX MATRIX, where
// the last letter of KERNEL is the mode that is left and the matrices are those of the other two in
// order, prints, in one line, the times in seconds and the sum of the result's values. ALTO has one
// copy of a tensor for all modes. It adds to the result, which is set to 0 first; its code is made
// for three modes and 32 columns.
#define ALTO_MODES_SPECIALIZED 0, 3
#define ALTO_RANKS_SPECIALIZED 0, 32
#define MAX_NUM_MODES 5
#include "files.h"
#include <typeinfo> // which alto.hpp takes to be there

#include <alto.hpp>

using Line = unsigned long long;

int main(int argc, char **argv)
{
    if (argc != 7)
        return 2;
    const int mode = argv[1][strlen(argv[1]) - 1] - '0', threads = atoi(argv[2]), repeat = atoi(argv[3]);
    omp_set_num_threads(threads);
    coords in = read_coords(argv[4]);
    IType sizes[3], *crd[3];
    for (int m = 0; m < 3; m++) {
        sizes[m] = (IType)in.sizes[m];
        crd[m] = new IType[in.entries];
        std::copy_n(in.crd[m], in.entries, crd[m]);
    }
    SparseTensor tensor = {3, sizes, (IType)in.entries, crd, in.vals};
    // It says what it does on stdout, which is for the times.
    fflush(stdout);
    const int out = dup(1);
    dup2(2, 1);
    AltoTensor<Line> *alto;
    create_alto(&tensor, &alto, threads);
    FType *factors[3];
    int64_t columns = 0;
    for (int m = 0, file = 5; m < 3; m++)
        if (m != mode) {
            rows x = read_rows(argv[file++]);
            factors[m] = (FType *)AlignedMalloc(sizeof(FType) * x.rows * x.columns);
            std::copy_n(x.vals, x.rows * x.columns, factors[m]);
            columns = x.columns;
        }
    const int64_t places = in.sizes[mode] * columns;
    factors[mode] = (FType *)AlignedMalloc(sizeof(FType) * places);
    FType **fibers;
    create_da_mem(mode, columns, alto, &fibers);
    fflush(stdout);
    dup2(out, 1);
    for (int r = 0; r <= repeat; r++) {
        const double at = now();
        ParMemset(factors[mode], 0, sizeof(FType) * places);
        mttkrp_alto_par<Line>(mode, factors, columns, alto, NULL, fibers);
        if (r > 0)
            printf("%.9f ", now() - at);
    }
    printf("%.17g\n", sum_of(factors[mode], places));
    return 0;
}
