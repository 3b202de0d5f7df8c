package choice

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/forms"
	"distaff/codegen/provenance"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// Target has the properties of the machine that choices depend on.
type Target struct {
	// LongRow is the number of entries from which on all threads share a row.
	LongRow int64
	// ChunkWork is the smallest number of stored entries for which starting another chunk of a
	// sparse result pays for a thread.
	ChunkWork int64
	// FarBytes is the smallest size of dense operands and results that do not stay in a core's
	// caches.
	FarBytes int64
	// Forms has the forms that were measured to be fastest. If it is nil, all forms are the
	// defaults.
	Forms forms.Set
	// GPU is true if the leaf is for a GPU, where a single thread does not sum a row in registers.
	GPU bool
	// CapacityBytes is the largest initial size of the arrays of a result that grows. 0 means no
	// bound.
	CapacityBytes int64
}

// Tensor describes an operand or the result.
type Tensor struct {
	Name   string
	Format tensor.Format
	Type   tensor.Type
	// CrdWidth has the size in bytes of a coordinate, for each level.
	CrdWidth []uint8
	NNZ      int64   // the number of stored values, or -1 if it is unknown
	Counts   []int64 // the number of positions in each level, or nil if it is unknown
}

func (t *Tensor) caps(level int) tensor.Kind { return t.Format.Levels[level] }

func (t *Tensor) order() int { return len(t.Format.Levels) }

// Problem is the input of a choice.
type Problem struct {
	// Stmt is the statement that is lowered. Its outermost loops may be marked to run on threads.
	Stmt    cin.Stmt
	Tensors []Tensor // the result first
	// Result is the user's name of the result. "" means that the name in Stmt is the user's.
	Result  string
	Sizes   map[string]int64
	Compute tensor.Type
	// Assembly says how the result is written. If it is SharedPattern or Mapped, Share is the key
	// of the access whose level arrays the result uses.
	Assembly strategy.Assembly
	Share    string
	// Exact lists the variables whose range is complete in every call.
	Exact  []string
	Target Target
	// Intermediates describes the temporaries that contractions make, by name.
	Intermediates map[string]Intermediate
	// Contracted is the number of multiply-adds into the result itself, if there are intermediates.
	Contracted float64
	// Precomputes is true if a schedule makes workspaces of its own.
	Precomputes bool
	// Products lists the instructions of the default strategy to run loops as matrix products
	// (Product). Layouts lists its instructions to read copies of operands (Copy).
	Products, Layouts []Chosen
}

// facts is a problem with derived data.
type facts struct {
	problem *Problem
	g       *provenance.Graph // the relations of a schedule, or nil
	body    cin.Stmt          // the statement without relations
	// the statement without relations, with each loop over a producer's variable renamed to the
	// consumer's variable
	stmt   cin.Stmt
	result *Tensor
	vars   []string // the variables of the result's storage levels
	deep   int      // the result's last compressed level, or -1 if it has none
	spaces map[string]strategy.Space
}

func newFacts(p *Problem) *facts {
	return newFactsFor(p, cin.Standing(p.Stmt, cin.Relations(p.Stmt)))
}

// newFactsFor returns the facts of problem p as newFacts does, but with the given stmt. The
// relations and the body are from the statement of p.
func newFactsFor(p *Problem, stmt cin.Stmt) *facts {
	f := &facts{problem: p, g: cin.Relations(p.Stmt), body: cin.Body(p.Stmt), stmt: stmt,
		result: &p.Tensors[0], deep: -1}
	lhs := cin.Target(f.stmt)
	for l, mode := range f.result.Format.Order {
		f.vars = append(f.vars, lhs.Vars[mode])
		if f.result.caps(l).HasPos() {
			f.deep = l
		}
	}
	f.size()
	return f
}

// size sets the size of each variable that a precompute command introduced for a workspace. The
// size equals the size of the original variable. If the new variable runs over a tile of positions,
// its size is the largest number of positions in a tile.
func (f *facts) size() {
	p := *f.problem
	p.Sizes = maps.Clone(p.Sizes)
	for _, r := range f.g.Relations() {
		if r.Kind == provenance.Precompute && f.g.MadeBy(r.From[0]) == nil {
			p.Sizes[r.To[0]] = p.Sizes[f.g.Original(r.From[0])]
		} else if r.Kind == provenance.Precompute && f.g.TileOf(r.To[0]) != "" {
			p.Sizes[r.To[0]], _ = f.mostPositions(r.From[0])
		}
	}
	f.problem = &p
}

// with returns the statement with another body.
func (f *facts) with(body cin.Stmt) cin.Stmt {
	if s, ok := f.problem.Stmt.(*cin.SuchThat); ok {
		return &cin.SuchThat{Body: body, Relations: s.Relations, Insert: s.Insert}
	}
	return body
}

// resultName returns the user's name of the result.
func (f *facts) resultName() string { return cmp.Or(f.problem.Result, cin.Target(f.stmt).Name) }

func (f *facts) isSparse() bool { return f.deep >= 0 }

// shared reports whether the result has no level arrays of its own. The result then uses the level
// arrays of an operand, or the level arrays of a union of patterns that includes an operand's
// pattern.
func (f *facts) shared() bool {
	return f.problem.Assembly == strategy.SharedPattern || f.problem.Assembly == strategy.Mapped
}

// share returns the operand in s whose level arrays the result uses, or nil.
func (f *facts) share(s cin.Stmt) *Tensor {
	for _, x := range f.operands(s) {
		if x.key == f.problem.Share {
			return x.t
		}
	}
	return nil
}

// grows reports whether the leaf makes the result's level arrays.
func (f *facts) grows() bool {
	return f.problem.Assembly == strategy.Append ||
		f.problem.Assembly == strategy.TwoPass
}

// tensor returns the operand with the given name, or nil if no operand has this name.
func (f *facts) tensor(name string) *Tensor {
	for k := range f.problem.Tensors[1:] {
		if f.problem.Tensors[k+1].Name == name {
			return &f.problem.Tensors[k+1]
		}
	}
	return nil
}

// tensorOf returns the operand of the access with the given key.
func (f *facts) tensorOf(key string) *Tensor { return f.tensor(key[:strings.Index(key, "(")]) }

// levels returns the variables of an access in the order of the storage levels.
func (t *Tensor) levels(a *cin.Access) []string {
	out := make([]string, len(t.Format.Order))
	for l, mode := range t.Format.Order {
		out[l] = a.Vars[mode]
	}
	return out
}

func (f *facts) assigns(s cin.Stmt) bool { return cin.Target(s).Name == f.result.Name }

// sums reports whether a loop sums: its iterations write to the same place, because the target does
// not have the loop's variable.
func sums(l *cin.Forall) bool { return !slices.Contains(cin.Target(l).Vars, l.Var) }

// outermost returns the loops in s that are not inside other loops.
func outermost(s cin.Stmt) (out []*cin.Forall) {
	switch s := s.(type) {
	case *cin.SuchThat:
		return outermost(s.Body)
	case *cin.Forall:
		return []*cin.Forall{s}
	case *cin.Where:
		return append(outermost(s.Consumer), outermost(s.Producer)...)
	case *cin.Seq:
		for _, t := range s.List {
			out = append(out, outermost(t)...)
		}
	}
	return out
}

// operand is the access of a statement that reads a tensor, together with the tensor. vars has the
// variables of the tensor's storage levels.
type operand struct {
	key    string
	access *cin.Access
	t      *Tensor
	vars   []string
}

// operands returns the operands that s reads, each access once.
func (f *facts) operands(s cin.Stmt) (list []*operand) {
	cin.Accesses(s, func(a *cin.Access) {
		t := f.tensor(a.Name)
		if t != nil && !slices.ContainsFunc(list, func(x *operand) bool { return x.key == a.Key() }) {
			list = append(list, &operand{a.Key(), a, t, t.levels(a)})
		}
	})
	return list
}

// drivers returns the accesses that determine the chunks of the outermost loop l. The loop is cut
// into chunks with about equal numbers of entries of driver. The entries of the accesses in others
// are counted as work too. driver is nil if the range of l is divided evenly.
func drivers(f *facts, l *cin.Forall) (driver *operand, others []*operand) {
	var rows []*operand
	for _, x := range f.operands(l.Body) {
		t := x.t
		if t.Format.AllDense() || x.vars[0] != l.Var || !t.caps(0).HasPos() && !t.caps(0).CanLocate() {
			continue
		}
		if driver == nil || t.NNZ > driver.t.NNZ {
			driver = x
		}
		if t.caps(0).CanLocate() && t.Format.HasPosFrom(1) &&
			!slices.ContainsFunc(rows, func(r *operand) bool { return r.t == t }) {
			rows = append(rows, x)
		}
	}
	if driver != nil && driver.t.caps(0).CanLocate() {
		others = slices.DeleteFunc(rows, func(x *operand) bool { return x.t == driver.t })
	}
	return driver, others
}

// parallel returns the outermost loops that run on threads.
func (f *facts) parallel() []*cin.Forall {
	return slices.DeleteFunc(outermost(f.stmt),
		func(l *cin.Forall) bool { return l.Unit != cin.CPUThread })
}

// access returns the access that text names. text is a tensor's name, or an access if the tensor
// has several.
func (f *facts) access(text string) (*cin.Access, *Tensor, error) {
	found := slices.DeleteFunc(f.operands(f.stmt),
		func(x *operand) bool { return x.t.Name != text && x.key != text })
	switch len(found) {
	case 0:
		return nil, nil, fmt.Errorf(
			"got %s, want either a tensor of the statement or one of its accesses",
			text)
	case 1:
		return found[0].access, found[0].t, nil
	}
	return nil, nil, fmt.Errorf(
		"%s is accessed with different variables; name one access, as in B(i,j)", text)
}

// short returns a short name for the access with the given key. It is the tensor's name if the
// tensor has only one access, or else the key.
func (f *facts) short(key string) string {
	name := key[:strings.Index(key+"(", "(")]
	if slices.ContainsFunc(f.operands(f.stmt),
		func(x *operand) bool { return x.t.Name == name && x.key != key }) {
		return key
	}
	return name
}
