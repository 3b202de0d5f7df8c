package store

// union merges sorted lists of distinct keys to one, which is returned: one of the lists
// itself, or in a or b, that have room for the keys of all lists.
func union(lists [][]int64, a, b []int64) []int64 {
	for len(lists) > 1 {
		at, n := 0, 0
		for i := 0; i < len(lists); i += 2 {
			var m int
			if i+1 < len(lists) {
				m = merged(a[at:], lists[i], lists[i+1])
			} else {
				m = copy(a[at:], lists[i])
			}
			lists[n] = a[at : at+m]
			at += m
			n++
		}
		lists = lists[:n]
		a, b = b, a
	}
	if len(lists) == 0 {
		return nil
	}
	return lists[0]
}

// merged puts the keys of two lists into dst, each once, and returns their number.
func merged(dst, x, y []int64) int {
	if len(x) == 0 || len(y) == 0 || x[len(x)-1] < y[0] {
		return copy(dst, x) + copy(dst[len(x):], y)
	}
	if y[len(y)-1] < x[0] {
		return copy(dst, y) + copy(dst[len(y):], x)
	}
	n, i, j := 0, 0, 0
	for i < len(x) && j < len(y) {
		p, q := x[i], y[j]
		dst[n] = min(p, q)
		n++
		if p <= q {
			i++
		}
		if q <= p {
			j++
		}
	}
	n += copy(dst[n:], x[i:])
	return n + copy(dst[n:], y[j:])
}

// placesOf sets at to where keys are in all, which has each of them.
func placesOf(at []int32, keys, all []int64) {
	if len(keys) == 0 {
		return
	}
	lo, hi := 0, len(all)
	for lo < hi { // the first one's place
		if mid := (lo + hi) / 2; all[mid] < keys[0] {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	for i, k := range keys {
		for all[lo] != k {
			lo++
		}
		at[i] = int32(lo)
	}
}
