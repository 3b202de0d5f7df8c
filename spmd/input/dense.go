package input

import (
	"fmt"

	"distaff/codegen/format"
	"distaff/io/tcs"
	"distaff/spmd/bridge"
	"distaff/spmd/estimate"
	"distaff/spmd/fault"
	"distaff/spmd/partition"
)

// A user is told of a dense result from worthBytes on, where it takes worthTimes what it
// would take with compressed levels.
const (
	worthBytes = 64 << 20
	worthTimes = 10
)

// DenseResult says that the result, which is dense because nothing else was said, would be far
// smaller in the format that other sparse tensors get, as estimated from what inputs tell of
// their entries; "" where it would not, or nothing is known.
func (r *Reader) DenseResult() string {
	name := r.p.Result
	f, dims, typ := r.Formats[name], r.Sizes.Dims[name], bridge.TCS(r.Types[name])
	if _, given := r.p.Formats[name]; given || len(dims) == 0 || r.o.FixedPattern != nil {
		return ""
	}
	all := estimate.Space(dims)
	bytes := all * float64(typ.Size())
	if bytes < worthBytes {
		return ""
	}
	d := estimate.Densities{Of: r.density, Size: r.Sizes.Vars}
	share := d.Sum(r.p.Norm.Terms, nil)
	if r.Sources[name] != nil { // of +=
		share = 1 - (1-share)*(1-r.density(name))
	}
	g := format.SparseOf(f.NumModes())
	t := &estimate.Tensor{Partition: partition.Whole(len(dims)), Dims: dims, Kinds: g.Letters(), Modes: g.Order, Type: typ, Entries: share * all}
	z := t.Block(0)
	if float64(z.Bytes)*worthTimes > bytes {
		return ""
	}
	return fmt.Sprintf("%s (%s) is dense where -f does not say else, and takes %s; of operands whose entries are spread evenly it has about %s, for which -f=%s:%v takes %s",
		name, fault.Sizes(dims), fault.Bytes(bytes), tcs.Count(z.Entries, "entry"), name, g, tcs.Size(z.Bytes))
}

// density is the share of a tensor's coordinates that are entries, 1 where that is not known.
func (r *Reader) density(name string) float64 {
	dims := r.Sizes.Dims[name]
	all := estimate.Space(dims)
	if r.Formats[name].AllDense() || r.Sources[name] == nil || all == 0 {
		return 1
	}
	return min(1, r.Sources[name].EntryCount(dims)/all)
}
