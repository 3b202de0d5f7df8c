package oracle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"distaff/codegen/cin"
	"distaff/codegen/diag"
	"distaff/io/tensor"
	"distaff/kernels/cc"
	"distaff/spmd"
	"distaff/spmd/comm"
)

// distributed is an engine that runs a case as a job on several ranks. It draws a distribution from
// the case's text: a distributed schedule and placements. It also compares the bytes that move with
// the plan.
type distributed struct {
	target string
	ranks  int // number of ranks; with 0 it is drawn, and half of the leaves have schedules, too
	seen   *distributedCounts
	// agree also runs the distributions that the plan refuses. The run must be refused with the
	// same reason.
	agree bool
}

func (distributed) Name() string { return "distributed" }

// distributedCounts counts the cases that ran, by the features of their schedules, and the refusals
// by reason.
type distributedCounts struct {
	sync.Mutex
	ran     int
	exact   atomic.Int64 // cases whose traffic was compared with an exact plan
	agreed  atomic.Int64 // cases whose plan and run were refused with the same words
	alike   atomic.Int64 // cases whose plan and run refused leaf commands with different words
	have    map[string]int
	refused map[string]int
}

func newDistributedCounts() *distributedCounts {
	return &distributedCounts{have: map[string]int{}, refused: map[string]int{}}
}

// allowedRefusals matches the messages of refusals that a drawn distribution may cause.
var allowedRefusals = []*regexp.Regexp{
	regexp.MustCompile(`^rotate: .* is rotated by .*, so the loop over .* must be outside the loop over`),
	regexp.MustCompile(
		`^distribute: .* is the variable of \d+ sums, each with its own range; rename it so that each has its own name`),
	regexp.MustCompile(`^distribute: the sum over .* is inside a product or quotient`),
	regexp.MustCompile(
		`the loop over .* must be outside the loop over chunks of .*; use reorder$`),
	regexp.MustCompile(
		`^pos: the positions of .* include all of .*, but the loops run over only a part of it$`),
	regexp.MustCompile(`^distribute: each dimension of the machine .* already has a loop`),
}

// reason returns the expression in allowedRefusals that matches err, or "".
func reason(err error) string {
	var d *diag.Error
	if !errors.As(err, &d) || d.ExitCode() != 2 || d.Code != diag.ScheduleRefused {
		return ""
	}
	for _, r := range allowedRefusals {
		if r.MatchString(d.Msg) {
			return r.String()
		}
	}
	return ""
}

// leafReason returns the leaf command that err refuses, or "". Commands that cut or reorder loops
// also belong to the leaf if they make no loop over ranks.
func leafReason(err error) string {
	var d *diag.Error
	if !isRefusal(err) || !errors.As(err, &d) {
		return ""
	}
	name, _, _ := strings.Cut(d.Msg, ":")
	if slices.Contains([]string{"distribute", "communicate", "rotate"}, name) {
		return ""
	}
	return "leaf: " + name
}

func (c *distributedCounts) refuse(why string) {
	if c == nil {
		return
	}
	c.Lock()
	defer c.Unlock()
	c.refused[why]++
}

// addsByEntries is the feature of a statement with += that is distributed by the entries of a
// tensor.
const addsByEntries = "+= by entries"

// note counts a case that ran.
func (c *distributedCounts) note(p *Prepared, d *Distribution) {
	if c == nil {
		return
	}
	c.Lock()
	defer c.Unlock()
	c.ran++
	seen := map[string]bool{"placements": len(d.Placements) > 0,
		"a hierarchy": strings.Contains(d.Machine, ";")}
	for _, x := range d.Commands {
		name, _, _ := strings.Cut(x, "(")
		seen[name] = true
	}
	seen[addsByEntries] = seen["pos"] && p.Normal.Accumulate
	for what, is := range seen {
		if is {
			c.have[what]++
		}
	}
}

// log prints the counts. The test fails if some required feature occurs in no case.
func (c *distributedCounts) log(t *testing.T) {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(c.have)) {
		parts = append(parts, fmt.Sprintf("%d %s", c.have[k], k))
	}
	t.Logf("%d cases were distributed, %d of which moved the bytes of exact plans: %s", c.ran,
		c.exact.Load(), strings.Join(parts, ", "))
	all, leaf := 0, 0
	for _, k := range slices.Sorted(maps.Keys(c.refused)) {
		if strings.HasPrefix(k, "leaf: ") {
			leaf += c.refused[k]
			continue
		}
		t.Logf("refused %d times: %s", c.refused[k], k)
		all += c.refused[k]
	}
	t.Logf("%d of %d distributions refused (%d%%), and %d commands of leaves", all, all+c.ran,
		100*all/max(all+c.ran, 1), leaf)
	for _, what := range []string{"placements", "a hierarchy", "divide", "split", "reorder",
		"distribute", "communicate", "rotate", "parallelize", "pos", addsByEntries} {
		if *nFlag == 0 && c.have[what] == 0 {
			t.Errorf("no case with %s", what)
		}
	}
}

// job returns the job of a case with the distribution d.
func (e distributed) job(p *Prepared, d *Distribution) (*spmd.Job, error) {
	j, err := scheduleEngine{}.job(p)
	j.Target, j.Threads = e.target, 1
	e.over(j, d)
	return j, err
}

func (e distributed) over(j *spmd.Job, d *Distribution) {
	if e.ranks > 0 {
		d.Ranks = e.ranks
	}
	j.Ranks, j.Machine, j.Schedule, j.Placements = d.Ranks, d.Machine, d.Commands, d.Placements
}

// drawn sets the distribution of the job j and returns it with the job's plan. It uses p.Case.Over
// if that is not nil. Otherwise it draws distributions until one is not refused. If all are
// refused, the job runs on one rank.
func (e distributed) drawn(ctx context.Context, p *Prepared, j *spmd.Job) (*Distribution,
	*spmd.Planned, error) {
	rng := source(p)
	if p.Case.Over != nil {
		rng = rand.New(rand.NewPCG(p.Case.Variant, 9))
	}
	for try := 0; try < 6; try++ {
		d, left := p.Case.Over, map[string]string(nil)
		if d != nil {
			d = p.Case.fitted()
		} else {
			d, left = drawDistribution(rng, p, e.ranks > 0)
		}
		e.over(j, d)
		plan, err := j.Plan(ctx, 0)
		why := cmp.Or(reason(err), leafReason(err))
		if why != "" {
			e.seen.refuse(why)
			if err := e.agreed(ctx, j, err); err != nil {
				return d, nil, asRefused(d, err)
			}
			if p.Case.Over != nil {
				break
			}
			continue
		}
		if err != nil || p.Case.Over != nil || e.ranks > 0 || rng.IntN(2) == 0 {
			return d, plan, asRefused(d, err)
		}
		return e.withLeaf(ctx, rng, p, j, d, left)
	}
	d := &Distribution{Ranks: 1, Machine: "1"}
	e.over(j, d)
	plan, err := j.Plan(ctx, 0)
	return d, plan, err
}

// byRank matches the prefix of a message that names the rank that refused a run.
var byRank = regexp.MustCompile(`^\[\d+\] `)

// agreed runs the job, whose plan was refused with the error planned, and checks that the run is
// refused for the same reason. The leaf's loops depend on the number of entries, which a plan only
// estimates. So the run may refuse another command of the leaf, or have another message.
func (e distributed) agreed(ctx context.Context, j *spmd.Job, planned error) error {
	if !e.agree || e.seen == nil {
		return nil
	}
	report, err := j.Run(ctx)
	if err == nil {
		report.Result.Close()
		return fmt.Errorf("the plan is refused (%w), and the job runs", planned)
	}
	code, want := comm.ExitCode(err), comm.ExitCode(planned)
	switch same := byRank.ReplaceAllString(err.Error(), "") == planned.Error(); {
	case code != want, !same && (leafReason(err) == "" || leafReason(planned) == ""):
		return fmt.Errorf("the plan is refused with %q (%d), the run with %q (%d)", planned, want, err,
			code)
	case same:
		e.seen.agreed.Add(1)
	default:
		e.seen.alike.Add(1)
	}
	return nil
}

// asRefused adds the flags of the distribution to an error. It returns nil if err is nil.
func asRefused(d *Distribution, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", d.Flags(), err)
	}
	return err
}

// withLeaf draws commands for the leaf and adds the accepted ones to the distribution.
func (e distributed) withLeaf(ctx context.Context, rng *rand.Rand, p *Prepared, j *spmd.Job,
	d *Distribution, left map[string]string) (*Distribution, *spmd.Planned, error) {
	without := d.Commands
	with := func(list []string) {
		d.Commands = slices.Clone(without)
		for _, c := range list {
			d.Commands = append(d.Commands, inner(c, left))
		}
		e.over(j, d)
	}
	held := 0 // number of refusals that were compared with runs; only the first three are
	list, err := drawer{}.draw(rng, p, func(list []string) (cin.Stmt, error) {
		with(list)
		u, err := j.Compile(ctx, "")
		if why := leafReason(err); why != "" {
			e.seen.refuse(why)
			if held < 3 {
				held++
				if _, planned := j.Plan(ctx, 0); planned != nil {
					if err := e.agreed(ctx, j, planned); err != nil {
						return nil, err
					}
				}
			}
		}
		if err != nil {
			return nil, err
		}
		return u.Unit.CIN, nil
	})
	// The accepted commands may make loops that the distribution's commands refuse.
	isLeafRefusal := func(err error) bool { return leafReason(err) != "" || reason(err) != "" }
	if err != nil && !isLeafRefusal(err) {
		return d, nil, asRefused(d, err)
	}
	if with(list); err != nil {
		with(nil)
	}
	plan, err := j.Plan(ctx, 0)
	if isLeafRefusal(err) {
		with(nil)
		plan, err = j.Plan(ctx, 0)
	}
	return d, plan, asRefused(d, err)
}

var word = regexp.MustCompile(`\w+`)

// inner replaces the variables in a command by the loops that remain for the leaf after cuts.
func inner(command string, left map[string]string) string {
	return word.ReplaceAllStringFunc(command, func(w string) string {
		if l, ok := left[w]; ok {
			return l
		}
		return w
	})
}

func (e distributed) Run(ctx context.Context, p *Prepared) (*Output, error) {
	return e.run(ctx, p, nil)
}

// RunOn runs the case as one rank of c. Every rank must call it. It returns the output at rank 0,
// and nil at the other ranks.
func (e distributed) RunOn(c comm.Comm, p *Prepared) (*Output, error) {
	e.ranks = c.Size()
	return e.run(c.Context(), p, c)
}

// run runs the case. If c is not nil, this process is one rank of c.
func (e distributed) run(ctx context.Context, p *Prepared, c comm.Comm) (*Output, error) {
	j, err := e.job(p, &Distribution{})
	defer closeInputs(j)
	if err != nil {
		return nil, err
	}
	d, plan, err := e.drawn(ctx, p, j)
	if err != nil {
		return nil, err
	}
	out := &Output{How: fmt.Sprintf("%s with%s", p.Case.Stmt, d.Flags()), Narrowed: true}
	var report *spmd.Report
	if c == nil {
		report, err = j.Run(ctx)
	} else {
		report, err = j.RunOn(c, c.Size(), 1)
	}
	if err != nil {
		return nil, asRefused(d, err)
	}
	if len(d.Commands) > 0 {
		e.seen.note(p, d)
	}
	if c != nil && c.Rank() > 0 {
		return nil, nil
	}
	t := report.Result
	defer t.Close()
	out.Entries = output(t).Entries
	if err := errors.Join(e.moved(report, plan), checkMemory(report, plan)); err != nil {
		return out, asRefused(d, err)
	}
	return out, checkResult(t, p)
}

// moved compares the bytes and messages of a run with its plan, unless the plan has estimates.
func (e distributed) moved(r *spmd.Report, plan *spmd.Planned) error {
	got, want := r.Stats.Comm, plan.Comm
	if plan.Estimated {
		return nil
	}
	if e.seen != nil && slices.Max(want.BytesReceived) > 0 {
		e.seen.exact.Add(1)
	}
	if !slices.Equal(got.MessagesSent, want.MessagesSent) ||
		!slices.Equal(got.BytesSent, want.BytesSent) ||
		!slices.Equal(got.BytesReceived, want.BytesReceived) {
		return fmt.Errorf("the run moved %+v, and the plan says %+v", got, want)
	}
	return nil
}

// fixed returns the case together with the distribution that the engine draws.
func (e distributed) fixed(ctx context.Context, p *Prepared) []*Case {
	e.seen = nil
	j, err := e.job(p, &Distribution{})
	defer closeInputs(j)
	if err != nil {
		return nil
	}
	d, _, _ := e.drawn(ctx, p, j)
	if d == nil {
		return nil
	}
	c := p.Case.Clone()
	c.Over = d
	return []*Case{c}
}

// Flags returns the flags of the command line for the case's distribution.
func (e distributed) Flags(p *Prepared) string {
	if p.Case.Over != nil {
		return p.Case.fitted().Flags()
	}
	for _, c := range e.fixed(context.Background(), p) {
		return c.Over.Flags()
	}
	return ""
}

// TestOracleDistributed runs jobs on 1 to 9 ranks with random distributed schedules, machines and
// placements, and compares them with the reference. Some jobs have only dense tensors, so that
// their plans are exact. A run must be accepted if its plan is, and refused for the same reason
// otherwise.
func TestOracleDistributed(t *testing.T) {
	t.Parallel()
	seen := newDistributedCounts()
	e := distributed{target: spmd.Interpreter, seen: seen, agree: true}
	caseFiles(t, e)
	sweep(t, e, distributedOptions, 350)
	dense := distributedOptions
	dense.Kinds, dense.Follow, dense.Long = "d", 0, 0
	sweep(t, e, dense, 150)
	seen.log(t)
	agreed, alike := seen.agreed.Load(), seen.alike.Load()
	t.Logf("%d distributions were refused by plan and run with the same words, and %d with others",
		agreed, alike)
	if *nFlag == 0 && (agreed < 500 || alike > agreed/50) {
		t.Errorf(
			"plan and run refused %d distributions with the same words and %d with others, want 500 at least of the first and few others", agreed, alike)
	}
	if *nFlag == 0 && seen.exact.Load() < 60 {
		t.Errorf("%d cases moved the bytes of exact plans, want 60 at least", seen.exact.Load())
	}
}

var distributedOptions = Options{MaxPoints: 1500, Long: 0.1, Follow: 0.1}

// TestOracleDistributedInC runs some of these jobs with compiled leaves.
func TestOracleDistributedInC(t *testing.T) {
	if _, err := NewC(os.Getenv, "-O0"); errors.Is(err, cc.ErrNoCompiler) {
		t.Skip(err)
	}
	t.Setenv("DISTAFF_CACHE", t.TempDir())
	t.Setenv("DISTAFF_CFLAGS", "-O0")
	sweep(t, distributed{}, distributedOptions, 30)
}

// rotatedWrong is an engine with a mistake: if the schedule has a rotate, it loses an entry.
type rotatedWrong struct{ distributed }

func (e rotatedWrong) Run(ctx context.Context, p *Prepared) (*Output, error) {
	out, err := e.distributed.Run(ctx, p)
	if err == nil && strings.Contains(out.How, "rotate(") && len(out.Entries) > 0 {
		out.Entries = out.Entries[1:]
	}
	return out, err
}

// TestDistributedShrinks checks that a mistake of one command is reduced to a case with that
// command and few others, and that the case file contains the distribution.
func TestDistributedShrinks(t *testing.T) {
	t.Parallel()
	e := rotatedWrong{distributed{target: spmd.Interpreter}}
	rep := Sweep(context.Background(), e,
		Options{MaxPoints: 100, Types: []tensor.Type{tensor.Float64}},
		1, 0, 100, 4)
	if len(rep.Failures) < 4 {
		t.Fatalf("the mistake was found %d times, want 4", len(rep.Failures))
	}
	few := 0
	for _, f := range rep.Failures {
		d := f.Small.Over
		if d == nil || !slices.ContainsFunc(d.Commands,
			func(c string) bool { return strings.HasPrefix(c, "rotate(") }) {
			t.Fatalf("got no rotate:\n%v", f)
		}
		if len(d.Commands) <= 5 {
			few++
		}
		if len(d.Commands) > 8 || len(d.Placements) > 0 || d.Ranks > 1 {
			t.Errorf("not small:\n%v", f)
		}
		if !strings.Contains(f.String(), d.Flags()) {
			t.Errorf("the command line has no distribution:\n%v", f)
		}
		back, err := ParseCase(f.Small.Text())
		if err != nil || back.Text() != f.Small.Text() {
			t.Errorf("%v: the case file does not read back:\n%s", err, f.Small.Text())
		}
	}
	if few < 2 {
		t.Errorf("%d of %d cases have 5 commands at most, want half of them", few, len(rep.Failures))
	}
}
