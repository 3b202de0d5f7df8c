package simt_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"distaff/codegen/interp"
	"distaff/codegen/ir"
	"distaff/codegen/ir/irtest"
	"distaff/codegen/simt"
)

// run interprets a leaf and returns how it ends.
func run(t *testing.T, f *ir.Func, args []interp.Arg, bounds [][2]int64, seed uint64) (string, error) {
	t.Helper()
	p, err := interp.Compile(f)
	if err != nil {
		t.Fatalf("%v:\n%s", err, ir.Print(f))
	}
	fail, err := p.Run(args, bounds, interp.Env{Threads: 2, Steps: 1e8, Seed: seed})
	if fail != nil {
		return fail.Code.String(), err
	}
	return "", err
}

// same runs a leaf with its loops and with launches, in several orders, and compares what both make.
func same(t *testing.T, text string, args func() []interp.Arg, bounds [][2]int64, seeds uint64) bool {
	t.Helper()
	want := args()
	wantEnd, err := run(t, parse(t, text), want, bounds, 1)
	if err != nil {
		t.Errorf("the leaf is wrong: %v\n%s", err, text)
		return false
	}
	f := launches(t, text)
	for seed := range seeds {
		got := args()
		end, err := run(t, f, got, bounds, seed)
		switch {
		case err != nil:
			t.Errorf("seed %d: %v\n%s\nof\n%s", seed, err, ir.Print(f), text)
			return false
		case end != wantEnd || end == "" && !reflect.DeepEqual(got, want):
			t.Errorf("seed %d: got %q, %v\nwant %q, %v\n%s\nof\n%s", seed, end, got, wantEnd, want, ir.Print(f), text)
			return false
		}
	}
	return true
}

// TestMeaning runs leaves of package irtest with their loops and with launches.
func TestMeaning(t *testing.T) {
	for _, c := range irtest.Units() {
		same(t, c.Text, c.Args, c.Bounds, 4)
	}
}

// TestRandom does so with random leaves.
func TestRandom(t *testing.T) {
	n := uint64(6000)
	if testing.Short() {
		n = 60
	}
	refused := 0
	for seed := range n {
		text := randomLeaf(seed)
		var no *simt.Refusal
		if err := simt.Launches(parse(t, text)); errors.As(err, &no) {
			refused++
			continue
		}
		if !same(t, text, func() []interp.Arg { return randomArgs(seed) }, nil, 3) {
			t.Fatalf("seed %d", seed)
		}
	}
	if refused > int(n)/10 {
		t.Errorf("%d of %d leaves are refused", refused, n)
	}
}

func randomArgs(seed uint64) []interp.Arg {
	r := rand.New(rand.NewPCG(seed, 4))
	ints := func(n int) []int64 {
		s := make([]int64, n)
		for i := range s {
			s[i] = r.Int64N(50)
		}
		return s
	}
	x := interp.Arg{Levels: []interp.Level{{Size: r.Int64N(40)}}, Vals: interp.Array{Data: ints(64)}}
	return []interp.Arg{
		{Vals: interp.Array{Data: ints(programBlocks * programTile)}}, {Vals: interp.Array{Data: ints(9)}}, x,
	}
}

// TestRandomLeaves: the random leaves have what they are for.
func TestRandomLeaves(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(200) {
		f := parse(t, randomLeaf(seed))
		if err := simt.Launches(f); err != nil {
			seen["refused"]++
			continue
		}
		ir.Walk(f.Body, func(s ir.Stmt) {
			switch s := s.(type) {
			case *ir.Barrier:
				seen[fmt.Sprint("barrier ", s.Warp)]++
			case *ir.Shuffle, *ir.Shared, *ir.Local:
				seen[fmt.Sprintf("%T", s)]++
			}
		})
	}
	for _, want := range []string{"barrier true", "barrier false", "*ir.Shuffle", "*ir.Shared", "*ir.Local"} {
		if seen[want] < 50 {
			t.Errorf("200 leaves have %d of %s", seen[want], want)
		}
	}
}
