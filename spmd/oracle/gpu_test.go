package oracle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"distaff/codegen"
	"distaff/codegen/diag"
	emitcuda "distaff/codegen/emit/cuda"
	"distaff/codegen/interp"
	"distaff/codegen/ir"
	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/kernels/cc"
	"distaff/kernels/cuda"
)

// gpuEngine runs a case under a random schedule for a GPU, or a GPU's default schedule. What no
// schedule that was drawn can run is run as on a CPU.
type gpuEngine struct {
	name string
	seen *gpuCounts // may be nil
	// run runs a leaf for a GPU; structured is the leaf before its loops became launches.
	run func(ctx context.Context, c *compiled, structured string) (*Output, error)
}

// gpuCounts count schedules that were drawn: those that a GPU takes by their words, and the
// others by the reason.
type gpuCounts struct {
	drawn, taken, cases, unrun atomic.Int64
	with                       [len(gpuWords)]atomic.Int64
	mu                         sync.Mutex
	reasons                    map[string]int
}

// gpuWords are what gpuCounts counts in a schedule.
var gpuWords = [...]string{"GPUBlock", "GPUWarp", "GPUThread", "IgnoreRaces", "Atomics", "Temporary", "ParallelReduction",
	"fuse(", "pos(", "precompute(", "unroll(", "bound(", "by default", "a structured leaf", "two passes"}

func (c *gpuCounts) note(word string) {
	if c != nil {
		c.with[slices.Index(gpuWords[:], word)].Add(1)
	}
}

func (c *gpuCounts) took(list []string) {
	if c == nil {
		return
	}
	c.drawn.Add(1)
	c.taken.Add(1)
	text := strings.Join(list, ",")
	for k, w := range gpuWords {
		if strings.Contains(text, w) {
			c.with[k].Add(1)
		}
	}
}

// names are what differs between refusals for one reason.
var names = regexp.MustCompile(`[A-Z]+[0-9]*'*\([a-z0-9,]*\)|\b[A-Za-z]{1,2}[0-9]*'?\b(,)?|\b[0-9]+\b|^[a-z]+: `)

func (c *gpuCounts) untaken() {
	if c != nil {
		c.drawn.Add(1)
	}
}

func (c *gpuCounts) refused(list []string, err error) {
	if c == nil {
		return
	}
	if *sayFlag {
		fmt.Println(strings.Join(list, ","), err)
	}
	var d *diag.Error
	errors.As(err, &d)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reasons == nil {
		c.reasons = map[string]int{}
	}
	c.reasons[names.ReplaceAllString(d.Msg, "_")]++
}

// log prints the counts; a third of the schedules must have been taken, and every word among them.
func (c *gpuCounts) log(t *testing.T, strict bool) {
	drawn, taken := c.drawn.Load(), c.taken.Load()
	t.Logf("%d of %d schedules taken (%d%%); %d cases run, %d cases that no GPU runs", taken, drawn, 100*taken/max(drawn, 1), c.cases.Load(), c.unrun.Load())
	for k, w := range gpuWords {
		t.Logf("%s: %d", w, c.with[k].Load())
		if strict && c.with[k].Load() == 0 {
			t.Errorf("no schedule had %s", w)
		}
	}
	var list []string
	for why, n := range c.reasons {
		list = append(list, fmt.Sprintf("%6d %s", n, why))
	}
	slices.Sort(list)
	slices.Reverse(list)
	t.Logf("refused:\n%s", strings.Join(list[:min(len(list), 40)], "\n"))
	if strict && 3*taken < drawn {
		t.Errorf("%d of %d schedules were taken: fewer than a third", taken, drawn)
	}
}

func (e gpuEngine) Name() string { return e.name }

func (e gpuEngine) Run(ctx context.Context, p *Prepared) (*Output, error) {
	var list []string
	structured := ""
	c, err := compileAs(p, "leaf", func(r *codegen.Request) (err error) {
		list, err = e.draw(source(p), p, r)
		r.Trace = func(pass string, _ time.Duration, text func() string) {
			if pass == "simplify" && structured == "" {
				structured = text()
			}
		}
		return err
	})
	how := "--target=cuda -s=" + strings.Join(list, ",")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", how, err)
	}
	defer c.close()
	if e.seen != nil {
		e.seen.cases.Add(1)
	}
	run := e.run
	if c.unit.Request.Target == codegen.CPU {
		how, run = "on a CPU", interpreted
		if e.seen != nil {
			e.seen.unrun.Add(1)
		}
	} else if strings.Contains(structured, "scan ") {
		e.seen.note("two passes")
	}
	out, err := run(ctx, c, structured)
	if out != nil {
		out.How, out.Converted = how, nil
	}
	if err != nil && exitCode(err) == 1 {
		err = fmt.Errorf("%s: %w\n%s", how, err, c.stages())
	}
	return out, err
}

// fresh tells whether a leaf must write its result's values before it reads them.
func fresh(u *codegen.Unit) bool { return u.Result.Format.AllDense() || u.Result.Shares >= 0 }

// interpreted runs a leaf as it is.
func interpreted(_ context.Context, c *compiled, _ string) (*Output, error) {
	prog, err := interp.Compile(c.unit.Func)
	if err != nil {
		return nil, err
	}
	return c.execute(func(args []*tcs.Tensor, bounds [][2]int64) error {
		return interpret(prog, args, bounds, interp.Env{Threads: 1, Seed: c.p.Variant, Steps: 2e7}, fresh(c.unit))
	})
}

// twice runs a leaf with the loops of a GPU, one case of four, and then with its launches.
func (c *gpuCounts) twice(ctx context.Context, k *compiled, structured string) (*Output, error) {
	if k.p.Variant%4 == 0 && k.unit.Request.Target == codegen.CUDA {
		f, err := ir.Parse(structured)
		if err != nil {
			return nil, fmt.Errorf("the leaf does not read back: %w\n%s", err, structured)
		}
		launched := k.unit.Func
		k.unit.Func = f
		out, err := interpreted(ctx, k, "")
		k.unit.Func = launched
		w, werr := k.p.Expect(ctx)
		if werr != nil {
			return nil, werr
		}
		if err := w.Compare(out, err); err != nil {
			return nil, fmt.Errorf("before its loops became launches: %w", err)
		}
		c.note("a structured leaf")
		k.args[0].Close()
		if k.args[0], err = k.result(); err != nil {
			return nil, err
		}
	}
	return interpreted(ctx, k, "")
}

// on runs leaves by a backend.
func on(b kernels.Backend) func(context.Context, *compiled, string) (*Output, error) {
	return func(ctx context.Context, c *compiled, _ string) (*Output, error) {
		leaf, err := b.Build(ctx, c.unit)
		if err != nil {
			return nil, err
		}
		defer leaf.Close()
		arena := kernels.NewArena(nil)
		out, err := c.execute(func(args []*tcs.Tensor, bounds [][2]int64) error {
			return leaf.Call(ctx, args, bounds, kernels.Env{Threads: 1, Arena: arena, Vars: c.unit.Vars, What: c.p.Stmt})
		})
		if err == nil && arena.Leaks() > 0 {
			err = fmt.Errorf("the leaf left %d blocks of memory behind", arena.Leaks())
		}
		return out, err
	}
}

func (e gpuEngine) fixed(_ context.Context, p *Prepared) []*Case {
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

// draw makes r a request for a GPU, with a schedule; where all that were drawn are refused and there
// is none by default, one for a CPU without.
func (e gpuEngine) draw(rng *rand.Rand, p *Prepared, r *codegen.Request) ([]string, error) {
	r.Target = codegen.CUDA
	try := func(list []string) error {
		q := *r
		q.Schedule = list
		_, err := codegen.Compile(q)
		return err
	}
	if p.Schedule != nil { // less what is refused, from the end on
		for n := len(p.Schedule); n > 0; n-- {
			if !sound(p.Schedule[:n]) {
				continue
			}
			if err := try(p.Schedule[:n]); err == nil {
				r.Schedule = p.Schedule[:n]
				return r.Schedule, nil
			} else if !isRefusal(err) {
				return p.Schedule[:n], err
			}
		}
		r.Target = codegen.CPU
		return nil, nil
	}
	if rng.IntN(6) == 0 {
		return e.byDefault(p, r)
	}
	loops, s, err := drawLoopCommands(rng, p, r)
	if err != nil {
		return loops, err
	}
	d := unitDrawer{rng: rng, s: s, base: loops, try: func(list []string) error {
		err := try(list)
		if err != nil && isRefusal(err) {
			e.seen.refused(list, err)
		}
		return err
	}}
	list, err := d.draw()
	if err == nil {
		r.Schedule = list
		e.seen.took(list)
		return list, nil
	}
	if !isRefusal(err) {
		return list, err
	}
	e.seen.untaken()
	return e.byDefault(p, r)
}

// byDefault gives r the default schedule of a GPU, if there is one.
func (e gpuEngine) byDefault(p *Prepared, r *codegen.Request) ([]string, error) {
	q := *r
	lines, err := codegen.Schedule(q)
	if d := (*diag.Error)(nil); errors.As(err, &d) && d.Code == diag.ScheduleRefused && strings.Contains(d.Msg, "--target=cpu") {
		r.Target = codegen.CPU
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	q.Schedule = []string{}
	for _, l := range lines {
		q.Schedule = append(q.Schedule, l.Command)
	}
	if q.Exact == nil {
		q.Parts = p.Normal.Vars
	}
	*r = q
	e.seen.note("by default")
	return q.Schedule, nil
}

// kernelSweep runs n cases of each of the statements of kernelLines.
func kernelSweep(t *testing.T, e Engine, n uint64) {
	t.Helper()
	if *nFlag > 0 {
		n = *nFlag / uint64(len(kernelLines)) / 2
	}
	for k := *firstFlag; k < *firstFlag+n; k++ {
		for m, line := range kernelLines {
			p, err := kernelCase(line, Rand(*seedFlag+uint64(m)<<32, k))
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if err := Check(context.Background(), e, p.Case); err != nil {
				t.Fatalf("%s: seed %d, case %d: %v\n%s", e.Name(), *seedFlag, k, err, p.Text())
			}
		}
	}
}

// TestOracleGPU runs random schedules for a GPU through the interpreter, which finds races,
// accesses out of bounds, memory that is not set, and threads that part before a barrier.
func TestOracleGPU(t *testing.T) {
	var seen gpuCounts
	e := gpuEngine{"GPU schedules, interpreted", &seen, seen.twice}
	sweep(t, e, Options{Beside: 0.15}, 200)
	kernelSweep(t, e, 5)
	seen.log(t, *nFlag == 0)
}

// TestOracleGPUEmulated runs random schedules for a GPU as the CUDA C++ that they become, on a GPU that
// the CPU emulates.
func TestOracleGPUEmulated(t *testing.T) {
	b := emulatedGPU(t)
	var seen gpuCounts
	e := gpuEngine{"GPU schedules, emulated", &seen, on(b)}
	sweep(t, e, Options{Beside: 0.15}, 60)
	kernelSweep(t, e, 2)
	seen.log(t, false)
}

// emulatedGPU is the backend of a GPU that the CPU emulates.
func emulatedGPU(t *testing.T) kernels.Backend {
	t.Helper()
	cfg, err := cc.FromEnv(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Cache, cfg.Compiler = "", "" // a random case does not come again
	cfg.Flags = nil
	for _, f := range emitcuda.EmulationFlags() {
		if f != "-O1" {
			cfg.Flags = append(cfg.Flags, f)
		}
	}
	cfg.Flags = append(cfg.Flags, "-O0", "-w")
	b, err := cuda.Emulated(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if !b.Complete() {
		t.Skip("no C++ compiler")
	}
	return b
}

// TestOracleCUDA runs random schedules for a GPU on one, where there is one.
func TestOracleCUDA(t *testing.T) {
	b, err := cuda.New(cuda.Config{Log: func(s string) { t.Log(s) }})
	if err != nil {
		t.Skip(err)
	}
	if !b.Complete() {
		t.Skip("no NVRTC, which compiles kernels: ", b.Name())
	}
	t.Log(b.Name())
	var seen gpuCounts
	e := gpuEngine{"GPU schedules on a GPU", &seen, on(b)}
	sweep(t, e, Options{Beside: 0.15}, 300)
	kernelSweep(t, e, 5)
	seen.log(t, false)
}
