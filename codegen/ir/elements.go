package ir

import (
	"errors"
	"fmt"
	"slices"

	"distaff/io/tensor"
)

// Statements that visit many elements of arrays.
type (
	// Fill sets every element of A[Lo:Hi] to X.
	Fill struct {
		A      *Array
		Lo, Hi Expr
		X      Expr
	}
	// Copy copies the N elements Src[SrcLo : SrcLo+N] to Dst, from DstLo on.
	Copy struct {
		Dst   *Array
		DstLo Expr
		Src   *Array
		SrcLo Expr
		N     Expr
		// Stream is advice: Dst is too large to stay in a cache until it is read.
		Stream bool
	}
	// Sort sorts the integers A[Lo:Hi] in ascending order.
	Sort struct {
		A      *Array
		Lo, Hi Expr
	}
	// SortBy reorders the Int64 indices in Perm[Lo:Hi] so that the tuples (Keys[0][p], Keys[1][p],
	// ...) of Int64 keys ascend lexicographically. The sort is stable: indices with equal tuples
	// keep their order.
	SortBy struct {
		Perm   *Array
		Keys   []*Array
		Lo, Hi Expr
	}
	// Scan replaces the integers A[Lo:Hi] by their prefix sums: A[k] becomes A[Lo] + ... + A[k]. A
	// loop cannot contain a Scan.
	Scan struct {
		A      *Array
		Lo, Hi Expr
	}
	// Mark sets bit At of the bitmap Bits, an Int64 array whose words hold their bits from the
	// lowest to the highest. If no other bit of the word was set, Mark appends the number of the
	// word to Words (Int32) at N and increments N. Words has room for one entry more than Bits has
	// words.
	Mark struct {
		Bits, Words *Array
		N           *Var
		At          Expr
	}
	// Collect lists the bits that Marks have set, and clears the bitmap. It writes Base plus the
	// number of each set bit to List (Int32), from 0 on and ascending. Before, Words[0:N] are the
	// words of Bits that are not zero; after, N is the number of bits listed. Len is the number of
	// words of Bits. Flags (Bool) is scratch memory: it has Len elements, rounded up to a multiple
	// of 64, all false before and after. List has room for one more element than bits.
	Collect struct {
		Bits, Words, Flags, List *Array
		N                        *Var
		Len, Base                Expr
	}
)

func (s *Fill) row(r *Row) {
	r.Traits = OnHost
	r.add("fill %[% : %] = %", stores(&s.A), start(&s.Lo), end(&s.Hi), value(&s.X))
}

func (s *Copy) row(r *Row) {
	r.Traits = OnHost
	r.add("% %[%] = %[%], %", word(&s.Stream, "stream|copy"), stores(&s.Dst), num(&s.DstLo, "start"),
		loads(&s.Src), num(&s.SrcLo, "start"), count(&s.N, "length"))
}

func (s *Sort) row(r *Row) { r.add("sort %[% : %]", updates(&s.A), start(&s.Lo), end(&s.Hi)) }

func (s *SortBy) row(r *Row) {
	r.Traits = Allocates
	r.add("sortby %[% : %] (", updates(&s.Perm).of(tensor.Int64), start(&s.Lo), end(&s.Hi))
	for k := 0; r.hasNext(k < len(s.Keys), sep(k)); k++ {
		r.add("%", loads(at(&s.Keys, k)))
	}
	r.add(")")
}

func (s *Scan) row(r *Row) {
	r.Traits = OnHost
	r.add("scan %[% : %]", updates(&s.A), start(&s.Lo), end(&s.Hi))
}

func (s *Mark) row(r *Row) {
	r.add("mark %[%], %, %", updates(&s.Bits).of(tensor.Int64), num(&s.At, "place"),
		stores(&s.Words).of(tensor.Int32), sets(&s.N).of(tensor.Int64))
}

func (s *Collect) row(r *Row) {
	r.add("collect %[%] = %[%], %, %, %", stores(&s.List).of(tensor.Int32), num(&s.Base, "base"),
		updates(&s.Bits).of(tensor.Int64), num(&s.Len, "length"), updates(&s.Words).of(tensor.Int32),
		updates(&s.Flags).of(tensor.Bool), sets(&s.N).of(tensor.Int64))
}

func (s *Fill) clone() Stmt    { c := *s; return &c }
func (s *Copy) clone() Stmt    { c := *s; return &c }
func (s *Sort) clone() Stmt    { c := *s; return &c }
func (s *SortBy) clone() Stmt  { c := *s; c.Keys = slices.Clone(s.Keys); return &c }
func (s *Scan) clone() Stmt    { c := *s; return &c }
func (s *Mark) clone() Stmt    { c := *s; return &c }
func (s *Collect) clone() Stmt { c := *s; return &c }

func (s *Fill) check(*verifier) error { return fits(s.A, s.X) }

func (s *Copy) check(*verifier) error {
	if s.Dst.Elem != s.Src.Elem {
		return fmt.Errorf("cannot copy from %s, which holds %s, to %s, which holds %s; want equal "+
			"types",
			s.Src.Name, s.Src.Elem, s.Dst.Name, s.Dst.Elem)
	}
	return nil
}

func (s *Sort) check(v *verifier) error { return v.integers(s.A, "only integers are sorted") }

func (s *SortBy) check(*verifier) error {
	if len(s.Keys) == 0 {
		return errors.New("no keys")
	}
	for _, k := range s.Keys {
		if k == s.Perm || k.Elem != tensor.Int64 {
			return fmt.Errorf("array %s cannot be a sort key; want an array of int64 other than the "+
				"permutation", k.Name)
		}
	}
	return nil
}

func (s *Scan) check(v *verifier) error {
	if len(v.loops) > 0 {
		return errors.New("scan in a loop")
	}
	return v.integers(s.A, "only integers are scanned")
}
