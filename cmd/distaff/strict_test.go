package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// strictly is a simple and strict reader. It returns what is wrong with a file of the given name,
// or "". It knows the simple forms of each format, and some texts that no form allows. If the file
// may be another form, sure is false.
func strictly(name string, b []byte) (wrong string, sure bool) {
	switch {
	case strings.HasSuffix(name, ".tcs"):
		return strictTCS(b)
	case strings.HasSuffix(name, ".npy"):
		return strictNpy(b)
	case strings.HasSuffix(name, ".mtx"):
		return strictMtx(string(b))
	case strings.HasSuffix(name, ".tns"):
		return strictTns(string(b))
	}
	return "", false
}

var npyHeader = regexp.MustCompile(
	`^\{'descr': '<(f8|f4|i4|i8|c16|c8)', 'fortran_order': (?:True|False), 'shape': \(([0-9, ]*)\), \} *\n$`)

// strictNpy reads only headers that NumPy writes for the ordinary types.
func strictNpy(b []byte) (wrong string, sure bool) {
	if len(b) < 10 || string(b[:6]) != "\x93NUMPY" {
		return "no magic", true
	}
	head, at := 0, 10
	switch b[6] {
	case 1:
		head = int(binary.LittleEndian.Uint16(b[8:]))
	case 2, 3:
		if len(b) < 12 {
			return "cut", true
		}
		head, at = int(binary.LittleEndian.Uint32(b[8:])), 12
	default:
		return "version", true
	}
	if head > len(b)-at {
		return "cut in its header", true
	}
	m := npyHeader.FindSubmatch(b[at : at+head])
	if m == nil {
		return "", false
	}
	width := map[string]float64{"f8": 8, "f4": 4, "i4": 4, "i8": 8, "c16": 16,
		"c8": 8}[string(m[1])]
	bytes, space := width, 16.0
	for _, w := range strings.Split(strings.ReplaceAll(string(m[2]), " ", ""), ",") {
		if w == "" {
			continue
		}
		n, err := strconv.ParseUint(w, 10, 64)
		if err != nil || n > 1<<61 {
			return "size", true
		}
		bytes *= float64(n)
		space *= math.Max(float64(n), 1)
	}
	if space >= 1<<62 {
		return "more than 2^62 bytes", true
	}
	if strings.Contains(string(m[2]), ",,") {
		return "", false
	}
	if float64(len(b)-at-head) != bytes {
		return "length", true
	}
	return "", true
}

var (
	plainInt   = regexp.MustCompile(`^[0-9]{1,15}$`)
	plainFloat = regexp.MustCompile(`^-?[0-9]{1,10}(\.[0-9]{1,10})?(e-?[0-9]{1,2})?$`)
)

// entryLines checks and counts lines of integer coordinates and one value. Coordinates must not
// exceed dims, unless dims is nil. If a line contains anything else, sure is false.
func entryLines(lines []string, dims []int64, order int, integer bool) (n int64, wrong string,
	sure bool) {
	for _, l := range lines {
		f := strings.Fields(l)
		if len(f) == 0 {
			continue
		}
		if strings.ContainsAny(l, "#%") {
			return n, "", false
		}
		if len(f) != order+1 {
			return n, "columns", true
		}
		for m, w := range f[:order] {
			if !plainInt.MatchString(w) {
				return n, "", false
			}
			c, _ := strconv.ParseInt(w, 10, 64)
			if c < 1 || dims != nil && c > dims[m] {
				return n, "coordinate", true
			}
		}
		if !plainFloat.MatchString(f[order]) || integer && !plainInt.MatchString(f[order]) {
			return n, "", false
		}
		n++
	}
	return n, "", true
}

// strictMtx reads general real and integer matrices in coordinate form.
func strictMtx(s string) (wrong string, sure bool) {
	if strings.ContainsAny(s, "\x00\r\v\f\u00a0") {
		return "", false
	}
	banner, rest, _ := strings.Cut(s, "\n")
	integer := banner == "%%MatrixMarket matrix coordinate integer general"
	if !integer && banner != "%%MatrixMarket matrix coordinate real general" {
		return "", false
	}
	lines := strings.Split(rest, "\n")
	for len(lines) > 0 && (strings.HasPrefix(lines[0], "%") || strings.TrimSpace(lines[0]) == "") {
		lines = lines[1:]
	}
	if len(lines) == 0 {
		return "no sizes", true
	}
	f := strings.Fields(lines[0])
	if len(f) != 3 {
		return "sizes", true
	}
	var v [3]int64
	for k, w := range f {
		if !plainInt.MatchString(w) {
			return "", false
		}
		v[k], _ = strconv.ParseInt(w, 10, 64)
	}
	n, wrong, sure := entryLines(lines[1:], v[:2], 2, integer)
	if wrong == "" && sure && n != v[2] {
		wrong = "count"
	}
	return wrong, sure
}

// strictTns reads files as FROSTT has them: all lines have the same number of columns.
func strictTns(s string) (wrong string, sure bool) {
	if strings.ContainsAny(s, "\x00\r\v\f\u00a0#") || !bytes.Contains([]byte(s), []byte(" ")) {
		return "", false
	}
	lines := strings.Split(s, "\n")
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	if len(lines) == 0 {
		return "", false
	}
	order := len(strings.Fields(lines[0])) - 1
	if order < 1 || order > 6 {
		return "", false
	}
	_, wrong, sure = entryLines(lines, nil, order, false)
	return wrong, sure
}
