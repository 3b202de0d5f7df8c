package exec

import (
	"sort"

	"distaff/spmd/plan"
)

// gathering counts, for a Forecast, the rows of one gathered operand that ranks read from other
// ranks.
type gathering struct {
	c     *Cost
	cuts  []int64
	owner []int   // by range of rows, its owner
	row   float64 // bytes of a row
	// shares is the sum of the shares that ranks read, over the ranks that read a share of all rows
	// and not of a smaller range. ranks is the number of these ranks.
	shares float64
	ranks  int64
}

// gathered adds to c the rows of a gathered operand that each rank reads from other ranks. For each
// rank, f.Rows predicts a range of rows and the fraction of its rows that the rank reads. gathered
// assumes that the rows that are read are spread evenly over the range. If f.Rows is nil, every
// rank is assumed to read all rows.
func (f *Forecast) gathered(c *Cost, t *plan.Traffic, operand int) {
	part, all := f.Plan.Operands[operand].Gathered, f.Operands[operand](0)
	g := gathering{c: c, cuts: part.Axes[0].Cuts}
	rows := g.cuts[len(g.cuts)-1]
	g.row = float64(all.Bytes) / float64(max(rows, 1))
	own := make([]int64, len(c.ranks)) // number of rows that each rank owns
	pieces := make([]int64, len(c.ranks))
	for b := range plan.Block(part.Pieces()) {
		r := part.OwnerOf(b)
		g.owner = append(g.owner, r)
		if n := g.cuts[b+1] - g.cuts[b]; n > 0 {
			own[r] += n
			pieces[r] = 1
		}
	}
	before := make([]int64, len(c.ranks)) // bytes that were counted for other operands
	for rank := range before {
		before[rank] = c.Sent[rank] + c.Received[rank]
	}
	shares := make([]float64, len(c.ranks)) // by rank, the share that it reads of all rows
	for rank := range c.ranks {
		c.ranks[rank].needs[operand], c.Read[operand][rank] = 0, all.Entries
		among, within, share := [2]int64{0, rows}, [2]int64{0, rows}, 1.0
		if f.Rows != nil {
			among, within, share = f.Rows(t, rank, operand)
			share = min(share, 1)
		}
		held := plan.Size{Bytes: int64(g.row * float64(within[1]-within[0])), Arrays: 1}
		c.ranks[rank].incoming[operand] = arriving{held.Memory(), 1}
		if f.Watch != nil && rank < f.Detail {
			g.joinedRows(rank, among, share,
				func(bytes int64, from int) { f.Watch.Gather(operand, bytes, from, rank) })
		}
		if among != [2]int64{0, rows} {
			g.receives(rank, among, share)
			continue
		}
		shares[rank] = share
		if share > 0 {
			g.shares, g.ranks = g.shares+share, g.ranks+1
		}
		c.Received[rank] += int64(share * g.row * float64(rows-own[rank]))
	}
	for rank := range c.ranks {
		others := g.ranks
		if shares[rank] > 0 {
			others--
		}
		c.Sent[rank] += int64((g.shares - shares[rank]) * g.row * float64(own[rank]))
		c.Messages[rank] += others * pieces[rank]
	}
	for rank := range c.ranks {
		packed := plan.Size{Bytes: c.Sent[rank] + c.Received[rank] - before[rank],
			Arrays: 2 * int64(len(c.ranks))}
		c.ranks[rank].packed += packed.Memory()
	}
}

// receives adds to the cost the rows that a rank receives from other ranks. The rank reads a part
// of the rows in the range `among`; this part is the fraction `share`. The rows that are read are
// assumed to be spread evenly over the range.
func (g *gathering) receives(rank int, among [2]int64, share float64) {
	last := -1 // the sender of the previous rows
	g.foreignRows(rank, among, share, func(bytes int64, from int) {
		g.c.Received[rank] += bytes
		g.c.Sent[from] += bytes
		if from != last {
			g.c.Messages[from]++
		}
		last = from
	})
}

// foreignRows yields, for each range of rows that another rank owns, the number of bytes that the
// given rank is expected to read from the range, and the owner. The given rank reads a part of the
// rows in the range `among`; this part is the fraction `share`.
func (g *gathering) foreignRows(rank int, among [2]int64, share float64,
	yield func(bytes int64, from int)) {
	first := sort.Search(len(g.owner), func(b int) bool { return g.cuts[b+1] > among[0] })
	for b := first; b < len(g.owner) && g.cuts[b] < among[1]; b++ {
		n := min(g.cuts[b+1], among[1]) - max(g.cuts[b], among[0])
		if g.owner[b] != rank && n > 0 {
			yield(int64(share*g.row*float64(n)), g.owner[b])
		}
	}
}

// joinedRows yields the same as foreignRows, but it joins consecutive ranges that have the same
// owner, and leaves out empty ones.
func (g *gathering) joinedRows(rank int, among [2]int64, share float64,
	yield func(bytes int64, from int)) {
	at, sum := -1, int64(0)
	flush := func() {
		if sum > 0 {
			yield(sum, at)
		}
	}
	g.foreignRows(rank, among, share, func(bytes int64, from int) {
		if from != at {
			flush()
			at, sum = from, 0
		}
		sum += bytes
	})
	flush()
}
