package tune

import "math"

// Leaf is what a leaf does: what a prediction of its time rests on.
type Leaf struct {
	Work
	Loads float64 // bytes of values that innermost loops load and store, each as often as they do
	Picks []Pick
	Ends  float64 // of loops, which cannot be foretold
	Steps float64 // of loops that walk several operands, of each
	Found float64 // entries that are read from workspaces in which they lie scattered
}

// Pick is rows of an array of so many bytes that are read in an order which data decide.
type Pick struct {
	Bytes  int64   // of the array
	Count  float64 // rows
	Run    float64 // bytes of a row
	Passes float64 // through the array at most
	Twice  bool    // rows are written too
}

// Scaled is a share of the work, on arrays as large.
func (l Leaf) Scaled(share float64) Leaf {
	l.Read, l.Written, l.Flops = int64(float64(l.Read)*share), int64(float64(l.Written)*share), l.Flops*share
	l.Loads, l.Ends, l.Steps, l.Found = l.Loads*share, l.Ends*share, l.Steps*share, l.Found*share
	l.Picks = append([]Pick(nil), l.Picks...)
	for n := range l.Picks {
		l.Picks[n].Count *= share
		l.Picks[n].Passes = math.Max(l.Picks[n].Passes*share, 1)
	}
	return l
}

// line is the bytes of a cache line.
const line = 64

// Seconds predicts what a leaf takes on some threads, where its data lie as they do when it ran before: what moves,
// what is computed, which waits for it, and what cannot be foretold besides. Branches that were not foretold let all else
// wait, and so does a step through several operands, which begins with a coordinate that the step before it decides.
func (m *Model) Seconds(l Leaf, threads int) float64 {
	holds := m.Holds(l.Read+l.Written, threads)
	moves := float64(l.Read)/holds.Read.At(threads) + float64(l.Written)/holds.Write.At(threads)
	for _, p := range l.Picks {
		moves += m.picked(p, threads)
	}
	rate := m.MultiplyAdds64
	if l.Single {
		rate = m.MultiplyAdds32
	}
	computes := math.Max(l.Flops/2/rate.At(threads), l.Loads/m.Levels[0].Read.At(threads))
	waits := (l.Ends+l.Found)*m.Branch + l.Steps*m.Levels[0].Dependent
	regions := m.Call
	if threads > 1 {
		regions += m.Region
	}
	return moves + computes + waits/float64(max(threads, 1)) + regions
}

// picked is what rows take: the first line of each is a gather, the others follow it. Where rows lie close to each
// other, that is no more than going through the whole array. Each thread picks from all of the array, so that it lies
// in a cache of one thread or in one that they share.
func (m *Model) picked(p Pick, threads int) float64 {
	l := m.Holds(p.Bytes, 1)
	row := 1/l.Gathers.At(threads) + math.Max(p.Run-line, 0)/l.Read.At(threads)
	seconds := math.Min(p.Count*row, p.Passes*float64(p.Bytes)/l.Read.At(threads))
	if p.Twice {
		seconds *= 2
	}
	return seconds
}
