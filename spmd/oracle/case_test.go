package oracle

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/notation"
	"distaff/codegen/reference"
	"distaff/io/tensor"
)

// Case is a statement with its tensors.
type Case struct {
	Stmt string
	// Tensors holds each tensor of the statement once, the left one first.
	Tensors []*Tensor
	// Variant determines the choices of an engine that must not change the result: the number of
	// threads, index widths, the order of parallel iterations, and the schedule.
	Variant uint64
	// Schedule, if not nil, replaces the schedule that an engine would draw. The engine omits
	// commands that are refused.
	Schedule []string
	// Over, if not nil, replaces the distribution that the engine for distributed cases would
	// draw. Other engines ignore it.
	Over *Distribution
}

// Tensor is an operand, or the result if it is the first tensor of a case.
type Tensor struct {
	Name   string
	Format tensor.Format
	// Type is tensor.None if the type of the result must be inferred.
	Type tensor.Type
	Dims []int64
	// Entries are in any order. A coordinate may occur several times: the entries are stored
	// separately if Format.Repeats, and otherwise added.
	Entries []Entry
	// Input is true for operands, and for a result whose old values the statement adds to.
	Input bool
	// Made is true for a tensor that takes the place of an index (notation.Made). Prepare adds such
	// tensors. They are no part of the case's text, and no inputs of jobs.
	Made bool
	// OldOf is the name of the result if the tensor is its old value, and the statement assigns a
	// part of the result. The tensor is then the job's input of the result.
	OldOf string
}

// Entry is a coordinate (0-based) and its value.
type Entry struct {
	Coord []int64
	Value tensor.Value
}

// Tensor returns the tensor with a name, or nil if there is none.
func (c *Case) Tensor(name string) *Tensor {
	for _, t := range c.Tensors {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// header returns the statement with the formats of its tensors.
func (c *Case) header() string {
	text := c.Stmt + ";"
	for _, t := range c.Tensors {
		text += " " + t.Name + ":" + t.Format.String()
	}
	return text
}

// Clone returns a deep copy.
func (c *Case) Clone() *Case {
	out := &Case{Stmt: c.Stmt, Variant: c.Variant, Schedule: slices.Clone(c.Schedule),
		Over: c.Over.Clone()}
	for _, t := range c.Tensors {
		d := *t
		d.Dims = slices.Clone(t.Dims)
		d.Format = tensor.Format{Levels: slices.Clone(t.Format.Levels),
			Order: slices.Clone(t.Format.Order)}
		d.Entries = make([]Entry, len(t.Entries))
		for k, e := range t.Entries {
			d.Entries[k] = Entry{slices.Clone(e.Coord), e.Value}
		}
		out.Tensors = append(out.Tensors, &d)
	}
	return out
}

// Prepared is a case whose statement was parsed and whose types and sizes were inferred. Engines
// run prepared cases.
type Prepared struct {
	Case *Case
	// Source is the statement as it was parsed, and Parsed has tensors in place of indices that are
	// not variables.
	Source, Parsed  *notation.Stmt
	old             string // the name of the old value of a result of which a part is assigned, or ""
	Normal          *notation.Normal
	Sizes           *notation.Sizes
	Compute, Result tensor.Type
}

// Prepare parses the statement and infers types and sizes. It returns an error if the tensors do
// not belong to the statement, or if entries do not fit the sizes or formats.
func (c *Case) Prepare() (*Prepared, error) {
	s, err := notation.Parse(c.Stmt)
	if err != nil {
		return nil, err
	}
	if err := notation.Check(s); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(s.Accesses(),
		func(a *notation.Access) bool { return a.Name == s.LHS.Name }) {
		return nil, fmt.Errorf("%s stands on the right: its old value has no name of its own", s.LHS.Name)
	}
	c = c.plain()
	left := c.Tensors[0]
	p := &Prepared{Case: c, Source: s, Parsed: notation.ExpandFor(s, left.Input)}
	if s.AssignsPart() && !s.Accumulate {
		p.old = notation.NameOld(p.Parsed)
	}
	p.Normal = notation.Normalize(p.Parsed)
	uses := s.Tensors()
	if len(uses) != len(c.Tensors) {
		return nil, fmt.Errorf("%d tensors for the %d of %s", len(c.Tensors), len(uses), c.Stmt)
	}
	known := map[string][]notation.Known{}
	types := map[string]tensor.Type{}
	for k, u := range uses {
		t := c.Tensor(u.Name)
		if t == nil || k == 0 && t != c.Tensors[0] {
			return nil, fmt.Errorf("no tensor %s, or not in its place", u.Name)
		}
		if err := t.check(u.Order, k > 0); err != nil {
			return nil, fmt.Errorf("tensor %s: %w", u.Name, err)
		}
		for _, d := range t.Dims {
			known[t.Name] = append(known[t.Name], notation.Known{Size: d, Exact: true, From: "the case"})
		}
		if k > 0 || t.Input {
			types[t.Name] = t.Type
		}
	}
	if p.old != "" {
		types[p.old] = left.Type
	}
	if left.Input && !s.KeepsOld() {
		return nil, fmt.Errorf("an input for %s, which = overwrites", left.Name)
	}
	if p.Sizes, err = notation.InferSizes(p.Normal, known, nil, nil); err != nil {
		return nil, err
	}
	for _, a := range p.Parsed.Accesses() {
		if a.Made != nil && a.Made.Coordinates {
			types[a.Name] = tensor.Int64
		}
	}
	p.Compute, p.Result, err = notation.InferTypes(p.Parsed, types, left.Type)
	if err == nil {
		p.addMade()
	}
	return p, err
}

// inJob returns the name of the tensor in a job, or "" if the job makes the tensor itself.
func (t *Tensor) inJob() string {
	if t.OldOf == "" && t.Made {
		return ""
	}
	return cmp.Or(t.OldOf, t.Name)
}

// plain returns the case without the tensors that Prepare adds.
func (c *Case) plain() *Case {
	if !slices.ContainsFunc(c.Tensors, func(t *Tensor) bool { return t.Made }) {
		return c
	}
	c = c.Clone()
	c.Tensors = slices.DeleteFunc(c.Tensors, func(t *Tensor) bool {
		if t.OldOf != "" {
			left := c.Tensor(t.OldOf)
			left.Input, left.Entries = true, t.Entries
		}
		return t.Made
	})
	return c
}

// addMade adds to the case the tensors that take the place of indices. If the statement assigns a
// part of the result, it also adds the old value, which is then no longer an input of the result.
func (p *Prepared) addMade() {
	if p.old != "" {
		p.Case = p.Case.Clone()
		left := p.Case.Tensors[0]
		old := *left
		old.Name, old.Made, old.OldOf = p.old, true, left.Name
		left.Input, left.Entries = false, nil
		p.Case.Tensors = append(p.Case.Tensors, &old)
	}
	q := reference.Problem{Normal: p.Normal, Sizes: p.Sizes.Vars, Compute: p.Compute,
		Tensors: map[string]*reference.Tensor{}}
	q.AddMade()
	if len(q.Tensors) == 0 {
		return
	}
	p.Case = p.Case.Clone()
	for _, a := range p.Normal.Accesses() {
		r := q.Tensors[a.Name]
		if r == nil || p.Case.Tensor(a.Name) != nil {
			continue
		}
		t := &Tensor{Name: a.Name, Format: tensor.DenseOf(len(r.Dims)), Type: r.Type, Dims: r.Dims,
			Input: true, Made: true}
		if a.HasOnes() {
			t.Format.Levels[len(r.Dims)-1] = tensor.Compressed
		}
		for k := range r.Len() {
			coord := make([]int64, len(r.Dims))
			r.Coord(k, coord)
			t.Entries = append(t.Entries, Entry{coord, r.Value(k)})
		}
		p.Case.Tensors = append(p.Case.Tensors, t)
	}
}

func (t *Tensor) check(order int, input bool) error {
	if len(t.Dims) != order || len(t.Format.Levels) != order {
		return fmt.Errorf("%d sizes and format %q, want %d modes", len(t.Dims), t.Format, order)
	}
	if err := t.Format.Check(); err != nil {
		return err
	}
	if input && (!t.Input || t.Type == tensor.None) {
		return fmt.Errorf("an operand wants a type and Input")
	}
	if !t.Input && len(t.Entries) > 0 {
		return fmt.Errorf("entries without Input")
	}
	if t.Input && t.Type == tensor.None {
		return fmt.Errorf("an input wants a type")
	}
	if t.Input && order == 0 && len(t.Entries) != 1 {
		return fmt.Errorf("a scalar wants one entry")
	}
	for _, e := range t.Entries {
		if len(e.Coord) != order {
			return fmt.Errorf("an entry at %v", e.Coord)
		}
		for m, x := range e.Coord {
			if x < 0 || x >= t.Dims[m] {
				return fmt.Errorf("an entry at %v, past the sizes %v", e.Coord, t.Dims)
			}
		}
	}
	if n := len(storable(t.Format, t.Entries)); n < len(t.Entries) {
		return fmt.Errorf("format %s has room for only %d of the %d entries", t.Format, n, len(t.Entries))
	}
	return nil
}

// storable returns the entries that a format can store. A level of Format.Bound stores only one
// coordinate for each position of the level above it. If several entries belong to that position,
// storable keeps the entries that have the first entry's coordinate.
func storable(f tensor.Format, entries []Entry) []Entry {
	for _, l := range f.Bound() {
		have := map[string]int64{}
		var keep []Entry
		for _, e := range entries {
			key := coordKey(prefix(f, e.Coord, l))
			c := e.Coord[f.Order[l]]
			if old, ok := have[key]; !ok || old == c {
				have[key] = c
				keep = append(keep, e)
			}
		}
		entries = keep
	}
	return entries
}

// prefix returns the components of a coordinate that levels 0 to l-1 store.
func prefix(f tensor.Format, coord []int64, l int) []int64 {
	out := make([]int64, l)
	for k := range out {
		out[k] = coord[f.Order[k]]
	}
	return out
}

// coordKey encodes a coordinate as a map key. All coordinates of one map must have the same number
// of components.
func coordKey(coord []int64) string {
	key := make([]byte, 0, 32)
	for _, c := range coord {
		key = binary.AppendVarint(key, c)
	}
	return string(key)
}

// storedCoords returns, in ascending order, all coordinates that a tensor stores if it has entries
// at coords. If its last levels are dense, it also stores other coordinates, because a dense level
// stores every coordinate.
func storedCoords(f tensor.Format, dims []int64, coords [][]int64) [][]int64 {
	top := len(f.Levels) - f.TrailingDense()
	seen := map[string]bool{}
	var out [][]int64
	fill := func(base []int64) {
		key := coordKey(prefix(f, base, top))
		if seen[key] {
			return
		}
		seen[key] = true
		var walk func(l int)
		walk = func(l int) {
			if l == len(f.Levels) {
				out = append(out, slices.Clone(base))
				return
			}
			m := f.Order[l]
			for c := int64(0); c < dims[m]; c++ {
				base[m] = c
				walk(l + 1)
			}
		}
		walk(top)
	}
	if top == 0 {
		fill(make([]int64, len(dims)))
	}
	for _, c := range coords {
		if top == len(f.Levels) && seen[coordKey(prefix(f, c, top))] {
			continue
		}
		fill(slices.Clone(c))
	}
	slices.SortFunc(out, slices.Compare)
	return out
}

// Reference returns the tensor for the reference evaluator. Its entries include the zeros that are
// stored because the last levels are dense.
func (t *Tensor) Reference() *reference.Tensor {
	out := reference.NewTensor(t.Type, t.Dims...)
	coords := make([][]int64, len(t.Entries))
	have := map[string]bool{}
	for k, e := range t.Entries {
		coords[k] = e.Coord
		have[coordKey(e.Coord)] = true
		out.Append(e.Coord, e.Value)
	}
	for _, c := range storedCoords(t.Format, t.Dims, coords) {
		if !have[coordKey(c)] {
			out.Append(c, tensor.Value{})
		}
	}
	return out.Finish()
}

// Want is the expected result of a case.
type Want struct {
	Dims   []int64
	Type   tensor.Type
	Format tensor.Format
	Coords [][]int64 // present coordinates, ascending
	Points []reference.Point
	// Err is set if the statement divides an integer by zero. An engine must then fail with exit
	// code 3.
	Err error
	// Overflow is true if a computed value does not fit the integer type of the result. A job must
	// then fail with exit code 3. A leaf that runs without a job converts the value as C does.
	Overflow bool
	// MayDivide is true if a sum() divides integers. An engine may compute the sum() although it
	// is multiplied by an absent value or is not used. So it may fail with exit code 3 although
	// the result is defined.
	MayDivide bool
}

// Expect computes the expected result with the reference evaluator. It returns an error only if
// ctx is canceled.
func (p *Prepared) Expect(ctx context.Context) (*Want, error) {
	tensors := map[string]*reference.Tensor{}
	for _, t := range p.Case.Tensors {
		if t.Input {
			tensors[t.Name] = t.Reference()
		}
	}
	left := p.Case.Tensors[0]
	w := &Want{Dims: left.Dims, Type: p.Result, Format: left.Format, MayDivide: p.dividesInSum()}
	e := reference.New(reference.Problem{Normal: p.Normal, Sizes: p.Sizes.Vars, Compute: p.Compute,
		Result: p.Result, Tensors: tensors})
	err := e.Each(ctx, func(coord []int64, pt reference.Point) error {
		w.Coords = append(w.Coords, slices.Clone(coord))
		w.Points = append(w.Points, pt)
		w.Overflow = w.Overflow || pt.Overflow
		return nil
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	w.Err = err
	return w, nil
}

// dividesInSum reports whether a sum() that is a factor divides integers.
func (p *Prepared) dividesInSum() bool {
	found := false
	for _, t := range p.Normal.Terms {
		notation.WalkTerm(t, func(e notation.Expr) bool {
			r, ok := e.(*notation.ReductionExpr)
			if ok && p.Compute.HoldsInts() {
				found = found || strings.Contains(r.Reduction.String(), "/")
			}
			return true
		})
	}
	return found
}
