package memory

import (
	"fmt"
	"slices"
	"testing"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// made is a tensor with the properties that its constructor promises.
type made struct {
	format string
	t      *tcs.Tensor
	err    error
	// entries are its coordinates and values, as Each gives them.
	entries string
}

// matrix is [[0 1 0] [2 0 3]], by every constructor.
func matrix() map[string]made {
	const entries = "[0 1]=1 [1 0]=2 [1 2]=3 "
	out := map[string]made{}
	add := func(name, format string, t *tcs.Tensor, err error) {
		out[name] = made{format, t, err, entries}
	}
	t, err := CSR(2, 3, i4{0, 1, 3}, i4{1, 0, 2}, f8{1, 2, 3})
	add("CSR", "ds", t, err)
	t, err = CSC(2, 3, []int{0, 1, 2, 3}, i8{1, 0, 1}, f8{2, 1, 3})
	add("CSC", "ds:1,0", t, err)
	t, err = COO(i8{2, 3}, []i4{{0, 1, 1}, {1, 0, 2}}, f8{1, 2, 3})
	add("COO", "uq", t, err)
	t, err = CSF(i8{2, 3}, nil, []i8{{0, 2}, {0, 1, 3}}, []i4{{0, 1}, {1, 0, 2}}, f8{1, 2, 3})
	add("CSF", "ss", t, err)
	t, err = CSF(i8{2, 3}, []int{1, 0}, []i8{{0, 3}, {0, 1, 2, 3}}, []i4{{0, 1, 2}, {1, 0, 1}},
		f8{2, 1, 3})
	add("CSF by columns", "ss:1,0", t, err)
	t, err = CSR(2, 3, i4{0, 1, 3}, i4{1, 0, 2}, f8{1, 2, 3}, Trusted())
	add("CSR, trusted", "ds", t, err)
	t, err = Dense(f8{0, 1, 0, 2, 0, 3}, 2, 3)
	out["Dense"] = made{"dd", t, err, "[0 0]=0 [0 1]=1 [0 2]=0 [1 0]=2 [1 1]=0 [1 2]=3 "}
	t, err = Dense(f8{7})
	out["a scalar"] = made{"", t, err, "[]=7 "}
	return out
}

// TestMade: each constructor makes a whole tensor of its format with the entries that it was
// given, over the caller's memory.
func TestMade(t *testing.T) {
	for name, m := range matrix() {
		if m.err != nil {
			t.Errorf("%s: %v", name, m.err)
			continue
		}
		if got := m.t.Format().String(); got != m.format || m.t.Header.Type != tensor.Float64 ||
			!m.t.Header.Whole() {
			t.Errorf("%s: got format %s of %v, whole %v, want %s of float64, whole", name, got,
				m.t.Header.Type, m.t.Header.Whole(), m.format)
		}
		if got := entriesOf(t, m.t); got != m.entries {
			t.Errorf("%s: got %s, want %s", name, got, m.entries)
		}
		values, err := Values[float64](m.t)
		if err != nil {
			t.Fatal(err)
		}
		if &values[0] != (*float64)(m.t.Vals.Ptr) {
			t.Errorf("%s: its values were copied", name)
		}
		if err := Check(m.t, name, false); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// entriesOf prints a tensor's entries by coordinate.
func entriesOf(t *testing.T, x *tcs.Tensor) string {
	t.Helper()
	values := tcs.Slice[float64](x.Vals)
	at := make([]int64, len(x.Header.Dims))
	var list []string
	var walk func(l int, p int64)
	walk = func(l int, p int64) {
		if l == len(x.Levels) {
			list = append(list, fmt.Sprintf("%v=%v ", at, values[p]))
			return
		}
		lev := &x.Levels[l]
		kind := lev.Kind
		switch {
		case kind.HasPos():
			for q := lev.Pos.Int(p); q < lev.Pos.Int(p+1); q++ {
				at[lev.Mode] = lev.Crd.Int(q)
				walk(l+1, q)
			}
		case kind.HasCrd():
			at[lev.Mode] = lev.Crd.Int(p)
			walk(l+1, p)
		default:
			for c := range lev.Size {
				at[lev.Mode] = c
				walk(l+1, p*lev.Size+c)
			}
		}
	}
	walk(0, 0)
	slices.Sort(list)
	out := ""
	for _, e := range list {
		out += e
	}
	return out
}

// TestTrusted checks that the coordinates of a trusted tensor are not read, but that its
// lengths are checked (see testdata/wrong.txt). Check without trust reads the coordinates.
func TestTrusted(t *testing.T) {
	wrong := func(o ...Option) (*tcs.Tensor, error) {
		return CSR(2, 3, i4{0, 1, 3}, i4{1, 2, 0}, f8{1, 2, 3}, o...)
	}
	if _, err := wrong(); err == nil {
		t.Error("columns that fall are no error")
	}
	x, err := wrong(Trusted())
	if err != nil {
		t.Fatalf("trusted: %v", err)
	}
	if err := Check(x, "x", true); err != nil {
		t.Errorf("a trusted check: %v", err)
	}
	untold := handMade()
	untold.Levels[1].Crd = tcs.Of(i4{1, 0, 1, 2, 2})
	if err := Check(untold, "x", true); err != nil {
		t.Errorf("a trusted check of coordinates that fall: %v", err)
	}
	if err := Check(untold, "x", false); err == nil {
		t.Error("coordinates that fall are no error of Check")
	}
}

// TestEmpty: tensors without entries, or without coordinates, are made of empty slices and of
// none.
func TestEmpty(t *testing.T) {
	for name, make := range map[string]func() (*tcs.Tensor, error){
		"CSR of no rows": func() (*tcs.Tensor, error) {
			return CSR[float64, int32, int32](0, 3, nil, nil, nil)
		},
		"CSR of no entries": func() (*tcs.Tensor, error) {
			return CSR(2, 3, i4{0, 0, 0}, i4{}, f8{})
		},
		"CSC of no columns": func() (*tcs.Tensor, error) {
			return CSC[float64, int32, int32](3, 0, nil, nil, nil)
		},
		"COO": func() (*tcs.Tensor, error) {
			return COO(i8{2, 3}, []i4{nil, nil}, f8{})
		},
		"CSF": func() (*tcs.Tensor,
			error) {
			return CSF(i8{2, 3}, nil, []i4{{0, 0}, nil}, []i4{nil, nil}, f8{})
		},
		"Dense": func() (*tcs.Tensor, error) { return Dense(f8{}, 2, 0) },
	} {
		x, err := make()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := entriesOf(t, x); got != "" {
			t.Errorf("%s: got %s, want no entries", name, got)
		}
	}
}
