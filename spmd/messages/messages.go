// Package messages measures the latency and bandwidth of messages between ranks. It distinguishes
// ranks of one process, processes of one machine, and different machines, and measures the kinds of
// pairs that rank 0 belongs to.
package messages

import (
	"time"

	"distaff/kernels/tune"
	"distaff/spmd/comm"
)

// shortLength and longLength are the lengths of the timed messages, in float64 elements. The time
// of a short message is the latency; the long one is long enough to measure the bandwidth.
const shortLength, longLength = 1, 1 << 19

// secondsPerLength is the time for which a pair of ranks exchanges messages of one length.
const secondsPerLength = 0.05

// Measure measures the latency and the bandwidth of messages between two ranks. There are three
// kinds of pairs of ranks: in one process, in two processes of a machine, and on two machines. For
// each kind, Measure times messages between rank 0 and the first rank that forms such a pair with
// rank 0, and returns one entry. It returns no entry for a kind without such a pair. All ranks
// return the same list. Every rank must call Measure. No other work should run at the same time,
// because it would slow the messages.
func Measure(c comm.Comm) ([]tune.Message, error) {
	begun := time.Now()
	return measure(c, func() float64 { return time.Since(begun).Seconds() })
}

// measure implements Measure. clock returns the current time in seconds.
func measure(c comm.Comm, clock func() float64) ([]tune.Message, error) {
	c = c.Uncounted()
	places, err := comm.Places(c)
	if err != nil {
		return nil, err
	}
	list := []tune.Message{}
	for _, p := range partners(places) {
		x := tune.Message{Between: p.between}
		if c.Rank() == 0 || c.Rank() == p.rank {
			one, err := leastOneWay(c, p.rank, shortLength, clock)
			if err != nil {
				return nil, err
			}
			many, err := leastOneWay(c, p.rank, longLength, clock)
			if err != nil {
				return nil, err
			}
			x.Latency, x.Bandwidth = latencyAndBandwidth(one, many)
		}
		list = append(list, x)
		if err := c.Barrier(); err != nil {
			return nil, err
		}
	}
	return list, comm.BcastValue(c, &list, 0)
}

// partner is a rank that exchanges messages with rank 0. between says where the two ranks run: it
// is tune.BetweenThreads, tune.BetweenProcesses or tune.BetweenMachines.
type partner struct {
	rank    int
	between string
}

// partners returns, for each kind of pair that rank 0 belongs to, the first rank that forms such a
// pair with rank 0. The result is in the order of ranks. places[r] is the place of rank r.
func partners(places []comm.Place) []partner {
	var list []partner
	seen := map[string]bool{}
	for rank, p := range places[1:] {
		who := tune.BetweenMachines
		switch first := places[0]; {
		case p.Node != first.Node:
		case p.Space == first.Space && p.PID == first.PID:
			who = tune.BetweenThreads
		default:
			who = tune.BetweenProcesses
		}
		if !seen[who] {
			seen[who] = true
			list = append(list, partner{rank + 1, who})
		}
	}
	return list
}

// latencyAndBandwidth computes a latency and a bandwidth from measured times in seconds. The
// parameter one is the time of a message of shortLength elements, and many is the time of a message
// of longLength elements. The latency is the time of the short message.
func latencyAndBandwidth(one, many float64) (latency, bandwidth float64) {
	if many <= one { // the latency hides the time that the bytes take
		return one, 8 * longLength / many
	}
	return one, 8 * (longLength - shortLength) / (many - one)
}

// leastOneWay returns the least time in seconds of a message of n elements between rank 0 and rank
// other. It sends messages there and back, and takes half of each round trip.
func leastOneWay(c comm.Comm, other, n int, clock func() float64) (float64, error) {
	data := make([]float64, n)
	best := 0.0
	// Rank 0 decides when to stop. The first element of its message is 0 if it is the last one.
	for begun, more := clock(), true; more; {
		at := clock()
		if c.Rank() == 0 {
			data[0] = 1
			if at-begun >= secondsPerLength {
				data[0] = 0
			}
			if err := comm.Send(c, data, other, 0); err != nil {
				return 0, err
			}
			more = data[0] > 0
			if err := comm.Recv(c, data, other, 0); err != nil {
				return 0, err
			}
		} else {
			if err := comm.Recv(c, data, 0, 0); err != nil {
				return 0, err
			}
			more = data[0] > 0
			if err := comm.Send(c, data, 0, 0); err != nil {
				return 0, err
			}
		}
		if took := (clock() - at) / 2; took > 0 && (best == 0 || took < best) {
			best = took
		}
	}
	return best, nil
}
