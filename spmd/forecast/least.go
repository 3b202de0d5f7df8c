package forecast

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"distaff/codegen/notation"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/estimate"
	"distaff/spmd/fault"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/prepared"
)

// Least is the memory that a statement certainly needs on a rank. It follows from the properties
// that are known before anything is read or computed. Least counts blocks of operands and of the
// result, because a rank has these blocks when computing ends:
//
//   - For each operand that is read into blocks, it counts the values if the tensor is dense, and
//     otherwise the first pos array. For generated data, it also counts the entries.
//   - For the result, it counts the values if the tensor is dense. If the result is sparse and has
//     an entry at every coordinate, it counts the first pos array and the entries.
//
// A tensor is counted once if the statement reads it twice, or reads it and adds to it. Scalars,
// tensors that a program already has, and tensors whose blocks depend on their entries are not
// counted.
type Least struct {
	k    *prepared.Planned
	list []*tensorLeast
	at   []float64 // bytes, by rank
	// The mean over all ranks if it is unknown which rank has which entries: some rank needs at
	// least this. Otherwise 0.
	mean float64
}

// tensorLeast is the memory of one tensor.
type tensorLeast struct {
	name    string
	at      []float64 // bytes, by rank
	spread  float64   // further bytes of all ranks together
	entries float64   // entries of generated data, or of a result with every coordinate; otherwise 0
}

// NewLeast adds up the memory that a planned statement certainly needs. If given is true, the
// result is not counted, because the statement makes no new result or the caller provides the
// memory.
func NewLeast(k *prepared.Planned, given bool) *Least {
	x := &Least{k: k, at: make([]float64, k.Problem.Ranks)}
	for _, o := range k.Problem.Operands {
		x.operand(o)
	}
	if !given {
		x.result()
	}
	spread := 0.0
	for _, t := range x.list {
		spread += t.spread
		for rank, n := range t.at {
			x.at[rank] += n
		}
	}
	if spread > 0 {
		x.mean = (spread + sum(x.at)) / float64(k.Problem.Ranks)
	}
	return x
}

func sum(list []float64) (n float64) {
	for _, v := range list {
		n += v
	}
	return n
}

// tensor returns a description of the named tensor, divided into the blocks of part. The
// description has no number of entries.
func (x *Least) tensor(name string, part *partition.Partition) *estimate.Tensor {
	f := x.k.Reader.Formats[name]
	return &estimate.Tensor{Partition: part,
		Layout: tensor.Layout{Dims: x.k.Reader.Sizes.Dims[name], Type: x.k.Reader.Types[name],
			Format: f}}
}

// add adds the memory of a tensor. If the tensor is counted already, add keeps, for each rank, the
// larger of the two sizes.
func (x *Least) add(t *tensorLeast) {
	for _, u := range x.list {
		if u.name != t.name {
			continue
		}
		for rank := range u.at {
			u.at[rank] = max(u.at[rank], t.at[rank])
		}
		u.spread, u.entries = max(u.spread, t.spread), max(u.entries, t.entries)
		return
	}
	x.list = append(x.list, t)
}

func (x *Least) operand(o plan.Operand) {
	s, src := x.tensor(o.Tensor, o.Before()), x.k.Reader.Sources[o.Tensor]
	if src.Held() || len(s.Layout.Dims) == 0 || !s.Partition.IsPlain() {
		// scalars do not count, and if the partition depends on entries it is not yet known which
		// rank has which
		return
	}
	t := &tensorLeast{name: o.Tensor,
		at: x.k.Reader.Target(o.Before(), o.Tensor).Least(x.k.Reader.LoadInput(o.Tensor, 0), s.Fixed,
			x.k.Problem.Ranks)}
	if src.Gen != nil && s.Sparse() {
		t.entries = src.Gen.Entries(s.Layout.Dims)
		t.spread = t.entries * float64(x.k.Reader.EntryBytes(o.Tensor))
	}
	x.add(t)
}

func (x *Least) result() {
	p, name := x.k.Problem, x.k.Problem.Norm.LHS.Name
	s := x.tensor(name, p.FinalPartition())
	if len(s.Layout.Dims) == 0 || s.Sparse() && !x.k.Reader.Full() || !s.Partition.IsPlain() {
		return
	}
	t := &tensorLeast{name: name, at: make([]float64, p.Ranks)}
	for b := range plan.Block(s.Partition.Pieces()) {
		rank, n := s.Partition.OwnerOf(b), s.Fixed(b)
		if s.Sparse() {
			entries := 1.0
			for _, r := range s.Box(b) {
				entries *= float64(r[1] - r[0])
			}
			t.entries += entries
			n += entries * float64(x.k.Reader.EntryBytes(name))
		}
		t.at[rank] += n
	}
	x.add(t)
}

// Bytes returns the smallest memory limit, in bytes, that Fits accepts.
func (x *Least) Bytes() int64 {
	most := int64(0)
	for rank := range x.at {
		most = max(most, x.limitOf(rank))
	}
	return most
}

// limitOf returns the smallest memory limit, in bytes, that suffices for a rank's part of the
// statement.
func (x *Least) limitOf(rank int) int64 {
	return estimate.Round(math.Ceil(max(x.at[rank], x.mean)))
}

// Fits refuses the statement if some rank's memory limit is too low. All ranks return the same
// error. Every rank must call it.
func (x *Least) Fits() error {
	rank := x.k.Reader.Env.Comm.Rank()
	var err error
	if most := x.k.Reader.Env.Limit.Max(); most > 0 && x.limitOf(rank) > most {
		err = x.refusal(rank)
	}
	if len(x.at) == 1 {
		return err
	}
	return comm.Agree(x.k.Reader.Env.Comm, err)
}

// refusal returns an error that names the largest tensor and possible remedies.
func (x *Least) refusal(rank int) error {
	share := func(t *tensorLeast) float64 { return t.at[rank] }
	if x.mean > x.at[rank] {
		share = func(t *tensorLeast) float64 { return (t.spread + sum(t.at)) / float64(len(x.at)) }
	}
	worst := x.list[0]
	for _, t := range x.list {
		if share(t) > share(worst) {
			worst = t
		}
	}
	k, name := x.k, worst.name
	need, limit, part := x.limitOf(rank), k.Reader.Env.Limit.Max(), share(worst)
	f, typ := k.Reader.Formats[name], k.Reader.Types[name]
	sizes := fault.Sizes(k.Reader.Sizes.Dims[name])
	size := tensor.Bytes
	if size(need) == size(limit) {
		size = func(n int64) string { return tensor.Count(n, "byte") }
	}
	takes := size(estimate.Round(part))
	if part >= 1<<62 {
		takes = fault.Bytes(part)
	}
	if len(x.at) > 1 {
		takes += " at a rank"
	}
	if all := size(need); float64(need) > part && all != size(estimate.Round(part)) {
		takes += " of " + all + " for all tensors"
	}
	takes += ", but the memory limit is " + size(limit) + " (" + k.Reader.Env.LimitWhy + ")"
	if n := len(x.at); n > 1 {
		takes += fmt.Sprintf(" at each of %d ranks", n)
	}
	src := k.Reader.Sources[name]
	switch {
	case worst.entries > 0 && src != nil && src.Gen != nil:
		return fault.Memoryf(
			"-g=%s:%s: %s (%s) has %s entries, which stored as %s in %v need %s%s",
			name, src.Gen, name, sizes, count(worst.entries), fault.Format(f), typ, takes,
			remedies("make it smaller", raiseLimit(need)))
	case worst.entries > 0:
		return fault.Memoryf(
			"every coordinate of %s (%s) is present; stored as %s in %v, they need %s%s",
			name, sizes, fault.Format(f), typ, takes,
			remedies(raiseLimit(need), "remove what makes them present"))
	}
	return fault.Memoryf("%s (%s) stored as %s in %v needs %s%s",
		name, sizes, fault.Format(f), typ,
		takes, remedies(x.smaller(name, float64(limit)-(max(x.at[rank], x.mean)-part)), raiseLimit(need)))
}

// raiseLimit returns the advice to raise the memory limit so that the job can use need bytes. It
// returns "" if the machine has less memory than that.
func raiseLimit(need int64) string {
	if need > tcs.MachineMemory() {
		return ""
	}
	return "raise --memory-limit"
}

// remedies returns the end of a refusal, which lists the remedies that are not "".
func remedies(all ...string) string {
	all = slices.DeleteFunc(all, func(s string) bool { return s == "" })
	if len(all) == 0 {
		return ""
	}
	return ": " + strings.Join(all, ", or ")
}

// smaller suggests a format in which the named tensor needs at most `room` bytes on a rank, by an
// estimate of the tensor's entries. It returns "" if no format is small enough.
func (x *Least) smaller(name string, room float64) string {
	f := x.k.Reader.Formats[name]
	n, what := f.NumModes(), "compress its outer levels"
	letters := []string{strings.Repeat("s", n)}
	if f.AllDense() {
		letters, what = append([]string{tensor.SparseOf(n).Letters()}, letters...), "store it sparse"
	}
	for _, l := range letters {
		g, err := notation.ParseFormat(l)
		if err != nil {
			panic("BUG: forecast: " + err.Error())
		}
		if l != f.Letters() && float64(x.k.Reader.BytesAs(name, g))/float64(len(x.at)) <= room {
			return fmt.Sprintf("%s (-f=%s:%v)", what, name, g)
		}
	}
	return ""
}

// count formats a number that may exceed 64 bits. It is exact below 2^53.
func count(n float64) string {
	if n < 1<<53 {
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprintf("%.4g", n)
}
