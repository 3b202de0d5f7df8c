package explicit_test

import (
	"testing"

	"distaff/codegen/cin"
	"distaff/codegen/explicit"
	"distaff/codegen/notation"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// TestPositions: marked nests become loops over positions, whose text reads back. The loops inside
// them stay the same nodes.
func TestPositions(t *testing.T) {
	for _, c := range []struct {
		stmt, result, operand string
		gemm                  int
		want                  string
	}{
		{stmt: "forall(i, CPUThread, forall(j, A(i,j) = B(i,j) * x(j)))", result: "ds", operand: "ds",
			want: "span(p, i j, B(i,j), chunks(p, 4, positions(p, coord(j, p, at(p, " +
				"A(i,j) = B(i,j) * x(j))))))"},
		{stmt: "forall(i, forall(j, forall(k, A(i,j) += B(i,j,k))))", result: "ss", operand: "sss",
			want: "span(p, i j, B(i,j,k), positions(p, at(p, forall(k, A(i,j) += B(i,j,k)))))"},
		{stmt: "forall(i, forall(j, forall(k, A(i,j,k) = B(i,j,k))))", result: "ssd", operand: "sss",
			want: "span(p, i j, B(i,j,k), positions(p, at(p, forall(k, A(i,j,k) = B(i,j,k)))))"},
		// a level below has the variable of the last level, so its coordinate is needed
		{stmt: "forall(i, forall(j, A(i,j) += B(i,j,j)))", result: "ss", operand: "sss",
			want: "span(p, i j, B(i,j,j), positions(p, coord(j, p, at(p, A(i,j) += B(i,j,j)))))"},
		{stmt: "forall(i, forall(j, A(i,j) = B(j,i)))", result: "ss", operand: "ss:1,0",
			want: "span(p, i j, B(j,i), positions(p, at(p, A(i,j) = B(j,i))))"},
		{stmt: "where(forall(i, forall(j, A(i,j) = B(i,j) * p)), p = a)", result: "ss", operand: "ss",
			want: "where(span(p', i j, B(i,j), positions(p', at(p', A(i,j) = B(i,j) * p))), p = a)"},
		{stmt: "forall(i, forall(j, A(i,j) = B(i,j)))", result: "ss", operand: "ss", gemm: 2,
			want: "forall(i, forall(j, A(i,j) = B(i,j)))"},
	} {
		s, err := cin.Parse(c.stmt)
		if err != nil {
			t.Fatal(err)
		}
		p := explicit.Pattern{Format: format(t, c.operand), Result: format(t, c.result)}
		cin.Accesses(s, func(a *cin.Access) {
			if a.Name == "B" {
				p.Access = a
			}
		})
		f := cin.Loops(s, "i")[0]
		v := &strategy.Value{Stmt: s, PerThread: 4,
			Loops: map[*cin.Forall]*strategy.Loop{f: {OverPositions: true, Gemm: c.gemm}}}
		got := explicit.Positions(s, v, p)
		if cin.String(got) != c.want {
			t.Errorf("%s: got\n%s, want\n%s", c.stmt, cin.String(got), c.want)
		}
		if err := cin.Verify(got); err != nil {
			t.Errorf("%s: %v", c.want, err)
		}
		if again, err := cin.Parse(cin.Pretty(got)); err != nil || cin.String(again) != c.want {
			t.Errorf("%s does not read back: %v", c.want, err)
		}
		if loops := cin.Loops(s, "k"); len(loops) == 1 && cin.Loops(got, "k")[0] != loops[0] {
			t.Errorf("%s: the loop over k is another node", c.stmt)
		}
		v.Loops = nil
		if got := explicit.Positions(s, v, p); got != s {
			t.Errorf("%s: without a mark, got\n%s", c.stmt, cin.String(got))
		}
	}
}

func format(t *testing.T, text string) tensor.Format {
	f, err := notation.ParseFormat(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestChunks: the cuts of loops on threads are noted, and the strategy then has its other choices
// on the new loops.
func TestChunks(t *testing.T) {
	s, err := cin.Parse("where(forall(i, CPUThread, y(i) = t), " +
		"forall(k, CPUThread, forall(j, t += B(k,j))))")
	if err != nil {
		t.Fatal(err)
	}
	i, k, j := cin.Loops(s, "i")[0], cin.Loops(s, "k")[0], cin.Loops(s, "j")[0]
	v := &strategy.Value{Stmt: s, Tiles: map[cin.Stmt]int64{s: 32, j: 8},
		Loops: map[*cin.Forall]*strategy.Loop{
			k: {Cut: cin.Cut{How: cin.Reduction, N: 64}, Long: strategy.Long{N: 9}},
			j: {Gemm: 1}}}
	w := explicit.Chunks(v)
	want := "where(forall(i, CPUThread, y(i) = t), " +
		"forall(k, CPUThread, reduction 64, forall(j, t += B(k,j))))"
	if got := cin.String(w.Stmt); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	if err := cin.Verify(w.Stmt); err != nil {
		t.Error(err)
	}
	cut := cin.Loops(w.Stmt, "k")[0]
	if cut == k || w.Of(cut).Long.N != 9 || w.Of(j).Gemm != 1 || w.Tiles[w.Stmt] != 32 ||
		w.Tiles[j] != 8 {
		t.Errorf("the choices are not on the new loops: %+v, %v", w.Loops, w.Tiles)
	}
	if cin.Loops(w.Stmt, "i")[0] != i {
		t.Error("the loop over i is another node, but it has no cut")
	}
	if v.Stmt != s || v.Tiles[s] != 32 {
		t.Error("the strategy itself has changed")
	}
}
