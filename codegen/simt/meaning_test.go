package simt_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"distaff/codegen/interp"
	"distaff/codegen/ir"
	"distaff/codegen/ir/irtest"
	"distaff/codegen/simt"
)

// run interprets a leaf. It returns "" or the failure that ended it.
func run(t *testing.T, f *ir.Func, args []interp.Arg, bounds [][2]int64, seed uint64) (string,
	error) {
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

// same runs a leaf with its loops and with launches, in several orders of the threads, and compares
// the results.
func same(t *testing.T, text string, args func() []interp.Arg, bounds [][2]int64,
	seeds uint64) bool {
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
			t.Errorf("seed %d: got %q, %v\nwant %q, %v\n%s\nof\n%s", seed, end, got, wantEnd, want,
				ir.Print(f), text)
			return false
		}
	}
	return true
}

// TestMeaning runs the leaves of package irtest with their loops and with launches.
func TestMeaning(t *testing.T) {
	for _, c := range irtest.Units() {
		same(t, c.Text, c.Args, c.Bounds, 4)
	}
}

// TestRandom runs random leaves with their loops and with launches.
func TestRandom(t *testing.T) {
	n := uint64(300)
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
		{Vals: interp.Array{Data: ints(programBlocks * programTile)}},
		{Vals: interp.Array{Data: ints(9)}}, x,
	}
}

// TestRandomLeaves checks that random leaves contain what they are made for.
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
	for _, want := range []string{"barrier true", "barrier false", "*ir.Shuffle", "*ir.Shared",
		"*ir.Local"} {
		if seen[want] < 50 {
			t.Errorf("200 leaves have %d of %s", seen[want], want)
		}
	}
}

// leafOf returns a leaf with the parameters of random leaves.
func leafOf(body string) string {
	return "func f\n  param z int64 = t0.vals\n  param sums int64 = t1.vals\n  param x int64 const = t2.vals\n  param n = t2.level0.size\n{\n" + body + "\n}\n"
}

// TestWaits runs leaves that random leaves rarely resemble. Each needs a certain barrier.
func TestWaits(t *testing.T) {
	for name, body := range map[string]string{
		"a warp's array, again and again": `for b in 0 : 2 blocks {
 for i in 0 : 3 {
  for w in 0 : 2 warps(2) {
   local own int64[40]
   for k in 0 : 32 lanes(32) {
    own[k] += k + i
   }
   for l in 0 : 32 lanes(32) {
    z[b * 64 + w * 32 + l] = own[31 - l]
   }
  }
 }
}`,
		"what one thread added": `for b in 0 : 3 blocks {
 atomic z[b] += 5
 for k in 0 : 64 lanes(64) {
  atomic sums[k % 8] += z[b]
 }
 atomic z[b] += 7
}`,
		"a condition that changes": `for b in 0 : 3 blocks {
 z[b] = 4
 while 0 < z[b] {
  for k in 0 : 64 lanes(64) {
   z[3 + b * 64 + k] += z[b]
  }
  z[b] += 0 - 1
 }
}`,
		"a value that its fill changes": `for b in 0 : 3 blocks {
 for k in 0 : 4 lanes(64) {
  fill z[b * 40 + k * 10 : b * 40 + k * 10 + 10] = z[b * 40 + k * 10 + 2] + 1
 }
 fill z[b * 40 + z[b * 40 + 1] % 3 : b * 40 + 30] = z[b * 40 + 20] * 2
}`,
		"sorting by a block, by warps and by threads": `for b in 0 : 3 blocks {
 sort z[b * 130 : b * 130 + 45 + 41 * b]
}
for b in 0 : 3 blocks {
 for w in 0 : 5 warps(4) {
  sort z[b * 130 + w * 26 + 1 : b * 130 + w * 26 + w * w]
 }
}
for b in 0 : 2 blocks {
 for k in 0 : 40 lanes(64) {
  sort z[b * 200 + k * 5 : b * 200 + k * 5 + k % 6]
 }
}`,
		"steps, and bounds that are not 0": `for b in 2 : n step 7 blocks {
 for w in b + 1 : b + 30 step 3 warps(3) {
  for k in w : w + 77 step 2 lanes(32) {
   atomic sums[k % 9] += x[w % 64] + k
  }
  atomic sums[w % 9] += b
 }
}`,
		"a memory that only the host knows": `var most int64 = 0
var last int64 = 0
for i in 0 : n {
 if most < x[i] {
  most = x[i]
  last = i
 }
}
z[0] = most
z[1] = last
for j in 2 : 40 {
 z[j + 1] += z[j]
}
for b in 0 : 1 blocks {
 sums[0] = most * 100 + last
}`,
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(4) {
				same(t, leafOf(body), func() []interp.Arg { return randomArgs(seed) }, nil, 6)
			}
		})
	}
}

// TestSortLong sorts an array of several tiles in global memory.
func TestSortLong(t *testing.T) {
	text := leafOf(`for b in 0 : 1 blocks {
 sort z[7 : n]
 for k in 0 : 96 lanes(96) {
  sums[k % 9] = 1
 }
}`)
	text = strings.Replace(text, "sums[k % 9] = 1", "atomic sums[k % 9] += 1", 1)
	for seed := range uint64(2) {
		same(t, text, func() []interp.Arg {
			r := rand.New(rand.NewPCG(seed, 3))
			z := make([]int64, 10000+3000*seed)
			for k := range z {
				z[k] = r.Int64N(5000)
			}
			args := randomArgs(seed)
			args[0].Vals.Data = z
			args[2].Levels[0].Size = int64(len(z)) - 3
			return args
		}, nil, 1)
	}
}

// TestThreadFails checks that a thread that fails ends the leaf after its block ended.
func TestThreadFails(t *testing.T) {
	text := leafOf(`for b in 0 : 3 blocks {
 var sum int64 = 0
 for k in 0 : 64 lanes(64) reduce(sum) {
  if x[k] == x[3] {
   fail divide(k)
  }
  sum += 100 / (x[k] - x[3])
 }
 sums[b] = sum
}`)
	if end, err := run(t, launches(t, text), randomArgs(1), nil, 1); err != nil || end != "divide" {
		t.Errorf("got %q, %v, want divide", end, err)
	}
}

// TestRefusals checks the reasons of refusals.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"for b in 0 : n blocks {\n sortby z[b * 3 : b * 3 + 3] (x)\n}",
			"loop b: sortby cannot run on a GPU's threads"},
		{"for b in 0 : n blocks {\n var v int64 = 0\n fetch v = z[b] += 1\n}",
			"loop b: a change of z that returns the old value belongs in a loop on threads"},
		{"for b in 0 : n blocks {\n alloc w int64[x[b]]\n free w\n}",
			"loop b: the length of array w must be known before the loop begins"},
		{
			"for b in 0 : n blocks {\n var m int64 = b\n for i in 0 : 3 {\n m += i\n }\n alloc w int64[m]\n free w\n}", "loop b: the length of array w must be known before the loop begins"},
		{"for i in 0 : n parallel {\n z[i] = 1\n}",
			"loop i: a loop that is parallel cannot run on the host of a GPU"},
		{"sort z[0 : 3]", "sort can run neither on the host of a GPU nor on its threads"},
		{"for b in 0 : 1 blocks {\n copy z[0] = z[4], 3\n}", "loop b: a GPU cannot copy from z to z itself"},
	} {
		f := parse(t, leafOf(c.body))
		before := ir.Print(f)
		var no *simt.Refusal
		if err := simt.Launches(f); !errors.As(err, &no) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.body, err, c.want)
		}
		if ir.Print(f) != before {
			t.Errorf("%s: a leaf that is refused has changed to\n%s", c.body, ir.Print(f))
		}
	}
}
