// Package messages measures what messages between ranks cost: between ranks of a process, between
// processes of a machine, and between machines, as far as a job has such ranks.
package messages

import (
	"time"

	"distaff/kernels/tune"
	"distaff/spmd/comm"
)

// lengths are the elements of float64 of the messages that are timed: one, whose time is latency,
// and as many as tell the bandwidth.
const short, long = 1, 1 << 19

// span is for how long a pair of ranks sends messages of one length, in seconds.
const span = 0.05

// Measure measures messages between rank 0 and the first rank of each kind. All ranks get the
// same answer. Collective; it is to run beside nothing else.
func Measure(c comm.Comm) ([]tune.Message, error) {
	begun := time.Now()
	return measure(c, func() float64 { return time.Since(begun).Seconds() })
}

// measure is Measure by a clock of seconds.
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
			one, err := trips(c, p.rank, short, clock)
			if err != nil {
				return nil, err
			}
			many, err := trips(c, p.rank, long, clock)
			if err != nil {
				return nil, err
			}
			x.Latency, x.Bandwidth = figures(one, many)
		}
		list = append(list, x)
		if err := c.Barrier(); err != nil {
			return nil, err
		}
	}
	return list, comm.BcastValue(c, &list, 0)
}

// partner is a rank to which rank 0 sends.
type partner struct {
	rank    int
	between string
}

// partners are the first rank of each kind.
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

// figures are the latency and the bandwidth that make messages of both lengths take what they took.
func figures(one, many float64) (latency, bandwidth float64) {
	if many <= one { // bandwidth does not show
		return one, 8 * long / many
	}
	return one, 8 * (long - short) / (many - one)
}

// trips is the least time of a message of n elements between rank 0 and another: half of that of a
// message there and one back.
func trips(c comm.Comm, other, n int, clock func() float64) (float64, error) {
	data := make([]float64, n)
	best := 0.0
	// Rank 0 looks at the clock, and tells with its message whether more follow.
	for begun, more := clock(), true; more; {
		at := clock()
		if c.Rank() == 0 {
			data[0] = 1
			if at-begun >= span {
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
