package ir

import (
	"distaff/io/tensor"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxFailCoord is the largest number of coordinates in a Fail.
const MaxFailCoord = 16

// Verify returns an error for the first broken rule of f. The error shows the statement that breaks
// it. The rules are:
//
//   - Types agree: operands with each other, and a value with the variable or array that it is
//     stored to (an Int64 may be stored to an Int32 array). Conditions are Bool; indices, sizes,
//     bounds and loop variables are Int64. Complex numbers have no order, minimum or remainder, and
//     are not cast to integers. Bool has no arithmetic.
//   - A name belongs to one variable or array. A variable is declared before its uses, in a block
//     around them, and only once in that block. Loop variables and the variables of the function's
//     head are never assigned.
//   - An array is a parameter or is allocated before its uses. Nothing stores to a Const array.
//     Only arrays that Alloc made are grown, freed and published. A slot is published once, outside
//     loops.
//   - Inside a Parallel or Vector loop, variables declared outside are assigned only if Reduce
//     lists them; they are then only added to and not read. Arrays from outside are not allocated,
//     grown or freed. A Parallel loop is not inside a Vector loop. The same holds inside GPU loops
//     and a Launch, which also have the rules of verifygpu.go.
//   - An Ordered occurs once, directly in the body of a Parallel loop with chunks of 1.
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
			return fmt.Errorf("slot %s is a number, and needs a variable", q.Slot)
		}
		return v.head(q.V)
	}
	if q.A == nil || q.V != nil {
		return fmt.Errorf("slot %s is an array, and needs one", q.Slot)
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
		return fmt.Errorf("%s holds %s, and %s wants integers", a.Name, a.Elem, s)
	}
	if a.Elem == tensor.None || a.Elem.Size() == 0 {
		return fmt.Errorf("%s has no element type", a.Name)
	}
	return nil
}

// head introduces an Int64 variable of the function's head.
func (v *verifier) head(x *Var) error {
	if x.Typ != tensor.Int64 {
		return fmt.Errorf("%s is of type %s, want int64", x.Name, x.Typ)
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
		return fmt.Errorf("%s is declared where it is visible already", x.Name)
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

func (v *verifier) stmt(s Stmt) error {
	if err := v.inLaunch(s); err != nil {
		return err
	}
	for _, x := range Exprs(s) {
		if err := v.expr(x); err != nil {
			return err
		}
	}
	switch s := s.(type) {
	case *Block:
		return v.block(s)
	case *Comment:
		return nil
	case *Declare:
		if s.Init.Type() != s.V.Typ {
			return fmt.Errorf("%s is of type %s, its value %s", s.V.Name, s.V.Typ, s.Init.Type())
		}
		return v.introduce(s.V, local)
	case *Assign:
		return v.assign(s)
	case *Store:
		return v.store(s)
	case *For:
		return v.loop(s)
	case *While:
		if err := want(tensor.Bool, s.Cond, "condition"); err != nil {
			return err
		}
		return v.inLoop(&verifyLoop{kind: Serial}, s.Body)
	case *If:
		return v.branch(s)
	case *Ordered:
		return v.orderedSection(s)
	case *Alloc:
		return v.alloc(s)
	case *Prefetch:
		return firstError(want(tensor.Int64, s.Index, "index"), v.known(s.A))
	case *Local:
		return v.local(s)
	case *Grow:
		return v.grow(s)
	case *Free:
		return v.owned(s.A)
	case *Fill:
		if err := firstError(want(tensor.Int64, s.Lo, "start"), want(tensor.Int64, s.Hi, "end"),
			v.stored(s.A)); err != nil {
			return err
		}
		return fits(s.A, s.X)
	case *Copy:
		return v.copy(s)
	case *Gemm:
		return v.gemm(s)
	case *SpMM:
		return v.spmm(s)
	case *Call:
		return v.call(s)
	case *Sort:
		if !s.A.Elem.IsInt() {
			return fmt.Errorf("%s holds %s, and only integers are sorted", s.A.Name, s.A.Elem)
		}
		return firstError(want(tensor.Int64, s.Lo, "start"), want(tensor.Int64, s.Hi, "end"),
			v.stored(s.A))
	case *Mark:
		return firstError(want(tensor.Int64, s.At, "place"), v.marks(s.Bits, s.Words, s.N))
	case *Collect:
		return v.collect(s)
	case *Union:
		return v.union(s)
	case *SortBy:
		return v.sortBy(s)
	case *AllocTable, *Keep, *Take, *FreeTable:
		return v.table(s)
	case *Publish:
		return v.publish(s)
	case *Fail:
		return v.fail(s)
	case *Launch, *Shared, *Barrier, *Shuffle, *Scan:
		return v.gpu(s)
	case nil:
		return errors.New("a nil statement")
	}
	return fmt.Errorf("unknown statement %T", s)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func want(t tensor.Type, x Expr, what string) error {
	if got := x.Type(); got != t {
		return fmt.Errorf("%s %s is of type %s, want %s", what, x, got, t)
	}
	return nil
}

// fits returns an error if x cannot be stored to a because of its type.
func fits(a *Array, x Expr) error {
	if t := x.Type(); t != a.Elem && !(t == tensor.Int64 && a.Elem == tensor.Int32) {
		return fmt.Errorf("%s holds %s, the value is of type %s", a.Name, a.Elem, t)
	}
	return nil
}

func (v *verifier) assign(s *Assign) error {
	k, ok := v.visible[s.V]
	if !ok {
		return fmt.Errorf("%s is not declared here", s.V.Name)
	}
	if k == fixed {
		return fmt.Errorf("%s is a loop variable or of the function's head, and cannot be assigned",
			s.V.Name)
	}
	if s.X.Type() != s.V.Typ {
		return fmt.Errorf("%s is of type %s, its value %s", s.V.Name, s.V.Typ, s.X.Type())
	}
	if s.Accumulate && !s.V.Typ.IsNumber() {
		return fmt.Errorf("%s is of type %s, and cannot be added to", s.V.Name, s.V.Typ)
	}
	for _, l := range v.loops {
		if l.guarded() && !v.home[s.V].within(l) && !(s.Accumulate && slices.Contains(l.reduce, s.V)) {
			return fmt.Errorf("%s is from outside the %s; it is neither its own nor in reduce", s.V.Name, l)
		}
	}
	return nil
}

func (v *verifier) store(s *Store) error {
	if s.Accumulate && !s.A.Elem.IsNumber() {
		return fmt.Errorf("%s holds %s, and cannot be added to", s.A.Name, s.A.Elem)
	}
	return firstError(want(tensor.Int64, s.Index, "index"), v.stored(s.A), fits(s.A, s.X))
}

// known returns an error unless a is a parameter or was allocated before.
func (v *verifier) known(a *Array) error {
	if a == nil {
		return errors.New("a nil array")
	}
	if _, ok := v.arrays[a]; !ok {
		return fmt.Errorf("%s is neither a parameter nor allocated before", a.Name)
	}
	return nil
}

func (v *verifier) stored(a *Array) error {
	if err := v.known(a); err != nil {
		return err
	}
	if a.Const {
		return fmt.Errorf("%s is const, and cannot be stored to", a.Name)
	}
	return nil
}

// owned returns an error unless Alloc made a. Inside parallel loops, a must be made in the
// innermost parallel loop.
func (v *verifier) owned(a *Array) error {
	if err := v.known(a); err != nil {
		return err
	}
	if v.arrays[a] == param {
		return fmt.Errorf("%s is a parameter, and not the leaf's own", a.Name)
	}
	for _, l := range v.loops {
		if l.guarded() && !v.home[a].within(l) {
			return fmt.Errorf("%s is from outside the %s", a.Name, l)
		}
	}
	return nil
}

func (v *verifier) alloc(s *Alloc) error {
	if err := want(tensor.Int64, s.Len, "length"); err != nil {
		return err
	}
	return v.make(s.A)
}

// MaxLocal is the largest number of elements of a Local array.
const MaxLocal = 1 << 14

func (v *verifier) local(s *Local) error {
	if s.Len < 1 || s.Len > MaxLocal {
		return fmt.Errorf("a local array of %d elements, want 1 to %d", s.Len, MaxLocal)
	}
	if s.A != nil {
		if _, known := v.arrays[s.A]; known {
			return fmt.Errorf("%s is made twice", s.A.Name)
		}
	}
	if err := v.make(s.A); err != nil {
		return err
	}
	v.arrays[s.A] = param // not the leaf's own
	return nil
}

// make introduces an array that the leaf owns.
func (v *verifier) make(a *Array) error {
	if a == nil {
		return errors.New("a nil array")
	}
	if a.Const || a.Elem == tensor.None || a.Elem.Size() == 0 {
		return fmt.Errorf("%s is const or has no element type", a.Name)
	}
	if _, known := v.arrays[a]; known {
		return v.owned(a)
	}
	v.arrays[a] = made
	v.home[a] = v.innermost()
	return v.named(a.Name, a)
}

func (v *verifier) grow(s *Grow) error {
	if err := firstError(want(tensor.Int64, s.Need, "need"), v.owned(s.A)); err != nil {
		return err
	}
	if s.Cap == nil {
		return errors.New("a nil variable")
	}
	return v.assign(&Assign{V: s.Cap, X: s.Need})
}

func (v *verifier) copy(s *Copy) error {
	err := firstError(want(tensor.Int64, s.DstLo, "start"), want(tensor.Int64, s.SrcLo, "start"),
		want(tensor.Int64, s.N, "length"),
		v.stored(s.Dst), v.known(s.Src))
	if err == nil && s.Dst.Elem != s.Src.Elem {
		err = fmt.Errorf("%s holds %s, %s holds %s", s.Dst.Name, s.Dst.Elem, s.Src.Name, s.Src.Elem)
	}
	return err
}

// holds returns an error unless a can be stored to and has elements of type t.
func (v *verifier) holds(a *Array, t tensor.Type) error {
	if err := v.stored(a); err != nil {
		return err
	}
	if a.Elem != t {
		return fmt.Errorf("%s holds %s, want %s", a.Name, a.Elem, t)
	}
	return nil
}

func (v *verifier) branch(s *If) error {
	if err := want(tensor.Bool, s.Cond, "condition"); err != nil {
		return err
	}
	before := clone(v.slots)
	if err := v.block(s.Then); err != nil || s.Else == nil {
		return err
	}
	then := v.slots
	v.slots = before
	if err := v.block(s.Else); err != nil {
		return err
	}
	for slot := range then {
		v.slots[slot] = true
	}
	return nil
}

func clone(m map[Slot]bool) map[Slot]bool {
	c := make(map[Slot]bool, len(m))
	for k := range m {
		c[k] = true
	}
	return c
}

func (v *verifier) publish(s *Publish) error {
	if err := firstError(want(tensor.Int64, s.Len, "length"), v.owned(s.A)); err != nil {
		return err
	}
	if !s.Slot.Field.IsArray() || s.Slot.Field == Rows || s.Slot.Arg < 0 || s.Slot.Level < 0 {
		return fmt.Errorf("slot %s is no array", s.Slot)
	}
	if len(v.loops) > 0 {
		return errors.New("publish in a loop")
	}
	if v.slots[s.Slot] {
		return fmt.Errorf("slot %s is published twice", s.Slot)
	}
	v.slots[s.Slot] = true
	return v.slotElem(s.Slot, s.A)
}

func (v *verifier) fail(s *Fail) error {
	if s.Code <= OK || s.Code > FailPattern {
		return fmt.Errorf("no such failure: %d", int(s.Code))
	}
	if len(s.Coord) > MaxFailCoord {
		return fmt.Errorf("got %d coordinates, want at most %d", len(s.Coord), MaxFailCoord)
	}
	for _, x := range s.Coord {
		if err := want(tensor.Int64, x, "coordinate"); err != nil {
			return err
		}
	}
	return nil
}
