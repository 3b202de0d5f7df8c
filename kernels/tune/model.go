package tune

import (
	"math"

	"distaff/codegen/forms"
)

// Model holds the measured figures of a machine. Rates are per second, times are in seconds.
type Model struct {
	CPU     string `json:"cpu"`     // the processor's name, as the kernel reports it
	Threads int    `json:"threads"` // the number of threads that Pair.All is measured with
	// Levels lists the caches, innermost first, and then the memory.
	Levels []Level `json:"levels"`
	// Gathers are the rates of reads at random places whose addresses are known in advance, sorted
	// by the size of the array.
	Gathers []Gather `json:"gathers"`
	// MultiplyAdds64 and MultiplyAdds32 are multiply-adds per second in vector lanes, by value
	// type.
	MultiplyAdds64 Pair `json:"multiply_adds_float64"`
	MultiplyAdds32 Pair `json:"multiply_adds_float32"`
	// FirstTouch is the rate of the first writes to fresh memory, in bytes per second. The system
	// assigns pages to the memory during these writes.
	FirstTouch Pair `json:"first_touch_bytes_per_second"`
	// Atomic is the time of one atomic addition: by one thread alone, and when all threads add to
	// one place.
	Atomic Pair    `json:"atomic_seconds"`
	Branch float64 `json:"unforeseen_branch_seconds"` // the cost of a mispredicted branch
	// one loop over a segment of one value; the processor predicts the segment's length
	Segment float64 `json:"segment_seconds"`
	// entering and leaving a parallel region of all threads; 0 on one thread
	Region float64 `json:"parallel_region_seconds"`
	Call   float64 `json:"leaf_call_seconds"`
	// Compile is the time that the C compiler takes for a leaf.
	Compile float64 `json:"compile_seconds"`
	Files   Files   `json:"files"`
	// Forms are the fastest forms of code; see forms.Measurements.
	Forms forms.Set `json:"forms"`
	// OtherWork is the average number of CPUs that other processes kept busy during the
	// measurement.
	OtherWork float64 `json:"other_work_cpus"`
	// Messages are the costs of messages between ranks. Kinds that were not measured are missing.
	Messages []Message `json:"messages"`
}

// Files holds the speed of reading and writing files whose bytes the system caches in memory.
type Files struct {
	Load  float64 `json:"load_bytes_per_second"`  // a .tcs file, including its checks
	Parse float64 `json:"parse_bytes_per_second"` // a text file, including its assembly to a tensor
	Store float64 `json:"store_bytes_per_second"` // a .tcs file
}

// Pair is a figure for one thread and for all threads together.
type Pair struct {
	One float64 `json:"one_thread"`
	All float64 `json:"all_threads"`
}

// Level is a cache or the memory.
type Level struct {
	Name   string `json:"name"`             // L1, L2 and so on, or "memory"
	Bytes  int64  `json:"bytes,omitempty"`  // size of one cache; 0 for the memory
	Shared int    `json:"shared,omitempty"` // number of CPUs that share one cache; 0 for the memory
	Read   Pair   `json:"read_bytes_per_second"`
	Write  Pair   `json:"write_bytes_per_second"`
	// Dependent is the time of a load from an address that the load before it returned.
	Dependent float64 `json:"dependent_load_seconds"`
}

// Gather holds how many values of 8 bytes, and how many rows of RowBytes, are read per second from
// random places of an array.
type Gather struct {
	Bytes  int64 `json:"bytes"` // size of the array
	Values Pair  `json:"values_per_second"`
	Rows   Pair  `json:"rows_per_second"`
}

// RowBytes is the size of a gathered row.
const RowBytes = 256

// Message is the cost of a message between two ranks. A message takes Latency + bytes / Bandwidth
// seconds.
type Message struct {
	Between   string  `json:"between"` // BetweenThreads, BetweenProcesses or BetweenMachines
	Latency   float64 `json:"latency_seconds"`
	Bandwidth float64 `json:"bytes_per_second"`
}

// The values of Message.Between.
const (
	BetweenThreads   = "ranks of a process"
	BetweenProcesses = "processes of a machine"
	BetweenMachines  = "machines"
)

// Seconds returns the time of a message of the given number of bytes.
func (m *Message) Seconds(bytes float64) float64 { return m.Latency + bytes/m.Bandwidth }

// Between returns the measured cost of a message between two ranks, or nil if it was not measured.
// pair says where the two ranks run: it is BetweenThreads, BetweenProcesses or BetweenMachines.
func (m *Model) Between(pair string) *Message {
	for n := range m.Messages {
		if m.Messages[n].Between == pair {
			return &m.Messages[n]
		}
	}
	return nil
}

// Put stores the cost of a kind of message and replaces an earlier cost of the same kind.
func (m *Model) Put(x Message) {
	if old := m.Between(x.Between); old != nil {
		*old = x
		return
	}
	m.Messages = append(m.Messages, x)
}

// At returns the rate that the given number of threads reach together. It is the rate of one thread
// times the number of threads, but at most the greater of the two measured rates.
func (p Pair) At(threads int) float64 {
	if threads <= 1 {
		return p.One
	}
	return math.Min(p.One*float64(threads), math.Max(p.All, p.One))
}

// caches returns how many caches of this level a number of threads use if they run on adjacent
// CPUs.
func (l *Level) caches(threads int) int64 {
	shared := max(l.Shared, 1)
	return int64((max(threads, 1) + shared - 1) / shared)
}

// servedFill and missedFill are sizes of data sets, as multiples of a cache's size. Up to
// servedFill, the cache serves the whole data set. From missedFill on, it serves nothing. Between
// the two, the share of misses grows linearly. The growth is gradual because outer caches choose a
// set by physical address, and the pages of a data set are at arbitrary addresses. So some sets
// overflow before the cache is full, and others still have room.
const servedFill, missedFill = 0.5, 2.5

// missShare returns the share of a data set that this level's caches do not serve. The given number
// of threads go through the data repeatedly, each through its own part.
func (l *Level) missShare(bytes int64, threads int) float64 {
	full := float64(bytes) / float64(l.Bytes*l.caches(threads))
	return min(max((full-servedFill)/(missedFill-servedFill), 0), 1)
}

// secondsPerByte returns the time per byte of a pass over a data set of the given number of bytes.
// rate selects the rate at which a memory level is read or written. threads is the number of
// threads that work on the data set together. The data set is divided among the caches of "owners"
// threads.
func (m *Model) secondsPerByte(rate func(*Level) Pair, bytes int64, owners,
	threads int) (seconds float64) {
	missed := 1.0
	for n := range m.Levels {
		l, on := &m.Levels[n], 0.0
		if n+1 < len(m.Levels) {
			on = min(missed, l.missShare(bytes, owners))
		}
		seconds += (missed - on) / rate(l).At(threads)
		missed = on
	}
	return seconds
}

func readOf(l *Level) Pair  { return l.Read }
func writeOf(l *Level) Pair { return l.Write }

// Work is the work that a computation cannot avoid: the bytes that it must access and the
// operations that it must perform.
type Work struct {
	Read, Written int64   // bytes
	Flops         float64 // multiplications and additions together
	Single        bool    // the operations are on float32 values
}

// Add adds more work on the same value type.
func (w *Work) Add(more Work) {
	w.Read += more.Read
	w.Written += more.Written
	w.Flops += more.Flops
}

// Least returns the shortest time that the given number of threads together need for the work. It
// is the time of moving the bytes between the cores and the memory levels that serve them, or the
// time of the operations, whichever is longer. It assumes that all bytes were accessed before, so
// that caches hold what fits.
func (m *Model) Least(w Work, threads int) float64 {
	all := w.Read + w.Written
	moves := float64(w.Read)*m.secondsPerByte(readOf, all, threads, threads) +
		float64(w.Written)*m.secondsPerByte(writeOf, all, threads, threads)
	rate := m.MultiplyAdds64
	if w.Single {
		rate = m.MultiplyAdds32
	}
	return math.Max(moves, w.Flops/2/rate.At(threads))
}
