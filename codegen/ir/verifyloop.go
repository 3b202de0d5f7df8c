package ir

import (
	"distaff/io/tensor"
	"errors"
	"fmt"
)

// verifyLoop is a loop or a Launch around the current statement.
type verifyLoop struct {
	kind    ForKind
	launch  bool
	ordered *Ordered // the loop's Ordered, if it is at an allowed place
	reduce  []*Var
	outer   *verifyLoop // the loop around it
}

// within reports whether l is outer or inside it.
func (l *verifyLoop) within(outer *verifyLoop) bool {
	for ; l != nil; l = l.outer {
		if l == outer {
			return true
		}
	}
	return false
}

func (l *verifyLoop) guarded() bool {
	return l.launch || l.kind == Parallel || l.kind == Vector || l.kind.OnGPU()
}

// String returns the loop's name in errors.
func (l *verifyLoop) String() string {
	if l.launch {
		return "launch"
	}
	return l.kind.String() + " loop"
}

// innermost returns the innermost loop around the current statement, or nil.
func (v *verifier) innermost() *verifyLoop {
	if n := len(v.loops); n > 0 {
		return v.loops[n-1]
	}
	return nil
}

func (v *verifier) loop(s *For) error {
	if err := firstError(want(tensor.Int64, s.Lo, "start"), want(tensor.Int64, s.Hi, "end"),
		want(tensor.Int64, s.V, "loop variable")); err != nil {
		return err
	}
	if s.Step < 1 || s.Factor < 0 || s.Chunk < 0 || s.Kind > Lanes {
		return fmt.Errorf(
			"step %d, factor %d, chunk %d, kind %d: want a step of at least 1 and none below 0", s.Step,
			s.Factor, s.Chunk, s.Kind)
	}
	if s.Factor != 0 && s.Kind != Unrolled {
		return fmt.Errorf("factor %d: want none but of an unrolled loop", s.Factor)
	}
	if s.Nontemporal && (s.Kind != Vector || len(s.Reduce) > 0) {
		return fmt.Errorf("nontemporal: want a vector loop that reduces nothing, got a %s loop", s.Kind)
	}
	l := &verifyLoop{kind: s.Kind, reduce: s.Reduce}
	if s.Kind == Parallel && s.Dynamic && s.Chunk == 1 && s.Body != nil {
		l.ordered = OrderedOf(s)
	}
	for _, x := range s.Reduce {
		if k, ok := v.visible[x]; !ok || k == fixed || !x.Typ.IsNumber() {
			return fmt.Errorf("%s cannot be reduced: want a number declared outside", x.Name)
		}
	}
	if err := v.nested(s); err != nil {
		return err
	}
	if err := v.introduce(s.V, fixed); err != nil {
		return err
	}
	if err := v.inLoop(l, s.Body, s.V); err != nil {
		return err
	}
	delete(v.visible, s.V)
	return nil
}

func (v *verifier) orderedSection(s *Ordered) error {
	if n := len(v.loops); n == 0 || v.loops[n-1].ordered != s {
		return errors.New(
			"an ordered section that is not the only one in the body of a parallel(dynamic, 1) loop")
	}
	return v.block(s.Body)
}

// inLoop verifies the body of a loop or a Launch. own are the variables that it declares itself.
func (v *verifier) inLoop(l *verifyLoop, b *Block, own ...*Var) error {
	l.outer = v.innermost()
	for _, x := range own {
		v.home[x] = l
	}
	v.loops = append(v.loops, l)
	err := v.block(b)
	v.loops = v.loops[:len(v.loops)-1]
	return err
}
