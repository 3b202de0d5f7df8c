package exec

import (
	"slices"
	"sync/atomic"

	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/partition"
	"distaff/spmd/transfer"
)

// CommonLeast is from how many bytes on a node spares itself, which its ranks would hold twice or
// more often, that they have the rows of a gathered operand in one array: less is copied sooner
// than they have agreed. Tests change it.
var CommonLeast atomic.Int64

func init() { CommonLeast.Store(1 << 20) }

// common is how the ranks of a node have all rows of a gathered operand in one array. Each brings
// its own rows there. Those of a rank of another node come once, as a whole, to one of the ranks
// that read rows, their carrier. Whoever has written rows tells those that read them by an empty
// message, and these tell him by another when they have, where he writes them again at the next
// run.
type common struct {
	node    []int         // by rank, a number for its node; -1 where the rank has an array of its own
	readers map[int][]int // by that number, the ranks that read rows
}

// carrier is the rank of a node to which rows of a rank of another one come.
func (x *common) carrier(node, from int) int {
	list := x.readers[node]
	return list[from%len(list)]
}

// nodes are, by rank, a number for its node, the same for ranks that can have memory in common.
// Collective.
func (r *Rank) nodes() ([]int, error) {
	if r.Nodes != nil {
		return r.Nodes, nil
	}
	nodes := make([]int, r.Comm.Size())
	if !r.Comm.OneProcess() {
		places, err := comm.Places(r.Comm)
		if err != nil {
			return nil, err
		}
		numbers := map[[2]string]int{}
		for rank, p := range places {
			key := [2]string{p.Node, p.Space}
			if _, ok := numbers[key]; !ok {
				numbers[key] = len(numbers)
			}
			nodes[rank] = numbers[key]
		}
	}
	r.Nodes = nodes
	return nodes, nil
}

// sharing is how ranks of these nodes have so many rows, of so many bytes each, in common of which
// each reads some: on a node whose ranks read them one and a half times together, where that spares
// memory that is worth it. It is nil where no node does.
func sharing(nodes []int, reads []int64, rows, row, least int64) *common {
	sum, readers := map[int]int64{}, map[int][]int{}
	for rank, n := range reads {
		if n > 0 {
			sum[nodes[rank]] += n
			readers[nodes[rank]] = append(readers[nodes[rank]], rank)
		}
	}
	x := &common{node: slices.Clone(nodes), readers: readers}
	for rank, node := range nodes {
		spared := sum[node] - rows
		if len(readers[node]) < 2 || 2*spared < rows || spared*row < least {
			x.node[rank] = -1
		}
	}
	return x.some()
}

// some is x, nil where no rank shares.
func (x *common) some() *common {
	if slices.ContainsFunc(x.node, func(node int) bool { return node >= 0 }) {
		return x
	}
	return nil
}

// share settles which ranks have the rows in common, and has those of this node have one array, of
// which g.read is this rank's tensor; nil where it is to have one of its own. Collective.
func (g *gather) share(want Rows) (err error) {
	r, like := g.r, g.r.Like[g.operand]
	rows, least := like.Dims[like.Modes[0]], CommonLeast.Load()
	if !r.Shares || r.Comm.Size() == 1 || int64(r.Comm.Size()-1)*rows*g.row < least {
		return nil
	}
	nodes, err := r.nodes()
	if err != nil {
		return err
	}
	reads := int64(len(want.List))
	if want.All {
		reads = rows
	}
	all, err := comm.Allgather(r.Comm.Uncounted(), reads)
	if err != nil {
		return err
	}
	x := sharing(nodes, all, rows, g.row, least)
	if x == nil {
		return nil
	}
	bad := int64(0)
	if me := x.node[r.Comm.Rank()]; me >= 0 {
		var list []int
		for rank, node := range x.node {
			if node == me {
				list = append(list, rank)
			}
		}
		shape := &tcs.Shape{Header: tcs.Header{Dims: like.Dims, Type: like.Type}, Kinds: like.Kinds,
			Modes: like.Modes, Counts: make([]int64, len(like.Kinds))}
		if g.read, err = transfer.Common(r.Comm, list, shape, like.Name, r.Limit,
			tagOf(g.operand)); err != nil {
			return err
		}
		if g.read == nil {
			bad = 1
		}
	}
	return g.agree(x, bad)
}

// agree leaves out the nodes of which some rank has not got the memory. Collective.
func (g *gather) agree(x *common, bad int64) error {
	c := g.r.Comm
	failed, err := comm.Allgather(c.Uncounted(), bad)
	if err != nil {
		return err
	}
	without := map[int]bool{}
	for rank, n := range failed {
		without[x.node[rank]] = without[x.node[rank]] || n > 0
	}
	for rank, node := range x.node {
		if without[node] {
			x.node[rank] = -1
		}
	}
	if x.node[c.Rank()] < 0 && g.read != nil {
		g.read.Close()
		g.read = nil
	}
	g.common = x.some()
	return nil
}

// shares tells whether a rank has the rows in common with others.
func (g *gather) shares(rank int) bool { return g.common != nil && g.common.node[rank] >= 0 }

// beside tells whether a rank has them in common with this one.
func (g *gather) beside(rank int) bool {
	return g.shares(rank) && g.common.node[rank] == g.common.node[g.r.Comm.Rank()]
}

// pieces are, by rank, the rows that each has.
func (g *gather) pieces() [][]rows {
	part := g.r.Plan.Operands[g.operand].Gathered
	cuts, out := part.Axes[0].Cuts, make([][]rows, g.r.Comm.Size())
	for b := range partition.Piece(part.Pieces()) {
		if cuts[b] < cuts[b+1] {
			owner := part.OwnerOf(b)
			out[owner] = append(out[owner], rows{piece: b, lo: cuts[b], hi: cuts[b+1]})
		}
	}
	return out
}

// route settles what is sent to whom, from what each rank asks others for.
func (g *gather) route() {
	g.from, g.to = g.asks, g.asked
	if g.common == nil {
		return
	}
	me, pieces := g.r.Comm.Rank(), g.pieces()
	if g.shares(me) {
		g.from = g.incoming(pieces)
	}
	g.to = nil
	for _, p := range g.asked {
		if !g.shares(p.rank) {
			g.to = append(g.to, p)
		}
	}
	if len(pieces[me]) == 0 {
		return
	}
	for node, readers := range g.common.readers {
		switch {
		case !g.shares(readers[0]):
		case !g.beside(readers[0]):
			g.to = append(g.to, parcel{rank: g.common.carrier(node, me), parts: pieces[me]})
		default:
			for _, rank := range g.others() {
				g.to = append(g.to, parcel{rank: rank, parts: pieces[me], inPlace: true, again: !g.home})
			}
		}
	}
}

// others are the ranks beside this one that read rows.
func (g *gather) others() (list []int) {
	for _, rank := range g.common.readers[g.common.node[g.r.Comm.Rank()]] {
		if rank != g.r.Comm.Rank() {
			list = append(list, rank)
		}
	}
	return list
}

// incoming is what comes to a rank that has the rows in common with others, if it reads some: first
// word of the rows of these ranks themselves, then, in the order in which their carriers send word
// of them, those of other nodes' ranks.
func (g *gather) incoming(pieces [][]rows) (list []parcel) {
	me := g.r.Comm.Rank()
	node := g.common.node[me]
	if !slices.Contains(g.common.readers[node], me) {
		return nil
	}
	for rank, parts := range pieces {
		if rank != me && len(parts) > 0 && g.beside(rank) {
			list = append(list, parcel{rank: rank, parts: parts, inPlace: true, again: !g.home})
		}
	}
	for rank, parts := range pieces {
		if len(parts) == 0 || g.beside(rank) {
			continue
		}
		p := parcel{rank: rank, parts: parts}
		if by := g.common.carrier(node, rank); by != me {
			p.rank, p.inPlace, p.again = by, true, true
		}
		list = append(list, p)
	}
	return list
}

// count counts what this rank reads of others' rows, and these of its, as the messages that would
// carry it: a row that lies in an array of several ranks has come to each of them.
func (g *gather) count() {
	if g.common == nil {
		return
	}
	var n comm.Counters
	for k := range g.asks {
		if g.shares(g.r.Comm.Rank()) {
			n.MessagesReceived, n.BytesReceived = n.MessagesReceived+1, n.BytesReceived+g.bytes(&g.asks[k])
		}
	}
	for k := range g.asked {
		if p := &g.asked[k]; g.shares(p.rank) {
			n.MessagesSent, n.BytesSent = n.MessagesSent+1, n.BytesSent+g.bytes(p)
		}
	}
	g.r.Comm.Count(n)
}

// carry waits for rows that come to this rank for all of its node, beside what the rank does, and
// tells those that read them.
func (g *gather) carry() {
	var list []*parcel
	var requests []*comm.Request
	var came []chan error
	for k := range g.from {
		if p := &g.from[k]; g.carries(p) {
			p.came = make(chan error, 1)
			list, requests, came = append(list, p), append(requests, p.coming), append(came, p.came)
			p.coming = nil
		}
	}
	if len(list) == 0 {
		return
	}
	g.carrying.Go(func() {
		var err error
		for k, p := range list {
			if werr := requests[k].Wait(); err == nil {
				err = werr
			}
			if err == nil {
				g.unpack(p)
				err = g.tell(g.others(), tagOf(g.operand))
			}
			came[k] <- err
		}
	})
}

// carries tells whether what comes to this rank comes for all of its node.
func (g *gather) carries(p *parcel) bool { return !p.inPlace && g.shares(g.r.Comm.Rank()) }

// tell sends each of some ranks an empty message.
func (g *gather) tell(ranks []int, tag int) error {
	for _, rank := range ranks {
		if err := comm.Send(g.r.Comm.Uncounted(), []byte{}, rank, tag); err != nil {
			return err
		}
	}
	return nil
}

// taken tells those who write rows again that this rank has read them, and waits until the others
// have read those that it writes.
func (g *gather) taken() error {
	var writers, readers []int
	for k := range g.from {
		switch p := &g.from[k]; {
		case g.carries(p):
			readers = append(readers, g.others()...)
		case p.again:
			writers = append(writers, p.rank)
		}
	}
	for k := range g.to {
		if p := &g.to[k]; p.again {
			readers = append(readers, p.rank)
		}
	}
	if err := g.tell(writers, tagOf(g.operand)+1); err != nil {
		return err
	}
	for _, rank := range readers {
		if err := comm.Recv(g.r.Comm.Uncounted(), []byte{}, rank, tagOf(g.operand)+1); err != nil {
			return err
		}
	}
	return nil
}
