package c

import (
	_ "embed"

	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
)

//go:embed dst.h
var header string

// Header returns the text of dst.h, the C interface of a leaf. Every File begins with it.
func Header() string { return header }

// Flags returns the compiler flags for a file of leaves, without the flags for the output. cpu is a
// value for -march, or "" for the compiler's default.
//
// -fwrapv is required because integers wrap. The floating-point flags do not change any computed
// value: they let the compiler ignore errno and traps. NaN, infinity and the sign of zero are kept.
// Only sums in "omp simd reduction" are reordered. The compiler must not fuse products with sums by
// itself, because the results would then depend on optimization. Products that are to be fused are
// calls of dst_fma in the C text. Functions marked DST_FUSED, which multiply matrices, are an
// exception.
func Flags(cpu string) []string {
	list := []string{"-std=gnu99", "-O3", "-fopenmp", "-fwrapv", "-fno-math-errno",
		"-fno-trapping-math", "-ffp-contract=off"}
	if cpu != "" {
		list = append(list, "-march="+cpu)
	}
	return list
}

// Symbol returns the name of the C function for the leaf with the given name (see clike.Symbol).
func Symbol(name string) string {
	return clike.Symbol(name, "_leaf")
}

// File returns a C file with the given leaves, which must have different names. It panics if
// ir.Verify rejects a leaf.
func File(funcs ...*ir.Func) string { return print(clike.NewNamer(nil), funcs) }

// Unnamed returns a C file with the given leaves, for compilers and their caches. Variables and
// arrays have numbers in place of names. The numbers that Values returns are not in the file: the
// leaf reads them from the environment. Leaves that differ only in names and in these numbers
// therefore have the same text, except for the leaf's own name. People and other programs get the
// text of File, which contains the numbers.
func Unnamed(funcs ...*ir.Func) string { return print(clike.NewUnnamed(), funcs) }

func print(names *clike.Namer, funcs []*ir.Func) string {
	f := newFile(names)
	symbols := map[string]bool{}
	for _, fn := range funcs {
		if err := ir.Verify(fn); err != nil {
			panic("BUG: emit/c: " + err.Error())
		}
		symbol := Symbol(fn.Name)
		if symbols[symbol] {
			panic("BUG: emit/c: two leaves are named " + symbol)
		}
		symbols[symbol] = true
		f.names.Take(symbol)
	}
	for _, fn := range funcs {
		f.leaf(fn)
	}
	return f.text()
}
