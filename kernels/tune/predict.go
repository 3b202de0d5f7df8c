package tune

import (
	"cmp"
	"math"
	"slices"
)

// Leaf describes the work of a leaf in the quantities that determine its time.
type Leaf struct {
	Work
	Alone float64 // operations that are not one half of a multiply-add
	// bytes that innermost loops load and store; a value that is loaded twice counts twice
	Loads  float64
	Picks  []Pick
	Enters float64 // number of times that a loop over a segment is entered
	// loop ends and turns of intersections whose branches the processor cannot predict
	Ends float64
	// steps of loops that traverse several operands together, summed over the operands
	Steps float64
	Found float64 // entries that are read at scattered places of workspaces
	// Searches counts the steps of binary searches. Atomics counts atomic additions to places that
	// other threads may add to. Taken counts how often a thread takes its next iterations from a
	// counter that all threads share.
	Searches, Atomics, Taken float64
	Serial                   bool // one thread does all the work
	// several threads write separate pieces, which are copied together at the end
	Joined bool
}

// Pick describes indirect reads from an array. The leaf reads whole rows of the array, and finds
// their row numbers in the data of another array.
type Pick struct {
	Bytes  int64   // size of the array
	Count  float64 // number of rows that are read
	Run    float64 // size of a row in bytes
	Passes float64 // number of passes; row numbers ascend within a pass
	Reach  float64 // largest number of bytes of the array that a pass touches
	// Written is set if a value is added to each row. Marked is set if the rows are single values,
	// and each has a mark in another array.
	Written, Marked bool
	Lanes           bool // one instruction reads several values
	Phase           int  // picks of the same phase alternate, so their arrays share the caches
}

// Scaled returns the description of the given share of the work. The arrays keep their sizes.
func (l Leaf) Scaled(share float64) Leaf {
	l.Read = int64(float64(l.Read) * share)
	l.Written = int64(float64(l.Written) * share)
	for _, x := range []*float64{&l.Flops, &l.Alone, &l.Loads, &l.Enters, &l.Ends, &l.Steps,
		&l.Found, &l.Searches, &l.Atomics, &l.Taken} {
		*x *= share
	}
	l.Picks = append([]Pick(nil), l.Picks...)
	for n := range l.Picks {
		l.Picks[n].Count *= share
		l.Picks[n].Passes = math.Max(l.Picks[n].Passes*share, 1)
	}
	return l
}

// Line is the size of a cache line in bytes.
const Line = 64

// Seconds predicts the time of a leaf on the given number of threads. It assumes that the leaf ran
// before, and that its data are in the caches where the earlier run left them.
//
// The time of a leaf is the larger of two times, plus the time of the call. If there are several
// threads, the times of a parallel region and of taking iterations from a shared counter (Taken)
// are added as well. The first time is spent on data:
//
//   - Gathers, computation on data in the caches, and unpredictable work follow one another.
//   - Sequential reads run at the same time as all of this, because they are prefetched. Only
//     gathers in vector lanes do not overlap with sequential reads, because such gathers occupy the
//     processor's whole reorder window.
//   - Writes overlap with nothing.
//
// Unpredictable work does not overlap with gathers and computation. First, a mispredicted branch
// delays the work after it. Second, when several operands are merged, each step needs the
// coordinate that the previous step has selected, so the steps cannot overlap.
//
// The second time is spent on instructions without memory traffic: the unpredictable work, plus
// entering and leaving loops.
func (m *Model) Seconds(l Leaf, threads int) float64 { return m.spending(l, threads).total() }

// spending is the predicted time of a leaf on each resource, in seconds. The leaf uses some
// resources at the same time, so the sum is more than the time of the leaf.
type spending struct {
	reads    float64 // sequential reads
	gathers  float64 // indirect reads and writes
	lanes    float64 // the part of gathers that is done in vector lanes
	computes float64 // arithmetic, and loads from the nearest cache
	waits    float64 // mispredicted branches, dependent loads and atomic additions
	enters   float64 // entering and leaving loops
	writes   float64
	calls    float64 // the call, the parallel region and the shared counter
}

// total returns the time of the leaf. The comment of Seconds explains what overlaps.
func (s spending) total() float64 {
	data := math.Max(s.reads+s.lanes, s.gathers+s.computes+s.waits) + s.writes
	return math.Max(data, s.waits+s.enters) + s.calls
}

func (m *Model) spending(l Leaf, threads int) (s spending) {
	if l.Serial {
		threads = 1
	}
	all := l.Read + l.Written
	read := m.secondsPerByte(readOf, all, threads, threads)
	s.reads = float64(l.Read) * read
	s.writes = float64(l.Written) * m.secondsPerByte(writeOf, all, threads, threads)
	if l.Joined && threads > 1 {
		s.writes += s.writes + float64(l.Written)*read
	}
	loads := l.Loads
	for n, p := range l.Picks {
		takes := m.gatherSeconds(p, l.bytesBetween(n), threads)
		if s.gathers += takes; p.Lanes {
			s.lanes += takes
		}
		loads -= p.Count * p.Run * p.transfers() // a gathered value is loaded by its gather
	}
	rate := m.MultiplyAdds64
	if l.Single {
		rate = m.MultiplyAdds32
	}
	s.computes = math.Max((l.Flops+l.Alone)/2/rate.At(threads), loads/m.Levels[0].Read.At(threads))
	each := float64(max(threads, 1))
	s.waits = ((l.Ends+l.Found)*m.Branch + (l.Steps+l.Searches)*m.Levels[0].Dependent +
		l.Atomics*m.Atomic.One) / each
	s.enters = l.Enters * m.Segment / each
	s.calls = m.Call
	if threads > 1 { // threads take their iterations by atomic additions to one place
		s.calls += m.Region + l.Taken*m.Atomic.All
	}
	return s
}

// Bound is a resource that a leaf waits for.
type Bound struct {
	Name string
	// Seconds is the time that the leaf spends on the resource.
	Seconds float64
	// Saved is the time that the leaf would end sooner if the resource took no time. It is less
	// than Seconds if the leaf uses other resources at the same time.
	Saved float64
}

// bounds lists the resources of a leaf. of returns the time of one resource, and free sets it to 0.
var bounds = []struct {
	name string
	of   func(s *spending) float64
	free func(s *spending)
}{
	{"sequential reads", func(s *spending) float64 { return s.reads },
		func(s *spending) { s.reads = 0 }},
	{"random reads", func(s *spending) float64 { return s.gathers },
		func(s *spending) { s.gathers, s.lanes = 0, 0 }},
	{"arithmetic", func(s *spending) float64 { return s.computes },
		func(s *spending) { s.computes = 0 }},
	{"branches and searches", func(s *spending) float64 { return s.waits },
		func(s *spending) { s.waits = 0 }},
	{"loop starts", func(s *spending) float64 { return s.enters },
		func(s *spending) { s.enters = 0 }},
	{"writes", func(s *spending) float64 { return s.writes }, func(s *spending) { s.writes = 0 }},
	{"calls and threads", func(s *spending) float64 { return s.calls },
		func(s *spending) { s.calls = 0 }},
}

// Bounds splits the predicted time of a leaf on the given number of threads by resource.
func (m *Model) Bounds(l Leaf, threads int) (list []Bound) {
	s := m.spending(l, threads)
	for _, b := range bounds {
		without := s
		b.free(&without)
		list = append(list, Bound{b.name, b.of(&s), s.total() - without.total()})
	}
	return list
}

// bytesBetween returns the number of bytes that enter the caches between two reads of the same row
// of l.Picks[n]. The number is the size of this Pick's array, plus the bytes that the other Picks
// of the same Phase read in the meantime.
func (l *Leaf) bytesBetween(n int) int64 {
	p := l.Picks[n]
	bytes, moved := float64(p.Bytes), p.moved()
	for k, q := range l.Picks {
		if k != n && q.Phase == p.Phase && moved > 0 {
			bytes += math.Min(float64(q.Bytes), float64(p.Bytes)*q.moved()/moved)
		}
	}
	return int64(bytes)
}

// moved returns the number of bytes that all passes of p together bring into the caches. Each row
// counts as at least one cache line. Each pass counts as at most Reach bytes.
func (p *Pick) moved() float64 {
	return math.Min(p.Count*math.Max(p.Run, Line), p.Passes*p.Reach)
}

// gatherSeconds predicts the time of the indirect reads that p describes. interval is the number of
// bytes that enter the caches between two reads of the same row.
//
// The time of moving each row once is the smaller of two estimates. The first estimate is the time
// of random reads from an array of interval bytes. The second estimate is the time of a sequential
// read of all memory that the passes touch, plus the time of gathering the rows from the nearest
// cache. The second can be smaller if the rows are close together.
func (m *Model) gatherSeconds(p Pick, interval int64, threads int) float64 {
	gathers := p.Count * m.rowSeconds(interval, p.Run, threads)
	each := p.Count * m.rowSeconds(0, p.Run, threads)
	through := p.Passes*p.Reach*m.secondsPerByte(readOf, interval, 1, threads) + each
	seconds := math.Min(gathers, through) * p.transfers()
	if p.Written && p.transfers() == 1 {
		seconds += each // the addition finds its cache line in the nearest cache
	}
	return seconds
}

// transfers returns how often each row moves between memory and core. Rows that are only read move
// once. Rows that are written move twice if they are longer than a cache line, or if another array
// has a mark for each row (Marked). Other written rows move once.
func (p *Pick) transfers() float64 {
	if p.Written && (p.Run > Line || p.Marked) {
		return 2
	}
	return 1
}

// rowSeconds predicts the time of reading one row at a random place of an array. bytes is the size
// of the array, and width is the size of the row in bytes. If width is at most one cache line
// (Line), the time is the measured time of a single value. From Line to RowBytes it grows linearly
// to the measured time of a row of RowBytes. Further bytes are read at the sequential rate of the
// memory level that holds the array.
func (m *Model) rowSeconds(bytes int64, width float64, threads int) float64 {
	value := m.secondsPerGather(bytes, threads, func(g *Gather) Pair { return g.Values })
	if width <= Line {
		return value
	}
	row := m.secondsPerGather(bytes, threads, func(g *Gather) Pair { return g.Rows })
	more := math.Max(width-RowBytes, 0) * m.secondsPerByte(readOf, bytes, 1, threads)
	return value + (row-value)*math.Min((width-Line)/(RowBytes-Line), 1) + more
}

// secondsPerGather returns the time of one gather from an array of the given size. rate selects the
// rate of values or of rows. Between two measured sizes the time grows linearly with the logarithm
// of the size.
func (m *Model) secondsPerGather(bytes int64, threads int, rate func(*Gather) Pair) float64 {
	n, _ := slices.BinarySearchFunc(m.Gathers, bytes,
		func(g Gather, bytes int64) int { return cmp.Compare(g.Bytes, bytes) })
	at := func(n int) float64 { return 1 / rate(&m.Gathers[n]).At(threads) }
	if n == 0 {
		return at(0)
	}
	if n == len(m.Gathers) {
		return at(n - 1)
	}
	a, b := float64(m.Gathers[n-1].Bytes), float64(m.Gathers[n].Bytes)
	share := math.Log(float64(bytes)/a) / math.Log(b/a)
	return at(n-1) + share*(at(n)-at(n-1))
}
