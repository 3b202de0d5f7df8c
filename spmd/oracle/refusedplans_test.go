package oracle

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"distaff/codegen/notation"
	"distaff/spmd"
)

// vastLines contains statements with terms that have a value at every coordinate.
var vastLines = []struct{ stmt, access string }{
	{"s = sum(i, x(i)+1)", ""},
	{"s = sum(i, x(i)*z(i)+1)", ""},
	{"s = sum(i, sum(j, A(i,j)+1))", ""},
	{"s = sum(i, sum(j, A(i,j)*B(i,j)+2))", ""},
	{"s = sum(i, 1)*x(j)", ""},
	{"y(i) = sum(j, A(i,j)+1)*x(i)", ""},
}

// vast is the smallest size of a variable whose loops are always refused, even if a step covers a
// few coordinates and there are a few blocks. The other sizes are small enough for a loop over each
// coordinate.
const vast = 1 << 60

// vastLoop is a loop of a drawn schedule.
type vastLoop struct {
	name string
	n    float64 // values at most
}

// vastGen draws schedules whose loops have either few steps or more steps than a run can execute.
type vastGen struct {
	*rand.Rand
	loops []vastLoop
	list  []string
}

func (g *vastGen) say(format string, args ...any) {
	g.list = append(g.list, fmt.Sprintf(format, args...))
}

// cut splits loop k into a few parts. If the loop is short or vast, it may also split it into parts
// of a few values.
func (g *vastGen) cut(k int) {
	v, n := g.loops[k].name, g.loops[k].n
	few := float64(1 + g.IntN(7))
	outer, inner := vastLoop{v + "0", few}, vastLoop{v + "1", n / few}
	switch {
	case n <= 64 || n >= vast && g.IntN(3) == 0:
		outer.n, inner.n = n/few, few
		g.say("split(%s,%s,%s,%d)", v, outer.name, inner.name, int64(few))
	case g.IntN(2) == 0 && inner.n < 1<<60:
		g.say("split(%s,%s,%s,%d)", v, outer.name, inner.name, int64(inner.n)+1)
	default:
		g.say("divide(%s,%s,%s,%d)", v, outer.name, inner.name, int64(few))
	}
	g.loops = slices.Replace(g.loops, k, k+1, outer, inner)
}

// tiled reports whether there is a tile with too many values for a loop over each value. A reorder
// would need a loop of this kind.
func (g *vastGen) tiled() bool {
	return slices.ContainsFunc(g.loops,
		func(l vastLoop) bool { return len(l.name) > 1 && l.n > 64 && l.n < vast/64 })
}

// command draws a command. It may be refused.
func (g *vastGen) command(access string) {
	k := g.IntN(len(g.loops))
	l := &g.loops[k]
	switch g.IntN(9) {
	case 0, 1, 2:
		g.cut(k)
	case 3, 4:
		if k+1 < len(g.loops) && !g.tiled() {
			f := vastLoop{l.name + "f", l.n * g.loops[k+1].n}
			g.say("fuse(%s,%s,%s)", l.name, g.loops[k+1].name, f.name)
			g.loops = slices.Replace(g.loops, k, k+2, f)
		}
	case 5:
		if access != "" {
			g.say("pos(%s,%sp,%s)", l.name, l.name, access)
			if l.name += "p"; g.IntN(3) == 0 {
				g.say("coord(%s,%sc)", l.name, l.name)
				l.name += "c"
			} else {
				l.n = 8
			}
		}
	case 6:
		n := []float64{l.n, 4, 1 << 40, 0}[g.IntN(4)]
		kind := []string{"MaxExact", "MaxConstraint", "MaxConstraint", "MinConstraint"}[g.IntN(4)]
		g.say("bound(%s,%sb,%d,%s)", l.name, l.name, int64(min(n, 1<<40)), kind)
		l.name += "b"
	case 7:
		if k+1 < len(g.loops) && !g.tiled() {
			g.say("reorder(%s,%s)", g.loops[k+1].name, l.name)
			g.loops[k], g.loops[k+1] = g.loops[k+1], g.loops[k]
		}
	case 8:
		g.say("parallelize(%s,CPUThread,%s)", l.name,
			[]string{"NoRaces", "Temporary", "Atomics"}[g.IntN(3)])
	}
}

// refusedCase generates a job with one statement over tensors of vast sizes. It writes the tensors'
// files to dir.
func refusedCase(seed, k uint64, dir string) (*planCase, error) {
	r := rand.New(rand.NewPCG(seed, k^7<<60))
	lines, most := largeLines, int64(1)<<61
	sizes := []int64{1 << 31, 1<<31 + 1, 3037000500, 1 << 32, vast, most, most - 1, 6}
	if r.IntN(2) == 0 {
		lines, sizes = vastLines, []int64{3, 8, vast, most - 1, most}
	}
	line := lines[r.IntN(len(lines))]
	s, err := notation.Parse(line.stmt)
	if err != nil {
		return nil, err
	}
	c := &planCase{ranks: []int{1, 1, 2, 3, 5}[r.IntN(5)]}
	size, some := map[string]int64{}, map[string][]int64{}
	for _, a := range append(s.Accesses(), s.LHS) {
		var dims []string
		for _, v := range a.Vars {
			if size[v] == 0 {
				n := sizes[r.IntN(len(sizes))]
				size[v], some[v] = n, []int64{1, n, r.Int64N(n) + 1}
			}
			dims = append(dims, fmt.Sprint(size[v]))
		}
		if len(dims) == 0 {
			continue
		}
		text := fmt.Sprintf("tensor %s(%s): %s", a.Name, strings.Join(dims, ","),
			strings.Repeat("s", len(dims)))
		if a != s.LHS {
			file := filepath.Join(dir, a.Name+".tns")
			var data strings.Builder
			for range 1 + r.IntN(5) {
				for _, v := range a.Vars {
					fmt.Fprintf(&data, "%d ", some[v][r.IntN(3)])
				}
				fmt.Fprintf(&data, "%d\n", 1+r.IntN(9))
			}
			if err := os.WriteFile(file, []byte(data.String()), 0o644); err != nil {
				return nil, err
			}
			text += fmt.Sprintf(" from %q", file)
		}
		c.lines = append(c.lines, text)
	}
	g := &vastGen{Rand: r}
	for v, n := range size {
		g.loops = append(g.loops, vastLoop{v, float64(n)})
	}
	slices.SortFunc(g.loops, func(a, b vastLoop) int { return strings.Compare(a.name, b.name) })
	first := g.loops[r.IntN(len(g.loops))].name
	spread := c.ranks > 1 && r.IntN(3) == 0
	if spread {
		g.say("divide(%[1]s,%[1]so,%[1]si,%[2]d)", first, c.ranks)
		k := slices.IndexFunc(g.loops, func(l vastLoop) bool { return l.name == first })
		g.loops[k].name += "i"
	}
	for range r.IntN(6) {
		g.command(line.access)
	}
	if spread {
		g.say("distribute(%so)", first)
	}
	text := line.stmt
	switch {
	case len(g.list) > 0:
		text += "\n  " + strings.Join(g.list, "\n  ")
	case r.IntN(2) == 0:
		text += fmt.Sprintf("\n  split %s:%d", first, 1+r.IntN(4))
	}
	c.lines = append(c.lines, text)
	return c, nil
}

// bySizes matches refusals that depend on sizes alone, with their kind.
var bySizes = regexp.MustCompile(`points of fused loops to count|would not end|does not match the range`)

// figures matches the numbers in a refusal. They depend on the rank that refuses.
var figures = regexp.MustCompile(`[0-9.]+(e\+[0-9]+)?`)

// longest is more than the time of any accepted run.
const longest = 20 * time.Second

// holdRefusal plans and runs a job, and returns an error if their refusals differ. kind is the kind
// of the refusal by sizes, or ""; other reports whether something else is refused.
func (c *planCase) holdRefusal(dir string) (kind string, other bool, err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	f, err := c.parse(filepath.Join(dir, "job.dst"))
	if err != nil {
		return "", true, nil
	}
	j := &spmd.FileJob{File: f, Say: func(string) {},
		Options: spmd.Options{Ranks: c.ranks, Threads: 1, Target: spmd.Interpreter}}
	_, planErr := j.Plan(ctx, 0)
	ran := make(chan error, 1)
	go func() {
		_, err := j.Run(ctx)
		ran <- err
	}()
	select {
	case err = <-ran:
	case <-time.After(longest):
		return "", false, fmt.Errorf("the run does not end; the plan says %v", planErr)
	}
	text := func(err error) string { // the message without numbers and lines of the schedule
		line, _, _ := strings.Cut(err.Error(), "\n")
		return figures.ReplaceAllString(line, "N")
	}
	switch {
	case planErr == nil && err == nil:
		return "", false, nil
	case err == nil:
		return "", false, fmt.Errorf("the plan is refused, and the run is not: %w", planErr)
	case !bySizes.MatchString(err.Error()) && strings.Contains(err.Error(), "does not end"):
		return "", false, fmt.Errorf("the run does not end, and is not refused: %w", err)
	case planErr == nil && !bySizes.MatchString(err.Error()):
		return "", true, nil
	case planErr == nil && strings.Contains(err.Error(), "does not match the range at "): // depends on entries
		return "", true, nil
	case planErr == nil:
		return "", false, fmt.Errorf("the run is refused, and the plan is not: %w", err)
	case bySizes.MatchString(err.Error()) && text(planErr) != text(err):
		return "", false, fmt.Errorf("the plan is refused with\n%w\nand the run with\n%w", planErr, err)
	}
	kind = bySizes.FindString(err.Error())
	return kind, kind == "", nil
}

// TestOracleRefusedPlans compares plans with runs of random jobs over vast sizes. A plan must be
// refused if and only if its run is refused because of sizes, with the same words. An accepted run
// must end.
func TestOracleRefusedPlans(t *testing.T) {
	t.Parallel()
	n := uint64(600)
	if *nFlag > 0 {
		n = *nFlag
	}
	root := t.TempDir()
	var next, other, bad atomic.Uint64
	var lock sync.Mutex
	kinds := map[string]uint64{}
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for k := next.Add(1) - 1; k < n && bad.Load() < 6; k = next.Add(1) - 1 {
				dir := filepath.Join(root, fmt.Sprint(k))
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Error(err)
					return
				}
				c, err := refusedCase(*seedFlag, *firstFlag+k, dir)
				if err != nil {
					t.Error(err)
					return
				}
				kind, something, err := c.holdRefusal(dir)
				if err != nil {
					bad.Add(1)
					t.Errorf("%v\n\nreproduce with\n    go test ./spmd/oracle -run TestOracleRefusedPlans -oracle.seed=%d -oracle.first=%d -oracle.n=1\n%d ranks:\n%s", err, *seedFlag, *firstFlag+k, c.ranks, indent(c.String()))
				}
				if something {
					other.Add(1)
				}
				lock.Lock()
				kinds[kind]++
				lock.Unlock()
				os.RemoveAll(dir)
			}
		})
	}
	wg.Wait()
	t.Logf("seed %d: %d jobs, %d refused for something else, and by kinds of refusal: %v", *seedFlag,
		min(next.Load(), n), other.Load(), kinds)
	if *nFlag == 0 {
		kinds[""] -= other.Load()
		for _, kind := range []string{"", "points of fused loops to count", "would not end",
			"does not match the range"} {
			if kinds[kind] < n/100 {
				t.Errorf("%d jobs are refused with %q, want a hundredth at least", kinds[kind], kind)
			}
		}
	}
}
