package main

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"
)

// tcsFile is the content of a .tcs file with float64 values. bytes encodes it according to
// docs/tcs.md and does not use our writer. A test makes the file invalid by changing the fields or
// the bytes.
type tcsFile struct {
	dims   []int64
	kinds  string
	modes  []int
	arrays [][]int64 // the pos and crd arrays of the levels, in order
	vals   []float64
}

// tcsSection is the position of an array in the file.
type tcsSection struct {
	entry, at, bytes int // offset of its table entry, and offset and size of the array
}

// bytes encodes the file with correct counts and checksums, and returns the positions of its
// arrays.
func (f tcsFile) bytes() ([]byte, []tcsSection) {
	le := binary.LittleEndian
	order := len(f.dims)
	sections := len(f.arrays) + 1
	head := 128 + 128*order + 64*sections
	b := make([]byte, head)
	copy(b, "\x89TCS\r\n\x1a\n")
	le.PutUint32(b[8:], 1)
	le.PutUint32(b[12:], uint32(head))
	le.PutUint32(b[24:], uint32(order))
	b[28], b[29] = 1, 6
	le.PutUint32(b[36:], uint32(sections))
	for m, n := range f.dims {
		at := 128 + 64*m
		le.PutUint64(b[at:], uint64(n))
		le.PutUint64(b[at+16:], uint64(n))
		le.PutUint64(b[at+32:], 1)
	}
	positions := int64(1)
	array := 0
	var list []tcsSection
	put := func(level, part, width int, data []byte) {
		for len(b)%64 != 0 {
			b = append(b, 0)
		}
		entry := 128 + 128*order + 64*len(list)
		le.PutUint32(b[entry:], uint32(int32(level)))
		b[entry+4], b[entry+5] = byte(part), byte(width)
		le.PutUint64(b[entry+8:], uint64(len(b)))
		le.PutUint64(b[entry+16:], uint64(len(data)))
		le.PutUint64(b[entry+24:], uint64(len(data)/width))
		le.PutUint32(b[entry+32:], crc32.ChecksumIEEE(data))
		list = append(list, tcsSection{entry, len(b), len(data)})
		b = append(b, data...)
	}
	ints := func(level, part int) {
		var data []byte
		for _, v := range f.arrays[array] {
			data = le.AppendUint32(data, uint32(int32(v)))
		}
		put(level, part, 4, data)
		array++
	}
	for l, kind := range f.kinds {
		at := 128 + 64*order + 64*l
		b[at] = byte(kind)
		le.PutUint32(b[at+4:], uint32(f.modes[l]))
		switch kind {
		case 'd':
			n := f.dims[f.modes[l]]
			le.PutUint64(b[at+8:], uint64(n))
			positions *= n
		case 's', 'u':
			positions = int64(len(f.arrays[array+1]))
			ints(l, 0)
			ints(l, 1)
		default:
			ints(l, 1)
		}
		le.PutUint64(b[at+24:], uint64(positions))
	}
	var data []byte
	for _, v := range f.vals {
		data = le.AppendUint64(data, math.Float64bits(v))
	}
	put(-1, 2, 8, data)
	return fixTCS(b), list
}

// fixTCS corrects the length and the checksum of the header.
func fixTCS(b []byte) []byte {
	binary.LittleEndian.PutUint64(b[16:], uint64(len(b)))
	return fixHeader(b)
}

// fixHeader corrects the checksum of the header only.
func fixHeader(b []byte) []byte {
	n := min(int(binary.LittleEndian.Uint32(b[12:])), len(b))
	clear(b[124:128])
	binary.LittleEndian.PutUint32(b[124:], crc32.ChecksumIEEE(b[:max(n, 128)]))
	return b
}

// strictTCS reads an uncompressed .tcs file according to docs/tcs.md. It is slow. It returns the
// first error, or "". If the file is compressed, it does not check the file, and sure is false.
func strictTCS(b []byte) (wrong string, sure bool) {
	defer func() {
		if e := recover(); e != nil { // an index past the end means that the file is truncated
			wrong, sure = fmt.Sprint(e), true
		}
	}()
	s := &strictFile{b: b}
	s.header()
	if s.wrong == "" && s.b[30] == 1 {
		return "", false
	}
	if s.wrong == "" {
		s.tables()
	}
	if s.wrong == "" && len(s.vals) > 0 {
		s.walk(0, 0, make([]int64, len(s.kinds)), false)
	}
	return s.wrong, true
}

type strictFile struct {
	b          []byte
	wrong      string
	dims       []uint64
	box        [][2]uint64
	kinds      string
	modes      []int
	size       []int64
	pos, crd   [][]int64
	vals       []byte
	valueWidth int
	typ        byte
}

func (s *strictFile) is(ok bool, what string, args ...any) {
	if !ok && s.wrong == "" {
		s.wrong = fmt.Sprintf(what, args...)
	}
}

func (s *strictFile) u64(at int) uint64 { return binary.LittleEndian.Uint64(s.b[at:]) }
func (s *strictFile) u32(at int) uint32 { return binary.LittleEndian.Uint32(s.b[at:]) }

func (s *strictFile) zero(from, to int, what string) {
	for _, c := range s.b[from:to] {
		s.is(c == 0, "%s is not zero", what)
	}
}

func (s *strictFile) header() {
	s.is(len(s.b) >= 128 && string(s.b[:8]) == "\x89TCS\r\n\x1a\n", "no magic")
	if s.wrong != "" {
		return
	}
	order, sections := s.u32(24), s.u32(36)
	s.is(s.u32(8) == 1, "version")
	s.is(order <= 64 && sections <= 129 && s.u32(12) == 128+128*order+64*sections &&
		int(s.u32(12)) <= len(s.b), "header length")
	s.is(s.u64(16) == uint64(len(s.b)), "file length")
	s.typ = s.b[28]
	s.is(s.typ >= 1 && s.typ <= 6, "type")
	s.is(s.b[29] == 6, "alignment")
	s.is(s.b[30] <= 1, "compression")
	chunk := s.u32(32)
	s.is(s.b[30] == 0 && chunk == 0 || s.b[30] == 1 && chunk%16 == 0 && chunk >= 1024 &&
		chunk <= 1<<24, "chunk")
	s.zero(31, 32, "byte 31")
	s.zero(64, 124, "reserved")
	for _, at := range []int{40, 48, 56} {
		s.is(s.u64(at) < 1<<62, "a statistic past 2^62")
	}
	if s.wrong != "" {
		return
	}
	h := slices.Clone(s.b[:s.u32(12)])
	clear(h[124:128])
	s.is(crc32.ChecksumIEEE(h) == s.u32(124), "checksum of the header")
}

func (s *strictFile) tables() {
	order := int(s.u32(24))
	for m := range order {
		at := 128 + 64*m
		n, lo, hi := s.u64(at), s.u64(at+8), s.u64(at+16)
		s.is(n <= 1<<61 && lo <= hi && hi <= n, "size or box of mode %d", m)
		s.is(s.u64(at+24) < s.u64(at+32) && s.u64(at+32) < 1<<62, "split of mode %d", m)
		s.zero(at+40, at+64, "reserved of a mode")
		s.dims, s.box = append(s.dims, n), append(s.box, [2]uint64{lo, hi})
	}
	seen := map[int]bool{}
	for l := range order {
		at := 128 + 64*order + 64*l
		kind, mode := s.b[at], int(s.u32(at+4))
		s.is(strings.IndexByte("dsuqcp", kind) >= 0, "kind of level %d", l)
		s.is(mode < order && !seen[mode], "mode of level %d", l)
		if s.wrong != "" {
			return
		}
		seen[mode] = true
		box := s.box[mode]
		if kind == 'd' {
			s.is(s.u64(at+8) == box[1]-box[0] && s.u64(at+16) == box[0],
				"size and offset of level %d", l)
		} else {
			s.is(s.u64(at+8) == 0 && s.u64(at+16) == 0, "a size of level %d", l)
		}
		for _, k := range []int{24, 32, 40} {
			s.is(s.u64(at+k) < 1<<62, "a count of level %d", l)
		}
		s.zero(at+1, at+4, "reserved of a level")
		s.zero(at+48, at+64, "reserved of a level")
		s.kinds, s.modes, s.size = s.kinds+string(kind), append(s.modes, mode),
			append(s.size, int64(box[1]-box[0]))
	}
	s.sections(order)
}

// sections reads the arrays and checks that the counts agree.
func (s *strictFile) sections(order int) {
	end, n := uint64(s.u32(12)), 0
	s.pos, s.crd = make([][]int64, order), make([][]int64, order)
	array := func(level, part int, want uint64, width func(byte) bool) []byte {
		if s.is(n < int(s.u32(36)), "too few sections"); s.wrong != "" {
			return nil
		}
		at := 128 + 128*order + 64*n
		n++
		place, stored, count, w := s.u64(at+8), s.u64(at+16), s.u64(at+24), s.b[at+5]
		s.is(int32(s.u32(at)) == int32(level) && int(s.b[at+4]) == part && width(w),
			"section %d is another", n-1)
		s.is(count == want || want == 1<<63, "section %d has %d elements, want %d", n-1, count,
			want)
		s.is(place%64 == 0 && place >= end && place <= uint64(len(s.b)) &&
			count <= uint64(len(s.b)) && stored == count*uint64(w) &&
			stored <= uint64(len(s.b))-place, "place of section %d", n-1)
		s.zero(at+6, at+8, "reserved of a section")
		s.zero(at+36, at+64, "reserved of a section")
		if s.wrong != "" {
			return nil
		}
		s.zero(int(end), int(place), "a gap")
		end = place + stored
		data := s.b[place:end]
		s.is(crc32.ChecksumIEEE(data) == s.u32(at+32), "checksum of section %d", n-1)
		return data
	}
	ints := func(level, part int, want uint64, least int) []int64 {
		var w byte
		data := array(level, part, want, func(got byte) bool {
			w = got
			return (w == 4 || w == 8) && int(w) >= least
		})
		var list []int64
		for ; len(data) > 0; data = data[w:] {
			if w == 4 {
				list = append(list, int64(int32(binary.LittleEndian.Uint32(data))))
			} else {
				list = append(list, int64(binary.LittleEndian.Uint64(data)))
			}
		}
		return list
	}
	parents := uint64(1)
	for l, kind := range s.kinds {
		least := 4
		if s.dims[s.modes[l]] > 1<<31-1 {
			least = 8
		}
		switch {
		case s.wrong != "":
			return
		case kind == 'd':
			if s.is(s.size[l] == 0 || parents <= 1<<62/uint64(s.size[l]),
				"positions past 2^62"); s.wrong == "" {
				parents *= uint64(s.size[l])
			}
		case kind == 's' || kind == 'u':
			s.pos[l] = ints(l, 0, parents+1, 4)
			s.crd[l] = ints(l, 1, 1<<63, least)
			parents = uint64(len(s.crd[l]))
			s.checkPos(l)
		default:
			s.crd[l] = ints(l, 1, parents, least)
		}
		s.is(s.u64(128+64*order+64*l+24) == parents, "positions of level %d", l)
	}
	s.valueWidth = []int{0, 8, 4, 8, 4, 16, 8}[s.typ]
	s.vals = array(-1, 2, parents, func(w byte) bool { return int(w) == s.valueWidth })
	s.is(n == int(s.u32(36)), "too many sections")
	s.is(end == uint64(len(s.b)), "bytes after the last section")
	s.is(s.u64(40) <= parents, "more entries than values")
}

func (s *strictFile) checkPos(l int) {
	p := s.pos[l]
	s.is(len(p) > 0 && p[0] == 0 && p[len(p)-1] == int64(len(s.crd[l])) && slices.IsSorted(p),
		"pos of level %d", l)
}

// chain reports whether the coordinate of level l is repeated for each entry of the singleton
// levels that follow.
func (s *strictFile) chain(l int) bool {
	return (s.kinds[l] == 'u' || s.kinds[l] == 'c') && l+1 < len(s.kinds) &&
		strings.IndexByte("qcp", s.kinds[l+1]) >= 0
}

// walk visits all positions below parent p of level l. pad is true if p is in an empty slot.
func (s *strictFile) walk(l int, p int64, at []int64, pad bool) {
	if s.wrong != "" {
		return
	}
	if l == len(s.kinds) {
		if pad {
			s.is(zeroValue(s.vals[int(p)*s.valueWidth:][:s.valueWidth], s.typ),
				"a value in an empty slot")
		}
		return
	}
	coordinate := func(q int64) {
		x, box := s.crd[l][q], s.box[s.modes[l]]
		s.is(!pad || x == -1, "coordinate below an empty slot")
		s.is(x == -1 && (pad || s.kinds[l] == 'p') || x >= 0 && uint64(x) >= box[0] &&
			uint64(x) < box[1], "coordinate %d of level %d: %d", q, l, x)
	}
	switch s.kinds[l] {
	case 'd':
		for q := p * s.size[l]; q < (p+1)*s.size[l]; q++ {
			s.walk(l+1, q, at, pad)
		}
	case 's', 'u':
		from, to := s.pos[l][p], s.pos[l][p+1]
		s.is(!pad || from == to, "coordinates below an empty slot")
		for q := from; q < to && s.wrong == ""; q++ {
			coordinate(q)
			if q > from {
				s.ordered(l, q)
			}
			s.walk(l+1, q, at, false)
		}
	default:
		coordinate(p)
		if s.wrong == "" {
			s.walk(l+1, p, at, pad || s.crd[l][p] == -1)
		}
	}
}

// ordered checks the order of positions q-1 and q, in the levels of the chain that starts at level
// l.
func (s *strictFile) ordered(l int, q int64) {
	last := l
	for s.chain(last) {
		last++
	}
	end := last + 1
	for end < len(s.kinds) && strings.IndexByte("qcp", s.kinds[end]) >= 0 {
		end++
	}
	// The levels after the first level that does not repeat have one coordinate for each of its
	// coordinates.
	for k := l; k < end; k++ {
		x, y := s.crd[k][q-1], s.crd[k][q]
		if x == y {
			continue
		}
		s.is(x < y && k <= last, "order of level %d at position %d", k, q)
		return
	}
	repeats := end == len(s.kinds) && strings.Trim(s.kinds[l:], "uc") == ""
	s.is(repeats, "equal coordinates under one parent of level %d", l)
}

func zeroValue(b []byte, typ byte) bool {
	switch typ {
	case 1, 5:
		for ; len(b) > 0; b = b[8:] {
			if math.Float64frombits(binary.LittleEndian.Uint64(b)) != 0 {
				return false
			}
		}
	case 2, 6:
		for ; len(b) > 0; b = b[4:] {
			if math.Float32frombits(binary.LittleEndian.Uint32(b)) != 0 {
				return false
			}
		}
	default:
		for _, c := range b {
			if c != 0 {
				return false
			}
		}
	}
	return true
}
