package arrays

import (
	"fmt"
	"io"

	"distaff/io/tensor"
	"distaff/io/text"
)

// points reads the entries of a COO array of any order. The member coords has a row for each
// mode and a column for each entry.
type points struct {
	s     *sparse
	modes []*index // in C order: a reader of each row
	mixed *index   // in Fortran order: a reader of the columns, one after another
	vals  *Elements
	left  int64 // entries that are not read yet
	k     int64 // the number of entries that were read
}

func openPoints(f File, s *sparse) (walker, error) {
	w := &points{s: s}
	err := w.open(f)
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *points) open(f File) (err error) {
	const name = "coords"
	if w.vals, err = OpenShaped(f, "data", 1); err != nil {
		return err
	}
	e, err := OpenShaped(f, name, 2)
	if err != nil {
		return err
	}
	defer func() {
		if w.mixed == nil {
			e.Close()
		}
	}()
	order := int64(len(w.s.full))
	switch {
	case e.Header.Shape[0] != order:
		return text.Dataf(f.What(name), 0, 0,
			"got %s, want %d, one for each size in shape",
			text.Plural(e.Header.Shape[0], "row", "rows"), order)
	case e.Header.Shape[1] != w.vals.Header.Count:
		return text.Dataf(f.What(name), 0, 0,
			"got coordinates of %s, want %d, one for each element of data",
			text.Plural(e.Header.Shape[1], "entry", "entries"), w.vals.Header.Count)
	}
	w.left = w.vals.Header.Count
	if e.Header.Count == 0 {
		return nil
	}
	if err := WantIntegers(f, name, e); err != nil {
		return err
	}
	if e.Header.Fortran {
		w.mixed = &index{e: e, name: f.What(name)}
		return nil
	}
	for m := range order {
		x, err := openRow(f, name, m)
		if err != nil {
			return err
		}
		w.modes = append(w.modes, x)
	}
	return nil
}

// row opens row m of a member with two dimensions in C order.
func openRow(f File, name string, m int64) (*index, error) {
	e, err := OpenShaped(f, name, 2)
	if err != nil {
		return nil, err
	}
	if err := e.only(m*e.Header.Shape[1], e.Header.Shape[1]); err != nil {
		e.Close()
		return nil, Fault(f.What(name), err)
	}
	return &index{e: e, name: f.What(name)}, nil
}

// only limits reading to n elements of the array. It first skips the given number of elements.
func (e *Elements) only(skip, n int64) error {
	got, err := io.CopyN(io.Discard, e.r, skip*int64(e.Header.Elem.Size))
	if short(err) {
		return fmt.Errorf("got %s, but the shape %[3]v needs %[2]d: the data end too early",
			tensor.Count(got/int64(e.Header.Elem.Size), "element"), e.Header.Count, e.Header.Shape)
	}
	e.after = e.Header.Count - skip - n
	e.left = n
	return err
}

func (w *points) next(at [][]int64, vals []byte, most int) (int, error) {
	n := int(min(int64(most), w.left))
	for k := range n {
		for m, size := range w.s.full {
			x := w.mixed
			if x == nil {
				x = w.modes[m]
			}
			c, err := x.next(-1<<63, 1<<63-1)
			if err != nil {
				return 0, err
			}
			if c < 0 || c >= size {
				return 0, text.Dataf(x.name, 0, 0,
					"got %d at [%d,%d], want 0 to %d: the size of mode %d is %d", c, m,
					w.k, size-1, m, size)
			}
			at[m][k] = c
		}
		w.k++
	}
	w.left -= int64(n)
	return w.s.fill(w.vals, vals, n)
}

func (w *points) data() *Elements { return w.vals }

func (w *points) close() {
	for _, x := range w.modes {
		x.close()
	}
	w.mixed.close()
	w.vals.Close()
}
