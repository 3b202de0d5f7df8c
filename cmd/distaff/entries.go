package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/spmd"
)

// What info reads of its own accord; tests make less of it.
var (
	readMost     int64 = 64 << 20 // bytes of the arrays of a .tcs file, without --verify
	comparedMost int64 = 1 << 25  // entries that are sorted to compare a matrix with its transpose
)

// matrixInfo is the structure of a tensor of two modes.
type matrixInfo struct {
	Lower    int64         `json:"lower_bandwidth"`
	Upper    int64         `json:"upper_bandwidth"`
	Diagonal *int64        `json:"diagonal,omitempty"`      // coordinates on it with an entry
	Full     *bool         `json:"full_diagonal,omitempty"` // all have
	Symmetry *symmetryInfo `json:"symmetry,omitempty"`      // of a square matrix
	places   int64         // on the diagonal
	square   bool
}

// symmetryInfo compares a square matrix with its transpose.
type symmetryInfo struct {
	Pattern   float64 `json:"pattern"` // share of the entries off the diagonal whose mirror image is stored
	Values    float64 `json:"values"`  // and has the same value
	Symmetric bool    `json:"symmetric"`
	Skew      bool    `json:"skew_symmetric"`
	Hermitian bool    `json:"hermitian"`
}

// survey tells how a stream's entries spread, which coo.Look found.
func (f *fileInfo) survey(s *coo.Survey) {
	f.Modes = nil
	for k, m := range s.Modes {
		if !m.Known {
			f.without(fmt.Sprintf("mode %d", k), "it has too many coordinates with entries")
			continue
		}
		f.Modes = append(f.Modes, modeInfo{k, m.Filled, m.Empty, m.Most, m.Mean, m.Skew, &m.Gini})
	}
}

// matrix tells the structure of a matrix, of which coo.Look found s; in is read again to
// compare it with its transpose.
func (f *fileInfo) matrix(s *coo.Survey, in coo.Stream, cfg coo.Config) error {
	if s.Matrix == nil {
		return nil
	}
	m := s.Matrix
	f.Matrix = &matrixInfo{Lower: m.Lower, Upper: m.Upper, places: m.Places, square: s.Dims[0] == s.Dims[1]}
	if m.DiagonalKnown {
		full := m.Diagonal == m.Places
		f.Matrix.Diagonal, f.Matrix.Full = &m.Diagonal, &full
	} else {
		f.without("diagonal", "it is too long to count")
	}
	if !f.Matrix.square {
		return nil
	}
	if s.Entries > comparedMost {
		f.without("symmetry", fmt.Sprintf("it has %d entries, and no more than %d are sorted", s.Entries, comparedMost))
		return nil
	}
	if err := in.Rewind(); err != nil {
		return err
	}
	sym, err := coo.CompareTransposed(in, cfg)
	if err == nil {
		f.Matrix.Symmetry = &symmetryInfo{sym.Pattern, sym.Values, sym.Symmetric, sym.Skew, sym.Hermitian}
	}
	return err
}

// without says that something was not computed, and why.
func (f *fileInfo) without(what, why string) {
	if f.NotComputed == nil {
		f.NotComputed = map[string]string{}
	}
	f.NotComputed[what] = why
}

// fromEntries reads the entries of a .tcs file, which is whole and valid: how they spread over
// every mode, and the structure of a matrix.
func (f *fileInfo) fromEntries(t *tcs.Tensor, cfg coo.Config) error {
	all := coo.FromTensor(t, coo.KeepAll)
	s, err := coo.Look(all)
	if err != nil {
		return err
	}
	f.survey(s)
	if t.Order() != 2 {
		return nil
	}
	if last := t.Levels[len(t.Levels)-1]; last.Form() == tcs.Full {
		// Zeros that only a dense level makes room for are no entries of the matrix.
		all = coo.FromTensor(t, coo.DropFill)
		if s, err = coo.Look(all); err != nil {
			return err
		}
	}
	return f.matrix(s, all, cfg)
}

// unread says that the entries of a .tcs file were not read: nothing is known but what the
// header says of the outermost mode.
func (f *fileInfo) unread(order int, why string) {
	f.without("gini", why)
	if order > 1 {
		f.without("modes", why)
	}
	if order == 2 {
		for _, what := range []string{"diagonal", "bandwidth", "symmetry"} {
			f.without(what, why)
		}
	}
}

// tooLarge is why the entries of a .tcs file of so many bytes were not read.
func tooLarge(bytes int64) string {
	return fmt.Sprintf("the arrays take %s; without --verify no more than %s are read", spmd.FormatSize(bytes), spmd.FormatSize(readMost))
}

// text is the matrix in lines.
func (m *matrixInfo) text(line func(what, format string, args ...any)) {
	if m.Diagonal != nil {
		switch {
		case m.places == 0:
			line("diagonal", "empty")
		case *m.Full:
			line("diagonal", "full, %s", tcs.Count(m.places, "place"))
		default:
			line("diagonal", "%d of %s filled", *m.Diagonal, tcs.Count(m.places, "place"))
		}
	}
	line("bandwidth", "lower %d, upper %d", m.Lower, m.Upper)
	if m.Symmetry != nil {
		line("symmetry", "%s", m.Symmetry.text())
	} else if !m.square {
		line("symmetry", "none: the matrix is not square")
	}
}

func (s *symmetryInfo) text() string {
	share := func(x float64) string {
		if x == 1 {
			return "symmetric"
		}
		return fmt.Sprintf("%.3g%%", 100*min(x, 0.999))
	}
	text := "pattern " + share(s.Pattern) + ", values " + share(s.Values)
	if s.Skew {
		text += ", skew-symmetric"
	}
	if s.Hermitian {
		text += ", Hermitian"
	}
	return text
}

// printWithout prints what was not computed, what has one reason in one line.
func (f *fileInfo) printWithout(line func(what, format string, args ...any)) {
	list := map[string][]string{}
	var reasons []string
	for _, what := range slices.Sorted(maps.Keys(f.NotComputed)) {
		why := f.NotComputed[what]
		if list[why] == nil {
			reasons = append(reasons, why)
		}
		list[why] = append(list[why], what)
	}
	for _, why := range reasons {
		line("unknown", "%s: %s", strings.Join(list[why], ", "), why)
	}
}
