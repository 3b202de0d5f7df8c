package input

import (
	"fmt"

	"distaff/codegen/format"
	"distaff/io/tcs"
	"distaff/spmd/bridge"
	"distaff/spmd/fault"
)

// pickFormats settles how every tensor is stored.
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

// planMemory adds up what dense levels fix in advance, and refuses what all ranks
// together have no room for, before anything is allocated. What counts decide, and what one
// rank has of blocks, is refused when it is allocated, by the limit.
func (r *Reader) planMemory() error {
	total, worst, worstBytes := 0.0, "", 0.0
	for _, name := range r.p.Names {
		b := r.fixedBytes(name)
		total += b
		if b > worstBytes {
			worst, worstBytes = name, b
		}
	}
	if max := r.Limit.Max(); max > 0 && total > float64(max)*float64(r.Comm.Size()) {
		dims := r.Sizes.Dims[worst]
		msg := fmt.Sprintf("%s (%s) stored as %s in %v takes %s", worst, fault.Sizes(dims), fault.Format(r.Formats[worst]), r.Types[worst], fault.Bytes(worstBytes))
		if total > 1.01*worstBytes {
			msg += fmt.Sprintf(" of %s for all tensors", fault.Bytes(total))
		}
		return fault.Memoryf("%s, and the memory limit is %s: %s or raise --memory-limit", msg, r.limitText(), r.smaller(worst))
	}
	return nil
}

// planGenerated readies generated data, and refuses what cannot fit, since the number
// of its entries is known beforehand.
func (r *Reader) planGenerated() (err error) {
	for _, name := range r.p.Names {
		s := r.Sources[name]
		if s == nil || s.Gen == nil {
			continue
		}
		dims, f := r.Sizes.Dims[name], r.Formats[name]
		if s.data, err = s.Gen.Bind(name, dims, s.typ, r.o.Seed); err != nil {
			return err
		}
		n, ranks := s.Gen.Entries(dims), r.Comm.Size()
		bytes, max := n*float64(r.entryBytes(name)), float64(r.Limit.Max())*float64(ranks)
		if f.AllDense() || max <= 0 || bytes <= max {
			continue
		}
		msg := fmt.Sprintf("-g=%s:%s: %s (%s) has %s entries, which stored as %s in %v take %s at least, and the memory limit is %s",
			name, s.Gen, name, fault.Sizes(dims), floatCount(n), fault.Format(f), r.Types[name], fault.Bytes(bytes), r.limitText())
		return fault.Memoryf("%s: make it smaller, or raise --memory-limit", msg)
	}
	return nil
}

// limitText is the memory limit with what sets it, for messages.
func (r *Reader) limitText() string {
	s := fmt.Sprintf("%s (%s)", tcs.Size(r.Limit.Max()), r.LimitWhy)
	if n := r.Comm.Size(); n > 1 {
		s += fmt.Sprintf(" at each of %d ranks", n)
	}
	return s
}

// entryBytes is the least memory that an entry takes of a tensor with compressed levels:
// its value, and its coordinate in the innermost level.
func (r *Reader) entryBytes(name string) int {
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

// smaller names a flag that makes a tensor smaller.
func (r *Reader) smaller(name string) string {
	f := r.Formats[name]
	if f.AllDense() {
		return fmt.Sprintf("store it sparse (-f=%s:%v)", name, format.SparseOf(f.NumModes()))
	}
	g := format.SparseOf(f.NumModes())
	for l := range g.Levels {
		g.Levels[l] = format.Compressed
	}
	return fmt.Sprintf("compress its outer levels (-f=%s:%v)", name, g)
}

// fixedBytes is the memory that a tensor takes whatever its entries are: the
// values of an all-dense one, else the positions below its outer dense levels.
func (r *Reader) fixedBytes(name string) float64 {
	if s := r.Sources[name]; s != nil && (s.Tensor != nil || s.held != nil) && r.AsStored(s) {
		return 0 // mapped, or the caller's
	}
	if name == r.p.Result && r.o.FixedPattern != nil {
		return 0 // the caller's
	}
	f, dims := r.Formats[name], r.Sizes.Dims[name]
	p := 1.0
	for l, k := range f.Levels {
		if k != format.Dense {
			return 4 * (p + 1)
		}
		p *= float64(dims[f.Order[l]])
	}
	return p * float64(r.Types[name].Size())
}

// floatCount prints a number that may pass 64 bits: exactly where a float64 is exact.
func floatCount(n float64) string {
	if n < 1<<53 {
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprintf("%.4g", n)
}
