package notation

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/diag"
)

// EinsumResult is the name of the result in a statement that Einsum returns.
const EinsumResult = "out"

// Einsum is NumPy's einsum string, such as "ij,jk->ik", as a statement.
type Einsum struct {
	Statement string
	Operands  []string // the names of the operands: A, B and so on, or T0, T1 and so on
	// Vars has the index variables of each operand.
	Vars [][]string
}

// Result returns the name of the result.
func (*Einsum) Result() string { return EinsumResult }

// subscripts are the subscripts of an operand or of the result.
type subscripts struct {
	at       Span
	letters  []byte
	places   []int // of letters
	ellipsis int   // the number of letters before the ellipsis, or -1 if there is none
	dots     int   // the place of the ellipsis
}

// ParseEinsum translates NumPy's einsum string for operands with the given numbers of modes. The
// number of an operand may be -1 if it is not known; its subscripts must then have no ellipsis. The
// modes of an ellipsis get the variables e1, e2 and so on. Function Broadcast broadcasts modes of
// size 1 in the result.
func ParseEinsum(text string, orders []int) (*Einsum, error) {
	p := &einsumParser{text: text}
	in, out := p.split()
	if p.err == nil && len(in) != len(orders) {
		p.fail(Span{0, len(text)}, "got subscripts for %d operands, but %d operands", len(in),
			len(orders))
	}
	if p.err != nil {
		return nil, p.err
	}
	dots := make([]int, len(in)) // the numbers of modes of ellipses
	for k, s := range in {
		switch n := orders[k] - len(s.letters); {
		case s.ellipsis < 0 && orders[k] >= 0 && n != 0:
			p.fail(s.at, "got %d subscripts for operand %d, which has %d modes", len(s.letters), k+1,
				orders[k])
		case s.ellipsis < 0:
		case orders[k] < 0:
			p.fail(Span{s.dots, s.dots + 3}, "got an ellipsis for operand %d, but its number of modes "+
				"is not known; want a subscript for each mode", k+1)
		case n < 0:
			p.fail(s.at, "got %d subscripts for operand %d, which has only %d modes", len(s.letters),
				k+1, orders[k])
		default:
			dots[k] = n
		}
	}
	most := slices.Max(dots)
	result := p.result(in, out, most)
	if p.err != nil {
		return nil, p.err
	}
	e := &Einsum{Operands: operandNames(in)}
	var factors []string
	for k, s := range in {
		vars := s.vars(dots[k], most)
		e.Vars = append(e.Vars, vars)
		factors = append(factors, access(e.Operands[k], vars))
	}
	e.Statement = access(EinsumResult, result) + " = " + strings.Join(factors, " * ")
	return e, nil
}

// access formats an access to a tensor.
func access(name string, vars []string) string {
	if len(vars) == 0 {
		return name
	}
	return name + "(" + strings.Join(vars, ",") + ")"
}

// operandNames returns a name for each operand. The names A, B and so on are used if there are
// enough of them and no subscript is a capital letter.
func operandNames(in []*subscripts) []string {
	capital := slices.ContainsFunc(in, func(s *subscripts) bool {
		return slices.ContainsFunc(s.letters, func(c byte) bool { return c <= 'Z' })
	})
	names := make([]string, len(in))
	for k := range names {
		names[k] = string(rune('A' + k))
		if capital || len(in) > 26 {
			names[k] = fmt.Sprintf("T%d", k)
		}
	}
	return names
}

// vars returns the index variables for subscripts whose ellipsis stands for n modes. most is the
// largest number of modes of an ellipsis: ellipses are aligned at their last modes.
func (s *subscripts) vars(n, most int) []string {
	var list []string
	for k := range len(s.letters) + 1 {
		if k == s.ellipsis {
			for m := most - n; m < most; m++ {
				list = append(list, fmt.Sprintf("e%d", m+1))
			}
		}
		if k < len(s.letters) {
			list = append(list, string(rune(s.letters[k])))
		}
	}
	return list
}

type einsumParser struct {
	text string
	err  error
}

func (p *einsumParser) fail(at Span, format string, args ...any) {
	if p.err == nil {
		p.err = diag.At(diag.Syntax, p.text, at.Pos, at.End, "einsum: "+format, args...)
	}
}

// split parses the subscripts of the operands, and of the result. out is nil if there is no arrow.
func (p *einsumParser) split() (in []*subscripts, out *subscripts) {
	s := &subscripts{ellipsis: -1}
	in = append(in, s)
	for k := 0; k < len(p.text) && p.err == nil; k++ {
		s.at.End = k
		switch c := p.text[k]; {
		case c == ' ':
		case isLetter(c):
			s.letters, s.places = append(s.letters, c), append(s.places, k)
		case strings.HasPrefix(p.text[k:], "..."):
			if s.ellipsis >= 0 {
				p.fail(Span{k, k + 3}, "got a second ellipsis for one operand, want one at most")
			}
			s.ellipsis, s.dots = len(s.letters), k
			k += 2
		case c == ',' && out == nil:
			s = &subscripts{at: Span{k + 1, k + 1}, ellipsis: -1}
			in = append(in, s)
		case strings.HasPrefix(p.text[k:], "->") && out == nil:
			s = &subscripts{at: Span{k + 2, k + 2}, ellipsis: -1}
			out = s
			k++
		default:
			p.fail(Span{k, k + 1}, "got %q, want letters, \"...\", \",\" or one \"->\"",
				firstRune(p.text[k:]))
		}
	}
	s.at.End = len(p.text)
	return in, out
}

func firstRune(s string) string {
	for _, r := range s {
		return string(r)
	}
	return ""
}

// result returns the index variables of the result. most is the largest number of modes of an
// ellipsis. Without an arrow, the result has the modes of ellipses, and each letter that appears
// once, in the order of the alphabet.
func (p *einsumParser) result(in []*subscripts, out *subscripts, most int) []string {
	count := map[byte]int{}
	for _, s := range in {
		for _, c := range s.letters {
			count[c]++
		}
	}
	if out == nil {
		out = &subscripts{}
		for c := range 128 {
			if count[byte(c)] == 1 {
				out.letters = append(out.letters, byte(c))
			}
		}
		return out.vars(most, most)
	}
	for k, c := range out.letters {
		at := Span{out.places[k], out.places[k] + 1}
		switch {
		case count[c] == 0:
			p.fail(at, "got %c in the result, but no operand has it", c)
		case slices.Contains(out.letters[:k], c):
			p.fail(at, "got %c twice in the result, want it once", c)
		}
	}
	if out.ellipsis < 0 && most > 0 {
		p.fail(out.at, "got a result without an ellipsis, but the ellipsis of an operand has %d modes",
			most)
	}
	return out.vars(most, most)
}
