package place

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// Placement says where the pieces of a tensor are stored. It has one Level for each level of the
// machine's hierarchy, with the nodes first.
type Placement []Level

// Level says how a tensor is placed on one grid: (Modes...) -> Machine(Dims...). There is a Dim for
// each dimension of the grid. The names in Modes belong to the placement only. They need not be
// variables of the statement.
type Level struct {
	Modes   []string
	Machine string
	Dims    []Dim
	// Memory is the memory of the rank that stores the pieces. Only the last level of a placement
	// has it.
	Memory Memory
}

// Memory names one of the memories of a rank.
type Memory string

const (
	// the host's memory; if leaves run on a device, also the device's memory while it has room
	AnyMemory Memory = ""
	Device    Memory = "device" // the device's memory, until the tensor is released
	Host      Memory = "host"   // the host's memory; also the device's memory while a leaf runs
)

// Dim says how a tensor is distributed along one dimension of a grid.
type Dim struct {
	Kind  DimKind
	Modes []int // Cut, Nonzeros: the modes, as indices
	At    int64 // Fix: the coordinate of the grid
}

// DimKind is the kind of a Dim.
type DimKind byte

const (
	// Cut: the range of one mode is cut evenly.
	Cut DimKind = iota
	// Nonzeros: the stored coordinates of modes, fused, are cut evenly.
	Nonzeros
	// Copy: every coordinate of the grid has a copy.
	Copy
	// Fix: one coordinate of the grid has everything.
	Fix
)

// ParsePlacement reads a placement at src[from:end]. Some placements:
//
//	(x,y) -> M(x)            rows over the machine M
//	(x,y) -> M(*)            a copy at every point
//	(x,y) -> M(~(x,y))       equal counts of stored entries at each point
//	(x,y) -> M(x,0)          rows over column 0 of a grid
//	(x,y) -> M(x); (x,y) -> N(y)
//	                         rows over the nodes M, and columns over the grid N inside each node
//	(x,y) -> M(x) in device  in the memory of the GPU; "in host": in the memory of the host
//
// It also returns the offset in src where the placement ends. An error is a *diag.Error with the
// place in src.
func ParsePlacement(src string, from, end int) (Placement, int, error) {
	p := &placementReader{src: src[:end], at: from}
	for {
		level := p.level()
		if p.err != nil {
			return nil, p.at, p.err
		}
		p.placement = append(p.placement, level)
		last := p.at
		if p.memory() {
			return p.placement, p.at, p.err
		}
		if p.at = last; !p.skip(";") {
			return p.placement, last, nil
		}
	}
}

// ParsePlaced reads the name of a tensor and its placement, such as B(x,y) -> M(x). Nothing may
// follow in src. An error is a *diag.Error with the place in src.
func ParsePlaced(src string) (tensor string, p Placement, err error) {
	r := &placementReader{src: src}
	tensor = r.name("the name of a tensor and its placement, as in B(x,y) -> M(x)")
	if r.err != nil {
		return "", nil, r.err
	}
	p, r.at, err = ParsePlacement(src, r.at, len(src))
	if err != nil {
		return "", nil, err
	}
	if r.space(); r.at < len(src) {
		r.got(`";" and the placement on another level, or the end`)
	}
	return tensor, p, r.err
}

// Over reports whether the levels of the placement name the grids of m, in the same order. If m is
// a single grid, the level may name the machine instead.
func (p Placement) Over(m *Machine) bool {
	if len(p) != len(m.Grids) {
		return false
	}
	for k, g := range m.Grids {
		if own := p[k].Machine; own != g.Name && (own != m.Name || len(m.Grids) > 1) {
			return false
		}
	}
	return true
}

type placementReader struct {
	src       string
	at        int
	placement Placement
	err       error
}

func (p *placementReader) fail(pos, end int, format string, args ...any) {
	if p.err == nil {
		p.err = diag.At("placement", p.src, pos, end, format, args...)
	}
}

// got records a syntax error at the next character. The message names this character and says what
// the grammar expects instead. want describes what it expects.
func (p *placementReader) got(want string) {
	p.space()
	got, n := "the end of the placement", 0
	if p.at < len(p.src) {
		_, n = utf8.DecodeRuneInString(p.src[p.at:])
		got = strconv.Quote(p.src[p.at : p.at+n])
	}
	p.fail(p.at, p.at+n, "got %s, want %s", tensor.Printable(got), want)
}

func (p *placementReader) space() {
	for p.at < len(p.src) && strings.IndexByte(" \t\r\n", p.src[p.at]) >= 0 {
		p.at++
	}
}

// skip advances past text and returns true if it is next.
func (p *placementReader) skip(text string) bool {
	p.space()
	if !strings.HasPrefix(p.src[p.at:], text) {
		return false
	}
	p.at += len(text)
	return true
}

func (p *placementReader) want(text, where string) {
	if p.err == nil && !p.skip(text) {
		p.got(strconv.Quote(text) + " " + where)
	}
}

// word reads letters, digits and underscores.
func (p *placementReader) word() (word string, pos int) {
	p.space()
	pos = p.at
	for p.at < len(p.src) {
		c := p.src[p.at]
		if c != '_' && (c < '0' || c > '9') && !notation.IsName(string(rune(c))) {
			break
		}
		p.at++
	}
	return p.src[pos:p.at], pos
}

// name reads a name. want describes it for the error.
func (p *placementReader) name(want string) string {
	w, pos := p.word()
	if notation.IsName(w) {
		return w
	}
	p.at = pos
	if p.err == nil {
		p.got(want)
	}
	return ""
}

// list reads a list in parentheses, whose items are separated by commas. It calls item to read each
// item. If "(" is missing, after is the text that follows "(" in the error message.
func (p *placementReader) list(after string, item func()) {
	if p.want("(", after); p.err != nil || p.skip(")") {
		return
	}
	for p.err == nil {
		if item(); p.err != nil || p.skip(")") {
			return
		}
		if !p.skip(",") {
			p.got(`"," or ")"`)
		}
	}
}

func (p *placementReader) level() Level {
	var l Level
	p.list("and the tensor's modes, as in (x,y) -> M(x)", func() {
		pos := p.nextAt()
		name := p.name("the name of a mode")
		if slices.Contains(l.Modes, name) {
			p.fail(pos, p.at, "got mode %s twice, want a different name for each mode", name)
		}
		l.Modes = append(l.Modes, name)
	})
	p.want("->", "and a machine, as in (x,y) -> M(x)")
	l.Machine = p.name("the name of a machine, as in (x,y) -> M(x)")
	used := make([]bool, len(l.Modes))
	p.list("after the machine's name "+l.Machine, func() {
		pos := p.nextAt()
		d := p.dim(&l)
		if p.err != nil {
			return
		}
		for _, m := range d.Modes {
			if used[m] {
				p.fail(pos, p.at,
					"got mode %s twice on the right of ->, want each mode only once", l.Modes[m])
			}
			used[m] = true
		}
		l.Dims = append(l.Dims, d)
	})
	if p.err == nil && len(l.Dims) == 0 {
		p.fail(p.at-1, p.at,
			"got no dimension of %s; want a mode, a number or * for each dimension", l.Machine)
	}
	return l
}

// memory reads "in device" or "in host" after the last level. It returns false if the next word is
// not "in".
func (p *placementReader) memory() bool {
	if w, _ := p.word(); w != "in" {
		return false
	}
	pos := p.nextAt()
	w, _ := p.word()
	if m := Memory(w); m == Device || m == Host {
		p.placement[len(p.placement)-1].Memory = m
	} else {
		p.at = pos
		p.got("device or host, the memory that the pieces are stored in")
	}
	return true
}

// nextAt skips spaces and returns the offset after them.
func (p *placementReader) nextAt() int {
	p.space()
	return p.at
}

func (p *placementReader) dim(l *Level) Dim {
	mode := func() int {
		pos := p.nextAt()
		name := p.name("a mode of the tensor, *, a number or ~")
		k := slices.Index(l.Modes, name)
		if k < 0 {
			p.fail(pos, p.at, "got %s, want a mode from the left of ->: %s", name,
				strings.Join(l.Modes, ", "))
		}
		return k
	}
	if p.skip("*") {
		return Dim{Kind: Copy}
	}
	if p.skip("~") {
		d := Dim{Kind: Nonzeros}
		if p.nextAt() < len(p.src) && p.src[p.at] == '(' {
			p.list("after ~", func() { d.Modes = append(d.Modes, mode()) })
			if p.err == nil && len(d.Modes) == 0 {
				p.fail(p.at-1, p.at, "got no modes after ~, want at least one")
			}
			return d
		}
		d.Modes = []int{mode()}
		return d
	}
	if pos := p.nextAt(); pos < len(p.src) && '0' <= p.src[pos] && p.src[pos] <= '9' {
		w, _ := p.word()
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil {
			p.fail(pos, p.at, "got %s, want a coordinate of the machine: a whole number", w)
		}
		return Dim{Kind: Fix, At: n}
	}
	return Dim{Kind: Cut, Modes: []int{mode()}}
}

// Even returns the mode that the placement cuts evenly over a machine of one dimension. It returns
// -1 if each rank has a copy. For any other placement, ok is false.
func (p Placement) Even() (mode int, ok bool) {
	if len(p) != 1 || len(p[0].Dims) != 1 {
		return 0, false
	}
	switch d := p[0].Dims[0]; d.Kind {
	case Cut:
		return d.Modes[0], true
	case Copy:
		return -1, true
	}
	return 0, false
}

// String returns the text of the placement, which ParsePlacement reads back.
func (p Placement) String() string {
	levels := make([]string, len(p))
	for k, l := range p {
		dims := make([]string, len(l.Dims))
		for n, d := range l.Dims {
			dims[n] = l.dimText(d)
		}
		levels[k] = fmt.Sprintf("(%s) -> %s(%s)", strings.Join(l.Modes, ","), l.Machine,
			strings.Join(dims, ","))
	}
	text := strings.Join(levels, "; ")
	if m := p.Memory(); m != AnyMemory {
		text += " in " + string(m)
	}
	return text
}

// Memory returns the memory that the placement names.
func (p Placement) Memory() Memory {
	if len(p) == 0 {
		return AnyMemory
	}
	return p[len(p)-1].Memory
}

func (l *Level) dimText(d Dim) string {
	switch d.Kind {
	case Copy:
		return "*"
	case Fix:
		return strconv.FormatInt(d.At, 10)
	case Nonzeros:
		if len(d.Modes) == 1 {
			return "~" + l.names(d.Modes)
		}
		return "~(" + l.names(d.Modes) + ")"
	}
	return l.names(d.Modes)
}
