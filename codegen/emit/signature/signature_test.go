package signature_test

import (
	"math"
	"reflect"
	"testing"

	"distaff/codegen"
	"distaff/codegen/emit/signature"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// of returns the signature of a statement over tensors with 9 coordinates in each mode, except for
// the given sizes. Positions have 4 bytes and coordinates have 8.
func of(t *testing.T, text string, formats map[string]string,
	sizes map[string]int64) *signature.Signature {
	t.Helper()
	stmt, err := notation.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	norm := notation.Normalize(stmt)
	r := codegen.Request{Statement: codegen.Statement{Stmt: stmt, ComputeType: tensor.Float64},
		Tensors: codegen.Tensors{All: map[string]codegen.Tensor{}, Sizes: map[string]int64{}}}
	size := func(v string) int64 {
		if n, ok := sizes[v]; ok {
			return n
		}
		return 9
	}
	for _, v := range norm.Vars {
		r.Tensors.Sizes[v] = size(v)
	}
	for _, a := range append(stmt.Accesses(), stmt.LHS) {
		x := codegen.Tensor{Format: tensor.DenseOf(len(a.Vars)), Type: tensor.Float64, NNZ: 20}
		if text, ok := formats[a.Name]; ok {
			if _, x.Format, err = notation.ParseFormatFlag(a.Name + ":" + text); err != nil {
				t.Fatal(err)
			}
		}
		for _, v := range a.Vars {
			x.Dims = append(x.Dims, size(v))
		}
		for range x.Format.Levels {
			x.PosWidth, x.CrdWidth = append(x.PosWidth, 4), append(x.CrdWidth, 8)
		}
		if a == stmt.LHS {
			x.NNZ, x.PosWidth, x.CrdWidth = -1, nil, nil
			if stmt.Accumulate {
				old := x
				old.NNZ = 20
				r.Tensors.Old = &old
			}
		}
		r.Tensors.All[a.Name] = x
	}
	u, err := codegen.Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	types := make([]tensor.Type, len(u.Args))
	for k := range types {
		types[k] = tensor.Float64
	}
	return signature.Of(text, u, types)
}

// TestVars checks that each variable has the largest size with the same width of coordinates, and
// that variables at one mode of a tensor are listed as having one size.
func TestVars(t *testing.T) {
	s := of(t, "a(i) = B(i,j)*c(j) + B(j,i)", map[string]string{"B": "ds"},
		map[string]int64{"i": 1 << 40, "j": 1 << 40})
	for _, v := range s.Vars {
		if v.MaxSize != math.MaxInt64 {
			t.Errorf("%s of 2^40 has %d at most", v.Name, v.MaxSize)
		}
	}
	if len(s.Same) == 0 {
		t.Errorf("nothing says that i and j have one size: %+v", s)
	}
	for _, x := range s.Same {
		if x.A == x.B || x.Tensor != "B" {
			t.Errorf("got %+v", x)
		}
	}
	s = of(t, "a(i) = B(i,j)*c(j)", map[string]string{"B": "ds"},
		map[string]int64{"j": math.MaxInt32 + 1})
	if got, want := s.Vars, []signature.Var{{Name: "i", MaxSize: math.MaxInt32},
		{Name: "j", MaxSize: math.MaxInt64}}; !reflect.DeepEqual(got, want) || s.Same != nil {
		t.Errorf("got %v, want %v; %v", got, want, s.Same)
	}
}

// TestLevels checks that a level has the widths of the arrays of its kind and the variable of its
// mode, and that a chain of levels is sorted together.
func TestLevels(t *testing.T) {
	for _, c := range []struct {
		format string
		want   []signature.Level
	}{
		{"ds", []signature.Level{{Kind: tensor.Dense, Var: 0},
			{Kind: tensor.Compressed, Var: 1, Pos: 4, Crd: 8, Order: signature.Order{End: 2, Unique: 1}}}},
		{"ds:1,0", []signature.Level{{Kind: tensor.Dense, Var: 1},
			{Kind: tensor.Compressed, Var: 0, Pos: 4, Crd: 8, Order: signature.Order{End: 2, Unique: 1}}}},
		{"ss", []signature.Level{
			{Kind: tensor.Compressed, Var: 0, Pos: 4, Crd: 8, Order: signature.Order{End: 1}},
			{Kind: tensor.Compressed, Var: 1, Pos: 4, Crd: 8, Order: signature.Order{End: 2, Unique: 1}}}},
		{"uq", []signature.Level{
			{Kind: tensor.CompressedNonunique, Var: 0, Pos: 4, Crd: 8,
				Order: signature.Order{End: 2, Unique: 1}}, {Kind: tensor.Singleton, Var: 1, Crd: 8}}},
		{"uc", []signature.Level{
			{Kind: tensor.CompressedNonunique, Var: 0, Pos: 4, Crd: 8,
				Order: signature.Order{End: 2, Unique: 1, Repeats: true}},
			{Kind: tensor.SingletonNonunique, Var: 1, Crd: 8}}},
	} {
		s := of(t, "a = B(i,j)", map[string]string{"B": c.format}, nil)
		if x := s.Args[1]; x.Tensor != "B" || !reflect.DeepEqual(x.Levels, c.want) {
			t.Errorf("B:%s: got %+v, want %+v", c.format, x.Levels, c.want)
		}
	}
}

// TestResult checks how the result is made, and what the caller must convert.
func TestResult(t *testing.T) {
	for _, c := range []struct {
		text    string
		formats map[string]string
		want    signature.Result
		convert []string
		old     bool
	}{
		{"a(i) = B(i,j)", map[string]string{"B": "ds"}, signature.Result{Dense: true, Shares: -1}, nil,
			false},
		{"A(i,j) = 2*B(i,j)", map[string]string{"A": "ds", "B": "ds"}, signature.Result{Shares: 1}, nil,
			false},
		{"A(i,j) = B(i,j) + C(i,j)", map[string]string{"A": "ds", "B": "ds", "C": "ds"},
			signature.Result{Shares: -1}, nil, false},
		{"A(i,j) = B(i,j) + C(i,j)", map[string]string{"A": "uq", "B": "ds", "C": "ds"},
			signature.Result{Shares: -1, Repack: true}, nil, false},
		{"A(i,j) = B(i,j) + C(i,j)", map[string]string{"B": "ds", "C": "ds:1,0"},
			signature.Result{Dense: true, Shares: -1}, []string{"C"}, false},
		{"a(i) += B(i,j)", map[string]string{"B": "ds"}, signature.Result{Dense: true, Shares: -1}, nil,
			true},
	} {
		s := of(t, c.text, c.formats, nil)
		if s.Result != c.want || s.Statement != c.text {
			t.Errorf("%s, %v: got %+v, want %+v", c.text, c.formats, s.Result, c.want)
		}
		var convert []string
		old := false
		for _, a := range s.Args[1:] {
			if a.Convert {
				convert = append(convert, a.Tensor)
			}
			old = old || a.Old
		}
		if len(convert) != len(c.convert) || old != c.old {
			t.Errorf("%s, %v: converts %v, want %v; an old value: %v", c.text, c.formats, convert, c.convert,
				old)
		}
	}
}
