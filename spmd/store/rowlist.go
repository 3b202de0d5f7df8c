package store

import (
	"sort"
	"unsafe"
)

// rowList holds rows in the order of their keys. ends[i] is the number of entries in rows 0 to i
// together. Each coordinate in crd has the width that coordinates have in the file.
type rowList struct {
	keys []int64
	ends []int32
	crd  []byte
	vals []byte
}

// drop removes the rows of p, which are the first rows of l.
func (l *rowList) drop(p rowList) {
	l.keys, l.ends = l.keys[len(p.keys):], l.ends[len(p.ends):]
	l.crd, l.vals = l.crd[len(p.crd):], l.vals[len(p.vals):]
}

// mergeRows merges the rows of x and y by key into dst, which has room for the rows of both lists.
// It returns the part of dst that it filled. If both lists have a row with the same key, the row
// gets the entries of x, followed by the entries of y. width and size are the bytes of a coordinate
// and of a value.
func mergeRows(dst, x, y rowList, width, size int64) rowList {
	n := 0
	if width == 4 {
		n = mergeSized[int32](dst, x, y, size)
	} else {
		n = mergeSized[int64](dst, x, y, size)
	}
	crd, vals := len(x.crd)+len(y.crd), len(x.vals)+len(y.vals)
	return rowList{dst.keys[:n], dst.ends[:n], dst.crd[:crd], dst.vals[:vals]}
}

// mergeSized is like mergeRows, for coordinates of type C. It returns the number of rows.
func mergeSized[C int32 | int64](dst, x, y rowList, size int64) int {
	switch size {
	case 1:
		return mergeOf[C, uint8](dst, x, y)
	case 2:
		return mergeOf[C, uint16](dst, x, y)
	case 4:
		return mergeOf[C, uint32](dst, x, y)
	case 8:
		return mergeOf[C, uint64](dst, x, y)
	}
	return mergeOf[C, [2]uint64](dst, x, y)
}

// typed is a rowList whose coordinates have type C and whose values have type V. The first `row`
// rows are finished. In a list that is merged, they have been copied to the other list. In the list
// that is filled, they have been written. done is the number of entries in these rows.
type typed[C, V any] struct {
	keys      []int64
	ends      []int32
	crd       []C
	vals      []V
	row, done int
}

func typedOf[C, V any](l rowList) *typed[C, V] {
	return &typed[C, V]{keys: l.keys, ends: l.ends, crd: words[C](l.crd), vals: words[V](l.vals)}
}

// mergeOf does the work of mergeRows for coordinates of type C and values of type V. It returns the
// number of rows.
func mergeOf[C, V any](dst, x, y rowList) int {
	d, a, b := typedOf[C, V](dst), typedOf[C, V](x), typedOf[C, V](y)
	switch {
	case len(a.keys) == 0 || len(b.keys) == 0 || a.keys[len(a.keys)-1] < b.keys[0]:
	case b.keys[len(b.keys)-1] < a.keys[0]:
		a, b = b, a
	default:
		d.both(a, b)
	}
	d.rest(a)
	d.rest(b)
	return d.row
}

// fewRows decides how the method `both` merges the next rows of two lists. If the next fewRows rows
// of each list have one entry each, `both` calls singles. Otherwise `both` calls runs, which merges
// at most fewRows rows. After each call, `both` decides again.
const fewRows = 32

// both merges rows until one list ends.
func (d *typed[C, V]) both(x, y *typed[C, V]) {
	for x.row < len(x.keys) && y.row < len(y.keys) {
		if n, m := x.single(), y.single(); min(n, m) >= fewRows {
			d.singles(x, y, n, m)
		} else {
			d.runs(x, y)
		}
	}
}

// single returns the number of consecutive rows, from the next row of x on, that have exactly one
// entry each.
func (x *typed[C, V]) single() int {
	// The number of entries in excess of the number of rows never decreases.
	ends := x.ends[x.row:]
	more := func(i int) bool { return int(ends[i])-x.done > i+1 }
	n := 1
	for n < len(ends) && !more(n) {
		n *= 2
	}
	return n/2 + sort.Search(min(n, len(ends))-n/2, func(i int) bool { return more(n/2 + i) })
}

// singles merges rows that have one entry each: the next n rows of x and the next m rows of y. It
// stops when all n rows of x or all m rows of y are used up.
//
// It cannot be predicted which list has the next key. Therefore the code has no branch that depends
// on keys. Each iteration first writes the entry of x at the next position of d. It then writes the
// entry of y: at the same position if the key of y is smaller, otherwise at the position after. The
// entry at the position after is kept only if both lists have the same key. Otherwise the next
// iteration overwrites it.
func (d *typed[C, V]) singles(x, y *typed[C, V], n, m int) {
	i, j, r := 0, 0, 0
	xk, xc, xv := x.keys[x.row:][:n], x.crd[x.done:][:n], x.vals[x.done:][:n]
	yk, yc, yv := y.keys[y.row:][:m], y.crd[y.done:][:m], y.vals[y.done:][:m]
	keys, ends := d.keys[d.row:][:n+m], d.ends[d.row:][:n+m]
	crd, vals, done := d.crd[d.done:][:n+m], d.vals[d.done:][:n+m], d.done
	for i < len(xk) && j < len(yk) {
		p, q := xk[i], yk[j]
		a, b, at := notAfter(p, q), notAfter(q, p), i+j
		crd[at], vals[at] = xc[i], xv[i]
		crd[at+a], vals[at+a] = yc[j], yv[j]
		i, j = i+a, j+b
		keys[r], ends[r] = min(p, q), int32(done+i+j)
		r++
	}
	d.row, d.done = d.row+r, d.done+i+j
	x.row, x.done, y.row, y.done = x.row+i, x.done+i, y.row+j, y.done+j
}

// runs merges the next rows of x and y, at most fewRows. The rows may have any numbers of entries.
func (d *typed[C, V]) runs(x, y *typed[C, V]) {
	for n := 0; n < fewRows && x.row < len(x.keys) && y.row < len(y.keys); n++ {
		p, q := x.keys[x.row], y.keys[y.row]
		d.keys[d.row] = min(p, q)
		if p <= q {
			d.take(x)
		}
		if q <= p {
			d.take(y)
		}
		d.ends[d.row] = int32(d.done)
		d.row++
	}
}

// take appends the entries of the next row of x to d. The row is then used up in x.
func (d *typed[C, V]) take(x *typed[C, V]) {
	end := int(x.ends[x.row])
	n, at := end-x.done, d.done
	c, v := x.crd[x.done:end], x.vals[x.done:end]
	if n > 16 {
		copy(d.crd[at:], c)
		copy(d.vals[at:], v)
	} else {
		e, u := d.crd[at:at+n], d.vals[at:at+n]
		for i := range c {
			e[i], u[i] = c[i], v[i]
		}
	}
	x.row, x.done, d.done = x.row+1, end, at+n
}

// rest appends the remaining rows of x.
func (d *typed[C, V]) rest(x *typed[C, V]) {
	shift := int32(d.done - x.done)
	copy(d.keys[d.row:], x.keys[x.row:])
	ends := d.ends[d.row:]
	for i, end := range x.ends[x.row:] {
		ends[i] = end + shift
	}
	copy(d.crd[d.done:], x.crd[x.done:])
	copy(d.vals[d.done:], x.vals[x.done:])
	d.row += len(x.keys) - x.row
	d.done += len(x.crd) - x.done
}

// place copies rows from l to dst. The first row starts at index start of l, and row i ends at
// index ends[i] of l. Row i is copied to index targets[i] of dst, and place then sets targets[i] to
// the index after the copy. size is the number of bytes of a value. place returns the index of l
// after the last row.
func place[C int32 | int64](targets, ends []int32, start int32, dst, l rowList, size int64) int32 {
	crd, c := words[C](dst.crd), words[C](l.crd)
	switch size {
	case 1:
		return placeOf(targets, ends, start, crd, c, dst.vals, l.vals)
	case 2:
		return placeOf(targets, ends, start, crd, c, words[uint16](dst.vals), words[uint16](l.vals))
	case 4:
		return placeOf(targets, ends, start, crd, c, words[uint32](dst.vals), words[uint32](l.vals))
	case 8:
		return placeOf(targets, ends, start, crd, c, words[uint64](dst.vals), words[uint64](l.vals))
	}
	return placeOf(targets, ends, start, crd, c, words[[2]uint64](dst.vals), words[[2]uint64](l.vals))
}

// placeOf copies rows like place, for coordinates of type C and values of type V. crd and vals are
// the arrays of the destination; c and v are the arrays of the source.
func placeOf[C, V any](targets, ends []int32, start int32, crd, c []C, vals, v []V) int32 {
	for i, end := range ends {
		p, n := targets[i], end-start
		if n > 16 {
			copy(crd[p:p+n], c[start:end])
			copy(vals[p:p+n], v[start:end])
		} else {
			d, s, e, u := crd[p:p+n], c[start:end], vals[p:p+n], v[start:end]
			for j := range d {
				d[j], e[j] = s[j], u[j]
			}
		}
		targets[i], start = p+n, end
	}
	return start
}

// words returns memory as numbers of type T. The memory must be aligned for T.
func words[T any](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}
