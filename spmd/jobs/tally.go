package jobs

import (
	"cmp"
	"slices"
	"strings"

	"distaff/codegen/jobfile"
	"distaff/spmd/stats"
)

// tally counts what items do.
type tally map[count]int64

// count is one number of an item's: of a rank, or of all moves of a tensor.
type count struct {
	item   jobfile.Item
	what   what
	tensor string
	rank   int
	from   int // of a route
}

type what byte

const (
	runs what = iota
	sent
	received
	messages
	times
	inexact
	route
)

// add adds n times as much as another has counted.
func (t tally) add(o tally, n int64) {
	for k, v := range o {
		t[k] += n * v
	}
}

// travel counts the messages of an item, of a tensor that moves or, where that is "", of what it
// computes.
func (t tally) travel(it jobfile.Item, tensor string, c stats.Comm) {
	for rank := range c.BytesSent {
		for _, x := range []struct {
			what what
			n    int64
		}{{sent, c.BytesSent[rank]}, {messages, c.MessagesSent[rank]}, {received, c.BytesReceived[rank]}} {
			if x.n != 0 {
				t[count{item: it, what: x.what, tensor: tensor, rank: rank}] += x.n
			}
		}
	}
}

// route counts what goes of a tensor from one rank, or from Others, to another.
func (t tally) route(it jobfile.Item, tensor string, from, to int, bytes int64) {
	if from >= routed {
		from = Others
	}
	if to < routed && from != to && bytes > 0 {
		t[count{it, route, tensor, to, from}] += bytes
	}
}

// report is the plan of the whole file.
func (x *follower) report() *Planned {
	out := &Planned{AtMost: x.atMost, Comm: newComm(x.ranks)}
	items := map[jobfile.Item]int{}
	moving(x.f.Items, func(it jobfile.Item) {
		items[it] = len(out.Items)
		line, _ := x.f.Position(it.Span().Pos)
		p := PlannedItem{Line: line, Runs: x.tally[count{item: it, what: runs}], Moves: []PlannedTransfer{}, Comm: newComm(x.ranks)}
		switch it := it.(type) {
		case *jobfile.Statement:
			p.Text = it.Text
			for _, adds := range []bool{false, true} { // the last variant that there is
				if k := x.variants[variant{it, adds}]; k != nil {
					p.Plan = k.plan
					out.Estimated = out.Estimated || k.plan.Estimated
				}
			}
		case *jobfile.Place:
			p.Text = "place " + it.Name + " " + it.Placement.String()
		}
		out.Items = append(out.Items, p)
	})
	for c, n := range x.tally {
		k, ok := items[c.item]
		if ok && c.rank < x.ranks {
			addTo(&out.Comm, c, n)
			addTo(&out.Items[k].Comm, c, n)
		}
		if ok && c.tensor != "" {
			out.Items[k].transfer(c, n)
		}
	}
	for k := range out.Items {
		p := &out.Items[k]
		slices.SortFunc(p.Moves, func(a, b PlannedTransfer) int { return strings.Compare(a.Tensor, b.Tensor) })
		for _, m := range p.Moves {
			slices.SortFunc(m.Routes, func(a, b Route) int { return cmp.Or(a.To-b.To, a.From-b.From) })
		}
		out.Estimated = out.Estimated || slices.ContainsFunc(p.Moves, func(t PlannedTransfer) bool { return !t.Exact })
	}
	return out
}

// transfer adds a number to what moves of its tensor.
func (p *PlannedItem) transfer(c count, n int64) {
	k := slices.IndexFunc(p.Moves, func(t PlannedTransfer) bool { return t.Tensor == c.tensor })
	if k < 0 {
		k = len(p.Moves)
		p.Moves = append(p.Moves, PlannedTransfer{Tensor: c.tensor, Exact: true})
	}
	switch t := &p.Moves[k]; c.what {
	case sent:
		t.Bytes += n
	case messages:
		t.Messages += n
	case times:
		t.Times += n
	case inexact:
		t.Exact = false
	case route:
		t.Routes = append(t.Routes, Route{c.from, c.rank, n})
	}
}

func newComm(ranks int) stats.Comm {
	return stats.Comm{BytesSent: make([]int64, ranks), BytesReceived: make([]int64, ranks), MessagesSent: make([]int64, ranks)}
}

// addTo adds a number to a rank's, if it is one of those.
func addTo(to *stats.Comm, c count, n int64) {
	switch c.what {
	case sent:
		to.BytesSent[c.rank] += n
	case received:
		to.BytesReceived[c.rank] += n
	case messages:
		to.MessagesSent[c.rank] += n
	}
}
