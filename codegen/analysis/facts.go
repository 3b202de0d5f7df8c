// Package analysis answers questions about a statement in concrete index notation: which operands
// it reads, which variables its loops determine, and how many values it computes. A Problem is the
// statement with formats, statistics and the target, and Facts answers the questions about it.
// Package choice asks to choose the strategy, and package footprint to bound the memory of
// workspaces.
//
// # Files
//
//	problem.go  the statement, formats, statistics and the target
//	facts.go    the result, the operands and the outermost loops
//	loops.go    the variables that the loops of a schedule determine
//	counts.go   numbers of entries, places and terms
package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/provenance"
	"distaff/codegen/strategy"
)

// Facts answers questions about a problem.
type Facts struct {
	// Problem is the problem, with the sizes of all variables, also the variables of workspaces.
	Problem *Problem
	Graph   *provenance.Graph // the relations of a schedule, or nil
	Body    cin.Stmt          // the statement without relations
	// Stmt is Body with each loop over a producer's variable renamed to the consumer's variable.
	Stmt           cin.Stmt
	Result         *Tensor
	Vars           []string // the variables of the result's storage levels
	LastCompressed int      // the result's last compressed level, or -1 if it has none
	// Spaces has the forms of the workspaces by name. Choices set it; New leaves it nil.
	Spaces map[string]strategy.Space
}

// New returns the facts of a problem.
func New(p *Problem) *Facts {
	return NewFor(p, cin.WithConsumerVars(p.Stmt, cin.Relations(p.Stmt)))
}

// NewFor returns the facts of problem p as New does, but with stmt as Facts.Stmt. Graph and Body
// still come from the statement of p.
func NewFor(p *Problem, stmt cin.Stmt) *Facts {
	f := &Facts{Problem: p, Graph: cin.Relations(p.Stmt), Body: cin.Body(p.Stmt), Stmt: stmt,
		Result: &p.Tensors[0], LastCompressed: p.Tensors[0].Format.LastPos()}
	lhs := cin.Target(f.Stmt)
	for _, mode := range f.Result.Format.Order {
		f.Vars = append(f.Vars, lhs.Vars[mode])
	}
	f.size()
	return f
}

// size sets the sizes of the variables that precompute commands made for workspaces. Such a
// variable has the size of the original variable. If it runs over a tile of positions, its size is
// the largest number of positions in a tile. A variable that only renames a derived variable of the
// consumer gets no size.
func (f *Facts) size() {
	p := *f.Problem
	p.Sizes = maps.Clone(p.Sizes)
	for _, r := range f.Graph.Relations() {
		if r.Kind == provenance.Precompute && f.Graph.MadeBy(r.From[0]) == nil {
			p.Sizes[r.To[0]] = p.Sizes[f.Graph.Original(r.From[0])]
		} else if r.Kind == provenance.Precompute && f.Graph.TileOf(r.To[0]) != "" {
			p.Sizes[r.To[0]], _ = f.MostPositions(r.From[0])
		}
	}
	f.Problem = &p
}

// With returns the statement with another body.
func (f *Facts) With(body cin.Stmt) cin.Stmt {
	if s, ok := f.Problem.Stmt.(*cin.SuchThat); ok {
		return &cin.SuchThat{Body: body, Relations: s.Relations, Insert: s.Insert}
	}
	return body
}

// ResultName returns the user's name of the result.
func (f *Facts) ResultName() string { return cmp.Or(f.Problem.Result, cin.Target(f.Stmt).Name) }

// IsSparse reports whether the result has a compressed level.
func (f *Facts) IsSparse() bool { return f.LastCompressed >= 0 }

// LastDense returns the variable of the result's last level, or "" if this level is compressed or
// the result is a scalar.
func (f *Facts) LastDense() string {
	if k := len(f.Vars) - 1; k > f.LastCompressed {
		return f.Vars[k]
	}
	return ""
}

// SharesLevels reports whether the result uses level arrays that it does not own. They are the
// level arrays of an operand, or of a union of patterns that includes an operand's pattern.
func (f *Facts) SharesLevels() bool {
	return f.Problem.Assembly == strategy.SharedPattern || f.Problem.Assembly == strategy.Mapped
}

// Sharer returns the operand in s whose level arrays the result uses, or nil.
func (f *Facts) Sharer(s cin.Stmt) *Tensor {
	for _, x := range f.Operands(s) {
		if x.Key == f.Problem.Share {
			return x.Tensor
		}
	}
	return nil
}

// Grows reports whether the leaf makes the result's level arrays.
func (f *Facts) Grows() bool {
	return f.Problem.Assembly == strategy.Append ||
		f.Problem.Assembly == strategy.TwoPass
}

// Tensor returns the operand with the given name, or nil if no operand has this name.
func (f *Facts) Tensor(name string) *Tensor {
	for k := range f.Problem.Tensors[1:] {
		if f.Problem.Tensors[k+1].Name == name {
			return &f.Problem.Tensors[k+1]
		}
	}
	return nil
}

// TensorOf returns the operand of the access with the given key.
func (f *Facts) TensorOf(key string) *Tensor { return f.Tensor(key[:strings.Index(key, "(")]) }

// Assigns reports whether s writes to the result.
func (f *Facts) Assigns(s cin.Stmt) bool { return cin.Target(s).Name == f.Result.Name }

// IsSum reports whether a loop sums: its iterations write to the same place, because the target
// does not have the loop's variable.
func IsSum(l *cin.Forall) bool { return !slices.Contains(cin.Target(l).Vars, l.Var) }

// Outermost returns the loops in s that are not inside other loops.
func Outermost(s cin.Stmt) (out []*cin.Forall) {
	switch s := s.(type) {
	case *cin.SuchThat:
		return Outermost(s.Body)
	case *cin.Forall:
		return []*cin.Forall{s}
	case *cin.Where:
		return append(Outermost(s.Consumer), Outermost(s.Producer)...)
	case *cin.Seq:
		for _, t := range s.List {
			out = append(out, Outermost(t)...)
		}
	}
	return out
}

// Operand is one access to a tensor that a statement reads, and this tensor. Vars has the variables
// of the access in the order of the storage levels.
type Operand struct {
	Key    string
	Access *cin.Access
	Tensor *Tensor
	Vars   []string
}

// Operands returns the operands that s reads, each access once.
func (f *Facts) Operands(s cin.Stmt) (list []*Operand) {
	cin.Accesses(s, func(a *cin.Access) {
		t := f.Tensor(a.Name)
		if t != nil && !slices.ContainsFunc(list, func(x *Operand) bool { return x.Key == a.Key() }) {
			list = append(list, &Operand{a.Key(), a, t, t.LevelVars(a)})
		}
	})
	return list
}

// Parallel returns the outermost loops that run on threads.
func (f *Facts) Parallel() []*cin.Forall {
	return slices.DeleteFunc(Outermost(f.Stmt),
		func(l *cin.Forall) bool { return l.Unit != cin.CPUThread })
}

// Access returns the access that text names. text is a tensor's name or an access. It must be an
// access if the tensor has several.
func (f *Facts) Access(text string) (*cin.Access, *Tensor, error) {
	found := slices.DeleteFunc(f.Operands(f.Stmt),
		func(x *Operand) bool { return x.Tensor.Name != text && x.Key != text })
	switch len(found) {
	case 0:
		return nil, nil, fmt.Errorf(
			"got %s, want either a tensor of the statement or one of its accesses",
			text)
	case 1:
		return found[0].Access, found[0].Tensor, nil
	}
	return nil, nil, fmt.Errorf(
		"%s is accessed with different variables; name one access, as in B(i,j)", text)
}

// ShortName returns a short name for the access with the given key. It is the tensor's name if the
// tensor has only one access, or else the key.
func (f *Facts) ShortName(key string) string {
	name := key[:strings.Index(key+"(", "(")]
	if slices.ContainsFunc(f.Operands(f.Stmt),
		func(x *Operand) bool { return x.Tensor.Name == name && x.Key != key }) {
		return key
	}
	return name
}
