package input

import (
	"distaff/codegen/format"
	"distaff/spmd/bridge"
)

// pickFormats determines the format of every tensor.
func (r *Reader) pickFormats() {
	for _, name := range r.p.Names {
		f, given := r.p.Formats[name]
		if s := r.Sources[name]; !given {
			switch {
			case name == r.p.Result && r.o.FixedPattern != nil:
				f = bridge.Format(r.o.FixedPattern)
			case s == nil || name == r.p.Result:
				f = format.DenseOf(r.p.Orders[name])
			case s.Tensor != nil:
				f = bridge.Format(s.Tensor)
			case s.held != nil:
				f = bridge.FormatOf(s.held.Blocks.Kinds, s.held.Blocks.Modes)
			case s.Dense:
				f = format.DenseOf(s.order)
			default:
				f = format.SparseOf(s.order)
			}
		}
		r.Formats[name] = f
	}
}

// bindGenerated prepares generated data. The old value of the result is generated under the name of
// the result, whatever its name on the right side.
func (r *Reader) bindGenerated() (err error) {
	for _, name := range r.p.Names {
		if s := r.Sources[name]; s != nil && s.Gen != nil {
			tensor := name
			if name == r.p.Old {
				tensor = r.p.Result
			}
			if s.data, err = s.Gen.Bind(tensor, r.Sizes.Dims[name], s.typ, r.o.Seed); err != nil {
				return err
			}
		}
	}
	return nil
}

// EntryBytes returns the least number of bytes that an entry of a tensor with compressed levels
// occupies: its value and its coordinate in the innermost level.
func (r *Reader) EntryBytes(name string) int {
	f := r.Formats[name]
	bytes := r.Types[name].Size()
	if len(f.Levels) == 0 {
		return bytes
	}
	if last := len(f.Levels) - 1; f.Levels[last] != format.Dense {
		bytes += 4
		if r.Sizes.Dims[name][f.Order[last]] > 1<<31-1 {
			bytes += 4
		}
	}
	return bytes
}
