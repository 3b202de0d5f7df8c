package ir

import (
	"distaff/io/tensor"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Verify returns an error for the first broken rule of f. If a statement breaks the rule, the error
// shows the statement. The rules are:
//
//   - Types agree: operands with each other, and a value with the variable or array that it is
//     stored to (an Int64 may be stored to an Int32 array). Conditions are Bool; indices, sizes,
//     bounds and loop variables are Int64. Complex numbers have no order, minimum or remainder, and
//     are not cast to integers. Bool has no arithmetic.
//   - A name belongs to one variable, array or table. A variable is declared before its uses, in a
//     block around them, and only once in that block. Loop variables and the variables of the
//     function's head are never assigned.
//   - An array is a parameter or is allocated before its uses. Nothing stores to a Const array.
//     Only arrays that Alloc or Take made are grown, freed and published. A slot is published at
//     most once in a run, outside loops.
//   - Inside a Parallel or Vector loop, variables declared outside are assigned only if Reduce
//     lists them; they are then only added to and not read. Arrays from outside are not allocated,
//     grown or freed. A Parallel loop is not inside a Vector loop. The same holds inside GPU loops
//     and a Launch; verifyloop.go has their further rules.
//   - An Ordered occurs once, directly in the body of a dynamic Parallel loop with chunks of 1.
func Verify(f *Func) error {
	v := &verifier{
		f:       f,
		names:   make(map[string]any, 64), // most leaves have dozens
		visible: make(map[*Var]varKind, 32),
		home:    make(map[any]*verifyLoop, 64),
		arrays:  map[*Array]arrayKind{},
		tables:  map[*Table]bool{},
		slots:   map[Slot]bool{},
		kernels: map[string]bool{},
	}
	err := v.run()
	if err == nil {
		return nil
	}
	return fmt.Errorf("ir: %s%s: %w", f.Name, v.where(), err)
}

// where returns the first line of the current statement, or its type if it cannot be printed.
func (v *verifier) where() (s string) {
	if v.at == nil {
		return ""
	}
	defer func() {
		if recover() != nil {
			s = fmt.Sprintf(": in a %T", v.at)
		}
	}()
	line, _, _ := strings.Cut(strings.TrimSpace(PrintStmt(v.at)), "\n")
	return ": in `" + line + "`"
}

type varKind uint8

const (
	local varKind = iota
	fixed         // loop variable, parameter, bound
)

type arrayKind uint8

const (
	made arrayKind = iota
	param
)

type verifier struct {
	f       *Func
	names   map[string]any // *Var, *Array or *Table
	visible map[*Var]varKind
	home    map[any]*verifyLoop // the innermost loop around each declaration
	arrays  map[*Array]arrayKind
	tables  map[*Table]bool
	slots   map[Slot]bool // published
	kernels map[string]bool
	units   bool // there is a Blocks loop

	launched    bool  // the current statement is in a Launch
	sharedBytes int64 // bytes of Shared arrays in the current Launch
	loops       []*verifyLoop
	at          Stmt
	row         Row // of the current statement, before the statements inside it
}

func (v *verifier) run() error {
	if v.f.Body == nil {
		return errors.New("no body")
	}
	arrays := map[Slot]bool{}
	for _, q := range v.f.Params {
		if err := v.param(q, arrays); err != nil {
			return err
		}
	}
	for _, b := range v.f.Bounds {
		for _, x := range b {
			if x != nil {
				if err := v.head(x); err != nil {
					return err
				}
			}
		}
	}
	if v.f.Threads != nil {
		if err := v.head(v.f.Threads); err != nil {
			return err
		}
	}
	return v.block(v.f.Body)
}

func (v *verifier) param(q Param, seen map[Slot]bool) error {
	if q.Slot.Arg < 0 || q.Slot.Level < 0 || q.Slot.Field > End {
		return fmt.Errorf("no such slot: %s", q.Slot)
	}
	if !q.Slot.Field.IsArray() {
		if q.A != nil || q.V == nil {
			return fmt.Errorf("slot %s holds a number, so its parameter must not be an array", q.Slot)
		}
		return v.head(q.V)
	}
	if q.A == nil || q.V != nil {
		return fmt.Errorf("slot %s holds an array, so its parameter must be an array", q.Slot)
	}
	key := q.Slot
	if !key.Field.HasLevel() {
		key.Level = 0
	}
	if seen[key] {
		return fmt.Errorf("slot %s is bound twice", q.Slot)
	}
	seen[key] = true
	if err := v.slotElem(q.Slot, q.A); err != nil {
		return err
	}
	if err := v.named(q.A.Name, q.A); err != nil {
		return err
	}
	if _, ok := v.arrays[q.A]; ok {
		return fmt.Errorf("array %s is bound twice", q.A.Name)
	}
	v.arrays[q.A] = param
	return nil
}

func (v *verifier) slotElem(s Slot, a *Array) error {
	if s.Field != Vals && s.Field != Rows && !a.Elem.IsInt() {
		return fmt.Errorf("array %s holds %s, but slot %s needs integers", a.Name, a.Elem, s)
	}
	if a.Elem == tensor.None || a.Elem.Size() == 0 {
		return fmt.Errorf("%s has no element type", a.Name)
	}
	return nil
}

// head introduces an Int64 variable of the function's head.
func (v *verifier) head(x *Var) error {
	if x.Typ != tensor.Int64 {
		return fmt.Errorf("variable %s has the type %s, want int64", x.Name, x.Typ)
	}
	return v.introduce(x, fixed)
}

func (v *verifier) named(name string, object any) error {
	if name == "" {
		return errors.New("an empty name")
	}
	if other, ok := v.names[name]; ok && other != object {
		return fmt.Errorf("two things are named %s", name)
	}
	v.names[name] = object
	return nil
}

func (v *verifier) introduce(x *Var, k varKind) error {
	if err := v.named(x.Name, x); err != nil {
		return err
	}
	if x.Typ == tensor.None || x.Typ.Size() == 0 {
		return fmt.Errorf("%s has no type", x.Name)
	}
	if _, ok := v.visible[x]; ok {
		return fmt.Errorf("variable %s is declared twice in one scope", x.Name)
	}
	v.visible[x] = k
	v.home[x] = v.innermost()
	return nil
}

func (v *verifier) block(b *Block) error {
	if b == nil {
		return errors.New("a nil block")
	}
	var scope []*Var
	for _, s := range b.List {
		v.at = s
		if err := v.stmt(s); err != nil {
			return err
		}
		if d, ok := s.(*Declare); ok {
			scope = append(scope, d.V)
		}
	}
	for _, x := range scope {
		delete(v.visible, x)
	}
	return nil
}

// checker is a statement with rules that do not follow from its operands' roles.
type checker interface{ check(v *verifier) error }

// stmt makes three checks: s is allowed at its place, its operands fit their roles, and s follows
// the rules of its kind.
func (v *verifier) stmt(s Stmt) error {
	if s == nil {
		return errors.New("a nil statement")
	}
	v.row.Describe(s)
	switch traits := v.row.Traits; {
	case v.launched && traits&OnThread == 0:
		return errors.New("a launch must not contain this operation")
	case !v.launched && traits&OnlyThread != 0:
		return errors.New("only a launch may contain this operation")
	}
	for k := range v.row.Operands {
		if err := v.operand(&v.row.Operands[k]); err != nil {
			return err
		}
	}
	if s, ok := s.(checker); ok {
		return s.check(v)
	}
	return nil
}

// operand checks an operand by its role and type.
func (v *verifier) operand(o *Operand) error {
	switch at := o.at.(type) {
	case *Expr:
		if err := v.expr(*at); err != nil || o.typ == tensor.None {
			return err
		}
		return want(o.typ, *at, o.text)
	case **Array:
		return v.array(*at, o)
	case **Table:
		return v.table(*at, o.Role)
	case **Var:
		switch {
		case *at == nil:
			return errors.New("a nil variable")
		case o.Role == Sets && o.typ != tensor.None:
			return v.assign(*at, o.typ, false)
		case o.Role == Declares && o.typ != tensor.None:
			return want(o.typ, *at, "loop variable")
		}
	}
	return nil
}

func (v *verifier) array(a *Array, o *Operand) error {
	if a == nil {
		return errors.New("a nil array")
	}
	_, known := v.arrays[a]
	switch o.Role {
	case Makes:
		return v.make(a)
	case MakesLocal, MakesShared:
		if known {
			return fmt.Errorf("%s is made twice", a.Name)
		}
		err := v.make(a)
		v.arrays[a] = param // not the leaf's own
		return err
	}
	switch {
	case !known:
		return fmt.Errorf("array %s is used before it is allocated, and it is not a parameter", a.Name)
	case o.Role == Owns:
		return v.owned(a)
	case a.Const && (o.Role == Stores || o.Role == Updates):
		return fmt.Errorf("%s is const, and cannot be stored to", a.Name)
	case o.typ != tensor.None && a.Elem != o.typ:
		return fmt.Errorf("%s holds %s, want %s", a.Name, a.Elem, o.typ)
	}
	return nil
}

func (v *verifier) table(t *Table, role Role) error {
	switch {
	case t == nil:
		return errors.New("a nil table")
	case role == Makes && !v.tables[t]:
		if t.Elem == tensor.None || t.Elem.Size() == 0 {
			return fmt.Errorf("%s has no element type", t.Name)
		}
		v.tables[t] = true
		v.home[t] = v.innermost()
		return v.named(t.Name, t)
	case !v.tables[t]:
		return errors.New("a table is used before it is allocated")
	case role != Loads:
		return v.within(t, t.Name)
	}
	return nil
}

// within returns an error if the current statement uses object inside a Launch or inside a
// Parallel, Vector or GPU loop, and object was made outside of it. object is an array or a table,
// and name is its name in the error.
func (v *verifier) within(object any, name string) error {
	for _, l := range v.loops {
		if l.guarded() && !v.home[object].within(l) {
			return fmt.Errorf("the %[2]s uses %[1]s from outside; want it declared within the %[2]s",
				name, l)
		}
	}
	return nil
}

// known returns an error unless a is a parameter or was allocated before.
func (v *verifier) known(a *Array) error { return v.array(a, &Operand{Role: Loads}) }

func want(t tensor.Type, x Expr, what string) error {
	if got := x.Type(); got != t {
		return fmt.Errorf("%s %s has the type %s, want %s", what, x, got, t)
	}
	return nil
}

// fits returns an error if x cannot be stored to a because of its type.
func fits(a *Array, x Expr) error {
	if t := x.Type(); t != a.Elem && !(t == tensor.Int64 && a.Elem == tensor.Int32) {
		return fmt.Errorf("array %s holds %s, but a value of type %s is stored in it", a.Name, a.Elem,
			t)
	}
	return nil
}

// assign checks that the current statement may set x to a value of type t, or may add the value to
// x if accumulate is true.
func (v *verifier) assign(x *Var, t tensor.Type, accumulate bool) error {
	k, ok := v.visible[x]
	switch {
	case !ok:
		return fmt.Errorf("%s is not declared here", x.Name)
	case k == fixed:
		return fmt.Errorf("%s cannot be assigned, because it is a loop variable or a parameter of "+
			"the function",
			x.Name)
	case t != x.Typ:
		return fmt.Errorf("variable %s has the type %s, but its value has the type %s", x.Name, x.Typ,
			t)
	}
	for _, l := range v.loops {
		if l.guarded() && !v.home[x].within(l) && !(accumulate && slices.Contains(l.reduce, x)) {
			return fmt.Errorf("the %[2]s assigns %[1]s, which it neither declares nor reduces", x.Name, l)
		}
	}
	return nil
}

// owned returns an error if the array a is a parameter, because the current statement needs an
// array that the leaf allocated itself. It also returns the error of within, because iterations and
// threads that run at the same time would share the array.
func (v *verifier) owned(a *Array) error {
	if v.arrays[a] == param {
		return fmt.Errorf("array %s is a parameter, but the leaf must have allocated it", a.Name)
	}
	return v.within(a, a.Name)
}

// make introduces an array that the current statement makes. If the array is known already, make
// only checks that the leaf owns it.
func (v *verifier) make(a *Array) error {
	if a.Const || a.Elem == tensor.None || a.Elem.Size() == 0 {
		return fmt.Errorf("array %s must not be const, and must have an element type", a.Name)
	}
	if _, known := v.arrays[a]; known {
		return v.owned(a)
	}
	v.arrays[a] = made
	v.home[a] = v.innermost()
	return v.named(a.Name, a)
}
