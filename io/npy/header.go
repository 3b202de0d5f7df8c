package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

	"distaff/io/arrays"
	"distaff/io/tensor"
)

// maxHeader is the largest length of a header's dictionary in bytes. It is far more than the
// shape of an array of MaxOrder modes needs.
const maxHeader = 1 << 16

const magic = "\x93NUMPY"

// header describes an array in a file.
type header struct {
	arrays.Header
	size int64 // bytes before the elements
}

// parseDtype parses NumPy's description of an element type, such as "<f8". It returns an error if
// this package cannot read elements of the type.
func parseDtype(s string) (arrays.Elem, error) {
	d := arrays.Elem{}
	rest := s
	if rest != "" && strings.IndexByte("<>|=", rest[0]) >= 0 {
		d.Big = rest[0] == '>'
		rest = rest[1:]
	}
	if rest == "" {
		return d, fmt.Errorf("got the type %q, want one like '<f8'", s)
	}
	d.Kind = rest[0]
	if d.Kind == '?' {
		d.Kind, rest = 'b', "b1"
	}
	n, err := strconv.Atoi(rest[1:])
	ok := err == nil
	switch d.Kind {
	case 'S':
		ok = ok && n >= 0 && n < 1<<10
	case 'U':
		n *= 4
		ok = ok && n >= 0 && n < 1<<10
	case 'O':
		return d, fmt.Errorf("got an array of Python objects, want numbers")
	default:
		ok = ok && arrays.Elem{Kind: d.Kind, Size: n}.Type() != tensor.None
	}
	if !ok {
		return d, fmt.Errorf("got elements of type %q, want bool, integers of 1 to 8 bytes, "+
			"floats of 2, 4 or 8, or complex of 8 or 16", s)
	}
	d.Size = n
	return d, nil
}

// readHeader reads the header at the start of r. Its own errors do not name the file.
func readHeader(r io.Reader) (*header, error) {
	var fix [12]byte
	if n, err := io.ReadFull(r, fix[:8]); err != nil {
		if !short(err) {
			return nil, err
		}
		return nil, fmt.Errorf("got %s, want the header of a .npy file, which starts with %q",
			tensor.Count(n, "byte"), magic)
	}
	if string(fix[:6]) != magic {
		return nil, fmt.Errorf("got %q at the start, want %q, as in every .npy file",
			fix[:6], magic)
	}
	length := 2
	switch fix[6] {
	case 1:
	case 2, 3:
		length = 4
	default:
		return nil, fmt.Errorf("got version %d.%d of the format, want 1, 2 or 3", fix[6], fix[7])
	}
	if _, err := io.ReadFull(r, fix[8:8+length]); err != nil {
		return nil, cut(err)
	}
	n := int64(binary.LittleEndian.Uint16(fix[8:]))
	if length == 4 {
		n = int64(binary.LittleEndian.Uint32(fix[8:]))
	}
	if n > maxHeader {
		return nil, fmt.Errorf("got a header of %d bytes, want at most %d", n, maxHeader)
	}
	dict := make([]byte, n)
	if _, err := io.ReadFull(r, dict); err != nil {
		return nil, cut(err)
	}
	h, err := parseHeader(string(dict))
	if err != nil {
		return nil, err
	}
	h.size = 8 + int64(length) + n
	return h, nil
}

func short(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }

func cut(err error) error {
	if short(err) {
		return fmt.Errorf("got a header that ends too early")
	}
	return err
}

// parseHeader parses the dictionary.
func parseHeader(s string) (*header, error) {
	p := &literal{s: s}
	h := &header{}
	seen := map[string]bool{}
	fail := func() (*header, error) {
		if p.err == nil {
			p.err = fmt.Errorf(
				"got %q in the header, want a dictionary with 'descr', 'fortran_order' and "+
					"'shape'", clip(p.s))
		}
		return nil, p.err
	}
	if !p.eat("{") {
		return fail()
	}
	for !p.eat("}") {
		key, ok := p.str()
		if !ok || !p.eat(":") || seen[key] {
			return fail()
		}
		seen[key] = true
		switch key {
		case "descr":
			if p.peek() == '[' || p.peek() == '(' {
				return nil, fmt.Errorf("got an array of records, want numbers")
			}
			var descr string
			if descr, ok = p.str(); ok {
				if h.Elem, p.err = parseDtype(descr); p.err != nil {
					return fail()
				}
			}
		case "fortran_order":
			h.Fortran = p.eat("True")
			ok = h.Fortran || p.eat("False")
		case "shape":
			h.Shape, ok = p.tuple()
		default:
			ok = false
		}
		if !ok {
			return fail()
		}
		if !p.eat(",") && p.peek() != '}' {
			return fail()
		}
	}
	if p.rest() != "" || len(seen) != 3 {
		return fail()
	}
	return h, h.Measure()
}

// literal parses Python literals.
type literal struct {
	s   string
	err error
}

func (p *literal) rest() string {
	p.s = strings.TrimLeft(p.s, " \t\r\n")
	return p.s
}

func (p *literal) peek() byte {
	if s := p.rest(); s != "" {
		return s[0]
	}
	return 0
}

func (p *literal) eat(word string) bool {
	if !strings.HasPrefix(p.rest(), word) {
		return false
	}
	p.s = p.s[len(word):]
	return true
}

// str parses a string without escapes. Python 2's u or Python 3's b may precede it.
func (p *literal) str() (string, bool) {
	s := p.rest()
	s = strings.TrimPrefix(strings.TrimPrefix(s, "u"), "b")
	if s == "" || s[0] != '\'' && s[0] != '"' {
		return "", false
	}
	end := strings.IndexByte(s[1:], s[0])
	if end < 0 || strings.IndexByte(s[1:1+end], '\\') >= 0 {
		return "", false
	}
	p.s = s[end+2:]
	return s[1 : 1+end], true
}

// tuple parses integers in parentheses. Python 2's L may follow an integer.
func (p *literal) tuple() ([]int64, bool) {
	dims := []int64{}
	if !p.eat("(") {
		return nil, false
	}
	for !p.eat(")") {
		s := p.rest()
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		if n == 0 {
			return nil, false
		}
		v, err := tensor.ParseSize(s[:n])
		if err != nil {
			p.err = fmt.Errorf("the header's shape: %v", err)
			return nil, false
		}
		dims = append(dims, v)
		p.s = s[n:]
		p.eat("L")
		if !p.eat(",") && p.peek() != ')' {
			return nil, false
		}
	}
	return dims, true
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}
