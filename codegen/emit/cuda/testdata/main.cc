// A program that runs one emulated kernel:
//
//     PROGRAM KERNEL GRID FIBERS
//
// Its standard input is the number of arguments, and of each whether it is an array, its number of bytes,
// and the bytes; numbers have 64 bits. Its standard output is what the kernel returned, the length
// of the error's text, the text, and the bytes of the arrays.
#include <string>
#include <vector>

static long long number() {
    long long x = 0;
    if (fread(&x, 8, 1, stdin) != 1)
        exit(3);
    return x;
}

static void put(long long x) { fwrite(&x, 8, 1, stdout); }

int main(int, char **argv) {
    struct argument { bool array; long long size; char *bytes; };
    std::vector<argument> list(number());
    std::vector<void *> args;
    for (auto &a : list) {
        a.array = number();
        a.size = number();
        a.bytes = (char *)malloc(a.size + 1); // so that a sanitizer sees where it ends
        if (a.size && fread(a.bytes, a.size, 1, stdin) != 1)
            exit(3);
    }
    for (auto &a : list)
        args.push_back(a.array ? (void *)&a.bytes : a.bytes);
    dst_emulated_fibers(atoi(argv[3]));
    for (auto &k : table)
        if (std::string(k.name) == argv[1])
            put(k.run(atoll(argv[2]), args.data()));
    const std::string said = dst_emulated_error();
    put(said.size());
    fwrite(said.data(), 1, said.size(), stdout);
    for (auto &a : list)
        if (a.array)
            fwrite(a.bytes, 1, a.size, stdout);
    return 0;
}
