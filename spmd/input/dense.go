package input

import (
	"fmt"

	"distaff/codegen/format"
	"distaff/codegen/notation"
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
	d := estimate.Densities{Of: r.sparse, Size: r.Sizes.Vars}
	terms := r.p.Norm.Terms
	if r.Sources[name] != nil { // of +=
		terms = append([]*notation.Term{{Factors: []notation.Factor{r.p.Norm.LHS}}}, terms...)
	}
	g := format.SparseOf(f.NumModes())
	t := &estimate.Tensor{Partition: partition.Whole(len(dims)), Dims: dims, Kinds: g.Letters(), Modes: g.Order, Type: typ, Entries: d.Sum(terms, nil) * all, Pattern: d.Pattern(r.p.Norm.LHS.Vars, terms)}
	z := t.Block(0)
	if float64(z.Bytes)*worthTimes > bytes {
		return ""
	}
	return fmt.Sprintf("%s (%s) is dense where -f does not say else, and takes %s; of operands whose entries are spread evenly it has about %s, for which -f=%s:%v takes %s",
		name, fault.Sizes(dims), fault.Bytes(bytes), tcs.Count(z.Entries, "entry"), name, g, tcs.Size(z.Bytes))
}

// sparse is a tensor that may have entries at some coordinates alone; nil of another, and of one of which that is not known.
func (r *Reader) sparse(name string) *estimate.Tensor {
	f, src := r.Formats[name], r.Sources[name]
	if f.AllDense() || src == nil {
		return nil
	}
	return &estimate.Tensor{Dims: r.Sizes.Dims[name], Kinds: f.Letters(), Modes: f.Order, Entries: src.EntryCount(r.Sizes.Dims[name])}
}
