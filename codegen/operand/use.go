// Package operand decides how the operands of a statement are read. It finds one order for all
// loops. An operand whose storage does not fit this order is converted to another format, or is
// read from a copy.
//
// # Files
//
//	use.go      the tensors that a statement reads
//	order.go    constraints on the order of loops
//	convert.go  the order of all loops, and the operands that are converted for it
//	copies.go   dense operands that are read from copies
//	entries.go  an upper bound of the entries of the result
package operand

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// Tensor is the information that the compiler has about a tensor.
type Tensor struct {
	Format             tensor.Format
	Type               tensor.Type
	Dims               []int64
	PosWidth, CrdWidth []uint8 // by level, bytes of a pos or crd element; 0 if the level has none
	NNZ                int64   // number of stored values; -1 if unknown
	Counts             []int64 // number of positions of each level; nil if unknown
	// Longest is the number of positions of the longest segment of the last level, or 0 if it is
	// unknown or the level has no segments. It is found only for a GPU.
	Longest int64
}

// Use is a tensor of the right side together with the variables of an access. All accesses with the
// same tensor and the same variables are one use. The old value that += reads is a further use.
type Use struct {
	Tensor  string
	Old     bool
	Vars    []string
	Given   Tensor
	Format  tensor.Format // the format that the leaf reads
	Convert bool          // it is converted, or copied, from Given.Format to Format
	Name    string        // the operand's name in concrete index notation
}

// Uses lists the uses of a statement.
type Uses struct {
	List  []*Use
	byKey map[string]*Use
}

// Collect returns the uses of a statement in normal form. given returns the information about a
// tensor with the given name. It is not called for the left tensor, whose old value old describes.
func Collect(n *notation.Normal, given func(name string) Tensor, old *Tensor) *Uses {
	x := &Uses{byKey: map[string]*Use{}}
	for _, a := range n.Accesses() {
		if x.Of(a.Name, a.Vars) != nil {
			continue
		}
		u := &Use{Tensor: a.Name, Vars: a.Vars, Old: a.Name == n.LHS.Name}
		if u.Old {
			u.Given = *old
		} else {
			u.Given = given(a.Name)
		}
		x.byKey[useKey(a.Name, a.Vars)] = u
		x.List = append(x.List, u)
	}
	return x
}

func useKey(name string, vars []string) string { return name + "(" + strings.Join(vars, ",") + ")" }

// Of returns the use of an access of the right side, or nil if there is none.
func (x *Uses) Of(name string, vars []string) *Use { return x.byKey[useKey(name, vars)] }

// String returns a line for each use: the access, its format and the number of entries.
func (x *Uses) String() string {
	var b strings.Builder
	for _, u := range x.List {
		fmt.Fprintf(&b, "%s: %s, %d entries\n", useKey(u.Tensor, u.Vars), u.Given.Format, u.Given.NNZ)
	}
	return b.String()
}

// Verify checks that each access of a statement belongs to a use.
func (x *Uses) Verify(n *notation.Normal) error {
	for _, a := range n.Accesses() {
		if u := x.Of(a.Name, a.Vars); u == nil || u.Tensor != a.Name ||
			len(u.Given.Format.Levels) != len(a.Vars) {
			return fmt.Errorf("%s must be among the uses of the statement", a)
		}
	}
	return nil
}

// readAs makes the leaf read the operand in format f instead of the given format. It returns notes
// with an additional note, unless notes already has this note. The first word of the note is verb.
func (u *Use) readAs(f tensor.Format, verb string, notes []string) []string {
	u.Format, u.Convert = f, true
	note := fmt.Sprintf("%s %s from %s to %s", verb, u.Tensor, u.Given.Format, f)
	if slices.Contains(notes, note) {
		return notes
	}
	return append(notes, note)
}

// Widths returns the widths in bytes of the level arrays that the leaf reads. In an operand that
// is converted, crd elements are wide enough for the operand's coordinates. pos elements are wide
// enough for its number of entries, and have 8 bytes if the number is unknown.
func (u *Use) Widths() (pos, crd []uint8) {
	f := u.Format
	if !u.Convert {
		return u.Given.PosWidth, u.Given.CrdWidth
	}
	pos, crd = make([]uint8, len(f.Levels)), make([]uint8, len(f.Levels))
	for l, mode := range f.Order {
		caps := f.Levels[l]
		if caps.HasCrd() {
			crd[l] = Width(float64(u.Given.Dims[mode]))
		}
		if caps.HasPos() {
			pos[l] = 8
			if u.Given.NNZ >= 0 {
				pos[l] = Width(float64(u.Given.NNZ))
			}
		}
	}
	return pos, crd
}

// Width returns the width in bytes of integers from 0 to n: 4 if n fits in a signed integer of 32
// bits, and otherwise 8.
func Width(n float64) uint8 {
	if n <= math.MaxInt32 {
		return 4
	}
	return 8
}
