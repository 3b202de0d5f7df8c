package messages

import (
	"math"
	"math/rand/v2"
	"reflect"
	"sync/atomic"
	"testing"

	"distaff/kernels/tune"
	_ "distaff/kernels/verified"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
)

// TestMeasure checks that ranks of one process exchange messages of both lengths until the time is
// up, and that all ranks return the same list. The clock advances by 1 ms with each call.
func TestMeasure(t *testing.T) {
	for _, ranks := range []int{1, 2, 3, 5} {
		var looks atomic.Int64
		err := local.Run(t.Context(), ranks, func(c comm.Comm) error {
			clock := func() float64 { return 1e-3 * float64(looks.Add(1)) }
			list, err := measure(c, clock)
			if err != nil {
				return err
			}
			if ranks == 1 {
				if len(list) != 0 {
					t.Errorf("one rank: got %v", list)
				}
				return nil
			}
			if len(list) != 1 || list[0].Between != tune.BetweenThreads || !(list[0].Latency > 0) ||
				!(list[0].Bandwidth > 0) {
				t.Errorf("%d ranks: got %+v", ranks, list)
			}
			all, err := comm.AllgatherValue(c, list)
			for _, other := range all {
				if !reflect.DeepEqual(other, list) {
					t.Errorf("%d ranks: ranks got %+v and %+v", ranks, list, other)
				}
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestPartners checks that partners finds the first rank of each kind.
func TestPartners(t *testing.T) {
	at := func(node string, pid int) comm.Place { return comm.Place{Node: node, PID: pid} }
	for _, c := range []struct {
		places []comm.Place
		want   []partner
	}{
		{[]comm.Place{at("a", 1)}, nil},
		{[]comm.Place{at("a", 1), at("a", 1), at("a", 1)}, []partner{{1, tune.BetweenThreads}}},
		{[]comm.Place{at("a", 1), at("a", 2), at("b", 1), at("b", 2)},
			[]partner{{1, tune.BetweenProcesses}, {2, tune.BetweenMachines}}},
		{[]comm.Place{at("a", 1), at("b", 1), at("a", 2), at("a", 1)},
			[]partner{{1, tune.BetweenMachines}, {2, tune.BetweenProcesses}, {3, tune.BetweenThreads}}},
		{[]comm.Place{{Node: "a", PID: 1, Space: "x"}, {Node: "a", PID: 1, Space: "y"}},
			[]partner{{1, tune.BetweenProcesses}}},
	} {
		if got := partners(c.places); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.places, got, c.want)
		}
	}
}

// TestLatencyAndBandwidth checks that the fitted line predicts the times that it was fitted to.
func TestLatencyAndBandwidth(t *testing.T) {
	for range 100 {
		one := math.Exp(rand.Float64()*10 - 16)
		many := one * (1 + 1000*rand.Float64())
		x := tune.Message{}
		x.Latency, x.Bandwidth = latencyAndBandwidth(one, many)
		if got := x.Seconds(8 * (longLength - shortLength)); math.Abs(got-many) > 1e-9*many {
			t.Errorf("%v and %v: got %v of a long message", one, many, got)
		}
	}
	if latency, bandwidth := latencyAndBandwidth(2, 1); latency != 2 || bandwidth != 8*longLength {
		t.Errorf("got %v and %v of a long message that was faster than a short one",
			latency, bandwidth)
	}
}
