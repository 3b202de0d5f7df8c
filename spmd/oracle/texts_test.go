package oracle

import (
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"distaff/io/convert"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
	"distaff/io/tns"
)

// inputKind draws the extension of an operand's file. It returns "" if the operand is not read from
// a file, or if files of the drawn kind cannot represent the tensor.
func inputKind(r *rand.Rand, t *Tensor) string {
	kind := []string{"", "", ".tns", ".tcs", ".tcs", ".tns.gz", ".mtx", ".rb", ".npy"}[r.IntN(9)]
	bare := len(t.Entries) == 0
	switch {
	case strings.HasPrefix(kind, ".tns") && bare,
		(kind == ".mtx" || kind == ".rb") && len(t.Dims) != 2,
		kind == ".rb" && !slices.ContainsFunc(t.Dims, func(n int64) bool { return n > 0 }),
		kind == ".npy" && !t.Format.AllDense() && t.has(tensor.Value.IsZero),
		kind == ".npy" && t.hasRepeats(),
		kind == ".rb" && t.has(isInfinite):
		return ""
	}
	return kind
}

// outputKind draws the extension of the result's file. It returns "" if the result is not written.
func outputKind(r *rand.Rand, order int) string {
	kind := []string{"", "", ".tns", ".tns", ".tcs", ".tcs", ".npy", ".mtx", ".tns.gz",
		".npz"}[r.IntN(10)]
	if kind == ".mtx" && order > 2 || kind == ".npz" && order != 2 {
		return ".npy"
	}
	return kind
}

// has reports whether match returns true for the value of some entry.
func (t *Tensor) has(match func(tensor.Value) bool) bool {
	return slices.ContainsFunc(t.Entries, func(e Entry) bool { return match(e.Value) })
}

// isInfinite reports whether a part of v is infinite or NaN.
func isInfinite(v tensor.Value) bool {
	sum := real(v.C) + imag(v.C)
	return math.IsNaN(sum) || math.IsInf(sum, 0)
}

// store writes an operand's file.
func (f *files) store(t *Tensor, file string, wide bool) error {
	switch kind := f.in[t.Name]; kind {
	case ".tns", ".tns.gz", ".mtx", ".rb":
		return t.write(file, kind)
	}
	as := *t
	if x, ok := f.other[t.Name]; ok {
		as.Format = x
	}
	if f.in[t.Name] == ".npy" {
		as.Format = tensor.DenseOf(len(t.Dims))
	}
	s, err := as.Assemble(wide)
	if err != nil {
		return err
	}
	if f.in[t.Name] == ".npy" {
		err = convert.WriteTensor(file, s, convert.WriteOptions{Threads: 1})
	} else {
		err = tcsfile.Write(file, s, tcsfile.WriteOptions{Wide: wide})
	}
	return errors.Join(err, s.Close())
}

// write writes the tensor as text.
func (t *Tensor) write(file, kind string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	switch kind {
	case ".tns":
		t.tns(f)
	case ".tns.gz":
		z := gzip.NewWriter(f)
		t.tns(z)
		err = z.Close()
	case ".mtx":
		t.mtx(f)
	case ".rb":
		t.rb(f)
	}
	return errors.Join(err, f.Close())
}

// tns writes the tensor as a .tns file.
func (t *Tensor) tns(w io.Writer) {
	if t.Type.IsComplex() {
		fmt.Fprintln(w, tns.ComplexMark)
	}
	t.list(w)
}

// list writes a line for each entry. Its coordinates start at 1.
func (t *Tensor) list(w io.Writer) {
	for _, e := range t.Entries {
		for _, x := range e.Coord {
			fmt.Fprint(w, x+1, " ")
		}
		fmt.Fprintln(w, scalarText(t.Type, e.Value))
	}
}

// field returns one of the arguments integer, real and complex, according to the type of t's
// values.
func field[T any](t *Tensor, integer, real, complex T) T {
	switch {
	case t.Type.HoldsInts():
		return integer
	case t.Type.IsComplex():
		return complex
	}
	return real
}

// mtx writes the matrix as a .mtx file.
func (t *Tensor) mtx(w io.Writer) {
	fmt.Fprintln(w, "%%MatrixMarket matrix coordinate", field(t, "integer", "real", "complex"),
		"general")
	fmt.Fprintln(w, t.Dims[0], t.Dims[1], len(t.Entries))
	t.list(w)
}

// rb writes the matrix as a .rb file. It sorts the entries by columns, and keeps the order of
// entries within a column. A line has three numbers, each 26 characters wide.
func (t *Tensor) rb(w io.Writer) {
	entries := slices.Clone(t.Entries)
	slices.SortStableFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Coord[1], b.Coord[1]) })
	var pointers, rows, values []string
	at := 0
	for c := range t.Dims[1] + 1 {
		for at < len(entries) && entries[at].Coord[1] < c {
			at++
		}
		pointers = append(pointers, fmt.Sprint(at+1))
	}
	for _, e := range entries {
		rows = append(rows, fmt.Sprint(e.Coord[0]+1))
		values = append(values, strings.Fields(scalarText(t.Type, e.Value))...)
	}
	lines := func(list []string) int { return (len(list) + 2) / 3 }
	p, i, v := lines(pointers), lines(rows), lines(values)
	fmt.Fprintf(w, "%-72s%-8s\n%14d%14d%14d%14d\n", "a matrix", "key", p+i+v, p, i, v)
	fmt.Fprintf(w, "%-14s%14d%14d%14d%14d\n", field(t, "iua", "rua", "cua"), t.Dims[0], t.Dims[1],
		len(entries), 0)
	fmt.Fprintf(w, "%-16s%-16s%-20s\n", "(3I26)", "(3I26)",
		field(t, "(3I26)", "(3E26.17)", "(3E26.17)"))
	for _, list := range [][]string{pointers, rows, values} {
		for k, x := range list {
			fmt.Fprintf(w, "%26s", x)
			if k%3 == 2 || k == len(list)-1 {
				fmt.Fprintln(w)
			}
		}
	}
}
