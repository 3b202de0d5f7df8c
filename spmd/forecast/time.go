package forecast

import (
	"fmt"
	"math"
	"os"
	"slices"

	"distaff/codegen"
	"distaff/io/convert"
	"distaff/io/tensor"
	"distaff/kernels/tune"
	"distaff/spmd/estimate"
	"distaff/spmd/exec"
)

// PlannedTime is what the phases of a job take, in seconds of the slowest rank, by the model of the
// machine that plans. A phase that the model does not tell of is nil.
type PlannedTime struct {
	Load    *float64 `json:"load,omitempty"`    // of .tcs and text files that the system has in memory
	Compile *float64 `json:"compile,omitempty"` // where the cache has no leaf
	// Compute is the leaves, as they run again on the same tensors, without conversions of operands
	// and sums of blocks.
	Compute  *float64 `json:"compute,omitempty"`
	Messages *float64 `json:"messages,omitempty"`
	Between  string   `json:"messages_between,omitempty"` // which ranks Messages counts for
	// of .tcs files, to the folder of temporary ones
	Store *float64 `json:"store,omitempty"`
	// OtherWork is how many CPUs other work kept busy while the machine was measured, where that made
	// it look slower than it is.
	OtherWork float64 `json:"measured_beside_cpus,omitempty"`
}

// slowest are the kinds of messages, the slowest first.
var slowest = []string{tune.BetweenMachines, tune.BetweenProcesses, tune.BetweenThreads}

// time predicts the phases by a model; nil where there is none.
func (x *planner) time(m *tune.Model, cost *exec.Cost) *PlannedTime {
	if m == nil {
		return nil
	}
	t := &PlannedTime{Load: x.loadTime(m), Store: x.storeTime(m)}
	if m.Disturbed() {
		t.OtherWork = m.OtherWork
	}
	apart := 1.0 // machines
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
	if x.forecast.k.Reader.Env.Code() == codegen.CUDA || len(x.forecast.units) == 0 {
		return t
	}
	compile := m.Compile * float64(len(x.forecast.units))
	t.Compile = &compile
	compute := x.computeTime(m, cost, apart == 1)
	t.Compute = &compute
	return t
}

// computeTime is the leaves' of the rank that has most to do, or of all ranks where they share a
// machine.
func (x *planner) computeTime(m *tune.Model, cost *exec.Cost, together bool) (seconds float64) {
	parts := cost.Steps
	if x.largest >= 0 && x.forecast.tensors[x.largest].Sparse() {
		parts = cost.Read[x.largest]
	}
	all := int64(0)
	for _, n := range parts {
		all += n
	}
	share := 1.0
	if all > 0 {
		share = min(float64(slices.Max(parts))/float64(all), 1)
	}
	for _, u := range x.forecast.units {
		leaf := x.forecast.leaf(u)
		s := m.Seconds(leaf.Scaled(share), x.forecast.k.Reader.Env.Threads)
		if together && x.forecast.p.Ranks > 1 {
			s = max(s, m.Seconds(leaf,
				min(x.forecast.p.Ranks*x.forecast.k.Reader.Env.Threads,
					max(m.Threads, x.forecast.k.Reader.Env.Threads))))
		}
		seconds += s
	}
	return seconds
}

// leaf is what a unit does, on whole tensors.
func (x *Forecast) leaf(u *codegen.Unit) (l tune.Leaf) {
	at := codegen.Extents{Counts: make([][]int64, len(u.Args)),
		Segments: make([][]codegen.Segments, len(u.Args)),
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
			args[n] = x.as(operand, f)
		}
		at.Counts[n] = args[n].Positions()
		for _, level := range args[n].Segments() {
			at.Segments[n] = append(at.Segments[n],
				codegen.Segments{Empty: level.Empty, Longest: level.Most})
		}
		values[n] = last(at.Counts[n])
	}
	if shares := u.Result.Shares; shares > 0 && args[shares] != nil {
		values[0] = sharedValues(u, at.Counts[shares], args[0])
	}
	done := u.Operations(at)
	l.Serial, l.Joined = done.Serial, done.Joined
	l.Single = slices.Contains([]tensor.Type{tensor.Int32, tensor.Float32, tensor.Complex64},
		x.k.Reader.ComputeType)
	multiplication, addition := 1.0, 1.0
	if x.k.Reader.ComputeType.IsComplex() { // of real numbers
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
			width += 4 // of coordinates
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

// operand is the number of the operand that an argument is; -1 for none.
func (x *Forecast) operand(a codegen.Arg) int {
	for n, o := range x.p.Operands {
		if o.Name == a.Tensor && !a.Map {
			return n
		}
	}
	return -1
}

// sharedValues is how many values a result has whose level arrays are an operand's: for each
// position of its last compressed level, as many as the dense levels below have.
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

// messageTime is what the rank takes whose messages take longest.
func (x *planner) messageTime(m *tune.Message) (seconds float64) {
	c := x.out.Comm
	for n, bytes := range c.BytesSent {
		seconds = max(seconds, float64(c.MessagesSent[n])*m.Latency+float64(
			max(bytes, c.BytesReceived[n]))/m.Bandwidth)
	}
	return seconds
}

// loadTime is what reading the files of the operands takes; nil where the model does not tell of
// some of them.
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

// storeTime is what writing the outputs takes; nil where the model does not tell of some of them.
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

// Text is the prediction, a line a phase: its name, its time, and what is to be known of it.
func (t *PlannedTime) Text() [][3]string {
	line := func(name string, s *float64, why, unknown string) [3]string {
		if s == nil {
			return [3]string{name, "?", unknown}
		}
		return [3]string{name, duration(*s), why}
	}
	messages := ""
	if t.Between != "" {
		messages = "between " + t.Between
	}
	return [][3]string{
		line("load", t.Load, "files that the system has in memory",
			"of files other than .tcs, .tns, .mtx and .ttx, and of generated data, nothing was measured"),
		line("compile", t.Compile, "at most: nothing where the cache has the leaves",
			"of this target nothing was measured"),
		line("compute", t.Compute, "the leaves, as they run again on the same tensors",
			"of this target nothing was measured"),
		line("messages", t.Messages, messages, "no messages were measured"),
		line("store", t.Store, "", "of files other than .tcs nothing was measured"),
	}
}

// duration prints seconds in three digits.
func duration(s float64) string {
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
