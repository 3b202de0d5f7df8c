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
	"distaff/spmd/plan"
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
	g := format.SparseOf(f.NumModes())
	z := r.storedAs(name, g)
	if float64(z.Bytes)*worthTimes > bytes {
		return ""
	}
	return fmt.Sprintf(
		"%s (%s) is dense where -f does not say else, and takes %s; of operands whose entries are spread evenly it has about %s, for which -f=%s:%v takes %s",
		name, fault.Sizes(dims), fault.Bytes(bytes), tcs.Count(z.Entries, "entry"), name, g,
		tcs.Size(z.Bytes))
}

// BytesAs returns about how many bytes the tensor takes in the format g, as estimated from what
// inputs tell of their entries.
func (r *Reader) BytesAs(name string, g format.Format) int64 { return r.storedAs(name, g).Bytes }

// storedAs estimates the tensor in the format g. The result has the entries that its operands
// have if these are spread evenly.
func (r *Reader) storedAs(name string, g format.Format) plan.Size {
	dims := r.Sizes.Dims[name]
	t := &estimate.Tensor{Partition: partition.Whole(len(dims)), Dims: dims, Kinds: g.Letters(),
		Modes: g.Order, Type: bridge.TCS(r.Types[name])}
	if name != r.p.Result {
		t.Entries = r.Sources[name].EntryCount(dims)
		return t.Block(0)
	}
	d := estimate.Densities{Of: r.sparse, Size: r.Sizes.Vars}
	terms := r.p.Norm.Terms
	if r.Sources[name] != nil { // of +=
		terms = append([]*notation.Term{{Factors: []notation.Factor{r.p.Norm.LHS}}}, terms...)
	}
	t.Entries, t.Pattern = d.Sum(terms, nil)*estimate.Space(dims), d.Pattern(r.p.Norm.LHS.Vars, terms)
	return t.Block(0)
}

// sparse is a tensor that may have entries at some coordinates alone; nil of another, and of one of
// which that is not known.
func (r *Reader) sparse(name string) *estimate.Tensor {
	f, src := r.Formats[name], r.Sources[name]
	if f.AllDense() || src == nil {
		return nil
	}
	return &estimate.Tensor{Dims: r.Sizes.Dims[name], Kinds: f.Letters(), Modes: f.Order,
		Entries: src.EntryCount(r.Sizes.Dims[name])}
}
