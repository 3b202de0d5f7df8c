// Times a kernel of Eigen on matrices that `bench` dumped (peers.go gives the
// layout). eigen KERNEL THREADS REPEAT FILE... prints, in one line, the times in
// seconds and the sum of the result's values.
#include <Eigen/Sparse>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using Csr = Eigen::SparseMatrix<double, Eigen::RowMajor, int32_t>;
using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

static FILE *open_file(const char *path, int64_t head[3]) {
    FILE *f = std::fopen(path, "rb");
    if (!f || std::fread(head, 8, 3, f) != 3) {
        std::fprintf(stderr, "%s: cannot be read\n", path);
        std::exit(1);
    }
    return f;
}

static void fill(FILE *f, void *to, size_t size, size_t n) {
    if (std::fread(to, size, n, f) != n) {
        std::fprintf(stderr, "a file is too short\n");
        std::exit(1);
    }
}

static Csr sparse(const char *path) {
    int64_t head[3];
    FILE *f = open_file(path, head);
    std::vector<int32_t> pos(head[0] + 1), crd(head[2]);
    std::vector<double> vals(head[2]);
    fill(f, pos.data(), 4, pos.size());
    fill(f, crd.data(), 4, crd.size());
    fill(f, vals.data(), 8, vals.size());
    std::fclose(f);
    return Eigen::Map<const Csr>(head[0], head[1], head[2], pos.data(), crd.data(), vals.data());
}

static Rows dense(const char *path) {
    int64_t head[3];
    FILE *f = open_file(path, head);
    Rows m(head[0], head[1]);
    fill(f, m.data(), 8, m.size());
    std::fclose(f);
    return m;
}

template <class Make, class Sum> static void time(int repeat, Make make, Sum sum) {
    double s = 0;
    for (int r = 0; r <= repeat; r++) {
        auto at = std::chrono::steady_clock::now();
        auto y = make();
        double t = std::chrono::duration<double>(std::chrono::steady_clock::now() - at).count();
        s = sum(y);
        if (r > 0)
            std::printf("%.9f ", t);
    }
    std::printf("%.17g\n", s);
}

int main(int argc, char **argv) {
    if (argc < 5)
        return 2;
    std::string kernel = argv[1];
    Eigen::setNbThreads(std::atoi(argv[2]));
    int repeat = std::atoi(argv[3]);
    Csr a = sparse(argv[4]);
    auto entries = [](const Csr &y) { return y.sum(); };
    if (kernel == "spmv") {
        Eigen::VectorXd x = dense(argv[5]), y(a.rows());
        time(repeat, [&] { y.noalias() = a * x; return 0; }, [&](int) { return y.sum(); });
    } else if (kernel == "spmm") {
        Rows x = dense(argv[5]), y(a.rows(), x.cols());
        time(repeat, [&] { y.noalias() = a * x; return 0; }, [&](int) { return y.sum(); });
    } else if (kernel == "spadd") {
        Csr b = sparse(argv[5]);
        time(repeat, [&] { return Csr(a + b); }, entries);
    } else if (kernel == "spadd3") {
        Csr b = sparse(argv[5]), c = sparse(argv[6]);
        time(repeat, [&] { return Csr(a + b + c); }, entries);
    } else if (kernel == "spgemm") {
        Csr b = sparse(argv[5]);
        time(repeat, [&] { return Csr(a * b); }, entries);
    } else {
        return 2;
    }
    return 0;
}
