package cuda

import (
	_ "embed"
	"fmt"
	"strings"

	"distaff/codegen/emit/clike"
	"distaff/io/tensor"
)

// productsText has the templates of the kernels that multiply dense matrices.
//
//go:embed products.cuh
var productsText string

// Product is a kernel that multiplies dense matrices, C += alpha A B.
type Product struct {
	Kernel     string
	Rows, Cols int64 // the size of the part of C that a block computes
	Terms      int64 // the terms of each sum that a block multiplies at once
	Threads    int64
	Shared     int64  // bytes of dynamic shared memory
	sums       string // the C++ class of a block's sums
}

// ProductOf returns the kernel for matrices of a type. tensorCores is true if the GPU multiplies
// float64 by tensor cores. The kernel's parameters are, for each of A, B and C, the address and the
// distances of rows, of columns, and of the matrices of a batch. Then follow alpha, the numbers of
// C's rows, of its columns, and of terms, and the number of terms of a part. The grid has a block
// for each tile of C, each part of the terms, and each product of the batch; the tiles come first.
func ProductOf(t tensor.Type, tensorCores bool) Product {
	plain := func(high, wide, terms, ring int64) Product {
		pack := 16 / t.Size()
		p := Product{Rows: 16 * high, Cols: 8 * wide, Terms: terms, Threads: 128,
			sums: fmt.Sprintf("dst_plain<%s, %d, %d, %d, %d>", ctype(t), high, wide, terms, ring)}
		p.Shared = ring * terms * (p.Rows + p.Cols + 2*pack) * t.Size()
		return p
	}
	var p Product
	switch {
	case t == tensor.Float32:
		p = plain(8, 16, 16, 3)
	case t == tensor.Float64 && tensorCores:
		p = Product{Rows: 128, Cols: 128, Terms: 16, Threads: 256, Shared: 4 * 16 * (128 + 128 + 8) * 8,
			sums: "dst_tensor"}
	default:
		p = plain(4, 8, 8, 3)
	}
	p.Kernel = "dst_product_" + clike.Suffix(t)
	return p
}

// Products returns a CUDA C++ file with the kernel of ProductOf.
func Products(t tensor.Type, tensorCores bool) string {
	needs := map[string]bool{"dynamic": true}
	special := ""
	if t.IsComplex() {
		needs["complex:"+t.String()] = true
		special = "DST_COMPLEX_PRODUCTS(" + ctype(t) + ")\n"
	}
	p := ProductOf(t, tensorCores)
	return clike.Prelude(helpers, needs, helperText) + productsText + special +
		fmt.Sprintf("DST_PRODUCT(%s, %s)\n", p.Kernel, p.sums)
}

// EmulatedProducts returns the file of Products for the CPU, in the same way as Emulated.
func EmulatedProducts(t tensor.Type) string {
	var b strings.Builder
	b.WriteString(Emulation + Products(t, true))
	p := ProductOf(t, true)
	entry(&b, p.Kernel, p.Threads, true, p.Shared)
	return b.String()
}
