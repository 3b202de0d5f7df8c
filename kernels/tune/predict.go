package tune

import (
	"cmp"
	"math"
	"slices"
)

// Leaf is what a leaf does: what a prediction of its time rests on.
type Leaf struct {
	Work
	Alone  float64 // of the operations, those that are not one half of a multiply-add
	Loads  float64 // bytes of values that innermost loops load and store, each as often as they do
	Picks  []Pick
	Enters float64 // into loops over segments
	Ends   float64 // of loops, and turns of intersections, which cannot be foretold
	Steps  float64 // of loops that walk several operands, of each
	Found  float64 // entries that are read from workspaces in which they lie scattered
	// Searches is the steps of binary searches, Atomics the atomic additions to places of any threads,
	// and Taken how often a thread takes its next iterations from what all of them share.
	Searches, Atomics, Taken float64
	Serial                   bool // one thread does all of it
	// what several threads write is in pieces, which are copied in the end
	Joined bool
}

// Pick is rows of an array of so many bytes that are read in an order which data decide.
type Pick struct {
	Bytes  int64   // of the array
	Count  float64 // rows
	Run    float64 // bytes of a row
	Passes float64 // how often the rows that are read ascend anew
	Reach  float64 // bytes that a pass goes through at most
	// Written says that rows are added to, Marked that these are values with a mark beside each, of
	// another array.
	Written, Marked bool
	Lanes           bool // several values are picked by one instruction
	Phase           int  // rows of one phase are picked in turn, and their arrays share the caches
}

// Scaled is a share of the work, on arrays as large.
func (l Leaf) Scaled(share float64) Leaf {
	l.Read, l.Written, l.Flops, l.Alone = int64(float64(l.Read)*share),
		int64(float64(l.Written)*share), l.Flops*share, l.Alone*share
	l.Loads, l.Enters, l.Ends, l.Steps, l.Found = l.Loads*share, l.Enters*share, l.Ends*share,
		l.Steps*share, l.Found*share
	l.Searches, l.Atomics, l.Taken = l.Searches*share, l.Atomics*share, l.Taken*share
	l.Picks = append([]Pick(nil), l.Picks...)
	for n := range l.Picks {
		l.Picks[n].Count *= share
		l.Picks[n].Passes = math.Max(l.Picks[n].Passes*share, 1)
	}
	return l
}

// Line is the bytes of a cache line.
const Line = 64

// Seconds predicts what a leaf takes on some threads, where its data lie as they do when it ran
// before.
//
// What is gone through is fetched ahead, beside all else but gathers in lanes, whose many
// operations fill the processor up to the end of what it looks ahead; what is written is not.
// Gathers, what is computed on what is there, and what cannot be foretold follow one another:
// branches that were not foretold let all else wait, and so does a step through several operands,
// which begins with a coordinate that the step before it decides. Entering and leaving loops takes
// instructions, not memory: where these take longer than all of it, they decide.
func (m *Model) Seconds(l Leaf, threads int) float64 {
	if l.Serial {
		threads = 1
	}
	all := l.Read + l.Written
	read, write := m.each(readOf, all, threads, threads), m.each(writeOf, all, threads, threads)
	reads, writes := float64(l.Read)*read, float64(l.Written)*write
	if l.Joined && threads > 1 {
		writes += writes + float64(l.Written)*read
	}
	picks, lanes, loads := 0.0, 0.0, l.Loads
	for n, p := range l.Picks {
		takes := m.gathering(p, l.between(n), threads)
		if picks += takes; p.Lanes {
			lanes += takes
		}
		loads -= p.Count * p.Run * p.times() // gathering is loading
	}
	rate := m.MultiplyAdds64
	if l.Single {
		rate = m.MultiplyAdds32
	}
	computes := math.Max((l.Flops+l.Alone)/2/rate.At(threads), loads/m.Levels[0].Read.At(threads))
	each := float64(max(threads, 1))
	waits := ((l.Ends+l.Found)*m.Branch + (l.Steps+l.Searches)*m.Levels[0].Dependent +
		l.Atomics*m.Atomic.One) / each
	enters := l.Enters * m.Segment / each
	regions := m.Call
	if threads > 1 { // threads take their iterations by atomic additions to one place
		regions += m.Region + l.Taken*m.Atomic.All
	}
	return math.Max(math.Max(reads+lanes, picks+computes+waits)+writes, waits+enters) + regions
}

// between is the bytes that come near between two times that one row is picked: the array of these
// rows, and of the others of the same phase as much as is picked meanwhile.
func (l *Leaf) between(n int) int64 {
	p := l.Picks[n]
	bytes, moved := float64(p.Bytes), p.moved()
	for k, q := range l.Picks {
		if k != n && q.Phase == p.Phase && moved > 0 {
			bytes += math.Min(float64(q.Bytes), float64(p.Bytes)*q.moved()/moved)
		}
	}
	return int64(bytes)
}

// moved is the bytes of the lines that come near in all passes together.
func (p *Pick) moved() float64 {
	return math.Min(p.Count*math.Max(p.Run, Line), p.Passes*p.Reach)
}

// gathering is what rows take between two picks of which so many bytes come near: as many gathers
// from an array of that size. Where rows lie close to each other, that is no more than going
// through all that they lie in, and gathering what is near then.
func (m *Model) gathering(p Pick, between int64, threads int) float64 {
	gathers, each := p.Count*m.row(between, p.Run, threads), p.Count*m.row(0, p.Run, threads)
	through := p.Passes*p.Reach*m.each(readOf, between, 1, threads) + each
	seconds := math.Min(gathers, through) * p.times()
	if p.Written && p.times() == 1 {
		seconds += each // to a line that has come by then
	}
	return seconds
}

// times is how often the rows move: those that are written and have more than a line, or a mark
// beside, take as long to go back.
func (p *Pick) times() float64 {
	if p.Written && (p.Run > Line || p.Marked) {
		return 2
	}
	return 1
}

// row is what one row of so many bytes takes, of an array of that size, between a value and a row
// of RowBytes by its lines; those behind follow at the rate of the level.
func (m *Model) row(bytes int64, run float64, threads int) float64 {
	value := m.gathered(bytes, threads, func(g *Gather) Pair { return g.Values })
	if run <= Line {
		return value
	}
	row := m.gathered(bytes, threads, func(g *Gather) Pair { return g.Rows })
	more := math.Max(run-RowBytes, 0) * m.each(readOf, bytes, 1, threads)
	return value + (row-value)*math.Min((run-Line)/(RowBytes-Line), 1) + more
}

// gathered is the seconds of one gather from an array of some bytes: between two sizes that were
// measured it grows evenly with the logarithm of the size.
func (m *Model) gathered(bytes int64, threads int, of func(*Gather) Pair) float64 {
	n, _ := slices.BinarySearchFunc(m.Gathers, bytes,
		func(g Gather, bytes int64) int { return cmp.Compare(g.Bytes, bytes) })
	at := func(n int) float64 { return 1 / of(&m.Gathers[n]).At(threads) }
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
