package input

import (
	"fmt"

	"distaff/codegen/notation"
	"distaff/io/tensor"
	"distaff/spmd/estimate"
	"distaff/spmd/fault"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
)

// worthBytes and worthTimes decide when DenseResult advises the user to choose a sparse format. The
// dense result must occupy at least worthBytes bytes. It must also occupy at least worthTimes times
// as many bytes as the result in a sparse format.
const (
	worthBytes = 64 << 20
	worthTimes = 10
)

// DenseResult returns a message if the result is dense only because the user gave it no format, and
// would be far smaller in the default format of sparse tensors. Otherwise it returns "". The size
// in that format is estimated from the numbers of entries of the inputs.
func (r *Reader) DenseResult() string {
	name := r.p.Result
	f, dims, typ := r.Formats[name], r.Sizes.Dims[name], r.Types[name]
	if _, given := r.p.Formats[name]; given || len(dims) == 0 || r.o.FixedPattern != nil {
		return ""
	}
	all := estimate.Space(dims)
	bytes := all * float64(typ.Size())
	if bytes < worthBytes {
		return ""
	}
	g := tensor.SparseOf(f.NumModes())
	z := r.storedAs(name, g)
	if float64(z.Bytes)*worthTimes > bytes {
		return ""
	}
	return fmt.Sprintf(
		"%s (%s) is dense, because no -f gives its format, and needs %s; if its operands' "+
			"entries are spread evenly, it has about %s, which need %s with -f=%s:%v",
		name, fault.Sizes(dims), fault.Bytes(bytes), tensor.Count(z.Entries, "entry"),
		tensor.Bytes(z.Bytes), name, g)
}

// BytesAs returns the estimated number of bytes of a tensor in the format g.
func (r *Reader) BytesAs(name string, g tensor.Format) int64 { return r.storedAs(name, g).Bytes }

// storedAs estimates the size of a tensor in the format g. For the result, the estimate assumes
// that the entries of the operands are spread evenly.
func (r *Reader) storedAs(name string, g tensor.Format) plan.Size {
	dims := r.Sizes.Dims[name]
	t := &estimate.Tensor{Partition: partition.Whole(len(dims)),
		Layout: tensor.Layout{Dims: dims, Type: r.Types[name], Format: g}}
	if name != r.p.Result {
		t.Entries = r.Sources[name].EntryCount(dims)
		return t.Block(0)
	}
	d := estimate.Densities{Of: r.sparse, Size: r.Sizes.Vars}
	terms := r.p.Norm.Terms
	if r.Sources[name] != nil { // the old value of +=
		terms = append([]*notation.Term{{Factors: []notation.Factor{r.p.Norm.LHS}}}, terms...)
	}
	t.Entries, t.Pattern = d.Sum(terms, nil)*estimate.Space(dims), d.Pattern(r.p.Norm.LHS.Vars, terms)
	return t.Block(0)
}

// sparse returns an estimate of a tensor that may lack entries. It returns nil if the tensor's
// format is dense or if it has no source.
func (r *Reader) sparse(name string) *estimate.Tensor {
	f, src := r.Formats[name], r.Sources[name]
	if f.AllDense() || src == nil {
		return nil
	}
	return &estimate.Tensor{Layout: tensor.Layout{Dims: r.Sizes.Dims[name], Format: f},
		Entries: src.EntryCount(r.Sizes.Dims[name])}
}
