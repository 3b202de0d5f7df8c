package stats

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"distaff/kernels/tune"
	"distaff/spmd/comm"
	"distaff/spmd/exec"
)

// Rank is what a rank tells rank 0 about itself.
type Rank struct {
	Host                     string // set by Gather
	Sent, Received, Messages int64  // payload of the last repeat
	PeakRSS                  int64
	Nonzeros                 int64 // entries of the largest operand that its steps read
	Load, Compile            float64
	Spent                    exec.Spent // in the last repeat
	Threads                  int
	Work                     tune.Work // of a run's leaves
	Estimated                bool      // the operations of Work are estimates
	Allocated                int64
	Parts                    []comm.Counters // of a job file: of each of its statements
	Compute                  []float64       // of a job file: of each run of the whole file
}

// Gather brings what every rank tells to rank 0; nil elsewhere. Collective.
func Gather(c comm.Comm, r Rank) ([]Rank, error) {
	var err error
	if r.Host, err = os.Hostname(); err != nil {
		r.Host = "unknown"
	}
	mine, err := json.Marshal(r)
	if err != nil {
		panic("BUG: stats: a rank's statistics do not marshal: " + err.Error())
	}
	counts := make([]int64, c.Size())
	if err := c.Allgather(comm.Of([]int64{int64(len(mine))}), comm.Of(counts)); err != nil {
		return nil, err
	}
	total := int64(0)
	for _, n := range counts {
		total += n
	}
	all := make([]byte, total)
	if err := c.Gatherv(comm.Of(mine), comm.Of(all), counts, 0); err != nil || c.Rank() != 0 {
		return nil, err
	}
	ranks := make([]Rank, len(counts))
	for k, n := range counts {
		if err := json.Unmarshal(all[:n], &ranks[k]); err != nil {
			panic("BUG: stats: statistics of a rank: " + err.Error())
		}
		all = all[n:]
	}
	return ranks, nil
}

// Spent says which rank spent most on each part of the last repeat.
func Spent(ranks []Rank) string {
	most := func(part func(exec.Spent) time.Duration) string {
		at := 0
		for n, r := range ranks {
			if part(r.Spent) > part(ranks[at].Spent) {
				at = n
			}
		}
		return fmt.Sprintf("%.2f ms (rank %d)", 1e3*part(ranks[at].Spent).Seconds(), at)
	}
	return "compute, last repeat, the rank that took longest: waiting for blocks " + most(
		func(s exec.Spent) time.Duration { return s.Fetch }) +
		", leaves " + most(func(s exec.Spent) time.Duration { return s.Leaf }) + ", sums of blocks " +
		most(func(s exec.Spent) time.Duration { return s.Sum })
}
