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

	"distaff/codegen"
	"distaff/codegen/cin"
	"distaff/codegen/diag"
	sched "distaff/codegen/schedule"
	"distaff/io/tensor"
	"distaff/kernels"
	"distaff/kernels/cc"
	"distaff/spmd"
)

var sayFlag = flag.Bool("oracle.say", false, "print each schedule")

var commandNames = [...]string{"split", "divide", "fuse", "reorder", "pos", "coord", "bound",
	"unroll", "parallelize", "precompute", "mergeby", "assemble",
	"workspace", "flatten", "longrows", "tile", "vectorize", "prefetch", "jam", "nontemporal",
	"layout", "lookup", "hoist"}

// TestEveryCommandDrawn checks that some test draws every command. The commands in commandNames are
// drawn one after another, and temporaries is drawn as the first command. TestProducts tests
// substitute, which only products of dense matrices permit. TestOracleDistributed draws the
// commands that distribute.
func TestEveryCommandDrawn(t *testing.T) {
	drawn := append([]string{"temporaries", "substitute", "distribute", "communicate", "rotate"},
		commandNames[:]...)
	slices.Sort(drawn)
	if want := sched.Names(); !slices.Equal(drawn, want) {
		t.Errorf("got %v, want %v", drawn, want)
	}
	for _, name := range commandNames {
		if !slices.Contains(drawnCommands, name) {
			t.Errorf("%s is not among the commands that are drawn", name)
		}
	}
}

// scheduleCounts counts accepted and refused commands by kind, and accepted and refused jobs on
// several ranks and blocks.
type scheduleCounts struct {
	taken, refused      [len(commandNames)]atomic.Int64
	places              atomic.Int64 // workspaces that a command stores with Positions
	ranks, ranksRefused atomic.Int64
}

// missing returns the names of commands that were never accepted, among the first need commands. n
// is the value of -oracle.n. If n is from 1 to 999, missing returns nil, because the cases may be
// too few to have every command.
func (c *scheduleCounts) missing(n uint64, need int) (list []string) {
	if n > 0 && n < 1000 {
		return nil
	}
	for k, name := range commandNames[:need] {
		if c.taken[k].Load() == 0 {
			list = append(list, name)
		}
	}
	return list
}

// TestMissingCommands checks that a command which was never accepted is found if there are many
// cases.
func TestMissingCommands(t *testing.T) {
	var c scheduleCounts
	last := len(commandNames) - 1
	for k := range last {
		c.taken[k].Add(1)
	}
	c.refused[last].Add(1)
	for n, want := range map[uint64][]string{0: commandNames[last:], 200: nil,
		1000: commandNames[last:]} {
		if got := c.missing(n, len(commandNames)); !slices.Equal(got, want) {
			t.Errorf("-oracle.n=%d: got %q, want %q", n, got, want)
		}
	}
	if got := c.missing(0, last); got != nil {
		t.Errorf("got %q of the commands that were accepted", got)
	}
}

// log prints the counts. Each of the first need commands must have been accepted, unless -oracle.n
// is small.
func (c *scheduleCounts) log(t *testing.T, need int) {
	var all, no int64
	for k, name := range commandNames {
		y, n := c.taken[k].Load(), c.refused[k].Load()
		t.Logf("%s: %d taken, %d refused", name, y, n)
		all, no = all+y+n, no+n
	}
	for _, name := range c.missing(*nFlag, need) {
		t.Errorf("no schedule had a %s", name)
	}
	t.Logf("%d workspaces by position", c.places.Load())
	if *nFlag == 0 && need == len(commandNames) && c.places.Load() == 0 {
		t.Error("no workspace by position")
	}
	t.Logf("%d of %d commands refused (%d%%); %d jobs over ranks and blocks, and %d of them refused",
		no, all, 100*no/max(all, 1), c.ranks.Load(), c.ranksRefused.Load())
}

// drawer draws a random schedule, which depends only on the case's text. It draws commands one
// after another and omits refused commands. Every refusal must have a reason.
type drawer struct {
	seen *scheduleCounts // may be nil
}

// fixed returns copies of the case with the drawn schedule, and with various numbers of threads and
// ranks. If the compiler failed, the schedule ends with the command that made it fail.
func (d drawer) fixed(p *Prepared, draw func() ([]string, error)) (out []*Case) {
	list, _ := draw()
	for k := range uint64(20) {
		c := p.Case.Clone()
		c.Schedule = list
		c.Variant ^= k << 20
		out = append(out, c)
	}
	return out
}

// safely returns a function that calls f, and turns a panic into an error. The report of the
// failure then contains the case.
func safely[In, Out any](f func(In) (Out, error)) func(In) (Out, error) {
	return func(in In) (out Out, err error) {
		defer recovered(&err)
		return f(in)
	}
}

// source returns the random source for a case's schedule and ranks. If the case has a schedule, the
// source depends only on the case's variant.
func source(p *Prepared) *rand.Rand {
	if p.Case.Schedule != nil {
		return rand.New(rand.NewPCG(p.Case.Variant, 7))
	}
	h := fnv.New64a()
	io.WriteString(h, p.Case.Text())
	return rand.New(rand.NewPCG(h.Sum64(), 7))
}

// draw returns a schedule of up to 8 commands, or the case's own schedule without refused commands.
// compile applies a schedule and returns the resulting statement.
func (d drawer) draw(rng *rand.Rand, p *Prepared,
	compile func([]string) (cin.Stmt, error)) (list []string, err error) {
	defer func() {
		if r := recover(); r != nil {
			panic(fmt.Sprintf("%s\n-s=%q: %v", p.Case.Text(), strings.Join(list, ","), r))
		}
	}()
	compile = safely(compile)
	if p.Case.Schedule != nil {
		for _, x := range p.Case.Schedule {
			if _, err := compile(append(slices.Clone(list), x)); err == nil {
				list = append(list, x)
			} else if !isRefusal(err) {
				return append(list, x), fmt.Errorf("%s: %w", x, err)
			}
		}
		if list == nil {
			list = []string{"assemble(" + p.Case.Tensors[0].Name + ",Append)"}
		}
		_, err := compile(list)
		return list, err
	}
	list = []string{"assemble(" + p.Case.Tensors[0].Name + ",Append)"}
	if rng.IntN(3) == 0 {
		list = []string{"temporaries(" + p.Case.Tensors[0].Name + ")"}
	}
	s, err := compile(list)
	if err != nil {
		return list, err
	}
	made := 0
	parallel := false
	want := 1 + rng.IntN(8)
	for try := 0; try < 2*want && made < want; try++ {
		kind, c := drawCommand(rng, p, s, try, parallel)
		list = append(list, c)
		next, err := compile(list)
		if err == nil {
			back, perr := cin.Parse(cin.String(next))
			if perr != nil || cin.String(back) != cin.String(next) {
				return list, fmt.Errorf("%s does not read back: %v", cin.String(next), perr)
			}
			s = next
			made++
			parallel = parallel || strings.HasPrefix(c, "parallelize")
			if d.seen != nil {
				d.seen.taken[kind].Add(1)
				if strings.HasSuffix(c, ",Positions)") {
					d.seen.places.Add(1)
				}
			}
			continue
		}
		if !isRefusal(err) {
			return list, fmt.Errorf("%s: %w", c, err)
		}
		list = list[:len(list)-1]
		if d.seen != nil {
			d.seen.refused[kind].Add(1)
		}
	}
	if *sayFlag {
		fmt.Println(p.Case.Stmt, strings.Join(list, ","))
	}
	return list, nil
}

// scheduleEngine is an engine that runs a case as an interpreted job with a random schedule. Some
// jobs have several ranks and blocks.
type scheduleEngine struct{ drawer }

func (scheduleEngine) Name() string { return "schedules" }

func (g scheduleEngine) Run(ctx context.Context, p *Prepared) (*Output, error) {
	rng := source(p)
	j, list, err := g.scheduled(ctx, p, rng)
	if j != nil {
		defer closeInputs(j)
	}
	how := strings.Join(list, ",")
	if err != nil {
		return nil, fmt.Errorf("-s=%q: %w", how, err)
	}
	out := Output{How: how}
	report, err := g.run(ctx, rng, p, j)
	if err != nil {
		return nil, fmt.Errorf("-s=%q, %d ranks, split %v, %d threads: %w", how, j.Ranks, j.Splits,
			j.Threads, err)
	}
	t := report.Result
	defer t.Close()
	t.Entries(func(at []int64, i int64) bool {
		out.Entries = append(out.Entries, Entry{slices.Clone(at), t.Value(i)})
		return true
	})
	return &out, nil
}

func (g scheduleEngine) fixed(ctx context.Context, p *Prepared) []*Case {
	return g.drawer.fixed(p, func() ([]string, error) {
		j, list, err := g.scheduled(ctx, p, source(p))
		if j != nil {
			closeInputs(j)
		}
		return list, err
	})
}

func closeInputs(j *spmd.Job) {
	for _, in := range j.Inputs {
		in.Tensor.Close()
	}
}

// scheduled returns the job of a case with its schedule.
func (g scheduleEngine) scheduled(ctx context.Context, p *Prepared, rng *rand.Rand) (*spmd.Job,
	[]string, error) {
	j, err := g.job(p)
	if err != nil {
		return j, nil, err
	}
	j.Threads = 1 + rng.IntN(3)
	var taken *spmd.Compiled
	list, err := g.draw(rng, p, func(list []string) (cin.Stmt, error) {
		j.Schedule = list
		u, err := j.Compile(ctx, "")
		if err != nil {
			return nil, err
		}
		taken = u
		return u.Unit.CIN, nil
	})
	if j.Schedule = list; err == nil {
		taken.Source() // panics if C cannot express the leaf
	}
	return j, list, err
}

// job returns an interpreted job of a case, without a schedule.
func (scheduleEngine) job(p *Prepared) (*spmd.Job, error) {
	j := &spmd.Job{Statement: p.Case.Stmt, Formats: map[string]string{}, Types: map[string]string{},
		Sizes:  map[string][]int64{},
		Inputs: map[string]spmd.Input{}, Keep: true}
	// to measure the machine's memory would take longer than to compile
	j.Target, j.MemoryLimit = spmd.Interpreter, 8<<30
	for k, t := range p.Case.Tensors {
		name := t.inJob()
		if name == "" {
			continue
		}
		j.Formats[name] = t.Format.String()
		if t.Type != tensor.None {
			j.Types[name] = t.Type.String()
		}
		j.Sizes[name] = t.Dims
		if k == 0 && !t.Input {
			continue
		}
		in, err := t.Assemble(false)
		if err != nil {
			return j, fmt.Errorf("assembling %s: %w", t.Name, err)
		}
		j.Inputs[name] = spmd.InMemory(in)
	}
	return j, nil
}

// run runs the job, in some cases on several ranks and blocks. If the schedule is refused there, it
// runs the job on one rank.
func (g scheduleEngine) run(ctx context.Context, rng *rand.Rand, p *Prepared,
	j *spmd.Job) (*spmd.Report, error) {
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

// isRefusal reports whether an error refuses a schedule, with a reason and the refused text.
func isRefusal(err error) bool {
	var d *diag.Error
	return errors.As(err, &d) && (d.Code == sched.Refused || d.Code == sched.BadCommand) &&
		d.Msg != "" && d.Src != "" && d.ExitCode() == 2
}

// scheduledC is an engine that compiles cases with random schedules, many in one C file, and calls
// each leaf on 1, 2 and 4 threads.
type scheduledC struct {
	*C
	drawer
}

func (e scheduledC) Name() string { return "schedules in " + e.C.Name() }

func (e scheduledC) Run(ctx context.Context, p *Prepared) (*Output, error) {
	return e.batch(ctx, []*Prepared{p})[0](ctx)
}

func (e scheduledC) batch(ctx context.Context, cases []*Prepared) []func(context.Context) (*Output,
	error) {
	return e.C.scheduledBatch(ctx, cases, e.scheduled)
}

// scheduledBatch does what batch does, for cases whose schedules the function scheduled draws.
func (e *C) scheduledBatch(ctx context.Context, cases []*Prepared,
	scheduled func(*Prepared, *codegen.Request) error) []func(context.Context) (*Output, error) {
	how := map[*Prepared]string{}
	prepare := func(p *Prepared, name string) (*compiled, error) {
		return compileAs(p, name, func(r *codegen.Request) error {
			err := scheduled(p, r)
			how[p] = strings.Join(r.Ask.Schedule, ",")
			if err != nil {
				err = fmt.Errorf("-s=%q: %w", how[p], err)
			}
			return err
		})
	}
	return e.batchOf(ctx, cases, prepare,
		func(ctx context.Context, lib *kernels.Library, c *compiled) (*Output, error) {
			w, err := c.p.Expect(ctx)
			if err != nil {
				return nil, err
			}
			for _, c.threads = range []int{1, 2, 4} {
				out, err := call(ctx, lib, c)
				if c.threads == 4 {
					if out != nil {
						out.How = "-s=" + how[c.p] + " --threads=4"
					}
					return out, err
				}
				if err := w.Compare(out, err); err != nil {
					return nil, fmt.Errorf("-s=%s --threads=%d: %v", how[c.p], c.threads, err)
				}
				c.args[0].Close()
				if c.args[0], err = c.result(); err != nil {
					return nil, err
				}
			}
			panic("unreachable")
		})
}

// scheduled draws the case's schedule and sets it in the request r.
func (d drawer) scheduled(p *Prepared, r *codegen.Request) (err error) {
	r.Ask.Schedule, err = d.draw(source(p), p, func(list []string) (cin.Stmt, error) {
		q := *r
		q.Ask.Schedule = list
		u, err := codegen.Compile(q)
		if err != nil {
			return nil, err
		}
		return u.CIN, nil
	})
	return err
}

func (e scheduledC) fixed(_ context.Context, p *Prepared) []*Case {
	return e.drawer.fixed(p, func() (list []string, err error) {
		c, err := compileAs(p, "leaf", func(r *codegen.Request) error {
			err := e.scheduled(p, r)
			list = r.Ask.Schedule
			return err
		})
		c.close()
		return list, err
	})
}

// TestOracleSchedules interprets leaves with random schedules. The interpreter also finds races.
func TestOracleSchedules(t *testing.T) {
	t.Parallel()
	var seen scheduleCounts
	e := scheduleEngine{drawer{&seen}}
	caseFiles(t, e)
	sweep(t, e, Options{Plus: 0.15}, 1200)
	n := uint64(15)
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
				t.Fatalf("seed %d, case %d: %v\n%s", *seedFlag, k, err, p.Case.Text())
			}
		}
	}
	seen.log(t, len(commandNames))
	if *nFlag == 0 && seen.ranks.Load() == 0 {
		t.Error("no job over ranks")
	}
}

// TestOracleSchedulesInC runs random schedules compiled, on 1, 2 and 4 threads.
func TestOracleSchedulesInC(t *testing.T) {
	t.Parallel()
	if _, err := NewC(os.Getenv, "-O0"); errors.Is(err, cc.ErrNoCompiler) {
		t.Skip(err)
	}
	var seen scheduleCounts
	for _, l := range []struct {
		level string
		n     uint64
	}{{"-O0", 200}, {"-O1", 20}} {
		t.Run(l.level[1:], func(t *testing.T) {
			c, err := NewC(os.Getenv, l.level)
			if err != nil {
				t.Fatal(err)
			}
			c.people = l.level == "-O1"
			sweep(t, scheduledC{c, drawer{&seen}}, Options{Plus: 0.15}, l.n)
		})
	}
	// Few cases have the later commands, which change the forms of loops.
	seen.log(t, slices.Index(commandNames[:], "workspace"))
}

// unrolledWrong is an engine with a mistake: if the schedule has an unroll, it loses an entry.
type unrolledWrong struct{ scheduleEngine }

func (e unrolledWrong) Run(ctx context.Context, p *Prepared) (*Output, error) {
	out, err := e.scheduleEngine.Run(ctx, p)
	if err == nil && strings.Contains(out.How, "unroll(") && len(out.Entries) > 0 {
		out.Entries = out.Entries[1:]
	}
	return out, err
}

// TestScheduleShrinks checks that a mistake of one command is reduced to a schedule with that
// command and the commands that make its variable.
func TestScheduleShrinks(t *testing.T) {
	t.Parallel()
	alone := 0
	for seed := range uint64(8) {
		rep := Sweep(context.Background(), unrolledWrong{},
			Options{MaxPoints: 100, Types: []tensor.Type{tensor.Float64}}, seed, 0, 200, 1)
		if len(rep.Failures) == 0 {
			t.Fatalf("seed %d: the mistake was not found", seed)
		}
		f := rep.Failures[0]
		s := f.Small.Schedule
		if last := s[len(s)-1]; !strings.HasPrefix(last, "unroll(") {
			t.Errorf("got the schedule %q, want unroll last:\n%v", s, f)
		}
		for k, command := range s[:len(s)-1] {
			if !used(command, s[k+1:]) {
				t.Errorf("got the schedule %q, of which %s is not needed:\n%v", s, command, f)
			}
		}
		if len(s) == 1 {
			alone++
		}
		if !strings.Contains(f.String(), "-s='"+s[0]) {
			t.Errorf("the command line has no schedule:\n%v", f)
		}
		back, err := ParseCase(f.Small.Text())
		if err != nil || back.Text() != f.Small.Text() {
			t.Errorf("%v: the case file does not read back:\n%s", err, f.Small.Text())
		}
	}
	if alone == 0 {
		t.Error("no schedule was unroll alone")
	}
}

// used reports whether a later command names a variable that command makes.
func used(command string, later []string) bool {
	args := strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune("(),{}", r) })
	return slices.ContainsFunc(args[1:], func(v string) bool {
		return v[0] >= 'u' && slices.ContainsFunc(later,
			func(c string) bool { return strings.Contains(c, v) })
	})
}
