package lapack

import "math"

// Residual reports how well the results of the function called name fit its operands: 0 for exact
// results, and about the relative rounding error of a value for good ones. It multiplies the
// results, for example Q and R, and compares the product with the operand in the Frobenius norm,
// relative to the norms of the factors. It returns NaN if a value is NaN.
func Residual(name string, in, out []Array) float64 {
	for _, a := range append(in[:len(in):len(in)], out...) {
		if a.Complex != nil {
			return residual[complex128](name, in, out)
		}
	}
	return residual[float64](name, in, out)
}

func residual[T number](name string, in, out []Array) float64 {
	a := matrixOf[T](in[0])
	if name == "det" {
		return detResidual(a, out[0])
	}
	list := make([]matrix[T], len(out))
	for k, x := range out {
		list[k] = matrixOf[T](x)
	}
	x := list[0]
	switch name {
	case "solve":
		return a.times(x).differs(matrixOf[T](in[1]), a.norm()*x.norm())
	case "inv":
		return a.times(x).differs(identity[T](a.rows), a.norm()*x.norm())
	case "pinv":
		return a.times(x).times(a).differs(a, a.norm()*x.norm()*a.norm())
	case "qr":
		return max(x.times(list[1]).differs(a, a.norm()), x.orthogonality())
	case "svd":
		u, s, vh := list[0], list[1], list[2]
		return max(u.scaled(s).times(vh).differs(a, a.norm()), u.orthogonality(),
			vh.adjoint().orthogonality())
	case "eigh":
		a, v := a.hermitian(), list[1]
		return max(a.times(v).differs(v.scaled(x), a.norm()), v.orthogonality())
	case "cholesky":
		return x.times(x.adjoint()).differs(a.hermitian(), a.norm())
	}
	panic("BUG: lapack: no residual of " + name)
}

// norm returns the Frobenius norm of m.
func (m matrix[T]) norm() float64 {
	sum := 0.0
	for _, x := range m.data {
		sum = math.Hypot(sum, abs(x))
	}
	return sum
}

// differs returns the norm of m - n, relative to the norm of n plus scale.
func (m matrix[T]) differs(n matrix[T], scale float64) float64 {
	d := m.clone()
	for k := range d.data {
		d.data[k] -= n.data[k]
	}
	diff := d.norm()
	if diff == 0 {
		return 0
	}
	return diff / (n.norm() + scale)
}

// orthogonality returns how far the columns of m are from orthonormal.
func (m matrix[T]) orthogonality() float64 {
	return m.adjoint().times(m).differs(identity[T](m.cols), 1)
}

// scaled returns m with its columns multiplied by the values of s.
func (m matrix[T]) scaled(s matrix[T]) matrix[T] {
	out := m.clone()
	for k := range out.data {
		out.data[k] *= s.data[k%m.cols]
	}
	return out
}

// hermitian returns the Hermitian matrix with the lower triangle of m.
func (m matrix[T]) hermitian() matrix[T] {
	out := m.clone()
	for i := range m.rows {
		for j := range i {
			out.data[j*m.cols+i] = conj(m.data[i*m.cols+j])
		}
		out.data[i*m.cols+i] = fromReal[T](realPart(m.data[i*m.cols+i]))
	}
	return out
}

func realPart[T number](x T) float64 {
	switch x := any(x).(type) {
	case complex128:
		return real(x)
	case float64:
		return x
	}
	panic("BUG: lapack: a value of no type")
}

// detResidual compares a determinant of a with the product of the diagonal of a's factor R. It
// compares absolute values.
func detResidual[T number](a matrix[T], out Array) float64 {
	want := 1.0
	if !a.isEmpty() {
		b, ok := found[T]()
		if !ok {
			b = any(gonumBackend{}).(backend[T])
		}
		_, r := b.qr(a.clone())
		for k := range a.rows {
			want *= abs(r.data[k*a.rows+k])
		}
	}
	out.Dims = []int{1, 1}
	got := abs(matrixOf[T](out).data[0])
	if got == want {
		return 0
	}
	bound := math.Pow(a.norm(), float64(a.rows)) // of the determinant, and its rounding error
	return math.Abs(got-want) / max(bound, want)
}
