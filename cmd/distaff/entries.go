package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd"
)

// These limits bound the work of the command info. The flag --verify lifts only readMost. Tests
// reduce the limits.
var (
	readMost     int64 = 64 << 20 // bytes of a .tcs file's arrays read without --verify
	comparedMost int64 = 1 << 25  // entries that are sorted to compare a matrix with its transpose
)

// matrixInfo describes the structure of a tensor of two modes.
type matrixInfo struct {
	Lower    int64  `json:"lower_bandwidth"`
	Upper    int64  `json:"upper_bandwidth"`
	Diagonal *int64 `json:"diagonal,omitempty"` // coordinates on the diagonal with an entry
	// Full is true if all coordinates on the diagonal have entries.
	Full     *bool         `json:"full_diagonal,omitempty"`
	Symmetry *symmetryInfo `json:"symmetry,omitempty"` // only of a square matrix
	places   int64         // number of coordinates on the diagonal
	square   bool
}

// symmetryInfo is the result of comparing a square matrix with its transpose.
type symmetryInfo struct {
	Pattern   float64 `json:"pattern"` // share of off-diagonal entries whose mirror image is stored
	Values    float64 `json:"values"`  // share of off-diagonal entries with an equal mirror image
	Symmetric bool    `json:"symmetric"`
	Skew      bool    `json:"skew_symmetric"`
	Hermitian bool    `json:"hermitian"`
}

// survey sets f.Modes from s, which has the distribution of entries in each mode.
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

// matrix sets f.Matrix from s, the survey of the entries in stream. If the matrix is square and has
// at most comparedMost entries, matrix reads stream a second time and compares the matrix with its
// transpose. It does nothing if s does not describe a matrix.
func (f *fileInfo) matrix(s *coo.Survey, stream coo.Stream, cfg coo.Config) error {
	if s.Matrix == nil {
		return nil
	}
	m := s.Matrix
	f.Matrix = &matrixInfo{Lower: m.Lower, Upper: m.Upper, places: m.Places,
		square: s.Dims[0] == s.Dims[1]}
	if m.DiagonalKnown {
		full := m.Diagonal == m.Places
		f.Matrix.Diagonal, f.Matrix.Full = &m.Diagonal, &full
	} else {
		f.without("diagonal", "the file takes too long to count")
	}
	if !f.Matrix.square {
		return nil
	}
	if s.Entries > comparedMost {
		f.without("symmetry", fmt.Sprintf("it has %d entries, but at most %d are sorted",
			s.Entries, comparedMost))
		return nil
	}
	if err := stream.Rewind(); err != nil {
		return err
	}
	sym, err := coo.CompareTransposed(stream, cfg)
	if err == nil {
		f.Matrix.Symmetry = &symmetryInfo{sym.Pattern, sym.Values, sym.Symmetric, sym.Skew,
			sym.Hermitian}
	}
	return err
}

// without records a figure that was not computed (what), and the reason (why).
func (f *fileInfo) without(what, why string) {
	if f.NotComputed == nil {
		f.NotComputed = map[string]string{}
	}
	f.NotComputed[what] = why
}

// fromEntries reads the entries of a .tcs file. The file must be valid and must contain a whole
// tensor. fromEntries finds the distribution of the entries in each mode, except in modes with too
// many coordinates. If the tensor has two modes, it also finds the structure of the matrix.
func (f *fileInfo) fromEntries(t *tcs.Tensor, cfg coo.Config) error {
	all := coo.FromTensor(t, coo.KeepAll)
	s, err := coo.SurveyOf(all)
	if err != nil {
		return err
	}
	f.survey(s)
	if t.Order() != 2 {
		return nil
	}
	if last := t.Levels[len(t.Levels)-1]; last.Form() == tensor.Full {
		// Zeros that only fill a dense level are not entries of the matrix.
		all = coo.FromTensor(t, coo.DropFill)
		if s, err = coo.SurveyOf(all); err != nil {
			return err
		}
	}
	return f.matrix(s, all, cfg)
}

// unread records that the entries of a .tcs file were not read, so that statistics are missing. why
// is the reason, and order is the number of modes. The output still has the statistics of the
// outermost mode that the file's header contains.
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

// tooLarge returns the reason, in words, for not reading a .tcs file whose arrays have the given
// number of bytes.
func tooLarge(bytes int64) string {
	return fmt.Sprintf("the arrays take %s, but without --verify at most %s are read",
		spmd.FormatSize(bytes), spmd.FormatSize(readMost))
}

// text prints the structure of the matrix. It calls printLine once for each line.
func (m *matrixInfo) text(printLine func(what, format string, args ...any)) {
	if m.Diagonal != nil {
		switch {
		case m.places == 0:
			printLine("diagonal", "empty")
		case *m.Full:
			printLine("diagonal", "full, %s", tensor.Count(m.places, "place"))
		default:
			printLine("diagonal", "%d of %s filled", *m.Diagonal, tensor.Count(m.places, "place"))
		}
	}
	printLine("bandwidth", "lower %d, upper %d", m.Lower, m.Upper)
	if m.Symmetry != nil {
		printLine("symmetry", "%s", m.Symmetry.text())
	} else if !m.square {
		printLine("symmetry", "none: the matrix is not square")
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

// printWithout prints the figures that were not computed. Figures with the same reason are printed
// in one line.
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
