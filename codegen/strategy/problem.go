package strategy

import (
	"maps"
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/format"
	"distaff/codegen/ir"
	"distaff/codegen/provenance"
)

// Target is what the choices rest on that is the machine's.
type Target struct {
	// LongRow is the number of entries past which one row of a parallel loop is
	// itself run on all threads.
	LongRow int64
	// ChunkWork is the number of stored entries from which on it pays a thread to
	// take up another chunk of a sparse result.
	ChunkWork int64
	// FarBytes is the size of dense operands and results that do not stay in the caches of a core.
	FarBytes int64
	// Forms are those that were measured to be fastest; nil for the defaults.
	Forms Forms
	// GPU: the leaf is for a GPU, where no row is summed in the registers of one thread.
	GPU bool
	// CapacityBytes is the most that the arrays of a result that grows begin with; 0 is
	// no bound.
	CapacityBytes int64
}

// Tensor is what is known of an operand, or of the result.
type Tensor struct {
	Name   string
	Format format.Format
	Type   ir.Type
	// CrdWidth are the bytes of a coordinate, a level.
	CrdWidth []uint8
	NNZ      int64   // stored values; -1 unknown
	Counts   []int64 // positions a level; nil unknown
}

func (t *Tensor) caps(level int) format.Caps { return t.Format.Levels[level].Caps() }

func (t *Tensor) order() int { return len(t.Format.Levels) }

func (t *Tensor) hasPosFrom(k int) bool {
	return slices.ContainsFunc(t.Format.Levels[k:],
		func(kind format.Kind) bool { return kind.Caps().HasPos })
}

// Problem is what to choose for.
type Problem struct {
	// Stmt is the statement that is lowered, whose outermost loops may be marked to run on
	// threads.
	Stmt    cin.Stmt
	Tensors []Tensor // the result first
	Sizes   map[string]int64
	Compute ir.Type
	// Assembly is how the result is written; Share, of a SharedPattern or Mapped one, is
	// the key of the access whose level arrays it has.
	Assembly Assembly
	Share    string
	// Exact are the variables whose range is whole in every call.
	Exact  []string
	Target Target
	// Intermediates are the temporaries that contractions make, by name.
	Intermediates map[string]Intermediate
	// Contracted is how many multiply-adds then go to the result itself.
	Contracted float64
	// Precomputes tells whether a schedule makes workspaces of its own.
	Precomputes bool
	// Products are those of matrices that the default strategy makes of loops.
	Products []Product
}

// facts is a problem with what follows from it.
type facts struct {
	problem *Problem
	g       *provenance.Graph // of a schedule; nil for none
	stmt    cin.Stmt          // without relations, each loop over the variable that its own stands for
	result  *Tensor
	vars    []string // of the result's storage levels
	deep    int      // the result's last compressed level; -1 for none
	numbers map[cin.Stmt]int
	spaces  map[string]Space
}

func newFacts(p *Problem) *facts {
	f := &facts{problem: p, g: cin.Relations(p.Stmt),
		stmt: cin.Standing(p.Stmt, cin.Relations(p.Stmt)), result: &p.Tensors[0], deep: -1}
	lhs := cin.Target(f.stmt)
	for l, mode := range f.result.Format.Order {
		f.vars = append(f.vars, lhs.Vars[mode])
		if f.result.caps(l).HasPos {
			f.deep = l
		}
	}
	f.numbers = Numbers(f.stmt)
	f.size()
	return f
}

// size gives the variables that a precompute made for a workspace the sizes of those that they
// stand for.
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

// Numbers numbers the statements in s.
func Numbers(s cin.Stmt) map[cin.Stmt]int {
	out := map[cin.Stmt]int{}
	cin.Walk(s, func(t cin.Stmt) { out[t] = len(out) })
	return out
}

func (f *facts) sparse() bool { return f.deep >= 0 }

// shared tells whether the result has an operand's level arrays, or those of a union
// that holds its pattern.
func (f *facts) shared() bool {
	return f.problem.Assembly == SharedPattern || f.problem.Assembly == Mapped
}

// grows tells whether the result's level arrays are made by the leaf.
func (f *facts) grows() bool {
	return f.problem.Assembly == Append ||
		f.problem.Assembly == TwoPass
}

// tensor is an operand by its name; nil for a temporary.
func (f *facts) tensor(name string) *Tensor {
	for k := range f.problem.Tensors[1:] {
		if f.problem.Tensors[k+1].Name == name {
			return &f.problem.Tensors[k+1]
		}
	}
	return nil
}

// levels are the variables of an access's storage levels.
func (t *Tensor) levels(a *cin.Access) []string {
	out := make([]string, len(t.Format.Order))
	for l, mode := range t.Format.Order {
		out[l] = a.Vars[mode]
	}
	return out
}

func (f *facts) assigns(s cin.Stmt) bool { return cin.Target(s).Name == f.result.Name }

// sums tells whether a loop's variable is summed: iterations then write one place.
func sums(l *cin.Forall) bool { return !slices.Contains(cin.Target(l).Vars, l.Var) }

// outermost are the loops that are inside no other.
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

// walked is an access whose first level an outermost loop walks.
type walked struct {
	key  string
	t    *Tensor
	vars []string
}

// drivers are the access by whose entries an outermost loop is cut into chunks of equal
// work, nil where it is cut evenly, and those whose entries count as well.
func (f *facts) drivers(l *cin.Forall) (driver *walked, others []*walked) {
	var rows []*walked
	cin.Accesses(l.Body, func(a *cin.Access) {
		t := f.tensor(a.Name)
		if t == nil || t.order() == 0 || t.Format.AllDense() {
			return
		}
		w := &walked{a.Key(), t, t.levels(a)}
		if w.vars[0] != l.Var || !t.caps(0).HasPos && !t.caps(0).Locate {
			return
		}
		if driver == nil || t.NNZ > driver.t.NNZ {
			driver = w
		}
		if t.caps(0).Locate && t.hasPosFrom(1) &&
			!slices.ContainsFunc(rows, func(r *walked) bool { return r.t == t }) {
			rows = append(rows, w)
		}
	})
	if driver != nil && driver.t.caps(0).Locate {
		others = slices.DeleteFunc(rows, func(w *walked) bool { return w.t == driver.t })
	}
	return driver, others
}

// parallel are the outermost loops that run on threads.
func (f *facts) parallel() []*cin.Forall {
	return slices.DeleteFunc(outermost(f.stmt),
		func(l *cin.Forall) bool { return l.Unit != cin.CPUThread })
}
