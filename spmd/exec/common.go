package exec

import (
	"slices"
	"sync/atomic"

	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/partition"
	"distaff/spmd/transfer"
)

// MinCommon is the smallest number of bytes that sharing one array of gathered rows must save on a
// node. If it saves less, each rank keeps a copy, because the agreement on a shared array can take
// longer than copying. Tests change it.
var MinCommon atomic.Int64

func init() { MinCommon.Store(1 << 20) }

// common describes how the ranks of a node share one array with all rows of a gathered operand.
// Each rank of the node writes its own rows to the array.
//
// A rank of another node sends all its rows to this node once. The receiver is one of the node's
// ranks that read rows. It is called the node's leader for the sender. A rank that has written rows
// to the array sends an empty message to the ranks that read the rows. If the rank will write the
// rows again in the next run, each reader sends back an empty message after reading.
type common struct {
	node    []int         // by rank, the number of its node; -1 if the rank has an array of its own
	readers map[int][]int // by number of a node, its ranks that read rows
}

// leader returns the rank that receives the rows of a sender for its whole node. node is the number
// of the receiving node, and sender is a rank of another node. The senders are spread over the
// ranks of the node, so that not one rank receives everything.
func (x *common) leader(node, sender int) int {
	list := x.readers[node]
	return list[sender%len(list)]
}

// nodes returns, by rank, the number of the rank's node. Ranks with equal numbers can share memory.
// Every rank must call it.
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

// sharing decides which nodes share an array of gathered rows. It returns nil if no node does. A
// node shares an array if at least two of its ranks read rows and two further conditions hold.
// First, the numbers of rows that its ranks read add up to at least 1.5 times the number of all
// rows. Second, sharing saves at least minSaved bytes.
//
// nodes[r] is the node of rank r, and reads[r] is the number of rows that rank r reads. rows is the
// number of all rows, and rowBytes is the size of a row in bytes.
func sharing(nodes []int, reads []int64, rows, rowBytes, minSaved int64) *common {
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
		if len(readers[node]) < 2 || 2*spared < rows || spared*rowBytes < minSaved {
			x.node[rank] = -1
		}
	}
	return x.orNil()
}

// orNil returns x, or nil if no rank shares an array.
func (x *common) orNil() *common {
	if slices.ContainsFunc(x.node, func(node int) bool { return node >= 0 }) {
		return x
	}
	return nil
}

// share determines which ranks share an array of rows. The sharing ranks of a node allocate the
// array together. Each of them sets g.read to a tensor whose values are in this array. At other
// ranks g.read stays nil. needed lists the rows that this rank reads. Every rank must call share.
func (g *gather) share(needed Rows) (err error) {
	r, like := g.r, g.r.Like[g.operand]
	rows, least := like.Layout.Dims[like.Layout.Format.Order[0]], MinCommon.Load()
	if !r.Shares || r.Comm.Size() == 1 || int64(r.Comm.Size()-1)*rows*g.row < least {
		return nil
	}
	nodes, err := r.nodes()
	if err != nil {
		return err
	}
	reads := int64(len(needed.List))
	if needed.All {
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
		shape := &tcs.Shape{Header: tcs.Header{Dims: like.Layout.Dims, Type: like.Layout.Type},
			Format: like.Layout.Format,
			Counts: make([]int64, len(like.Layout.Format.Levels))}
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

// agree makes the ranks agree on which nodes share memory. A node does not share if the allocation
// of shared memory failed at any of its ranks. bad is 1 if it failed at this rank. Every rank must
// call agree.
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
	g.common = x.orNil()
	return nil
}

// isShared reports whether a rank shares its array of rows with others.
func (g *gather) isShared(rank int) bool { return g.common != nil && g.common.node[rank] >= 0 }

// sharesWithMe reports whether a rank shares its array of rows with this rank.
func (g *gather) sharesWithMe(rank int) bool {
	return g.isShared(rank) && g.common.node[rank] == g.common.node[g.r.Comm.Rank()]
}

// pieces returns, for each rank, the rows that the rank owns. A rank's rows are a list with one
// element for each nonempty piece.
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

// route determines this rank's messages, g.to and g.from, from its requests and from the requests
// of other ranks. If ranks share an array, the messages differ from the requests.
func (g *gather) route() {
	g.from, g.to = g.asks, g.asked
	if g.common == nil {
		return
	}
	me, pieces := g.r.Comm.Rank(), g.pieces()
	if g.isShared(me) {
		g.from = g.incoming(pieces)
	}
	g.to = nil
	for _, p := range g.asked {
		if !g.isShared(p.rank) {
			g.to = append(g.to, p)
		}
	}
	if len(pieces[me]) == 0 {
		return
	}
	for node, readers := range g.common.readers {
		switch {
		case !g.isShared(readers[0]):
		case !g.sharesWithMe(readers[0]):
			g.to = append(g.to, parcel{rank: g.common.leader(node, me), parts: pieces[me]})
		default:
			for _, rank := range g.others() {
				g.to = append(g.to, parcel{rank: rank, parts: pieces[me], inPlace: true, again: !g.home})
			}
		}
	}
}

// others returns the other ranks that read rows from this rank's array.
func (g *gather) others() (list []int) {
	for _, rank := range g.common.readers[g.common.node[g.r.Comm.Rank()]] {
		if rank != g.r.Comm.Rank() {
			list = append(list, rank)
		}
	}
	return list
}

// incoming lists the messages that this rank receives if it shares an array, in the order of the
// receives. The list is empty if this rank reads no rows. pieces holds the rows that each rank
// sends.
//
// The list begins with a notification from each other rank of this node that has written rows. It
// continues with the parcels of rows from other nodes. If the leader for a parcel is another rank
// of this node, the list has a notification from the leader instead of the parcel. A leader sends
// its notifications in the same order, so each receive gets the right notification.
func (g *gather) incoming(pieces [][]rows) (list []parcel) {
	me := g.r.Comm.Rank()
	node := g.common.node[me]
	if !slices.Contains(g.common.readers[node], me) {
		return nil
	}
	for rank, parts := range pieces {
		if rank != me && len(parts) > 0 && g.sharesWithMe(rank) {
			list = append(list, parcel{rank: rank, parts: parts, inPlace: true, again: !g.home})
		}
	}
	for rank, parts := range pieces {
		if len(parts) == 0 || g.sharesWithMe(rank) {
			continue
		}
		p := parcel{rank: rank, parts: parts}
		if by := g.common.leader(node, rank); by != me {
			p.rank, p.inPlace, p.again = by, true, true
		}
		list = append(list, p)
	}
	return list
}

// count adds to the traffic counters the rows that are read from a shared array, as if they had
// been sent. The counters then do not depend on sharing.
func (g *gather) count() {
	if g.common == nil {
		return
	}
	var n comm.Counters
	for k := range g.asks {
		if g.isShared(g.r.Comm.Rank()) {
			n.MessagesReceived, n.BytesReceived = n.MessagesReceived+1, n.BytesReceived+g.bytes(&g.asks[k])
		}
	}
	for k := range g.asked {
		if p := &g.asked[k]; g.isShared(p.rank) {
			n.MessagesSent, n.BytesSent = n.MessagesSent+1, n.BytesSent+g.bytes(p)
		}
	}
	g.r.Comm.Count(n)
}

// relay starts a goroutine that waits for the rows that this rank receives on behalf of its node,
// while this rank runs its steps. The goroutine unpacks the rows and notifies the ranks that read
// them.
func (g *gather) relay() {
	var list []*parcel
	var requests []*comm.Request
	var came []chan error
	for k := range g.from {
		if p := &g.from[k]; g.isLeaderFor(p) {
			p.came = make(chan error, 1)
			list, requests, came = append(list, p), append(requests, p.coming), append(came, p.came)
			p.coming = nil
		}
	}
	if len(list) == 0 {
		return
	}
	g.relaying.Go(func() {
		var err error
		for k, p := range list {
			if werr := requests[k].Wait(); err == nil {
				err = werr
			}
			if err == nil {
				g.unpack(p)
				err = g.notify(g.others(), tagOf(g.operand))
			}
			came[k] <- err
		}
	})
}

// isLeaderFor reports whether this rank receives parcel p on behalf of its node.
func (g *gather) isLeaderFor(p *parcel) bool { return !p.inPlace && g.isShared(g.r.Comm.Rank()) }

// notify sends an empty message to each of the given ranks.
func (g *gather) notify(ranks []int, tag int) error {
	for _, rank := range ranks {
		if err := comm.Send(g.r.Comm.Uncounted(), []byte{}, rank, tag); err != nil {
			return err
		}
	}
	return nil
}

// confirmRead ensures that no rank overwrites rows of a shared array before all readers have read
// them. First, this rank tells the ranks that wrote the rows that it has read them. Then it waits
// until the other ranks have read the rows that this rank will overwrite.
func (g *gather) confirmRead() error {
	var writers, readers []int
	for k := range g.from {
		switch p := &g.from[k]; {
		case g.isLeaderFor(p):
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
	if err := g.notify(writers, tagOf(g.operand)+1); err != nil {
		return err
	}
	for _, rank := range readers {
		if err := comm.Recv(g.r.Comm.Uncounted(), []byte{}, rank, tagOf(g.operand)+1); err != nil {
			return err
		}
	}
	return nil
}
