package oracle

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"distaff/codegen/cin"
	"distaff/codegen/diag"
	"distaff/codegen/dtype"
	"distaff/codegen/reference"
	sched "distaff/codegen/schedule"
	"distaff/kernels/cc"
	"distaff/spmd"
)

var sayFlag = flag.Bool("oracle.say", false, "print each schedule")

// scheduleEngine runs a case as a job under a random schedule that the case's
// text fixes: commands are drawn one after another, and those that are refused
// are left out, but for the reason that each refusal must have.
type scheduleEngine struct {
	threads int // compiled, on so many threads; 0 for the interpreter
	seen    *scheduleCounts
}

// scheduleCounts count what was drawn: commands that were taken and refused, by
// kind, and jobs that ran, or were refused, over ranks and blocks.
type scheduleCounts struct {
	taken, refused      [len(commandNames)]atomic.Int64
	ranks, ranksRefused atomic.Int64
}

func (c *scheduleCounts) log(t *testing.T) {
	var all, no int64
	for k, name := range commandNames {
		y, n := c.taken[k].Load(), c.refused[k].Load()
		t.Logf("%s: %d taken, %d refused", name, y, n)
		all, no = all+y+n, no+n
		if y == 0 && *nFlag == 0 {
			t.Errorf("no schedule had a %s", name)
		}
	}
	t.Logf("%d of %d commands refused (%d%%); %d jobs over ranks and blocks, and %d of them refused", no, all, 100*no/max(all, 1), c.ranks.Load(), c.ranksRefused.Load())
	if *nFlag == 0 && c.ranks.Load() == 0 {
		t.Error("no job over ranks")
	}
}

func (scheduleEngine) Name() string { return "schedules" }

var commandNames = [...]string{"split", "divide", "fuse", "reorder", "pos", "coord", "bound", "unroll", "parallelize", "precompute", "mergeby", "assemble"}

func (g scheduleEngine) Run(ctx context.Context, p *Prepared) (*Output, error) {
	h := fnv.New64a()
	io.WriteString(h, p.Text())
	rng := rand.New(rand.NewPCG(h.Sum64(), 7))
	j := &spmd.Job{Statement: p.Stmt, Formats: map[string]string{}, Types: map[string]string{}, Sizes: map[string][]int64{},
		Inputs: map[string]spmd.Input{}, Keep: true}
	j.Interpret, j.Threads = g.threads == 0, max(g.threads, 1)
	if g.threads == 0 {
		j.Threads = 1 + rng.IntN(3)
	}
	for k, t := range p.Tensors {
		j.Formats[t.Name] = t.Format.String()
		if t.Type != dtype.None {
			j.Types[t.Name] = t.Type.String()
		}
		j.Sizes[t.Name] = t.Dims
		if k == 0 && !t.Input {
			continue
		}
		in, err := t.Assemble(false)
		if err != nil {
			return nil, fmt.Errorf("assembling %s: %w", t.Name, err)
		}
		defer in.Close()
		j.Inputs[t.Name] = spmd.InMemory(in)
	}
	if err := g.draw(ctx, rng, p, j); err != nil {
		return nil, fmt.Errorf("-s=%q: %w", strings.Join(j.Schedule, ","), err)
	}
	if *sayFlag {
		fmt.Println(p.Stmt, j.Formats, strings.Join(j.Schedule, ","))
	}
	out := Output{How: strings.Join(j.Schedule, ",")}
	report, err := g.run(ctx, rng, p, j)
	if err != nil {
		return nil, fmt.Errorf("-s=%q, %d ranks, split %v: %w", strings.Join(j.Schedule, ","), j.Ranks, j.Splits, err)
	}
	t := report.Result
	defer t.Close()
	t.Entries(func(at []int64, i int64) bool {
		v := t.Value(i)
		out.Entries = append(out.Entries, Entry{slices.Clone(at), reference.Value{I: v.I, C: v.C}})
		return true
	})
	return &out, nil
}

// run runs the job, some over several ranks and blocks; where the schedule is
// refused of these, on one rank.
func (g scheduleEngine) run(ctx context.Context, rng *rand.Rand, p *Prepared, j *spmd.Job) (*spmd.Report, error) {
	if rng.IntN(3) > 0 {
		return j.Run(ctx)
	}
	one := *j
	j.Ranks = 1 + rng.IntN(4)
	if rng.IntN(2) == 0 {
		Blocks(rng, p, &j.Options)
	}
	report, err := j.Run(ctx)
	if g.seen != nil {
		g.seen.ranks.Add(1)
	}
	if isRefusal(err) {
		if g.seen != nil {
			g.seen.ranksRefused.Add(1)
		}
		*j = one
		return j.Run(ctx)
	}
	return report, err
}

// isRefusal tells whether an error refuses a schedule, with a reason and the
// text that it is about.
func isRefusal(err error) bool {
	var d *diag.Error
	return errors.As(err, &d) && (d.Code == sched.Refused || d.Code == sched.BadCommand) && d.Msg != "" && d.Src != "" && d.ExitCode() == 2
}

// draw adds up to 8 commands to the job.
func (g scheduleEngine) draw(ctx context.Context, rng *rand.Rand, p *Prepared, j *spmd.Job) error {
	defer func() {
		if r := recover(); r != nil {
			panic(fmt.Sprintf("-s=%q: %v", strings.Join(j.Schedule, ","), r))
		}
	}()
	j.Schedule = []string{"assemble(" + p.Tensors[0].Name + ",Append)"}
	u, err := j.Compile(ctx, "")
	if err != nil {
		return err
	}
	made := 0
	parallel := false
	want := 1 + rng.IntN(8)
	for try := 0; try < 2*want && made < want; try++ {
		kind, c := drawCommand(rng, p, u.Unit.CIN, try, parallel)
		j.Schedule = append(j.Schedule, c)
		next, err := j.Compile(ctx, "")
		if err == nil {
			back, perr := cin.Parse(cin.String(next.Unit.CIN))
			if perr != nil || cin.String(back) != cin.String(next.Unit.CIN) {
				return fmt.Errorf("%s does not read back: %v", cin.String(next.Unit.CIN), perr)
			}
			u = next
			made++
			parallel = parallel || strings.HasPrefix(c, "parallelize")
			if g.seen != nil {
				g.seen.taken[kind].Add(1)
			}
			continue
		}
		j.Schedule = j.Schedule[:len(j.Schedule)-1]
		if !isRefusal(err) {
			return fmt.Errorf("%s: %w", c, err)
		}
		if g.seen != nil {
			g.seen.refused[kind].Add(1)
		}
	}
	return nil
}

// drawCommand is a command that may be legal.
func drawCommand(rng *rand.Rand, p *Prepared, s cin.Stmt, n int, parallel bool) (int, string) {
	var vars, accesses []string
	cin.Walk(s, func(t cin.Stmt) {
		if f, ok := t.(*cin.Forall); ok && !slices.Contains(vars, f.Var) {
			vars = append(vars, f.Var)
		}
	})
	cin.Accesses(s, func(a *cin.Access) { accesses = append(accesses, strings.ReplaceAll(a.Key(), "'", "")) })
	pick := func(list []string) string {
		if len(list) == 0 {
			return "none"
		}
		return list[rng.IntN(len(list))]
	}
	v := pick(vars)
	fresh := func(k int) string { return fmt.Sprintf("%c%d", "xyz"[k], n) }
	small := 1 + rng.IntN(5)
	kind := []int{0, 0, 0, 1, 2, 2, 3, 3, 4, 4, 4, 5, 6, 7, 8, 8, 8, 9, 9, 10, 11}[rng.IntN(21)]
	if parallel {
		kind = 8
	}
	switch commandNames[kind] {
	case "split", "divide":
		return kind, fmt.Sprintf("%s(%s,%s,%s,%d)", commandNames[kind], v, fresh(0), fresh(1), small)
	case "fuse":
		k := rng.IntN(max(len(vars)-1, 1))
		if len(vars) < 2 {
			return kind, "fuse(a,b,c)"
		}
		return kind, fmt.Sprintf("fuse(%s,%s,%s)", vars[k], vars[k+1], fresh(0))
	case "reorder":
		list := slices.Clone(vars)
		rng.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
		return kind, "reorder(" + strings.Join(list[:min(len(list), 2+rng.IntN(3))], ",") + ")"
	case "pos":
		return kind, fmt.Sprintf("pos(%s,%s,%s)", v, fresh(0), pick(accesses))
	case "coord":
		return kind, fmt.Sprintf("coord(%s,%s)", v, fresh(0))
	case "bound":
		size, ok := p.Sizes.Vars[v]
		if !ok {
			size = 5000
		}
		if ok && rng.IntN(2) == 0 {
			return kind, fmt.Sprintf("bound(%s,%s,%d,MaxExact)", v, fresh(0), size)
		}
		return kind, fmt.Sprintf("bound(%s,%s,%d,MaxConstraint)", v, fresh(0), size+int64(rng.IntN(3)))
	case "unroll":
		return kind, fmt.Sprintf("unroll(%s,%d)", v, small)
	case "assemble":
		return kind, fmt.Sprintf("assemble(%s,%s)", p.Tensors[0].Name, []string{"Append", "Insert"}[rng.IntN(2)])
	case "mergeby":
		return kind, fmt.Sprintf("mergeby(%s,%s)", v, []string{"TwoFinger", "Gallop"}[rng.IntN(2)])
	case "precompute":
		i := pick(vars)
		w := i
		if rng.IntN(2) == 0 {
			w = fresh(0)
		}
		e := pick(accesses)
		if f := pick(accesses); f != e && rng.IntN(2) == 0 {
			e += "*" + f
		}
		return kind, fmt.Sprintf("precompute(%s,%s,%s,W%d)", e, i, w, n)
	}
	unit := []string{"CPUThread", "CPUThread", "CPUVector"}[rng.IntN(3)]
	race := []string{"NoRaces", "NoRaces", "Atomics", "Temporary", "ParallelReduction"}[rng.IntN(5)]
	chunk := ""
	if rng.IntN(2) == 0 && unit == "CPUThread" {
		chunk = fmt.Sprintf(",%d", small)
	}
	return 8, fmt.Sprintf("parallelize(%s,%s,%s%s)", v, unit, race, chunk)
}

// TestOracleSchedules runs random schedules through the interpreter, which
// finds races too.
func TestOracleSchedules(t *testing.T) {
	var seen scheduleCounts
	e := scheduleEngine{seen: &seen}
	caseFiles(t, e)
	sweep(t, e, Options{}, 2000, 1)
	seen.log(t)
}

// TestOracleSchedulesInC runs random schedules compiled, on 1, 2 and 4 threads.
func TestOracleSchedulesInC(t *testing.T) {
	if _, err := NewC(os.Getenv, "-O0"); errors.Is(err, cc.ErrNoCompiler) {
		t.Skip(err)
	}
	t.Setenv("DISTAFF_CACHE", t.TempDir())
	t.Setenv("DISTAFF_CFLAGS", "-O0")
	for _, threads := range []int{1, 2, 4} {
		sweep(t, scheduleEngine{threads: threads}, Options{}, 60, 12)
	}
}
