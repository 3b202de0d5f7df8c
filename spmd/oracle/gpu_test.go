package oracle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"distaff/codegen"
	"distaff/codegen/diag"
	"distaff/codegen/interp"
	"distaff/codegen/ir"
	"distaff/io/tcs"
	"distaff/io/tensor"
)

// gpuEngine is an engine that runs a case with a random schedule for a GPU, or with a GPU's default
// schedule. If all drawn schedules are refused, it runs the case for a CPU.
type gpuEngine struct {
	name string
	seen *gpuCounts // may be nil
	// run runs a leaf for a GPU. structured is the leaf before its loops were replaced by launches.
	run func(ctx context.Context, c *compiled, structured string) (*Output, error)
}

// gpuCounts counts the drawn schedules: accepted schedules by the words that they contain, and
// refused schedules by reason.
type gpuCounts struct {
	drawn, taken, cases, unrun atomic.Int64
	products                   atomic.Int64 // schedules that a library computes products for
	structured                 atomic.Int64 // leaves that twice ran before their loops became launches
	with                       [len(gpuWords)]atomic.Int64
	mu                         sync.Mutex
	reasons                    map[string]*refusalKind
}

// refusalKind counts the refusals for one reason. example is one of the refused statements.
type refusalKind struct {
	n       int
	example string
}

// gpuWords are the words that gpuCounts counts in schedules.
var gpuWords = [...]string{"GPUBlock", "GPUWarp", "GPUThread", "IgnoreRaces", "Atomics",
	"Temporary", "ParallelReduction", "GPUBlock,NoRaces,", "GPUBlock,Atomics,",
	"fuse(", "pos(", "precompute(", "unroll(", "bound(", "by default", "two passes",
	"a hash table"}

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
	if strings.Contains(text, "substitute(") {
		c.products.Add(1)
	}
	for k, w := range gpuWords {
		if strings.Contains(text, w) {
			c.with[k].Add(1)
		}
	}
}

// names matches the parts of a message that differ between refusals for the same reason.
var names = regexp.MustCompile(
	`[A-Z]+[0-9]*'*\([a-z0-9,]*\)|\b[A-Za-z]{1,2}[0-9]*'?\b(,)?|\b[0-9]+\b|^[a-z]+: `)

func (c *gpuCounts) untaken() {
	if c != nil {
		c.drawn.Add(1)
	}
}

// refused counts the refusal err of the schedule list for a case.
func (c *gpuCounts) refused(of *Case, list []string, err error) {
	if c == nil {
		return
	}
	if *sayFlag {
		fmt.Println(of.header(), strings.Join(list, ","), err)
	}
	var d *diag.Error
	errors.As(err, &d)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reasons == nil {
		c.reasons = map[string]*refusalKind{}
	}
	why := names.ReplaceAllString(d.Msg, "_")
	if c.reasons[why] == nil {
		c.reasons[why] = &refusalKind{example: of.header()}
	}
	c.reasons[why].n++
}

// refusals returns the most frequent reasons of refusals, one on a line.
func (c *gpuCounts) refusals() string {
	var list []string
	for why, r := range c.reasons {
		list = append(list, fmt.Sprintf("%6d %s (%s)", r.n, why, r.example))
	}
	slices.Sort(list)
	slices.Reverse(list)
	return strings.Join(list[:min(len(list), 40)], "\n")
}

// log prints the counts. A third of the schedules must be accepted, and every word must occur in an
// accepted schedule.
func (c *gpuCounts) log(t *testing.T, strict bool) {
	drawn, taken := c.drawn.Load(), c.taken.Load()
	t.Logf("%d of %d schedules taken (%d%%); %d cases run, %d cases that no GPU runs", taken, drawn,
		100*taken/max(drawn, 1), c.cases.Load(), c.unrun.Load())
	for k, w := range gpuWords {
		t.Logf("%s: %d", w, c.with[k].Load())
		if strict && c.with[k].Load() == 0 {
			t.Errorf("no schedule had %s", w)
		}
	}
	t.Logf("refused:\n%s", c.refusals())
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
		r.Ask.Trace = func(pass string, _ time.Duration, text func() string) {
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
	if c.unit.Request.Target.Kind == codegen.CPU {
		how, run = "on a CPU", interpreted
		if e.seen != nil {
			e.seen.unrun.Add(1)
		}
	} else {
		for word, text := range map[string]string{"two passes": "scan ", "a hash table": "fetch "} {
			if strings.Contains(structured, text) {
				e.seen.note(word)
			}
		}
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

// isFresh reports whether a leaf must write the values of its result before it reads them.
func isFresh(u *codegen.Unit) bool { return u.Result.Format.AllDense() || u.Result.Shares >= 0 }

// interpreted interprets a leaf.
func interpreted(_ context.Context, c *compiled, _ string) (*Output, error) {
	prog, err := interp.Compile(c.unit.Func)
	if err != nil {
		return nil, err
	}
	return c.execute(func(args []*tcs.Tensor, bounds [][2]int64) error {
		return interpret(prog, args, bounds, interp.Env{Threads: 1, Seed: c.p.Case.Variant, Steps: 1e9},
			isFresh(c.unit))
	})
}

// twice interprets a leaf with its launches. For a quarter of the cases it first interprets the
// leaf with loops instead of launches.
func (c *gpuCounts) twice(ctx context.Context, k *compiled, structured string) (*Output, error) {
	if k.p.Case.Variant%4 == 0 && k.unit.Request.Target.Kind == codegen.CUDA {
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
		c.structured.Add(1)
		k.args[0].Close()
		if k.args[0], err = k.result(); err != nil {
			return nil, err
		}
	}
	return interpreted(ctx, k, "")
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

// draw sets r to a request for a GPU, with a drawn schedule. If all drawn schedules are refused, it
// uses the default schedule. If there is no default schedule either, r becomes a request for a CPU
// without a schedule.
func (e gpuEngine) draw(rng *rand.Rand, p *Prepared, r *codegen.Request) ([]string, error) {
	r.Target.Kind = codegen.CUDA
	try := func(list []string) error {
		q := *r
		q.Ask.Schedule = list
		_, err := safely(codegen.Compile)(q)
		return err
	}
	if p.Case.Schedule != nil { // remove commands from the end while it is refused
		for n := len(p.Case.Schedule); n > 0; n-- {
			if !sound(p.Case.Schedule[:n]) {
				continue
			}
			if err := try(p.Case.Schedule[:n]); err == nil {
				r.Ask.Schedule = p.Case.Schedule[:n]
				return r.Ask.Schedule, nil
			} else if !isRefusal(err) {
				return p.Case.Schedule[:n], err
			}
		}
		r.Target.Kind = codegen.CPU
		if err := try(p.Case.Schedule); err != nil && !isRefusal(err) { // without units
			return p.Case.Schedule, err
		}
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
			e.seen.refused(p.Case, list, err)
		}
		return err
	}}
	list, err := d.draw()
	if err == nil {
		r.Ask.Schedule = list
		e.seen.took(list)
		return list, nil
	}
	if !isRefusal(err) {
		return list, err
	}
	e.seen.untaken()
	return e.byDefault(p, r)
}

// byDefault sets the default schedule of a GPU in r. If there is none, r becomes a request for a
// CPU.
func (e gpuEngine) byDefault(p *Prepared, r *codegen.Request) ([]string, error) {
	r.Target.Kind = codegen.CPU
	list, err := defaultUnits{}.draw(p, r)
	if r.Target.Kind == codegen.CUDA {
		e.seen.note("by default")
	}
	return list, err
}

// gpuLines contains typical statements for GPUs: sums with dense results, and products at the
// entries of a sparse operand. All tensors of a case have the same type.
var gpuLines = append([]string{
	"y(i) = A(i,j)*x(j); y:d A:ds/ss/uq/dd/uc x:d/d/s",
	"y(j) = A(i,j)*x(i); y:d A:ds/ss/uq x:d",
	"y(i) += A(i,j)*x(j)*z(i); y:d A:ds/ss x:d z:d",
	"a = A(i,j)*x(j); a: A:ds/ss/uq x:d",
	"C(i,k) = A(i,j)*B(j,k); C:dd A:ds/ss/uq B:dd",
	"C(i,k) = D(i,k)-A(i,j)*B(j,k); C:dd D:dd A:ds/ss B:dd",
	"A(i,j) = B(i,k,l)*C(k,j)*D(l,j); A:dd B:sss/dss/dds C:dd D:dd",
	"A(i,j) = B(i,j,k)*c(k); A:dd/ds/ss B:sss/dss c:d",
	"A(i,k) = B(i,k)*C(i,j)*D(j,k); A:ds/dd/ss B:ds/ss C:dd D:dd",
	"C(i,k) = A(i,j)*B(j,k); C:ds/ss A:ds/ss/uq B:ds/ss",
	"C(i,k) = A(i,j)*B(j,k)+D(i,k); C:ds/ss A:ds/ss B:ds/ss/dd D:ds/ss",
	"C(i,j) = A(i,j)-B(i,j)+D(i,j); C:ds/ss A:ds/ss/uq B:ds/ss D:ds/ss/uq",
	"C(i,k,l) = A(i,j)*B(j,k,l); C:dss/sss/ssd A:ds/ss B:dss/sss/uqc",
	"C(i,j,k) = A(i,j,l)*B(k,l); C:dss/sss A:dss/sss B:ds/ss/dd",
	"y(i) = A(j,i)*x(j) + z(i); y:d A:ds/ss/dd x:d z:d",
	"y(i) = b(i) - A(i,j)*x(j); y:d b:d A:ds:1,0/ss:1,0 x:d",
	"C(i,k) += A(i,j)*B(j,k); C:dd A:ds:1,0/ss:1,0 B:dd",
	"A(i,j) += B(k,i,l)*C(k,j)*D(l,j); A:dd B:sss/dss/dds C:dd D:dd",
	"a += A(i,j)*x(j); a: A:ds/ss/dd x:d",
}, kernelLines...)

// gpuSweep runs random cases and equally many cases of gpuLines, until want GPU schedules have run,
// or -oracle.n if that is set. Some cases have no accepted schedule.
func gpuSweep(t *testing.T, e gpuEngine, want uint64) {
	t.Helper()
	strict := *nFlag == 0 && want > 100
	if *nFlag > 0 {
		want = *nFlag
	}
	workers, lines := runtime.GOMAXPROCS(0), uint64(len(gpuLines))
	at, each := *firstFlag, *firstFlag // the next random case, and the next of each statement
	for rounds := 0; uint64(e.seen.taken.Load()) < want && !t.Failed(); rounds++ {
		if rounds == 50 {
			t.Fatalf("%d of %d schedules are taken after %d rounds", e.seen.taken.Load(), want, rounds)
		}
		n := want - uint64(e.seen.taken.Load())
		rep := Sweep(context.Background(), e, Options{Plus: 0.15, Follow: 0.1, Long: 0.2}, *seedFlag,
			at, n, workers)
		t.Logf("%s, seed %d from %d: %v", e.Name(), *seedFlag, at, &rep)
		for _, f := range rep.Failures {
			t.Errorf("%s: %v", e.Name(), f)
		}
		k := max(n/lines, 1)
		var wg sync.WaitGroup
		for w := range uint64(workers) {
			wg.Go(func() {
				for m := w; m < lines; m += uint64(workers) {
					if err := lineSweep(e, m, each, k); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		t.Logf("and %d cases of each of %d statements from %d", k, lines, each)
		at, each = at+n, each+k
	}
	e.seen.log(t, strict)
}

// lineSweep runs n cases of statement m of gpuLines, starting at number first.
func lineSweep(e Engine, m, first, n uint64) error {
	for k := first; k < first+n; k++ {
		r := Rand(*seedFlag+m<<32, k)
		types := []tensor.Type{tensor.Float64, tensor.Float64, tensor.Float64, tensor.Float32,
			tensor.Int64,
			tensor.Int32, tensor.Complex128, tensor.Complex64}
		p, err := kernelCaseOf(gpuLines[m], r, types[r.IntN(len(types))])
		if err != nil {
			return fmt.Errorf("%s: %w", gpuLines[m], err)
		}
		if err := Check(context.Background(), e, p.Case); err != nil {
			f := shrunk(context.Background(), e, p.Case, err)
			return fmt.Errorf("%s: seed %d, case %d: %w\n%s%s", e.Name(), *seedFlag, k, err, p.Case.Text(),
				f)
		}
	}
	return nil
}

// TestOracleGPU interprets leaves with random schedules for a GPU. The interpreter finds races,
// accesses out of bounds, reads of unset memory, and barriers that not all threads reach.
func TestOracleGPU(t *testing.T) {
	t.Parallel()
	var seen gpuCounts
	e := gpuEngine{"GPU schedules, interpreted", &seen, seen.twice}
	caseFiles(t, e)
	gpuSweep(t, e, 300)
	n := seen.structured.Load()
	t.Logf("%d leaves ran also before their loops became launches", n)
	if n == 0 && seen.taken.Load() > 100 {
		t.Error("no leaf ran before its loops became launches")
	}
}

// TestOracleGPUParts interprets sums whose rows are written by several threads.
func TestOracleGPUParts(t *testing.T) {
	t.Parallel()
	parts := 0
	e := gpuEngine{"parts of rows", nil, func(ctx context.Context, c *compiled,
		structured string) (*Output, error) {
		if strings.Contains(structured, "part_n") {
			parts++
		}
		return interpreted(ctx, c, structured)
	}}
	for k := range uint64(60) {
		r := Rand(*seedFlag, k)
		line := []string{"C(i,j) = A(i,j)-B(i,j); C:ds A:ds B:ds/dd",
			"C(i,j) = A(i,j)+A(i,j)*B(j); C:ds A:ds B:d/s",
			"C(i,j) = A(i,j)+B(i,j)*D(i,j); C:ss A:ds B:ds D:ds"}[k%3]
		p, err := kernelCaseOf(line, r, tensor.Int64)
		if err != nil {
			t.Fatal(err)
		}
		p.Case.Schedule = []string{"assemble(C,Insert)",
			fmt.Sprintf("split(i,block,warp,%d)", 1+r.IntN(9)),
			"pos(j,jpos,A(i,j))", fmt.Sprintf("divide(jpos,thread,nz,%d)", 1+r.IntN(32)),
			"parallelize(block,GPUBlock,NoRaces)", "parallelize(warp,GPUWarp,NoRaces)",
			"parallelize(thread,GPUThread,NoRaces)"}
		if err := Check(context.Background(), e, p.Case); err != nil {
			t.Fatalf("case %d: %v\n%s", k, err, p.Case.Text())
		}
	}
	if parts < 40 {
		t.Errorf("%d of 60 cases had rows of parts, want at least 40", parts)
	}
}
