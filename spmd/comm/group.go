package comm

import (
	"context"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"
)

// group is the Comm over any Transport.
type group struct {
	core    *core
	counted bool
}

// core is the state that a group shares with its uncounted view, which Comm.Uncounted returns.
type core struct {
	t       Transport
	link    Link
	board   *Board
	rank    int
	members []int // job-wide rank of every rank of the group
	name    string
	id      int
	first   bool // this is the job's first group
	seq     atomic.Uint32
	own     *ownState
}

// ownState is the state that all groups of one rank share: the counts of the rank's messages and
// the numbers of its groups.
type ownState struct {
	sent, received, sends, receives atomic.Int64

	mu     sync.Mutex
	groups [maxGroups / 64]uint64 // one bit for each group that the rank is in
}

const maxGroups = 512

// World returns the first group of the job, which contains all ranks, as seen by rank board.Rank.
// size is the number of ranks. The transport reads the board for its watchdog.
func World(t Transport, size int, board *Board) Comm {
	members := make([]int, size)
	for i := range members {
		members[i] = i
	}
	own := &ownState{}
	own.groups[0] = 1
	return &group{core: &core{t: t, link: t.Open(0, members), board: board, rank: board.Rank,
		members: members, name: "world", first: true, own: own}, counted: true}
}

func (g *group) Rank() int                { return g.core.rank }
func (g *group) Size() int                { return len(g.core.members) }
func (g *group) WorldRank(r int) int      { return g.core.members[r] }
func (g *group) Context() context.Context { return g.core.t.Context() }
func (g *group) Uncounted() Comm          { return &group{core: g.core} }

func (g *group) Counters() Counters {
	return Counters{BytesSent: g.core.own.sent.Load(), BytesReceived: g.core.own.received.Load(),
		MessagesSent: g.core.own.sends.Load(), MessagesReceived: g.core.own.receives.Load()}
}

func (g *group) OneProcess() bool { return g.core.t.OneProcess() }

// Count implements Comm.
func (g *group) Count(c Counters) {
	g.countSends(c.MessagesSent, c.BytesSent)
	g.countReceives(c.MessagesReceived, c.BytesReceived)
}

func (g *group) countSent(n int64) { g.countSends(min(n, 1), n) }

func (g *group) countSends(messages, bytes int64) {
	if g.counted {
		g.core.own.sends.Add(messages)
		g.core.own.sent.Add(bytes)
	}
}

func (g *group) countReceived(n int64) { g.countReceives(min(n, 1), n) }

func (g *group) countReceives(messages, bytes int64) {
	if g.counted {
		g.core.own.receives.Add(messages)
		g.core.own.received.Add(bytes)
	}
}

// Busy implements Comm.
func (g *group) Busy() func() {
	g.core.board.beginComputing()
	var once atomic.Bool
	return func() {
		if once.CompareAndSwap(false, true) {
			g.core.board.endComputing()
			g.core.board.Progress.Add(1)
		}
	}
}

// Abort implements Comm.
func (g *group) Abort(err error) error {
	err = Failure(g.core.board.Rank, g.core.board.Ranks, err)
	g.core.t.Fail(err)
	return err
}

// cancelled returns the cause of the job's failure, or nil while the job runs.
func (g *group) cancelled() error {
	ctx := g.core.t.Context()
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}

// fail returns an Error of this rank. peer is the other rank's number in the group, or -1 if there
// is none.
func (g *group) fail(op string, peer, tag int, err error) error {
	if peer >= 0 && peer < len(g.core.members) {
		peer = g.core.members[peer]
	}
	return &Error{Rank: g.core.board.Rank, Op: op, Peer: peer, Tag: tag, Err: err}
}

func (g *group) checkPeer(what string, peer int) error {
	if peer < 0 || peer >= len(g.core.members) {
		return fmt.Errorf("got the %s %d, want 0 to %d", what, peer, len(g.core.members)-1)
	}
	return nil
}

// Isend implements Comm.
func (g *group) Isend(b Buf, to, tag int) (*Request, error) { return g.message("send", b, to, tag) }

// Irecv implements Comm.
func (g *group) Irecv(b Buf, from, tag int) (*Request, error) {
	return g.message("receive", b, from, tag)
}

func (g *group) message(kind string, b Buf, peer, tag int) (*Request, error) {
	r := &Request{g: g, kind: kind, peer: peer, tag: tag}
	err := g.checkPeer("rank", peer)
	if err == nil && (tag < 0 || tag > MaxTag) {
		err = fmt.Errorf("got the tag %d, want 0 to %d", tag, MaxTag)
	}
	if err == nil {
		err = b.check()
	}
	if err != nil {
		op := "Isend"
		if kind == "receive" {
			op = "Irecv"
		}
		return nil, g.fail(op, -1, -1, fmt.Errorf("wrong use: %w", err))
	}
	if err := r.start(b, tag); err != nil {
		return nil, err
	}
	if peer != g.core.rank {
		if kind == "send" {
			g.countSent(b.Bytes())
		} else {
			r.isCounted = true
		}
	}
	return r, nil
}

// start passes the message to the link.
func (r *Request) start(b Buf, tag int) error {
	r.buf, r.size = b, b.Bytes()
	err := r.g.cancelled()
	if err == nil {
		if r.kind == "send" {
			r.op, err = r.g.core.link.Isend(b, r.peer, tag)
		} else {
			r.op, err = r.g.core.link.Irecv(b, r.peer, tag)
		}
	}
	if err != nil {
		return r.wrap(err)
	}
	r.g.core.board.Progress.Add(1)
	return nil
}

// Split implements Comm. The ranks exchange their colors, their keys and the sets of group numbers
// that they use. All new groups get the same number: the lowest that is free at every rank.
func (g *group) Split(color, key int) (Comm, error) {
	c := g.begin("Split", kindSplit, noDetail)
	const row = 2 + maxGroups/64
	mine := make([]int64, row)
	all := make([]int64, row*len(g.core.members))
	mine[0], mine[1] = int64(color), int64(key)
	g.core.own.mu.Lock()
	for i, w := range g.core.own.groups {
		mine[2+i] = int64(w)
	}
	g.core.own.mu.Unlock()
	if err := c.allgather(Of(mine), Of(all), evenCounts(len(g.core.members), row)); err != nil {
		return nil, err
	}
	var ranks []int
	var used [maxGroups / 64]uint64
	for r := range g.core.members {
		for i := range used {
			used[i] |= uint64(all[row*r+2+i])
		}
		if all[row*r] == int64(color) {
			ranks = append(ranks, r)
		}
	}
	id := 0
	for id < maxGroups && used[id/64]>>(id%64)&1 != 0 {
		id++
	}
	if most := min(maxGroups, g.core.t.Groups()); id >= most {
		return nil, g.fail(c.String(), -1, -1, fmt.Errorf(
			"%d groups are open at once; close some of them",
			most))
	}
	if color < 0 {
		return nil, nil
	}
	g.core.own.mu.Lock()
	g.core.own.groups[id/64] |= 1 << (id % 64)
	g.core.own.mu.Unlock()
	sort.SliceStable(ranks, func(a, b int) bool { return all[row*ranks[a]+1] < all[row*ranks[b]+1] })
	sub := &core{t: g.core.t, board: g.core.board, own: g.core.own, id: id,
		name: fmt.Sprintf("%s/%d", g.core.name, color), members: make([]int, len(ranks))}
	for i, r := range ranks {
		sub.members[i] = g.core.members[r]
		if r == g.core.rank {
			sub.rank = i
		}
	}
	sub.link = g.core.t.Open(id, sub.members)
	return &group{core: sub, counted: g.counted}, nil
}

// Close implements Comm. The barrier ensures that no rank reuses the group's number before all
// ranks have closed the group.
func (g *group) Close() error {
	if g.core.first || g.cancelled() != nil {
		return nil
	}
	if err := g.begin("Close", kindClose, noDetail).barrier(); err != nil {
		return err
	}
	g.core.own.mu.Lock()
	g.core.own.groups[g.core.id/64] &^= 1 << (g.core.id % 64)
	g.core.own.mu.Unlock()
	return nil
}
