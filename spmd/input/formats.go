package input

import (
	"distaff/io/tensor"
)

// pickFormats determines the format of every tensor.
func (r *Reader) pickFormats() {
	for _, name := range r.p.Names {
		f, given := r.p.Formats[name]
		if s := r.Sources[name]; !given {
			switch {
			case name == r.p.Result && r.o.FixedPattern != nil:
				f = r.o.FixedPattern.Format()
			case s == nil || name == r.p.Result:
				f = tensor.DenseOf(r.p.Orders[name])
			case s.Tensor != nil:
				f = s.Tensor.Format()
			case s.held != nil:
				f = s.held.Blocks.Layout.Format
			case s.Dense:
				f = tensor.DenseOf(s.order)
			default:
				f = tensor.SparseOf(s.order)
			}
		}
		r.Formats[name] = f
	}
}

// bindGenerated creates the generator of each operand with generated data, for the operand's sizes
// and type. The generated values depend on the name that the generator gets. For the operand that
// is the old value of the result, this is the name of the result. For any other operand, it is the
// operand's name.
func (r *Reader) bindGenerated() (err error) {
	for _, a := range r.p.Norm.Accesses() {
		if a.Made != nil && a.Made.Rest {
			r.Sources[a.Name].Gen = restKind(a, r.Sizes.Vars)
		}
	}
	for _, name := range r.p.Names {
		if s := r.Sources[name]; s != nil && s.Gen != nil {
			of := name
			if name == r.p.Old {
				of = r.p.Result
			}
			if s.data, err = s.Gen.Bind(of, r.Sizes.Dims[name], s.typ, r.o.Seed); err != nil {
				return err
			}
		}
	}
	return nil
}

// EntryBytes returns the smallest number of bytes that an entry of a tensor with compressed levels
// occupies: its value and, unless the innermost level is dense, its coordinate in this level.
func (r *Reader) EntryBytes(name string) int64 {
	f := r.Formats[name]
	bytes := r.Types[name].Size()
	if len(f.Levels) == 0 {
		return bytes
	}
	if last := len(f.Levels) - 1; f.Levels[last] != tensor.Dense {
		bytes += 4
		if r.Sizes.Dims[name][f.Order[last]] > 1<<31-1 {
			bytes += 4
		}
	}
	return bytes
}
