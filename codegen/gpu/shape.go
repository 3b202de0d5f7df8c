// Package gpu has the forms of the default schedule of a GPU. A form is a list of scheduling
// commands, as a user would give them. The loops, formats and sizes of a statement decide which
// forms fit. shape.go finds the loops. rows.go, positions.go and products.go have the forms of one
// nest of loops, and nests.go has the forms of several nests. choose.go chooses the first form that
// the compiler accepts.
package gpu

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/schedule"
	"distaff/io/tensor"
)

// Form is a schedule for a GPU: commands with their reasons.
type Form []schedule.Line

// Commands returns the commands without their reasons.
func (f Form) Commands() []string {
	out := make([]string, len(f))
	for k, l := range f {
		out[k] = l.Command
	}
	return out
}

// Shape has the facts about a statement that decide which form fits it.
type Shape struct {
	First  []string      // commands before the commands of a form, each with its reason
	Body   cin.Stmt      // the nest after these commands; nil if a library runs all loops
	Target *cin.Access   // the result
	Vars   []string      // the variables of the result
	Result tensor.Format // the format of the result
	Shared *cin.Access   // the operand whose level arrays the result uses, or nil
	// Parts lists the variables whose range a call may get only in part.
	Parts []string
	Names map[string]string // the user's names of tensors with other names in Body
	// Format returns the format of an operand. ok is false if no operand has the name.
	Format func(name string) (f tensor.Format, ok bool)
	Size   func(v string) int64
	// Pays reports whether a library multiplies batch dense matrices of these sizes faster than loops
	// do. It is nil if the library does not multiply values of the statement's type.
	Pays    func(rows, cols, terms, batch float64) bool
	Entries func(name string) int64 // the number of values that an operand stores, or -1
	// EvenRows returns the number of entries of an operand's longest row. It returns 0 if this is
	// unknown, or much more than in other rows.
	EvenRows func(name string) int64
	Taken    func() map[string]bool // names that a new loop or workspace may not have

	loops  []string        // the variables of a perfect nest, outermost first, or nil
	sum    *cin.Assign     // the assignment of the perfect nest
	driver *cin.Access     // the only sparse operand, whose entries alone give values, or nil
	deep   int             // the number of levels of driver down to the last one that is not dense
	used   map[string]bool // names that are taken, or that a form has used
	// inTemporary is true if Body computes a temporary of a larger statement, not the result.
	inTemporary bool
}

// findLoops sets the loops of a perfect nest, and its driver.
func (s *Shape) findLoops() {
	t := s.Body
	for f, ok := t.(*cin.Forall); ok; f, ok = t.(*cin.Forall) {
		s.loops, t = append(s.loops, f.Var), f.Body
	}
	if s.sum, _ = t.(*cin.Assign); s.sum == nil {
		s.loops = nil
		return
	}
	s.findDriver()
}

// findDriver sets the driver: the only sparse operand of a product. The loops over its entries
// visit all points where the product has a value. A right side that is not such a product has no
// driver.
func (s *Shape) findDriver() {
	if !s.isProduct(s.sum.RHS) {
		return
	}
	var sparse []*cin.Access
	cin.ExprAccesses(s.sum.RHS, func(a *cin.Access) {
		f, ok := s.Format(a.Name)
		same := slices.ContainsFunc(sparse, func(b *cin.Access) bool { return a.Key() == b.Key() })
		if ok && !f.AllDense() && !same {
			sparse = append(sparse, a)
		}
	})
	if len(sparse) == 1 {
		f, _ := s.Format(sparse[0].Name)
		s.driver, s.deep = sparse[0], len(f.Levels)-f.TrailingDense()
	}
}

// isProduct reports whether x consists of products, negations, and quotients whose denominators
// have no sparse operand. x then has no value wherever one of its sparse operands has none.
func (s *Shape) isProduct(x cin.Expr) bool {
	switch x := x.(type) {
	case *cin.Call:
		return x.Func.KeepsZero && x.Func.Args == 1 && s.isProduct(x.Args[0])
	case *cin.Neg:
		return s.isProduct(x.X)
	case *cin.Binary:
		return (x.Op == '*' || x.Op == '/' && !s.hasSparse(x.Y)) && s.isProduct(x.X) && s.isProduct(x.Y)
	}
	return true
}

// hasSparse reports whether x has a sparse operand.
func (s *Shape) hasSparse(x cin.Expr) bool {
	found := false
	cin.ExprAccesses(x, func(a *cin.Access) {
		f, ok := s.Format(a.Name)
		found = found || ok && !f.AllDense()
	})
	return found
}

// inResult reports whether v is a variable of the result.
func (s *Shape) inResult(v string) bool { return slices.Contains(s.Vars, v) }

// levels returns the variables of the driver's levels, outermost first.
func (s *Shape) levels() []string {
	f, _ := s.Format(s.driver.Name)
	out := make([]string, len(f.Order))
	for l, m := range f.Order {
		out[l] = s.driver.Vars[m]
	}
	return out
}

// key returns an access as the user writes it.
func (s *Shape) key(a *cin.Access) string {
	return (&cin.Access{Name: s.userName(a.Name), Vars: a.Vars}).Key()
}

// userName returns the user's name of a tensor.
func (s *Shape) userName(name string) string {
	name = strings.TrimRight(name, "'")
	if n := s.Names[name]; n != "" {
		return n
	}
	return name
}

// expr returns an expression as the user writes it.
func (s *Shape) expr(x cin.Expr) string {
	return cin.ExprString(cin.MapAccesses(x, func(a *cin.Access) *cin.Access {
		return &cin.Access{Name: s.userName(a.Name), Vars: a.Vars}
	}))
}

// name returns an unused name for a loop or workspace: want, with underscores appended if
// necessary.
func (s *Shape) name(want string) string {
	got := want
	for k := 1; s.used[got]; k++ {
		got = want + strings.Repeat("_", k)
	}
	s.used[got] = true
	return got
}

// entries returns a phrase for the entries of the driver, the sparse operand whose entries the
// kernel visits. The phrase is used in comments that give the reason for a command.
func (s *Shape) entries() string {
	if n := s.Entries(s.driver.Name); n >= 0 {
		return fmt.Sprintf("the %d entries of %s", n, s.key(s.driver))
	}
	return "the entries of " + s.key(s.driver)
}
