package cuda

import (
	"unsafe"

	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// library opens nothing, because the emulation multiplies matrices itself. It returns an error if
// the environment says that there is no such library.
func (d *emulated) library(name string) error { return mathLibraries[name].unwanted() }

// value returns an element of an array on the device.
func (d *emulated) value(at pointer, elem tensor.Type) complex128 {
	d.checkInside(at, elem.Size())
	return readScalar(*(*unsafe.Pointer)(unsafe.Pointer(&at)), elem).C
}

// add adds x to an element.
func (d *emulated) add(to pointer, elem tensor.Type, x complex128) {
	writeScalar(*(*unsafe.Pointer)(unsafe.Pointer(&to)),
		&ir.Lit{Typ: elem, C: d.value(to, elem) + x})
}

// scalar returns the value of a library's scalar parameter.
func scalar(x slot, elem tensor.Type) complex128 { return readScalar(unsafe.Pointer(&x), elem).C }

// element returns the address of element (i,j).
func (m denseMatrix) element(i, j, size int64) pointer {
	return m.at +
		pointer((i*m.row+j*m.col)*size)
}

// member returns the matrix of product b of a batch.
func (m denseMatrix) member(b, size int64) denseMatrix {
	m.at += pointer(b * m.batch * size)
	return m
}

func (d *emulated) gemm(p matrixProduct) error {
	if !p.isSupported() {
		panic("BUG: cuda: a product of matrices that no library takes")
	}
	size := p.elem.Size()
	alpha := scalar(p.alpha, p.elem)
	for b := range p.batch {
		a, x, c := p.a.member(b, size), p.b.member(b, size), p.c.member(b, size)
		for i := range p.m {
			for j := range p.n {
				var sum complex128
				for k := range p.k {
					sum += d.value(a.element(i, k, size), p.elem) * d.value(x.element(k, j, size), p.elem)
				}
				d.add(c.element(i, j, size), p.elem, alpha*sum)
			}
		}
	}
	return nil
}

func (d *emulated) spmm(p sparseProduct) error {
	size, index := p.elem.Size(), tensor.Int64
	if p.width == 4 {
		index = tensor.Int32
	}
	number := func(list pointer, k int64) int64 {
		at := list + pointer(k*p.width)
		d.checkInside(at, p.width)
		return readScalar(*(*unsafe.Pointer)(unsafe.Pointer(&at)), index).I
	}
	alpha := scalar(p.alpha, p.elem)
	for i := range p.m {
		for k := number(p.pos, i); k < number(p.pos, i+1); k++ {
			x, col := alpha*d.value(p.vals+pointer(k*size), p.elem), number(p.crd, k)
			if k >= p.nnz || col < 0 || col >= p.k {
				panic("BUG: cuda: an entry outside of its sparse matrix")
			}
			for j := range p.n {
				d.add(p.c.element(i, j, size), p.elem, x*d.value(p.b.element(col, j, size), p.elem))
			}
		}
	}
	return nil
}
