package tune

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"distaff/codegen/emit/c"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels"
	"distaff/kernels/cc"
)

//go:embed loops/probes.c
var probesText string

// kind says what a probe measures. The C function of the probe in loops/probes.c is called probe_
// followed by the kind.
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

// timed lists all kinds of probes.
var timed = []kind{read, write, dependent, gather, rows, multiply64, multiply32, atomic, branch,
	segment, region, call}

// probe is one measurement.
type probe struct {
	kind kind
	// index in the model's Levels, or in its Gathers for gather and rows; 0 for kinds without data
	level   int
	threads int
}

// sample is the result of a run: its time, and how many units of work it did.
type sample struct{ seconds, units float64 }

// prober runs probes and times forms.
type prober interface {
	// run repeats a probe's loop reps times.
	run(p probe, reps int64) (sample, error)
	formTimer
}

// The smallest and the largest number of random places that a gather reads.
const minRandom, maxRandom = 1 << 20, 1 << 23

// leaves holds the compiled probes and the data that they work on.
type leaves struct {
	ctx     context.Context
	begun   time.Time
	arena   *kernels.Arena
	runner  *kernels.Runner
	sets    []set
	gathers []Gather  // of the model, without rates
	found   []float64 // the result of a probe: seconds, units, and a check value

	library             *kernels.Library
	leaf                map[string]kernels.Leaf
	data, links, random *tcs.Tensor
	touched             Pair        // bytes per second
	compiling           float64     // seconds
	formed              *formLeaves // nil until makeForms
}

// set describes the part of leaves.data and leaves.links that the probes of one memory level use.
// It starts at the first element of data.
type set struct {
	one, all   int64 // numbers of elements for one thread, and for all threads together
	from, upTo int64 // range in the links
}

// powerOfTwo returns the largest power of two that does not exceed n, and at least 1.
func powerOfTwo(n int64) int64 {
	p := int64(1)
	for 2*p <= n {
		p *= 2
	}
	return p
}

// newLeaves compiles the probes and makes their arrays. For each cache level of m, the probes use a
// part of the arrays that fits into that cache. To measure main memory, they use an array of the
// given number of bytes.
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

// compile compiles and opens the leaves of all probes.
func (l *leaves) compile(cfg cc.Config) error {
	cfg.Internal, cfg.Cache = true, "" // the time of compilation is measured too
	b, err := cc.New(cfg)
	if err != nil {
		return err
	}
	begun := time.Now()
	o, err := b.Build(l.ctx, cc.Source{Text: c.Header() + probesText,
		Label: "measures the machine"})
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
		f, err := l.library.Leaf("probe_"+name, nil)
		if err != nil {
			return err
		}
		l.leaf[name] = f
	}
	return nil
}

// minData and maxData limit the size, in bytes, of the array with which main memory is measured.
// The size is four times the size of the last-level caches (lastCache). It is at least minData. It
// is at most maxData, because filling a larger array takes too long. But it is at least twice the
// size of the last-level caches, even if that exceeds maxData.
const minData, maxData = 64 << 20, 512 << 20

// dataBytes returns the size, in bytes, of the array that is used to measure main memory. memory is
// the number of bytes that all probes together may allocate, or 0 for no limit. dataBytes returns
// an error if the limit is too small for all arrays of the probes. The probes need an array that is
// larger than the caches, an array of links to measure latency, and an array of random numbers.
func dataBytes(m *Model, memory int64) (int64, error) {
	last := m.lastCache()
	want := max(min(4*last, maxData), 2*last, minData)
	if need := 3*want + 4*maxRandom; memory > 0 && memory < need {
		return 0, &tcs.Error{Exit: 5, Msg: fmt.Sprintf(
			"measuring this machine needs %s of memory, but this process may use only %s",
			tensor.Bytes(need), tensor.Bytes(memory))}
	}
	return want, nil
}

// lastCache returns the bytes that the last-level caches of all threads hold together.
func (m *Model) lastCache() int64 {
	if len(m.Levels) < 2 {
		return 0
	}
	l := &m.Levels[len(m.Levels)-2]
	return l.Bytes * l.caches(m.Threads)
}

// makeData allocates and fills the arrays that are used to measure the memory levels. bytes is the
// size of the array for main memory.
func (l *leaves) makeData(m *Model, bytes int64) error {
	l.sets, l.gathers = makeSets(m, bytes/8), m.Gathers
	linked := l.sets[len(l.sets)-1].upTo
	random := min(max(powerOfTwo(m.lastCache()/32), minRandom), maxRandom)
	var err error
	if l.random, err = l.array(random, tensor.Int32, 4); err != nil {
		return err
	}
	if l.links, err = l.array(linked, tensor.Int64, 8); err != nil {
		return err
	}
	if l.data, err = l.array(bytes/8, tensor.Float64, 8); err != nil {
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

// minGathered is the size of the smallest array that is gathered from. It fits every L1 cache.
const minGathered = 16 << 10

// gathers returns the gathers to measure, one for each array size that is a power of two from
// minGathered to the given number of bytes. A gather is a read from a random place of an array. The
// rates are not set yet.
func gathers(bytes int64) (list []Gather) {
	for n := int64(minGathered); n <= max(bytes, minGathered); n *= 2 {
		list = append(list, Gather{Bytes: n})
	}
	return list
}

// makeSets chooses the elements with which each memory level is measured. elements is the number of
// elements that main memory is measured with. The elements for a cache fill half of the cache. If
// half of the cache is less than twice the next inner cache, they fill twice the next inner cache,
// but at most three quarters of the cache.
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

// array returns a tensor of n uninitialized values.
func (l *leaves) array(n int64, typ tensor.Type, width uint8) (*tcs.Tensor, error) {
	mem, err := l.arena.Alloc(n*int64(width), "the data that are measured with")
	if err != nil {
		return nil, err
	}
	t := &tcs.Tensor{Header: tcs.Header{Type: typ}, Vals: mem.Array(0, n, width)}
	t.Hold(mem)
	return t, mem.Release()
}

// touch writes to the elements of t, whose memory has not been used before, and returns the rate in
// bytes per second. The rate includes the time of the page faults.
func (l *leaves) touch(t *tcs.Tensor, threads int) (float64, error) {
	if err := l.calls(string(write), threads, t, nil, [2]int64{0, t.Vals.Len}, 1); err != nil {
		return 0, err
	}
	return l.found[1] / l.found[0], nil
}

// calls runs a probe's leaf on a range of elements of data, reps times. The result is in l.found.
func (l *leaves) calls(name string, threads int, data, random *tcs.Tensor, elements [2]int64,
	reps int64) error {
	args := []*tcs.Tensor{data, {Header: tcs.Header{Type: tensor.Float64}, Vals: tcs.Of(l.found)}}
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
