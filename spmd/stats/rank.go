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

// Rank is the statistics of one rank, which it sends to rank 0.
type Rank struct {
	Host                     string // set by Gather
	Sent, Received, Messages int64  // payload of the last repeat, or of a program so far
	PeakRSS                  int64
	Nonzeros                 int64 // entries of the largest operand that the rank's steps read
	Load, Compile            float64
	Spent                    exec.Spent // times of the last repeat
	Threads                  int
	Work                     tune.Work // work of the leaves of one run
	Estimated                bool      // the operations of Work are estimated
	Allocated                int64
	Parts                    []comm.Counters // traffic of statements, and of places in job files
	Compute                  []float64       // time of each run of a whole job file
}

// Gather returns the statistics of every rank at rank 0, and nil at other ranks. Every rank must
// call it.
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

// Spent returns a line with the longest time that any rank spent on each part of the last repeat.
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
