package c

import (
	_ "embed"

	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
)

//go:embed dst.h
var header string

// Header is the text of dst.h, the C interface of a leaf. Every File begins with it.
func Header() string { return header }

// Flags are the compiler's flags for a file of leaves, without those of the
// output; cpu is a value of -march, "" for the compiler's default.
//
// -fwrapv is part of the meaning: integers wrap. Of relaxed floating point there
// is only what no value shows: errno and traps are not observed. NaN, infinity
// and the sign of zero keep their meaning, and no sum is reordered but those of
// "omp simd reduction". Which products are fused with a sum, the text says (dst_fma).
func Flags(cpu string) []string {
	list := []string{"-std=gnu99", "-O3", "-fopenmp", "-fwrapv", "-fno-math-errno",
		"-fno-trapping-math", "-ffp-contract=off"}
	if cpu != "" {
		list = append(list, "-march="+cpu)
	}
	return list
}

// Symbol is the name of the C function of a leaf called name: the name itself
// where C allows it.
func Symbol(name string) string {
	return clike.Symbol(name, "_leaf")
}

// File is a C file with the leaves in it, whose names are to differ. It panics
// on a leaf that ir.Verify refuses.
func File(funcs ...*ir.Func) string { return print(clike.NewNamer(nil), funcs) }

// Unnamed is a C file with the leaves in it, whose variables and arrays are numbered: it is the
// same for all leaves that differ in names alone, but for the leaf's own, and in numbers of the
// statement. Values returns the numbers, which the leaf reads from env. The text is for compilers
// and their caches. People and other programs get the text of File, which has the numbers in it.
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
