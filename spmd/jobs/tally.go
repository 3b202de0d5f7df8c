package jobs

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"distaff/codegen/jobfile"
	"distaff/io/tensor"
	"distaff/spmd/stats"
)

// tally holds the numbers that Plan counts.
type tally map[count]int64

// count is the key of one number of a tally: the item, the meaning of the number, and the tensor or
// the route that it concerns.
type count struct {
	item     jobfile.Item
	what     quantity
	tensor   string      // the tensor that moves; "" for the traffic of the computation itself
	comm     *stats.Comm // for carries: the traffic of one time
	from, to int         // for route: the sender and the receiver
}

// quantity says what a number in a tally counts.
type quantity byte

const (
	runs    quantity = iota // how many times the item runs
	carries                 // how many times the traffic in count.comm occurs
	times                   // how many times the tensor moves
	inexact                 // not 0 if the counts of the tensor are estimates
	route                   // the bytes that go from count.from to count.to
)

// add adds n times the numbers of o to t.
func (t tally) add(o tally, n int64) {
	for k, v := range o {
		t[k] = tensor.Plus(t[k], tensor.Times(n, v))
	}
}

// travel counts one more transfer by an item that causes the traffic c. name is the tensor that is
// moved, or "" if the traffic is part of the computation.
func (t tally) travel(it jobfile.Item, name string, c *stats.Comm) {
	t[count{item: it, what: carries, tensor: name, comm: c}]++
}

// route counts bytes of tensor name that rank sender sends to rank receiver. Senders from maxRouted
// on are counted together, as Others. Bytes to receivers from maxRouted on are not counted.
func (t tally) route(it jobfile.Item, name string, sender, receiver int, bytes int64) {
	if sender >= maxRouted {
		sender = Others
	}
	if receiver < maxRouted && sender != receiver && bytes > 0 {
		k := count{item: it, what: route, tensor: name, from: sender, to: receiver}
		t[k] = tensor.Plus(t[k], bytes)
	}
}

// report returns the plan of the whole file.
func (x *follower) report() *Planned {
	out := &Planned{AtMost: x.atMost, Estimated: x.differ, Comm: *newComm(x.ranks)}
	items := map[jobfile.Item]int{}
	eachMove(x.names.f.Items, func(it jobfile.Item) {
		items[it] = len(out.Items)
		file, line := x.names.fileLine(it)
		p := PlannedItem{File: file, Line: line, Runs: x.tally[count{item: it, what: runs}],
			Moves: []PlannedTransfer{}, Comm: *newComm(x.ranks)}
		switch it := it.(type) {
		case *jobfile.Statement:
			p.Text = it.Text
			for _, adds := range []bool{false, true} { // the last existing variant wins
				if k := x.variants[variant{it, adds}]; k != nil {
					p.Plan = k.plan
					out.Estimated = out.Estimated || k.plan.Estimated
				}
			}
		case *jobfile.Linalg:
			p.Text, p.Memory = it.String(), x.memory[it]
		case *jobfile.Place:
			p.Text = "place " + it.Name + " " + it.Placement.Placement.String()
		}
		out.Items = append(out.Items, p)
	})
	for c, n := range x.tally {
		k, ok := items[c.item]
		if !ok {
			continue
		}
		if c.what == carries {
			addTo(&out.Comm, c.comm, n)
			addTo(&out.Items[k].Comm, c.comm, n)
		}
		if c.tensor != "" {
			out.Items[k].transfer(c, n)
		}
	}
	out.Saturated = saturated(out.Comm)
	for k := range out.Items {
		p := &out.Items[k]
		out.Saturated = out.Saturated || p.Runs == math.MaxInt64 || saturated(p.Comm)
		slices.SortFunc(p.Moves,
			func(a, b PlannedTransfer) int { return strings.Compare(a.Tensor, b.Tensor) })
		for _, m := range p.Moves {
			slices.SortFunc(m.Routes, func(a, b Route) int { return cmp.Or(a.To-b.To, a.From-b.From) })
		}
		out.Estimated = out.Estimated ||
			slices.ContainsFunc(p.Moves, func(t PlannedTransfer) bool { return !t.Exact })
	}
	return out
}

// transfer adds the number n from a tally to this item's plan. c is the key of n in the tally:
// c.tensor is the tensor that is transferred, and c.what says what n counts.
func (p *PlannedItem) transfer(c count, n int64) {
	k := slices.IndexFunc(p.Moves, func(t PlannedTransfer) bool { return t.Tensor == c.tensor })
	if k < 0 {
		k = len(p.Moves)
		p.Moves = append(p.Moves, PlannedTransfer{Tensor: c.tensor, Exact: true})
	}
	switch t := &p.Moves[k]; c.what {
	case carries:
		for rank := range c.comm.BytesSent {
			tensor.Add(&t.Bytes, tensor.Times(n, c.comm.BytesSent[rank]))
			tensor.Add(&t.Messages, tensor.Times(n, c.comm.MessagesSent[rank]))
		}
	case times:
		tensor.Add(&t.Times, n)
	case inexact:
		t.Exact = false
	case route:
		t.Routes = append(t.Routes, Route{c.from, c.to, n})
	}
}

func newComm(ranks int) *stats.Comm {
	return &stats.Comm{BytesSent: make([]int64, ranks), BytesReceived: make([]int64, ranks),
		MessagesSent: make([]int64, ranks)}
}

// saturated reports whether some count is the largest number, which means "this many or more".
func saturated(c stats.Comm) bool {
	largest := func(list []int64) bool { return slices.Contains(list, math.MaxInt64) }
	return largest(c.BytesSent) || largest(c.BytesReceived) || largest(c.MessagesSent)
}

// addTo adds n times what is sent.
func addTo(to, c *stats.Comm, n int64) {
	for rank := range c.BytesSent {
		tensor.Add(&to.BytesSent[rank], tensor.Times(n, c.BytesSent[rank]))
		tensor.Add(&to.BytesReceived[rank], tensor.Times(n, c.BytesReceived[rank]))
		tensor.Add(&to.MessagesSent[rank], tensor.Times(n, c.MessagesSent[rank]))
	}
}
