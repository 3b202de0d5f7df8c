package store

import "slices"

// union merges sorted lists of distinct keys into one sorted list, in which each key occurs once. a
// and b are memory for the merged lists. Both must have room for the keys of all lists. The result
// is in a or b. If there is only one list, the result is this list. If there is no list, the result
// is nil. union changes the elements of lists.
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

// merged merges two sorted lists of keys into dst, with each key once, and returns the number of
// keys.
func merged(dst, x, y []int64) int {
	if len(x) == 0 || len(y) == 0 || x[len(x)-1] < y[0] {
		return copy(dst, x) + copy(dst[len(x):], y)
	}
	if y[len(y)-1] < x[0] {
		return copy(dst, y) + copy(dst[len(y):], x)
	}
	// The two halves are merged side by side, because each step has to wait for the comparison of
	// the step before.
	i := len(x) / 2
	j, _ := slices.BinarySearch(y, x[i])
	n, m := keysOf(dst, dst[i+j:], x[:i], y[:j], x[i:], y[j:])
	return n + copy(dst[n:], dst[i+j:i+j+m])
}

// keysOf merges the sorted keys x and y into a, and the sorted keys u and v into b. A key
// that is in both x and y, or in both u and v, is stored once. keysOf returns the number n of keys
// in a and the number m of keys in b.
func keysOf(a, b, x, y, u, v []int64) (n, m int) {
	i, j, k, l := 0, 0, 0, 0
	for i < len(x) && j < len(y) && k < len(u) && l < len(v) {
		p, q := x[i], y[j]
		a[n] = min(p, q)
		i, j, n = i+notAfter(p, q), j+notAfter(q, p), n+1
		p, q = u[k], v[l]
		b[m] = min(p, q)
		k, l, m = k+notAfter(p, q), l+notAfter(q, p), m+1
	}
	return n + restOf(a[n:], x[i:], y[j:]), m + restOf(b[m:], u[k:], v[l:])
}

// restOf merges two lists.
func restOf(dst, x, y []int64) int {
	n, i, j := 0, 0, 0
	for i < len(x) && j < len(y) {
		p, q := x[i], y[j]
		dst[n] = min(p, q)
		i, j, n = i+notAfter(p, q), j+notAfter(q, p), n+1
	}
	n += copy(dst[n:], x[i:])
	return n + copy(dst[n:], y[j:])
}

// notAfter returns 1 if p <= q, otherwise 0. It has no branch: the order of keys is random, and the
// processor could not predict the branch.
func notAfter(p, q int64) int { return int(uint64(p-q-1) >> 63) }
