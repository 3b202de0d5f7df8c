package spmd

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"distaff/io/tcs"
	"distaff/kernels/cc"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/input"
)

// summed are statements whose reduction variable is split, so that several steps of a rank add to
// the result. inPlace is true if their leaves add in place.
var summed = []struct {
	stmt    string
	formats map[string]string
	inPlace bool
}{
	{"A(i,j,k) = B(i,j,l)*C(k,l)", map[string]string{"A": "ssd", "B": "sss"}, true},
	{"A(i,j,k) = B(i,j,l)*C(k,l)", map[string]string{"A": "dsd", "B": "dss"}, true},
	{"A(i,j,k) = B(i,j,l)*D(l,k)", map[string]string{"A": "ssd", "B": "sss"}, true},
	{"A(i,j) = B(i,j,l)*x(l)", map[string]string{"A": "ss", "B": "sss"}, true},
	{"A(i,j) = B(i,j,l)*x(l) + E(i,j)", map[string]string{"A": "ds", "B": "dsd", "E": "ds"}, true},
	{"A(j,i) = B(i,j,l)*x(l)", map[string]string{"A": "ss:1,0", "B": "sss"}, true},
	{"A(i) = B(i,j,l)*x(l)", map[string]string{"A": "s", "B": "sss"}, true},
	{"A(i,j) = E(i,j)*D(l,j)*D(l,i)", map[string]string{"A": "ds", "E": "ds"}, true},
	{"A(i,j) += B(i,j,l)*x(l)", map[string]string{"A": "ss", "B": "sss"}, true},
	{"A(i,j) = B(i,j,l)*x(l)", map[string]string{"A": "dd", "B": "sss"}, true},
	{"A(j,i) = B(i,j,l)*x(l) + E(i,j)", map[string]string{"A": "dd:1,0", "B": "dss", "E": "ds"}, true},
	{"A(i,j) += B(i,j,l)*F(l)", map[string]string{"A": "dd", "B": "sss", "F": "s"}, true},
	{"A(i,j,k) = B(i,j,l)*D(l,k)", map[string]string{"A": "ddd", "B": "ddd"}, true},
	{"A(i,j) = E(i,l)*G(l,j)", map[string]string{"A": "dd", "E": "ds", "G": "ds"}, true},
	{"A(i,j) = B(i,j,l)*F(l)", map[string]string{"A": "ss", "B": "sss", "F": "s"}, false},
	{"A(i,j) = E(i,l)*G(l,j)", map[string]string{"A": "ds", "E": "ds", "G": "ds"}, false},
	{"A(i,j) = E(i,l)*G(l,j) - E(i,j)", map[string]string{"A": "ss", "E": "ds", "G": "ss"}, false},
}

func (s *summedCase) job() *Job {
	j := &Job{Statement: s.stmt, Formats: maps.Clone(s.formats), Inputs: map[string]Input{},
		Keep: true,
		Sizes: map[string][]int64{"A": nil, "B": {23, 19, 17}, "C": {5, 17}, "D": {17, 23}, "E": {23, 19},
			"F": {17}, "G": {19, 23}, "x": {17}}}
	switch {
	case s.has("D") && s.has("E"): // D(l,j)*D(l,i)
		j.Sizes["E"] = []int64{23, 23}
	case s.has("D"):
		j.Sizes["D"] = []int64{17, 5}
	case s.has("G"):
		j.Sizes["E"], j.Sizes["G"] = []int64{19, 19}, []int64{19, 19}
	}
	for name, kind := range map[string]string{"B": "uniform:900:int", "C": "dense:int",
		"D": "dense:int", "E": "uniform:120:int", "F": "uniform:9:int", "G": "uniform:100:int",
		"x": "dense:int"} {
		if s.has(name) {
			j.Inputs[name] = Generated(kind)
		} else {
			delete(j.Sizes, name)
		}
	}
	delete(j.Sizes, "A")
	if s.stmt[:7] == "A(i,j) " && s.stmt[7] == '+' {
		j.Inputs["A"] = Generated("uniform:50:int")
		j.Sizes["A"] = []int64{23, 19}
	}
	j.Threads, j.Target = 1, Interpreter
	return j
}

type summedCase struct {
	stmt    string
	formats map[string]string
}

func (s *summedCase) has(name string) bool { return slices.Contains(names(s.stmt), name) }

// names returns the tensors of a statement.
func names(stmt string) []string {
	var list []string
	for k := 1; k < len(stmt); k++ {
		if stmt[k] == '(' {
			list = append(list, stmt[k-1:k])
		}
	}
	return list
}

func storedIn(t *tcs.Tensor) map[string]int64 {
	out := map[string]int64{}
	t.Entries(func(c []int64,
		i int64) bool {
		out[fmt.Sprint(c)] = int64(real(t.Value(i).Complex()))
		return true
	})
	return out
}

// Blocks of a reduction variable give the whole result, however they are added, on any ranks, and
// in a repeat.
func TestStepsAddToBlocks(t *testing.T) {
	t.Parallel()
	for _, c := range summed {
		s := &summedCase{c.stmt, c.formats}
		whole, err := s.job().Run(context.Background())
		if err != nil {
			t.Fatalf("%s: %v", s.stmt, err)
		}
		want := storedIn(whole.Result)
		whole.Result.Close()
		for n, o := range []Options{
			{Splits: []string{"l:5"}, Ranks: 1},
			{Splits: []string{"i:2", "l:4"}, Ranks: 2},
			{Splits: []string{"i:3", "l:3,3,9"}, BlockOrder: "l,i", Ranks: 2, Repeat: 2},
			{Splits: []string{"i:2", "l:6"}, Ranks: 3, Map: "i,l", Extend: []string{"l"}},
			{Splits: []string{"i:2", "l:7"}, Ranks: 3, Map: "l,i", Repeat: 2},
			{Splits: []string{"l:17"}, Ranks: 2, Extend: []string{"l"}, Map: "l", Repeat: 2},
		} {
			j := s.job()
			o.Threads, o.Target = 1, Interpreter
			j.Options = o
			report, err := j.Run(context.Background())
			if err != nil {
				t.Fatalf("%s, schedule %d: %v", s.stmt, n, err)
			}
			if err := report.Result.Validate(); err != nil {
				t.Errorf("%s, schedule %d: %v", s.stmt, n, err)
			}
			if got := storedIn(report.Result); !maps.Equal(got, want) {
				t.Errorf("%s, schedule %d: got %d entries, want %d\n%v\n%v", s.stmt, n, len(got), len(want),
					got, want)
			}
			report.Result.Close()
		}
	}
}

// Compiled leaves on several threads add in place too.
func TestCompiledLeavesAdd(t *testing.T) {
	cfg, err := cc.FromEnv(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := cc.New(cfg); err != nil || b.Compiler() == nil {
		t.Skip("no C compiler")
	}
	for _, c := range summed[:4] {
		s := &summedCase{c.stmt, c.formats}
		j := s.job()
		j.Options = Options{Splits: []string{"i:2", "l:4"}, Ranks: 2, Threads: 3, Check: true, Repeat: 2}
		report, err := j.Run(context.Background())
		if err != nil {
			t.Fatalf("%s: %v", s.stmt, err)
		}
		report.Result.Close()
	}
}

// TestFirstRowsPastCaches checks that a step stores new rows with instructions that bypass the
// caches, and adds to the other rows. It tests whole cache lines and the rest of a row, below one
// or two dense levels, interpreted and compiled.
func TestFirstRowsPastCaches(t *testing.T) {
	t.Parallel()
	targets := []string{Interpreter}
	if cfg, err := cc.FromEnv(os.Getenv); err != nil {
		t.Fatal(err)
	} else if b, err := cc.New(cfg); err == nil && b.Compiler() != nil {
		targets = append(targets, "cpu")
	}
	for n, c := range []struct {
		stmt, result string
		sizes        map[string][]int64
		schedule     []string
	}{
		{"A(i,j,k) = B(i,j,l)*C(l,k)", "ssd", map[string][]int64{"k": {8}},
			[]string{"tile(k,8)", "vectorize(k)", "nontemporal(A)"}},
		{"A(i,j,k) = B(i,j,l)*C(l,k)", "ssd", map[string][]int64{"k": {44}},
			[]string{"tile(k,16)", "vectorize(k)", "nontemporal(A)"}},
		{"A(i,j,m,k) = B(i,j,l)*C(m,l,k)", "ssdd", map[string][]int64{"C": {3, 17, 16}},
			[]string{"reorder(m,l)", "tile(k,16)", "vectorize(k)", "nontemporal(A)"}},
		{"A(i,j,k) = B(i,j,l)*C(l,k)", "ssd", map[string][]int64{"k": {16}},
			[]string{"vectorize(k)", "nontemporal(A)"}},
		{"A(i,j,k) = B(i,j,l)*C(l,k)", "ssd", map[string][]int64{"k": {16}},
			[]string{"parallelize(i,CPUThread,NoRaces,Work)", "tile(k,16)", "vectorize(k)",
				"nontemporal(A)"}},
	} {
		for k, target := range targets {
			if k > 0 && n > 1 {
				break // it suffices to compile one with whole lines, and one with the rest of a row
			}
			j := &Job{Statement: c.stmt, Keep: true, Formats: map[string]string{"A": c.result, "B": "sss"},
				Sizes:  maps.Clone(c.sizes),
				Inputs: map[string]Input{"B": Generated("uniform:900:int"), "C": Generated("dense:int")}}
			j.Sizes["B"] = []int64{23, 19, 17}
			j.Options = Options{Splits: []string{"i:2", "l:4"}, Ranks: 2, Threads: 3, Schedule: c.schedule,
				Target: target, Check: true, Repeat: 2}
			report, err := j.Run(t.Context())
			if err != nil {
				t.Errorf("%s, %v, %v: %v", c.stmt, c.schedule, target, err)
				continue
			}
			report.Result.Close()
		}
	}
}

// It is known which leaves of one loop nest add in place.
func TestLeavesAddInPlace(t *testing.T) {
	for _, c := range summed {
		j := (&summedCase{c.stmt, c.formats}).job()
		j.Splits, j.Ranks, j.Network = []string{"i:2", "l:4"}, 2, "direct"
		err := local.Run(context.Background(), 2, func(comm comm.Comm) error {
			p, err := j.parseAndCheck(2)
			if err != nil {
				return err
			}
			r, err := j.rankJob(p, comm, 2, 2, input.Refused)
			if err != nil {
				return err
			}
			defer r.Close()
			blocks, err := j.blockSpec()
			if err == nil {
				err = r.Plan(2, blocks)
			}
			if err == nil {
				err = r.Load()
			}
			if err == nil {
				err = r.Prepared().Compile()
			}
			if err != nil {
				return err
			}
			if got := r.Prepared().Code.AddsInPlace; got != c.inPlace {
				return fmt.Errorf("adds in place: %v, want %v", got, c.inPlace)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s as %v: %v", c.stmt, c.formats, err)
		}
	}
}
