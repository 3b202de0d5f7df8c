package hb

import (
	"strconv"
	"strings"
)

// field is the place and the format of a number in a line.
type field struct {
	col, width int  // col counts from 0
	kind       byte // one of I E D F G
	scale      int  // the k of a scale factor kP
}

// maxFields is the largest number of fields of a line.
const maxFields = 1 << 12

// parseFormat parses a Fortran format: (16I5), (1P,4E20.12) or (2(F10.3,1X)). ok is false if s
// is not a format for numbers or has no field.
func parseFormat(s string) (fs []field, ok bool) {
	p := &formatParser{s: strings.ToUpper(strings.ReplaceAll(s, " ", ""))}
	if !p.eat('(') || !p.list(0) || p.s != "" || len(p.fields) == 0 {
		return nil, false
	}
	return p.fields, true
}

type formatParser struct {
	s      string
	fields []field
	col    int
	scale  int
	items  int // read so far
}

func (p *formatParser) eat(c byte) bool {
	if p.s != "" && p.s[0] == c {
		p.s = p.s[1:]
		return true
	}
	return false
}

// number parses an unsigned integer. It returns -1 if there is none or if it exceeds 2^20.
func (p *formatParser) number() int {
	n := 0
	for n < len(p.s) && p.s[n] >= '0' && p.s[n] <= '9' {
		n++
	}
	v, err := strconv.Atoi(p.s[:n])
	if err != nil || v > 1<<20 {
		return -1
	}
	p.s = p.s[n:]
	return v
}

// list parses items up to the closing parenthesis.
func (p *formatParser) list(depth int) bool {
	for {
		if !p.item(depth) {
			return false
		}
		if p.eat(')') {
			return true
		}
		if !p.eat(',') {
			return false
		}
	}
}

// item parses a scale factor, spaces, a field or a group, with its repeat count.
func (p *formatParser) item(depth int) bool {
	if p.items++; p.items > 4*maxFields { // nested counts multiply
		return false
	}
	neg := p.eat('-')
	n := p.number()
	if p.eat('P') {
		if n < 0 {
			return false
		}
		if p.scale = n; neg {
			p.scale = -n
		}
		if p.s != "" && p.s[0] != ',' && p.s[0] != ')' {
			return p.item(depth) // as in 1P3D24.15, without a comma
		}
		return true
	}
	if neg || n == 0 || p.s == "" {
		return false
	}
	count := max(n, 1)
	switch c := p.s[0]; c {
	case 'X':
		p.s = p.s[1:]
		p.col += count
		return p.col <= 1<<20
	case '(':
		p.s = p.s[1:]
		return depth < 8 && p.group(count, depth+1)
	case 'I', 'E', 'D', 'F', 'G':
		p.s = p.s[1:]
		width := p.number()
		if width < 1 || width > 1<<10 || p.eat('.') && p.number() < 0 {
			return false
		}
		// The number of digits of the exponent does not matter.
		if c != 'F' && c != 'I' && p.eat('E') && p.number() < 0 {
			return false
		}
		for range count {
			if len(p.fields) == maxFields {
				return false
			}
			p.fields = append(p.fields, field{p.col, width, c, p.scale})
			p.col += width
		}
		return true
	}
	return false
}

// group parses a list in parentheses, and adds its fields count times. It returns false if the list
// is not valid, or if the format has no field up to the end of the list.
func (p *formatParser) group(count, depth int) bool {
	start := p.s
	for k := range count {
		if k > 0 {
			p.s = start
		}
		if !p.list(depth) || len(p.fields) == 0 {
			return false
		}
	}
	return true
}
