package arrays

import (
	"fmt"

	"distaff/io/tensor"
	"distaff/io/text"
)

// compressed reads the entries of a CSR matrix, or of a CSC matrix if byColumn is true.
type compressed struct {
	s        *sparse
	byColumn bool
	ptr, ind *index
	vals     *Elements
	segment  int64 // the current row or column; -1 before the first
	end      int64 // the number of entries up to the end of the segment
	at       int64 // the number of entries that were read
}

func openCompressed(f File, s *sparse, byColumn bool) (walker, error) {
	w := &compressed{s: s, byColumn: byColumn, segment: -1}
	var err error
	if w.ptr, err = openIndex(f, "indptr"); err == nil {
		if w.ind, err = openIndex(f, "indices"); err == nil {
			w.vals, err = OpenShaped(f, "data", 1)
		}
	}
	if err == nil {
		err = checkCompressed(f, w.ptr.e, w.ind.e, w.vals, w.segments())
	}
	if err == nil {
		_, err = w.ptr.next(0, 0)
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// checkCompressed checks that the lengths of the arrays agree.
func checkCompressed(f File, ptr, ind, vals *Elements, segments int64) error {
	switch {
	case ptr.Header.Count-1 != segments:
		return text.Dataf(f.What("indptr"), 0, 0,
			"got %s, want %d: one more than the number of rows or columns",
			text.Plural(ptr.Header.Count, "element", "elements"), segments+1)
	case vals.Header.Shape[0] != ind.Header.Count:
		return text.Dataf(f.What("data"), 0, 0, "got %s, want %d, as in indices",
			text.Plural(vals.Header.Shape[0], "element", "elements"), ind.Header.Count)
	}
	return nil
}

func (w *compressed) segments() int64 {
	if w.byColumn {
		return w.s.cols
	}
	return w.s.rows
}

func (w *compressed) next(at [][]int64, vals []byte, most int) (int, error) {
	rows, cols := at[0][:most], at[1][:most]
	if w.byColumn {
		rows, cols = cols, rows
	}
	n, err := w.coords(rows, cols)
	if err != nil {
		return 0, err
	}
	return w.s.fill(w.vals, vals, n)
}

// coords reads up to len(segs) entries and returns how many it read. A segment is a row or a
// column, depending on the file's format. For each entry, segs gets the number of its segment, and
// inds gets its coordinate in the other mode.
func (w *compressed) coords(segs, inds []int64) (int, error) {
	size := w.s.rows + w.s.cols - w.segments()
	for n := range segs {
		for w.at == w.end && w.segment < w.segments()-1 {
			p, err := w.ptr.next(w.end, w.ind.e.Header.Count)
			if err != nil {
				return 0, err
			}
			w.segment++
			w.end = p
		}
		if w.at == w.end {
			if w.at < w.ind.e.Header.Count {
				return 0, text.Dataf(w.ptr.name, 0, 0,
					"got %d as its last element, want %d: the number of indices", w.end,
					w.ind.e.Header.Count)
			}
			return n, nil
		}
		i, err := w.ind.next(0, size-1)
		if err != nil {
			return 0, err
		}
		segs[n], inds[n] = w.segment, i
		w.at++
	}
	return len(segs), nil
}

func (w *compressed) data() *Elements { return w.vals }

func (w *compressed) close() {
	w.ptr.close()
	w.ind.close()
	w.vals.Close()
}

// fill reads n values of e into vals.
func (s *sparse) fill(e *Elements, vals []byte, n int) (int, error) {
	for done := 0; done < n; {
		k, err := e.Values(vals[done*int(e.Header.Elem.Type().Size()):], n-done)
		if err == nil && k == 0 {
			err = fmt.Errorf("got %s, want more", text.Plural(e.Header.Count, "element", "elements"))
		}
		if err != nil {
			return 0, Fault(s.f.What("data"), err)
		}
		done += k
	}
	return n, nil
}

// coordinates reads the entries of a COO matrix.
type coordinates struct {
	s        *sparse
	row, col *index
	vals     *Elements
}

func openCoordinates(f File, s *sparse) (walker, error) {
	w := &coordinates{s: s}
	var err error
	if w.row, err = openIndex(f, "row"); err == nil {
		if w.col, err = openIndex(f, "col"); err == nil {
			w.vals, err = OpenShaped(f, "data", 1)
		}
	}
	if err == nil && (w.row.e.Header.Count != w.vals.Header.Count ||
		w.col.e.Header.Count != w.vals.Header.Count) {
		err = text.Dataf(f.Source().Name, 0, 0,
			"got %s in row, %d in col and %d in data, want the same number in each",
			tensor.Count(w.row.e.Header.Count, "element"), w.col.e.Header.Count, w.vals.Header.Count)
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *coordinates) next(at [][]int64, vals []byte, most int) (int, error) {
	rows, cols := at[0][:most], at[1][:most]
	n := 0
	for ; n < len(rows) && w.row.at < w.row.e.Header.Count; n++ {
		var err error
		if rows[n], err = w.row.next(0, w.s.rows-1); err != nil {
			return 0, err
		}
		if cols[n], err = w.col.next(0, w.s.cols-1); err != nil {
			return 0, err
		}
	}
	return w.s.fill(w.vals, vals, n)
}

func (w *coordinates) data() *Elements { return w.vals }

func (w *coordinates) close() {
	w.row.close()
	w.col.close()
	w.vals.Close()
}

// blocks reads the entries of a BSR matrix: a CSR matrix of blocks. Each block is an array of r
// rows and c columns.
type blocks struct {
	*compressed
	inner  sparse  // the CSR matrix of blocks: its sizes count blocks
	r, c   int64   // the size of a block
	i, j   []int64 // coordinates of a batch of blocks
	n, k   int     // n blocks in the batch; the current block is k
	within int64   // elements of the current block that were read
}

func openBlocks(f File, s *sparse) (walker, error) {
	w := &blocks{i: make([]int64, chunk), j: make([]int64, chunk)}
	w.compressed = &compressed{s: &w.inner, segment: -1}
	var err error
	if w.vals, err = OpenShaped(f, "data", 3); err == nil {
		w.r, w.c = w.vals.Header.Shape[1], w.vals.Header.Shape[2]
		switch {
		case w.vals.Header.Fortran && w.vals.Header.Count > 0:
			err = text.Dataf(f.What("data"), 0, 0, "got blocks in Fortran order, want C order")
		case w.r < 1 || w.c < 1 || s.rows%w.r != 0 || s.cols%w.c != 0:
			err = text.Dataf(f.What("data"), 0, 0,
				"got blocks of %dx%d, which must divide the sizes %dx%d", w.r, w.c, s.rows,
				s.cols)
		default:
			w.inner = sparse{f: f, rows: s.rows / w.r, cols: s.cols / w.c}
			if w.ptr, err = openIndex(f, "indptr"); err == nil {
				w.ind, err = openIndex(f, "indices")
			}
		}
	}
	if err == nil {
		err = checkCompressed(f, w.ptr.e, w.ind.e, w.vals, w.inner.rows)
	}
	if err == nil {
		_, err = w.ptr.next(0, 0)
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// next implements walker. It returns the elements of blocks, without zeros. If at has four modes,
// they are the coordinates of a block and of an element in the block.
func (w *blocks) next(at [][]int64, vals []byte, most int) (int, error) {
	for {
		n := 0
		for n < most {
			if w.k == w.n {
				var err error
				w.k = 0
				if w.n, err = w.coords(w.i, w.j); err != nil {
					return 0, err
				}
				if w.n == 0 {
					break
				}
			}
			i, j, row, col := w.i[w.k], w.j[w.k], w.within/w.c, w.within%w.c
			if len(at) == 4 {
				at[0][n], at[1][n], at[2][n], at[3][n] = i, j, row, col
			} else {
				at[0][n], at[1][n] = i*w.r+row, j*w.c+col
			}
			n++
			if w.within++; w.within == w.r*w.c {
				w.within = 0
				w.k++
			}
		}
		if n == 0 {
			return 0, nil
		}
		if _, err := w.inner.fill(w.vals, vals, n); err != nil {
			return 0, err
		}
		if n = dropZeros(at, vals, int(w.vals.Header.Elem.Type().Size()), n); n > 0 {
			return n, nil
		}
	}
}

// diagonals reads the entries of a DIA matrix. Row d of data is the diagonal with offset
// offsets[d]. Its element for column j is at index j.
type diagonals struct {
	s       *sparse
	offsets []int64
	vals    *Elements
	d, j    int64 // the place of the next element
}

// maxDiagonals is the largest number of diagonals of a DIA matrix. It limits the memory for the
// member "offsets", which is read completely.
const maxDiagonals = 1 << 24

func openDiagonals(f File, s *sparse) (walker, error) {
	w := &diagonals{s: s}
	x, err := openIndex(f, "offsets")
	if err == nil {
		defer x.close()
		w.vals, err = OpenShaped(f, "data", 2)
	}
	switch {
	case err != nil:
	case x.e.Header.Count != w.vals.Header.Shape[0]:
		err = text.Dataf(f.What("data"), 0, 0, "got %s, want %d, as in offsets",
			text.Plural(w.vals.Header.Shape[0], "row", "rows"), x.e.Header.Count)
	case x.e.Header.Count > maxDiagonals:
		err = text.Dataf(f.What("offsets"), 0, 0, "got %d diagonals, want at most %d", x.e.Header.Count,
			maxDiagonals)
	}
	for err == nil && int64(len(w.offsets)) < x.e.Header.Count {
		var o int64
		o, err = x.next(-1<<62, 1<<62)
		w.offsets = append(w.offsets, o)
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// next implements walker. It leaves out zeros, and elements outside the matrix.
func (w *diagonals) next(at [][]int64, vals []byte, most int) (int, error) {
	rows, cols := at[0][:most], at[1][:most]
	size := int(w.vals.Header.Elem.Type().Size())
	for {
		n, err := w.vals.Values(vals, len(rows))
		if err != nil {
			return 0, Fault(w.s.f.What("data"), err)
		}
		if n == 0 {
			return 0, nil
		}
		keep := 0
		for k := range n {
			i, j := w.j-w.offsets[w.d], w.j
			if i >= 0 && i < w.s.rows && j < w.s.cols {
				rows[keep], cols[keep] = i, j
				copy(vals[keep*size:(keep+1)*size], vals[k*size:(k+1)*size])
				keep++
			}
			w.advance()
		}
		if keep = dropZeros(at, vals, size, keep); keep > 0 {
			return keep, nil
		}
	}
}

// advance moves to the next element in the order of the file. d is the number of the element's
// diagonal, and j is its column.
func (w *diagonals) advance() {
	if w.vals.Header.Fortran {
		if w.d++; w.d == int64(len(w.offsets)) {
			w.d = 0
			w.j++
		}
	} else if w.j++; w.j == w.vals.Header.Shape[1] {
		w.j = 0
		w.d++
	}
}

func (w *diagonals) data() *Elements { return w.vals }
func (w *diagonals) close()          { w.vals.Close() }
