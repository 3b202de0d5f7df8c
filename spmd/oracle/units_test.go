package oracle

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"distaff/codegen"
	"distaff/codegen/cin"
	"distaff/codegen/interp"
	"distaff/io/tcs"
)

// unitsEngine runs a case under a random schedule for a GPU through the interpreter: random
// commands on loops, and then units and race strategies for some of the loops.
type unitsEngine struct{ seen *unitCounts }

// unitCounts count the schedules by the units and race strategies that they have.
type unitCounts struct {
	cases, refused atomic.Int64
	with           [7]atomic.Int64
}

// unitWords are what unitCounts counts in a schedule.
var unitWords = [7]string{"GPUBlock", "GPUWarp", "GPUThread", "IgnoreRaces", "Atomics", "Temporary", "ParallelReduction"}

func (unitsEngine) Name() string { return "GPU schedules" }

func (e unitsEngine) Run(_ context.Context, p *Prepared) (*Output, error) {
	var list []string
	c, err := compileAs(p, "leaf", func(r *codegen.Request) (err error) {
		list, err = e.draw(source(p), p, r)
		return err
	})
	how := strings.Join(list, ",")
	if err != nil {
		return nil, fmt.Errorf("--target=cuda -s=%q: %w", how, err)
	}
	defer c.close()
	prog, err := interp.Compile(c.unit.Func)
	if err != nil {
		return nil, err
	}
	out, err := c.execute(func(args []*tcs.Tensor, bounds [][2]int64) error {
		return interpret(prog, args, bounds, interp.Env{Threads: 1, Seed: p.Variant, Steps: 2e8}, c.unit.Result.Format.AllDense() || c.unit.Result.Shares >= 0)
	})
	if out != nil {
		out.How, out.Converted = "--target=cuda -s="+how, nil
	}
	if err != nil && exitCode(err) == 1 {
		err = fmt.Errorf("--target=cuda -s=%q: %w\n%s", how, err, c.stages())
	}
	return out, err
}

func (e unitsEngine) fixed(_ context.Context, p *Prepared) []*Case {
	return drawer{}.fixed(p, func() (list []string, err error) {
		c, err := compileAs(p, "leaf", func(r *codegen.Request) error {
			list, err = e.draw(source(p), p, r)
			return err
		})
		if c != nil {
			c.close()
		}
		return list, err
	})
}

// draw makes r a request for a GPU, with a schedule; where all that were drawn are refused, one
// for a CPU without.
func (e unitsEngine) draw(rng *rand.Rand, p *Prepared, r *codegen.Request) ([]string, error) {
	r.Target = codegen.CUDA
	try := func(list []string) (*codegen.Unit, error) {
		q := *r
		q.Schedule = list
		return codegen.Compile(q)
	}
	if p.Schedule != nil { // less what is refused, from the end on
		for n := len(p.Schedule); n > 0; n-- {
			if !settled(p.Schedule[:n]) {
				continue
			}
			if _, err := try(p.Schedule[:n]); err == nil {
				r.Schedule = p.Schedule[:n]
				return r.Schedule, nil
			} else if !isRefusal(err) {
				return p.Schedule[:n], err
			}
		}
		r.Target = codegen.CPU
		return nil, nil
	}
	loops, s, err := drawLoopCommands(rng, p, r)
	if err != nil {
		return loops, err
	}
	for range 16 {
		list := append(slices.Clone(loops), drawUnits(rng, s)...)
		_, err := try(list)
		if err == nil {
			r.Schedule = list
			e.count(list)
			return list, nil
		}
		if !isRefusal(err) {
			return list, err
		}
	}
	if e.seen != nil {
		e.seen.refused.Add(1)
	}
	r.Target = codegen.CPU
	return nil, nil
}

// settled tells whether a schedule that has IgnoreRaces says of other loops what is done about races: else
// they are the user's, and a case that is made small would have some.
func settled(list []string) bool {
	all := strings.Join(list, ",")
	return !strings.Contains(all, "IgnoreRaces") || strings.Contains(all, "GPUThread,Atomics") || strings.Contains(all, "GPUThread,Temporary") || strings.Contains(all, "GPUThread,ParallelReduction")
}

func (e unitsEngine) count(list []string) {
	if e.seen == nil {
		return
	}
	e.seen.cases.Add(1)
	for k, w := range unitWords {
		if strings.Contains(strings.Join(list, ","), w) {
			e.seen.with[k].Add(1)
		}
	}
}

// drawLoopCommands is a schedule of commands on loops that a CPU's compiler applies, and what
// becomes of the statement.
func drawLoopCommands(rng *rand.Rand, p *Prepared, r *codegen.Request) (list []string, s cin.Stmt, err error) {
	q := *r
	q.Target = codegen.CPU
	compile := func(list []string) (cin.Stmt, error) {
		q.Schedule = list
		u, err := codegen.Compile(q)
		if err != nil {
			return nil, err
		}
		return u.CIN, nil
	}
	list = []string{"assemble(" + p.Tensors[0].Name + ",Insert)"}
	if s, err = compile(list); err != nil {
		return list, s, err
	}
	for try := range 3 + rng.IntN(9) {
		kind, c := drawCommand(rng, p, s, try, false)
		if kind >= slices.Index(commandNames[:], "workspace") || commandNames[kind] == "parallelize" || commandNames[kind] == "assemble" {
			kind, c = 0, fmt.Sprintf("split(%s,x%d,y%d,%d)", anyLoop(rng, s), try, try, []int{1, 2, 3, 4, 5, 33}[rng.IntN(6)])
		}
		next, err := compile(append(slices.Clone(list), c))
		if err == nil {
			list, s = append(list, c), next
		} else if !isRefusal(err) {
			return append(list, c), s, err
		}
	}
	return list, s, nil
}

func anyLoop(rng *rand.Rand, s cin.Stmt) string {
	var vars []string
	cin.Walk(s, func(t cin.Stmt) {
		if f, ok := t.(*cin.Forall); ok {
			vars = append(vars, f.Var)
		}
	})
	if len(vars) == 0 {
		return "none"
	}
	return vars[rng.IntN(len(vars))]
}

// drawUnits has outermost loops run on blocks, and some of the others on warps and threads.
// IgnoreRaces, which is the user's word, stands around one loop that settles races alone.
func drawUnits(rng *rand.Rand, s cin.Stmt) (list []string) {
	single := true
	var loops []string // of a path, outermost first
	done := map[string]bool{}
	cin.Walk(s, func(t cin.Stmt) {
		switch t.(type) {
		case *cin.Where, *cin.Seq:
			single = false
		}
	})
	pick := func(words ...string) string { return words[rng.IntN(len(words))] }
	cin.Paths(s, func(path []*cin.Forall, _ *cin.Assign) {
		if len(path) == 0 || done[path[0].Var] {
			return
		}
		loops = loops[:0]
		for _, f := range path {
			done[f.Var] = true
			loops = append(loops, f.Var)
		}
		on := func(v, unit, race string) { list = append(list, fmt.Sprintf("parallelize(%s,%s,%s)", v, unit, race)) }
		block, inner := loops[0], loops[1:]
		if len(inner) == 0 || rng.IntN(8) == 0 {
			on(block, "GPUBlock", pick("NoRaces", "NoRaces", "Atomics"))
			return
		}
		outer := func() string {
			if single && rng.IntN(2) == 0 {
				return "IgnoreRaces"
			}
			return pick("NoRaces", "NoRaces", "Atomics", "Atomics", "Temporary")
		}
		at := max(rng.IntN(len(inner)), rng.IntN(len(inner)))
		race := pick("NoRaces", "Atomics", "Atomics", "Temporary", "ParallelReduction")
		blockRace := outer()
		warpRace := outer()
		if race == "NoRaces" { // nothing inside would settle what IgnoreRaces leaves
			blockRace, warpRace = pick("NoRaces", "Atomics"), pick("NoRaces", "Atomics", "Temporary")
		}
		on(block, "GPUBlock", blockRace)
		if at > 0 && rng.IntN(4) > 0 {
			on(inner[rng.IntN(at)], "GPUWarp", warpRace)
		}
		on(inner[at], "GPUThread", race)
	})
	rng.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
	return list
}

// TestOracleUnits runs random schedules for a GPU through the interpreter, which finds races,
// accesses out of bounds and memory that is not set.
func TestOracleUnits(t *testing.T) {
	var seen unitCounts
	e := unitsEngine{&seen}
	sweep(t, e, Options{Beside: 0.15}, 200)
	n := uint64(5)
	if *nFlag > 0 {
		n = max(*nFlag/uint64(len(kernelLines)), 1)
	}
	for k := *firstFlag; k < *firstFlag+n; k++ {
		for m, line := range kernelLines {
			p, err := kernelCase(line, Rand(*seedFlag+uint64(m)<<32, k))
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if err := Check(context.Background(), e, p.Case); err != nil {
				t.Fatalf("seed %d, case %d: %v\n%s", *seedFlag, k, err, p.Text())
			}
		}
	}
	t.Logf("%d schedules, %d cases whose schedules were refused", seen.cases.Load(), seen.refused.Load())
	for k, w := range unitWords {
		t.Logf("%s: %d", w, seen.with[k].Load())
		if *nFlag == 0 && seen.with[k].Load() == 0 {
			t.Errorf("no schedule had %s", w)
		}
	}
}
