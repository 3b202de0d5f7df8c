package forecast

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"

	"distaff/codegen"
	"distaff/codegen/workload"
	"distaff/io/convert"
	"distaff/io/tensor"
	"distaff/kernels/tune"
	"distaff/spmd/estimate"
	"distaff/spmd/exec"
)

// PlannedTime holds the predicted time of each phase of a job in seconds. The predictions use the
// model of the machine that makes the plan. A phase is nil if the model cannot predict it.
type PlannedTime struct {
	Load    *float64 `json:"load,omitempty"`    // reading .tcs and text files from the page cache
	Compile *float64 `json:"compile,omitempty"` // compiling leaves that are not in the cache
	// Compute is the time that the leaves take when they run again on the same tensors. It excludes
	// conversions of operands and sums of blocks.
	Compute  *float64 `json:"compute,omitempty"`
	Messages *float64 `json:"messages,omitempty"`
	Between  string   `json:"messages_between,omitempty"` // which ranks Messages counts
	// writing .tcs files to the folder of temporary files
	Store *float64 `json:"store,omitempty"`
	// Bounds says what Compute and Messages are spent on, starting with the bound that saves most.
	Bounds []PlannedBound `json:"bounds,omitempty"`
	// OtherWork is the number of CPUs that other work used while the machine was measured. It is 0
	// if the other work did not affect the measurement.
	OtherWork float64 `json:"measured_beside_cpus,omitempty"`
}

// PlannedBound is a resource that bounds the predicted time of a statement. Seconds is the time that
// the slowest rank spends on the resource. Saved is the number of seconds that the statement would
// end sooner if the resource took no time. Share is Saved divided by the time of Compute and
// Messages.
type PlannedBound struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Saved   float64 `json:"saved_seconds"`
	Share   float64 `json:"share"`
}

// slowest lists the kinds of messages, from the slowest to the fastest.
var slowest = []string{tune.BetweenMachines, tune.BetweenProcesses, tune.BetweenThreads}

// time predicts how long the phases of the job take on a machine with model m. It returns nil if m
// is nil.
func (x *planner) time(m *tune.Model, cost *exec.Cost) *PlannedTime {
	if m == nil {
		return nil
	}
	t := &PlannedTime{Load: x.loadTime(m), Store: x.storeTime(m)}
	if m.Disturbed() {
		t.OtherWork = m.OtherWork
	}
	apart := 1.0 // number of machines
	if x.forecast.p.Ranks > 1 {
		for _, between := range slowest {
			if msg := m.Between(between); msg != nil {
				s := x.messageTime(msg)
				t.Messages, t.Between = &s, between
				break
			}
		}
		if t.Between == tune.BetweenMachines {
			apart = float64(x.forecast.p.Ranks)
		}
	} else {
		t.Messages = new(float64)
	}
	for _, s := range []*float64{t.Load, t.Store} {
		if s != nil {
			*s /= apart
		}
	}
	if x.forecast.k.Target.Kind == codegen.CUDA || len(x.forecast.units) == 0 {
		return t
	}
	compile := m.Compile * float64(len(x.forecast.units))
	t.Compile = &compile
	busiest, mean := x.shares(cost)
	together := apart == 1
	compute, bounds := x.computeTime(m, busiest, together)
	t.Compute = &compute
	if x.forecast.p.Ranks > 1 {
		even, _ := x.computeTime(m, mean, together)
		bounds = append(bounds, PlannedBound{Name: "imbalance of ranks",
			Seconds: compute - even, Saved: compute - even})
		if msg := m.Between(t.Between); t.Messages != nil && msg != nil {
			latency, bytes := *msg, *msg
			bytes.Latency, latency.Bandwidth = 0, math.Inf(1)
			for _, part := range []struct {
				name         string
				has, without *tune.Message
			}{{"latency of messages", &latency, &bytes}, {"bytes of messages", &bytes, &latency}} {
				bounds = append(bounds, PlannedBound{Name: part.name,
					Seconds: x.messageTime(part.has),
					Saved:   *t.Messages - x.messageTime(part.without)})
			}
		}
	}
	t.setBounds(bounds)
	return t
}

// setBounds stores the bounds of Compute and Messages, with their shares, starting with the bound
// that saves most. It leaves out bounds without any time.
func (t *PlannedTime) setBounds(bounds []PlannedBound) {
	all := *t.Compute
	if t.Messages != nil {
		all += *t.Messages
	}
	for _, b := range bounds {
		if b.Seconds <= 0 {
			continue
		}
		b.Share = b.Saved / all
		t.Bounds = append(t.Bounds, b)
	}
	slices.SortStableFunc(t.Bounds, func(a, b PlannedBound) int { return cmp.Compare(b.Saved, a.Saved) })
}

// shares returns the share of the work of the rank with the most work, and the mean share of the
// ranks.
func (x *planner) shares(cost *exec.Cost) (busiest, mean float64) {
	parts := cost.Steps
	if x.largest >= 0 && x.forecast.tensors[x.largest].Sparse() {
		parts = cost.Read[x.largest]
	}
	all := int64(0)
	for _, n := range parts {
		all += n
	}
	if all == 0 {
		return 1, 1
	}
	busiest = min(float64(slices.Max(parts))/float64(all), 1)
	return busiest, min(1/float64(len(parts)), busiest)
}

// computeTime returns the seconds that the leaves take on a rank that does the given share of the
// work, and what this time is spent on. If together is true, all ranks share one machine; the
// result is then at least the time that the machine's threads need for the work of all ranks.
func (x *planner) computeTime(m *tune.Model, share float64, together bool) (seconds float64,
	bounds []PlannedBound) {
	for _, u := range x.forecast.units {
		leaf, threads := x.forecast.leaf(u), x.forecast.k.Reader.Env.Threads
		one := leaf.Scaled(share)
		s, parts := m.Seconds(one, threads), m.Bounds(one, threads)
		if together && x.forecast.p.Ranks > 1 {
			threads = min(x.forecast.p.Ranks*threads, max(m.Threads, threads))
			if all := m.Seconds(leaf, threads); all > s {
				s, parts = all, m.Bounds(leaf, threads)
			}
		}
		seconds += s
		for n, b := range parts {
			if len(bounds) < len(parts) {
				bounds = append(bounds, PlannedBound{Name: b.Name})
			}
			bounds[n].Seconds += b.Seconds
			bounds[n].Saved += b.Saved
		}
	}
	return seconds, bounds
}

// leaf describes the work of a unit in the terms of the machine model, as if one call of the unit
// worked on the whole tensors.
func (x *Forecast) leaf(u *codegen.Unit) (l tune.Leaf) {
	at := workload.Extents{Counts: make([][]int64, len(u.Args)),
		Segments: make([][]workload.Segments, len(u.Args)),
		Size:     func(v string) int64 { return x.k.Reader.Sizes.Vars[v] }}
	args := make([]*estimate.Tensor, len(u.Args))
	values := make([]int64, len(u.Args))
	for n, a := range u.Args {
		operand := len(x.tensors) - 1
		f := u.Result.Format
		if n > 0 {
			operand, f = x.operand(a), a.Format
		}
		if operand < 0 {
			continue
		}
		args[n] = x.tensors[operand]
		if n > 0 && a.Convert || n == 0 && u.Result.Repack {
			args[n] = x.inFormat(operand, f)
		}
		at.Counts[n] = args[n].Positions()
		for _, level := range args[n].Segments() {
			at.Segments[n] = append(at.Segments[n],
				workload.Segments{Empty: level.Empty, Longest: level.Most})
		}
		values[n] = last(at.Counts[n])
	}
	if shares := u.Result.Shares; shares > 0 && args[shares] != nil {
		values[0] = sharedValues(u, at.Counts[shares], args[0])
	}
	done := u.Workload.Operations(at)
	l.Serial, l.Joined = done.Serial, done.Joined
	l.Single = slices.Contains([]tensor.Type{tensor.Int32, tensor.Float32, tensor.Complex64},
		x.k.Reader.ComputeType)
	multiplication, addition := 1.0, 1.0
	if x.k.Reader.ComputeType.IsComplex() { // in operations on real numbers
		multiplication, addition = 6, 2
	}
	l.Flops = multiplication*done.Multiplications + addition*done.Additions
	l.Alone = addition * math.Abs(done.Multiplications-done.Additions)
	for n, t := range args {
		if t == nil {
			continue
		}
		width := int64(t.Layout.Type.Size())
		levels := max(t.Bytes()-last(at.Counts[n])*width, 0)
		if n > 0 {
			l.Read += levels + min(estimate.Round(done.Reads[n]), values[n])*width
			continue
		}
		if l.Written = values[0] * width; u.Result.Shares < 0 && !u.Result.FixedPattern {
			l.Written += levels
		}
	}
	value := float64(u.Compute.Size())
	l.Loads, l.Enters, l.Ends, l.Steps = done.Moves.Loads*value, done.Moves.Enters, done.Moves.Ends,
		done.Moves.Steps
	l.Searches, l.Atomics, l.Taken = done.Moves.Searches, done.Moves.Atomics, done.Moves.Taken
	for _, p := range done.Moves.Picks {
		t := args[p.Arg]
		width := float64(t.Layout.Type.Size())
		if t.Sparse() {
			width += 4 // bytes of a coordinate
		}
		bytes := float64(values[p.Arg]) * width
		l.Picks = append(l.Picks,
			tune.Pick{Bytes: int64(bytes * p.Within), Count: p.Count, Run: p.Run * width, Passes: p.Passes,
				Reach: bytes * p.Reach, Written: p.Arg == 0, Lanes: p.Lanes})
	}
	for _, i := range done.Moves.Inserts {
		insert(&l, i, value, u.Result.FixedPattern)
	}
	return l
}

// operand returns the number of the operand that argument a refers to, or -1 if it is not an
// operand.
func (x *Forecast) operand(a codegen.Arg) int {
	for n, o := range x.p.Operands {
		if o.Name == a.Tensor && !a.Map {
			return n
		}
	}
	return -1
}

// sharedValues returns the number of values of a result that has the same level arrays as an
// operand. It is the number of positions of the last level that is not dense, multiplied by the
// sizes of the dense levels below it. counts[l] is the number of positions of the operand's level
// l.
func sharedValues(u *codegen.Unit, counts []int64, result *estimate.Tensor) int64 {
	f, sizes := u.Result.Format, result.LevelSizes()
	n, deep := int64(1), -1
	for l, kind := range f.Levels {
		if kind != tensor.Dense {
			deep = l
		}
	}
	if deep >= 0 && deep < len(counts) {
		n = counts[deep]
	}
	for _, size := range sizes[deep+1:] {
		n *= size
	}
	return n
}

func last(counts []int64) int64 {
	if len(counts) == 0 {
		return 1
	}
	return counts[len(counts)-1]
}

// messageTime returns the seconds that the slowest rank needs for its messages.
func (x *planner) messageTime(m *tune.Message) (seconds float64) {
	c := x.out.Comm
	for n, bytes := range c.BytesSent {
		seconds = max(seconds, float64(c.MessagesSent[n])*m.Latency+float64(
			max(bytes, c.BytesReceived[n]))/m.Bandwidth)
	}
	return seconds
}

// loadTime returns the seconds of reading the operands' files. It returns nil if an operand is
// generated, or if the model cannot predict the time of some file.
func (x *planner) loadTime(m *tune.Model) *float64 {
	seconds, seen := 0.0, map[string]bool{}
	for _, o := range x.forecast.p.Operands {
		src := x.forecast.k.Reader.Sources[o.Tensor]
		if src == nil || seen[o.Tensor] || src.Scalar != nil || src.Held() || src.In.Tensor != nil {
			continue
		}
		seen[o.Tensor] = true
		f, err := os.Stat(src.In.File)
		if err != nil || !f.Mode().IsRegular() || convert.Compressed(src.In.File) {
			return nil
		}
		switch convert.Ext(src.In.File) {
		case ".tcs":
			seconds += float64(f.Size()) / m.Files.Load
		case ".tns", ".mtx", ".ttx":
			seconds += float64(f.Size()) / m.Files.Parse
		default:
			return nil
		}
	}
	return &seconds
}

// storeTime returns the seconds of writing the outputs, or nil if the model cannot predict some of
// them.
func (x *planner) storeTime(m *tune.Model) *float64 {
	seconds := 0.0
	for _, o := range x.forecast.want.Outputs {
		if convert.Ext(o.File) != ".tcs" || convert.Compressed(o.File) {
			return nil
		}
		for _, t := range x.out.Tensors {
			if t.Name == o.Tensor {
				seconds += float64(t.Bytes) / m.Files.Store
				break
			}
		}
	}
	return &seconds
}

// Text returns a line for each phase: its name, its time, and an explanation.
func (t *PlannedTime) Text() [][3]string {
	line := func(name string, s *float64, why, unknown string) [3]string {
		if s == nil {
			return [3]string{name, "?", unknown}
		}
		return [3]string{name, Duration(*s), why}
	}
	messages := ""
	if t.Between != "" {
		messages = "between " + t.Between
	}
	return [][3]string{
		line("load", t.Load, "if the files are in the page cache",
			"only .tcs, .tns, .mtx and .ttx files have been measured"),
		line("compile", t.Compile, "0 if the cache has the leaves",
			"this target was not measured"),
		line("compute", t.Compute, "a repeated run of the leaves on the same tensors",
			"this target was not measured"),
		line("messages", t.Messages, messages, "no messages were measured"),
		line("store", t.Store, "", "only .tcs files were measured"),
	}
}

// Duration formats seconds with three significant digits.
func Duration(s float64) string {
	switch {
	case s == 0:
		return "0"
	case s < 1e-3:
		return fmt.Sprintf("%.3g us", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.3g ms", s*1e3)
	}
	return fmt.Sprintf("%.3g s", s)
}
