package spmd

import (
	"fmt"

	"distaff/codegen/format"
	"distaff/io/tcs"
)

// pickFormats settles how every tensor is stored.
func (r *run) pickFormats() {
	for _, name := range r.p.names {
		f, given := r.p.formats[name]
		if s := r.sources[name]; !given {
			switch {
			case name == r.p.result && r.job.FixedPattern != nil:
				f = formatOf(r.job.FixedPattern)
			case s == nil || name == r.p.result:
				f = format.DenseOf(r.p.orders[name])
			case s.tensor != nil:
				f = formatOf(s.tensor)
			case s.dense:
				f = format.DenseOf(s.order)
			default:
				f = format.SparseOf(s.order)
			}
		}
		r.formats[name] = f
	}
}

// planMemory adds up what dense levels fix in advance, and refuses what cannot
// fit before anything is allocated. What counts decide is refused when it is
// allocated, by the limit.
func (r *run) planMemory() error {
	total, worst, worstBytes := 0.0, "", 0.0
	for _, name := range r.p.names {
		b := r.fixedBytes(name)
		total += b
		if b > worstBytes {
			worst, worstBytes = name, b
		}
	}
	if max := r.limit.Max(); max > 0 && total > float64(max) {
		dims := r.sizes.Dims[worst]
		msg := fmt.Sprintf("%s (%s) stored as %s in %v takes %s", worst, sizesString(dims), formatName(r.formats[worst]), r.types[worst], floatSize(worstBytes))
		if total > 1.01*worstBytes {
			msg += fmt.Sprintf(" of %s for all tensors", floatSize(total))
		}
		return memoryErrorf("%s, and the memory limit is %s (%s): %s or raise --memory-limit", msg, tcs.Size(max), r.limitWhy, r.smaller(worst))
	}
	return nil
}

// planGenerated readies generated data, and refuses what cannot fit, since the number
// of its entries is known beforehand.
func (r *run) planGenerated() (err error) {
	for _, name := range r.p.names {
		s := r.sources[name]
		if s == nil || s.gen == nil {
			continue
		}
		dims, f := r.sizes.Dims[name], r.formats[name]
		if s.data, err = s.gen.Bind(name, dims, s.typ, r.job.Seed); err != nil {
			return err
		}
		n, ranks := s.gen.Entries(dims), r.comm.Size()
		bytes, max := n*float64(r.entryBytes(name)), float64(r.limit.Max())*float64(ranks)
		if f.AllDense() || max <= 0 || bytes <= max {
			continue
		}
		msg := fmt.Sprintf("-g=%s:%s: %s (%s) has %s entries, which stored as %s in %v take %s at least, and the memory limit is %s (%s)",
			name, s.gen, name, sizesString(dims), floatCount(n), formatName(f), r.types[name], floatSize(bytes), tcs.Size(r.limit.Max()), r.limitWhy)
		if ranks > 1 {
			msg += fmt.Sprintf(" at each of %d ranks", ranks)
		}
		return memoryErrorf("%s: make it smaller, or raise --memory-limit", msg)
	}
	return nil
}

// entryBytes is the least memory that an entry takes of a tensor with compressed levels:
// its value, and its coordinate in the innermost level.
func (r *run) entryBytes(name string) int {
	f := r.formats[name]
	bytes := r.types[name].Size()
	if len(f.Levels) == 0 {
		return bytes
	}
	if last := len(f.Levels) - 1; f.Levels[last] != format.Dense {
		bytes += 4
		if r.sizes.Dims[name][f.Order[last]] > 1<<31-1 {
			bytes += 4
		}
	}
	return bytes
}

// smaller names a flag that makes a tensor smaller.
func (r *run) smaller(name string) string {
	f := r.formats[name]
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
func (r *run) fixedBytes(name string) float64 {
	if s := r.sources[name]; s != nil && s.tensor != nil && r.asStored(s) {
		return 0 // mapped, or the caller's
	}
	if name == r.p.result && r.job.FixedPattern != nil {
		return 0 // the caller's
	}
	f, dims := r.formats[name], r.sizes.Dims[name]
	p := 1.0
	for l, k := range f.Levels {
		if k != format.Dense {
			return 4 * (p + 1)
		}
		p *= float64(dims[f.Order[l]])
	}
	return p * float64(r.types[name].Size())
}

func formatName(f format.Format) string {
	if len(f.Levels) == 0 {
		return "a scalar"
	}
	return f.String()
}

// floatCount prints a number that may pass 64 bits: exactly where a float64 is exact.
func floatCount(n float64) string {
	if n < 1<<53 {
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprintf("%.4g", n)
}

// floatSize prints a count of bytes that may pass 64 bits.
func floatSize(b float64) string {
	if b < 1<<62 {
		return tcs.Size(int64(b))
	}
	return fmt.Sprintf("%.4g EiB", b/(1<<60))
}
