package tune

import (
	"math"

	"distaff/codegen/strategy"
)

// Model is what was measured of a machine. Rates are of a second, times in seconds.
type Model struct {
	CPU     string `json:"cpu"`     // as the kernel names it
	Threads int    `json:"threads"` // those of a Pair's All
	// Levels are the caches, innermost first, and the memory.
	Levels []Level `json:"levels"`
	// Gathers are what is read from arrays of ascending sizes at places that are known ahead, in any
	// order.
	Gathers []Gather `json:"gathers"`
	// MultiplyAdds are those of float64 and float32, in vector lanes.
	MultiplyAdds64 Pair `json:"multiply_adds_float64"`
	MultiplyAdds32 Pair `json:"multiply_adds_float32"`
	// Touched is the bytes a second of memory that the system has not given yet, as they are written
	// first.
	Touched Pair `json:"first_touch_bytes_per_second"`
	// Atomic is the time of one atomic addition: at one thread, and at all to one place.
	Atomic Pair    `json:"atomic_seconds"`
	Branch float64 `json:"unforeseen_branch_seconds"` // that went the other way than was foretold
	// a loop over a segment of one value, whose length is foretold
	Segment float64 `json:"segment_seconds"`
	// to enter and leave one at all threads; 0 where there is one thread
	Region float64 `json:"parallel_region_seconds"`
	Call   float64 `json:"leaf_call_seconds"`
	// Compile is the time of the C compiler for a leaf.
	Compile float64 `json:"compile_seconds"`
	Files   Files   `json:"files"`
	// Forms are those of code that are fastest: see strategy.Choices.
	Forms strategy.Forms `json:"forms"`
	// OtherWork is how many CPUs of the machine other work kept busy on average while this was
	// measured.
	OtherWork float64 `json:"other_work_cpus"`
	// Messages are those of ranks, as far as they were measured.
	Messages []Message `json:"messages"`
}

// Files is how fast files are read and written, whose bytes the system has in memory.
type Files struct {
	Load  float64 `json:"load_bytes_per_second"`  // of a .tcs file, checked
	Parse float64 `json:"parse_bytes_per_second"` // of a text file, to a tensor
	Store float64 `json:"store_bytes_per_second"` // of a .tcs file
}

// Pair is a figure at one thread, and at all threads together.
type Pair struct {
	One float64 `json:"one_thread"`
	All float64 `json:"all_threads"`
}

// Level is a cache, or the memory.
type Level struct {
	Name   string `json:"name"`             // L1, L2, ...; memory
	Bytes  int64  `json:"bytes,omitempty"`  // of one such cache; 0 for the memory
	Shared int    `json:"shared,omitempty"` // CPUs that share one; 0 for the memory
	Read   Pair   `json:"read_bytes_per_second"`
	Write  Pair   `json:"write_bytes_per_second"`
	// Dependent is the time of a load whose address the load before it gave.
	Dependent float64 `json:"dependent_load_seconds"`
}

// Gather is how often in a second values of 8 bytes, and rows of RowBytes, are read that lie
// anywhere in an array.
type Gather struct {
	Bytes  int64 `json:"bytes"` // of the array
	Values Pair  `json:"values_per_second"`
	Rows   Pair  `json:"rows_per_second"`
}

// RowBytes are those of the rows that are gathered.
const RowBytes = 256

// Message is what a message costs between two ranks: Latency + bytes / Bandwidth.
type Message struct {
	Between   string  `json:"between"` // BetweenThreads, BetweenProcesses or BetweenMachines
	Latency   float64 `json:"latency_seconds"`
	Bandwidth float64 `json:"bytes_per_second"`
}

// Between which ranks a Message is.
const (
	BetweenThreads   = "ranks of a process"
	BetweenProcesses = "processes of a machine"
	BetweenMachines  = "machines"
)

// Seconds is what a message of some bytes takes.
func (m *Message) Seconds(bytes float64) float64 { return m.Latency + bytes/m.Bandwidth }

// Between is what was measured of messages between such ranks; nil for nothing.
func (m *Model) Between(who string) *Message {
	for n := range m.Messages {
		if m.Messages[n].Between == who {
			return &m.Messages[n]
		}
	}
	return nil
}

// Put adds what was measured of messages, in place of what was known of such.
func (m *Model) Put(x Message) {
	if old := m.Between(x.Between); old != nil {
		*old = x
		return
	}
	m.Messages = append(m.Messages, x)
}

// At is the figure of a rate at some threads: it grows with each thread until it is that of all.
func (p Pair) At(threads int) float64 {
	if threads <= 1 {
		return p.One
	}
	return math.Min(p.One*float64(threads), math.Max(p.All, p.One))
}

// caches is how many of the level's caches some threads have, if they lie side by side.
func (l *Level) caches(threads int) int64 {
	shared := max(l.Shared, 1)
	return int64((max(threads, 1) + shared - 1) / shared)
}

// A level serves all of data of kept times its size, as it did when it was measured (makeSets), and
// nothing of data of lost times. Between these ever more is fetched from further away, as outer
// caches are looked up by addresses of memory: its pages lie where the system had room, so that
// some sets have more lines than they hold before the cache is full, and others room for theirs
// when it is.
const kept, lost = 0.5, 2.5

// misses is the share of data of so many bytes that the level's caches do not serve, to threads
// that go through it again and again, and of which each has its part.
func (l *Level) misses(bytes int64, threads int) float64 {
	full := float64(bytes) / float64(l.Bytes*l.caches(threads))
	return min(max((full-kept)/(lost-kept), 0), 1)
}

// each is what a byte of data of so many bytes takes, at rates of levels for some threads; beside
// is how many threads have their part of it.
func (m *Model) each(rate func(*Level) Pair, bytes int64, beside, threads int) (seconds float64) {
	missed := 1.0
	for n := range m.Levels {
		l, on := &m.Levels[n], 0.0
		if n+1 < len(m.Levels) {
			on = min(missed, l.misses(bytes, beside))
		}
		seconds += (missed - on) / rate(l).At(threads)
		missed = on
	}
	return seconds
}

func readOf(l *Level) Pair  { return l.Read }
func writeOf(l *Level) Pair { return l.Write }

// Work is what a computation has to do at least.
type Work struct {
	Read, Written int64   // bytes
	Flops         float64 // multiplications and additions
	Single        bool    // the operations are of float32
}

// Add adds more work of the same type.
func (w *Work) Add(more Work) {
	w.Read += more.Read
	w.Written += more.Written
	w.Flops += more.Flops
}

// Least is the least time that some threads together take for the work: for what moves between the
// levels that serve it and the cores, or for the operations, whichever is more. All of the bytes
// are taken to have been gone through before.
func (m *Model) Least(w Work, threads int) float64 {
	all := w.Read + w.Written
	moves := float64(w.Read)*m.each(readOf, all, threads, threads) + float64(w.Written)*m.each(writeOf,
		all, threads, threads)
	rate := m.MultiplyAdds64
	if w.Single {
		rate = m.MultiplyAdds32
	}
	return math.Max(moves, w.Flops/2/rate.At(threads))
}
