package tune

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"distaff/codegen/emit/c"
	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/kernels/cc"
)

//go:embed loops/probes.c
var probesText string

// kind is what a probe does: the function of loops/probes.c is called probe_ and its name.
type kind string

const (
	read       kind = "read"
	write      kind = "write"
	dependent  kind = "dependent"
	gather     kind = "gather"
	rows       kind = "rows"
	multiply64 kind = "multiply64"
	multiply32 kind = "multiply32"
	atomic     kind = "atomic"
	branch     kind = "branch"
	segment    kind = "segment"
	region     kind = "region"
	call       kind = "call"
)

// timed are the kinds of probes.
var timed = []kind{read, write, dependent, gather, rows, multiply64, multiply32, atomic, branch,
	segment, region, call}

// probe is one measurement.
type probe struct {
	kind    kind
	level   int // of the model, or of its gathers, for those that work on data
	threads int
}

// sample is what a probe took for how much.
type sample struct{ seconds, units float64 }

// prober runs probes, and forms.
type prober interface {
	// run does a probe's loop reps times.
	run(p probe, reps int64) (sample, error)
	former
}

// random is how many random numbers a gather goes over at least, and at most.
const leastRandom, mostRandom = 1 << 20, 1 << 23

// leaves are the probes as leaves, with the data that they work on.
type leaves struct {
	ctx     context.Context
	begun   time.Time
	arena   *kernels.Arena
	runner  *kernels.Runner
	sets    []set
	gathers []Gather  // of the model, without figures
	found   []float64 // a probe's seconds, units, and check

	library             *kernels.Library
	leaf                map[string]kernels.Leaf
	data, links, random *tcs.Tensor
	touched             Pair    // bytes a second
	compiling           float64 // seconds
	formed              *formed // nil until they are made
}

// set is the data of a level: the first elements of data, and a part of the links.
type set struct {
	one, all   int64 // elements that one thread, and all threads work on
	from, upTo int64 // of the links
}

// powerOfTwo is the largest that is no more than n, and 1 at least.
func powerOfTwo(n int64) int64 {
	p := int64(1)
	for 2*p <= n {
		p *= 2
	}
	return p
}

// newLeaves compiles the probes and makes their data, for the levels of a model and so many bytes
// for memory.
func newLeaves(ctx context.Context, cfg cc.Config, m *Model, bytes int64) (*leaves, error) {
	l := &leaves{ctx: ctx, begun: time.Now(), arena: kernels.NewArena(nil),
		runner: kernels.NewRunner(), leaf: map[string]kernels.Leaf{}, found: make([]float64, 3)}
	err := l.compile(cfg)
	if err == nil {
		err = l.makeData(m, bytes)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// compile makes the leaves.
func (l *leaves) compile(cfg cc.Config) error {
	cfg.Ours, cfg.Cache = true, "" // what compiling takes is measured too
	b, err := cc.New(cfg)
	if err != nil {
		return err
	}
	begun := time.Now()
	o, err := b.Build(l.ctx, cc.Source{Text: c.Header() + probesText, Label: "measures the machine"})
	l.compiling = time.Since(begun).Seconds()
	if err != nil {
		return err
	}
	if l.library, err = kernels.Open(o); err != nil {
		return err
	}
	names := []string{"random", "link"}
	for _, k := range timed {
		names = append(names, string(k))
	}
	for _, name := range names {
		f, err := l.library.Leaf("probe_" + name)
		if err != nil {
			return err
		}
		l.leaf[name] = f
	}
	return nil
}

// Sizes of the data that stand for memory: several times what the last caches hold, as far as that
// is done in a moment.
const leastData, mostData = 64 << 20, 512 << 20

// dataBytes is how many bytes stand for memory. It fails where memory, which may be taken in all,
// has no room for as many as tell memory from caches, with links and random numbers beside them.
func dataBytes(m *Model, memory int64) (int64, error) {
	last := m.lastCache()
	want := max(min(4*last, mostData), 2*last, leastData)
	if need := 3*want + 4*mostRandom; memory > 0 && memory < need {
		return 0, &tcs.Error{Exit: 5,
			Msg: fmt.Sprintf("to measure this machine takes %s of memory, of which this process may take %s",
				tcs.Size(need), tcs.Size(memory))}
	}
	return want, nil
}

// lastCache is what the last caches of all threads hold.
func (m *Model) lastCache() int64 {
	if len(m.Levels) < 2 {
		return 0
	}
	l := &m.Levels[len(m.Levels)-2]
	return l.Bytes * l.caches(m.Threads)
}

// makeData makes and fills the data of all levels; that of memory has so many bytes.
func (l *leaves) makeData(m *Model, bytes int64) error {
	l.sets, l.gathers = makeSets(m, bytes/8), m.Gathers
	linked := l.sets[len(l.sets)-1].upTo
	random := min(max(powerOfTwo(m.lastCache()/32), leastRandom), mostRandom)
	var err error
	if l.random, err = l.array(random, tcs.Int32, 4); err != nil {
		return err
	}
	if l.links, err = l.array(linked, tcs.Int64, 8); err != nil {
		return err
	}
	if l.data, err = l.array(bytes/8, tcs.Float64, 8); err != nil {
		return err
	}
	if err := l.calls("random", 1, l.random, nil, [2]int64{0, random}, 1); err != nil {
		return err
	}
	if l.touched.One, err = l.touch(l.links, 1); err != nil {
		return err
	}
	if l.touched.All, err = l.touch(l.data, m.Threads); err != nil {
		return err
	}
	for _, s := range l.sets {
		if err := l.calls("link", 1, l.links, nil, [2]int64{s.from, s.upTo}, 1); err != nil {
			return err
		}
	}
	return nil
}

// leastGathered is the size of the smallest array that is gathered from: it lies in any L1.
const leastGathered = 16 << 10

// gathers are those of a model, without figures: of arrays of powers of two, up to so many bytes.
func gathers(bytes int64) (list []Gather) {
	for n := int64(leastGathered); n <= max(bytes, leastGathered); n *= 2 {
		list = append(list, Gather{Bytes: n})
	}
	return list
}

// makeSets says what data the probes of each level work on, of so many elements in all: of a cache
// about half, and more than the caches within it hold where it has room for that.
func makeSets(m *Model, elements int64) []set {
	var sets []set
	from, inner := int64(0), [2]int64{}
	for k := range m.Levels {
		o, s := &m.Levels[k], set{one: elements, all: elements, from: from}
		if o.Bytes > 0 {
			part := func(n, inner int64) int64 { return min(max(n/2, 2*inner), n*3/4) }
			one, all := o.Bytes/8, o.Bytes*o.caches(m.Threads)/8
			s.one, s.all = min(part(one, inner[0]), elements), min(part(all, inner[1]), elements)
			inner = [2]int64{one, all}
		}
		s.upTo = from + s.one
		from = s.upTo
		sets = append(sets, s)
	}
	return sets
}

// array is a tensor of n values, which hold anything.
func (l *leaves) array(n int64, typ tcs.Type, width uint8) (*tcs.Tensor, error) {
	mem, err := l.arena.Alloc(n*int64(width), "the data that are measured with")
	if err != nil {
		return nil, err
	}
	t := &tcs.Tensor{Header: tcs.Header{Type: typ}, Vals: mem.Array(0, n, width)}
	t.Hold(mem)
	return t, mem.Release()
}

// touch fills fresh memory and returns the bytes a second.
func (l *leaves) touch(t *tcs.Tensor, threads int) (float64, error) {
	if err := l.calls(string(write), threads, t, nil, [2]int64{0, t.Vals.Len}, 1); err != nil {
		return 0, err
	}
	return l.found[1] / l.found[0], nil
}

// calls calls a leaf on data over a range of its elements.
func (l *leaves) calls(name string, threads int, data, random *tcs.Tensor, elements [2]int64,
	reps int64) error {
	args := []*tcs.Tensor{data, {Header: tcs.Header{Type: tcs.Float64}, Vals: tcs.Of(l.found)}}
	if random != nil {
		args = append(args, random)
	}
	return l.leaf[name].Call(l.ctx, args, [][2]int64{elements, {0, reps}},
		kernels.Env{Threads: threads, Arena: l.arena, What: "a measurement of the machine",
			Runner: l.runner})
}

func (l *leaves) elapsed() float64 { return time.Since(l.begun).Seconds() }

func (l *leaves) run(p probe, reps int64) (sample, error) {
	var err error
	switch p.kind {
	case call:
		return l.runCall(reps)
	case gather, rows:
		err = l.calls(string(p.kind), p.threads, l.data, l.random,
			[2]int64{0, l.gathers[p.level].Bytes / 8}, reps)
	case dependent:
		s := l.sets[p.level]
		err = l.calls(string(p.kind), 1, l.links, nil, [2]int64{s.from, s.upTo}, reps)
	case branch:
		err = l.calls(string(p.kind), 1, l.data, l.random, [2]int64{0, 1}, reps)
	default:
		n := l.sets[p.level].one
		if p.threads > 1 {
			n = l.sets[p.level].all
		}
		err = l.calls(string(p.kind), p.threads, l.data, nil, [2]int64{0, n}, reps)
	}
	if err != nil {
		return sample{}, fmt.Errorf("measuring the machine (%s): %w", p.kind, err)
	}
	return sample{l.found[0], l.found[1]}, nil
}

// runCall times calls of a leaf that does nothing.
func (l *leaves) runCall(reps int64) (sample, error) {
	begun := time.Now()
	for range reps {
		if err := l.calls(string(call), 1, l.data, nil, [2]int64{0, 1}, 1); err != nil {
			return sample{}, err
		}
	}
	return sample{time.Since(begun).Seconds(), float64(reps)}, nil
}

func (l *leaves) close() error {
	var errs []error
	for _, f := range l.leaf {
		errs = append(errs, f.Close())
	}
	if l.library != nil {
		errs = append(errs, l.library.Close())
	}
	if l.formed != nil {
		errs = append(errs, l.formed.close())
	}
	for _, t := range []*tcs.Tensor{l.data, l.links, l.random} {
		if t != nil {
			errs = append(errs, t.Close())
		}
	}
	l.runner.Close()
	return errors.Join(errs...)
}
