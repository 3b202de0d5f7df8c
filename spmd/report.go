package spmd

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/exec"
	"distaff/spmd/plan"
	"distaff/spmd/store"
)

// summarize adds the line about the result that no file was asked for. Collective.
func (r *run) summarize() error {
	for _, o := range r.job.Outputs {
		if o.Tensor == r.p.result {
			return nil
		}
	}
	name, b := r.p.result, r.resultBlocks()
	say := func(line string) { r.report.Lines = append(r.report.Lines, line) }
	if r.prepared.whole || len(b.Dims) == 0 || strings.Contains(b.Kinds, "p") { // a value; or padding, which is found in the whole
		whole, err := r.gather()
		if err != nil || whole == nil {
			return err
		}
		defer whole.Close()
		say(summary(name, whole))
		return nil
	}
	mine := adder{typ: b.Type}
	entries, err := store.Summary(r.comm, b, r.config(), mine.add)
	if err != nil {
		return err
	}
	total, err := mine.gather(r.comm.Uncounted())
	if err == nil && r.root() {
		say(summaryLine(name, b.Dims, tcs.FormatString(b.Kinds, b.Modes), b.Type, entries, total))
	}
	return err
}

// rankStats is what a rank tells rank 0 about itself.
type rankStats struct {
	Host             string
	Sent, Recv, Msgs int64
	PeakRSS          int64
	Used, Owned      []int64 // by operand: entries of the blocks here that steps read, and of all
	Load, Compile    float64
	Spent            exec.Spent // in the last repeat
	Allocated        int64
}

// gatherStatistics brings all ranks' statistics to rank 0. Collective.
func (r *run) gatherStatistics() error {
	st, d := &r.report.Stats, r.traffic
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	used, owned := r.prepared.nonzeros(r.comm.Rank())
	mine, err := json.Marshal(rankStats{host, d.BytesSent, d.BytesReceived, d.MessagesSent, peakRSS(), used, owned, st.Phases.Load, st.Phases.Compile, r.prepared.exec.Spent(), r.limit.Peak()})
	if err != nil {
		panic("BUG: spmd: a rank's statistics do not marshal: " + err.Error())
	}
	c := r.comm.Uncounted()
	counts := make([]int64, c.Size())
	if err := c.Allgather(comm.Of([]int64{int64(len(mine))}), comm.Of(counts)); err != nil {
		return err
	}
	total := int64(0)
	for _, n := range counts {
		total += n
	}
	all := make([]byte, total)
	if err := c.Gatherv(comm.Of(mine), comm.Of(all), counts, 0); err != nil || !r.root() {
		return err
	}
	ranks := make([]rankStats, len(counts))
	for k, n := range counts {
		if err := json.Unmarshal(all[:n], &ranks[k]); err != nil {
			return fmt.Errorf("BUG: spmd: statistics of a rank: %w", err)
		}
		all = all[n:]
	}
	r.fillStats(ranks)
	return nil
}

// fillStats makes the statistics of all ranks' own.
func (r *run) fillStats(ranks []rankStats) {
	st := &r.report.Stats
	st.Version, st.Argv, st.Statement = Version(), r.Argv, r.job.Statement
	if st.Argv == nil {
		st.Argv = []string{}
	}
	st.Schedule = r.scheduleText()
	st.Ranks, st.Threads, st.Target = len(ranks), r.threads, "cpu"
	st.Compiler = r.prepared.statements[0].compiler
	st.Inputs = map[string]InputStats{}
	for name, s := range r.sources {
		if s.in.File != "" && s.scalar == nil {
			st.Inputs[name] = InputStats{File: s.in.File, Checksum: s.checksum}
		}
	}
	largest := r.prepared.largestLoaded(ranks)
	seen := map[string]bool{}
	var spent []exec.Spent
	for _, x := range ranks {
		if !seen[x.Host] {
			seen[x.Host] = true
			st.Hosts = append(st.Hosts, x.Host)
		}
		st.Comm.BytesSent = append(st.Comm.BytesSent, x.Sent)
		st.Comm.BytesReceived = append(st.Comm.BytesReceived, x.Recv)
		st.Comm.MessagesSent = append(st.Comm.MessagesSent, x.Msgs)
		n := int64(0)
		if largest >= 0 {
			n = x.Used[largest]
		}
		st.Balance.Nonzeros = append(st.Balance.Nonzeros, n)
		st.PeakRSS = append(st.PeakRSS, x.PeakRSS)
		spent = append(spent, x.Spent)
		r.report.Allocated = append(r.report.Allocated, x.Allocated)
		st.Phases.Load, st.Phases.Compile = max(st.Phases.Load, x.Load), max(st.Phases.Compile, x.Compile)
	}
	if !r.prepared.whole {
		r.detail(spentLine(spent))
	}
	st.Phases.Total = seconds(r.start)
}

// nonzeros counts, of each operand, the stored entries of the blocks that live at this
// rank: of those that its steps read, and of all.
func (k *prepared) nonzeros(rank int) (used, owned []int64) {
	used, owned = make([]int64, len(k.operands)), make([]int64, len(k.operands))
	counts := make([]map[plan.Block]int64, len(k.operands))
	for n, own := range k.exec.Own {
		counts[n] = map[plan.Block]int64{}
		for b, t := range own {
			counts[n][b] = entries(t)
			owned[n] += counts[n][b]
		}
	}
	for s := range k.problem.Steps(rank) {
		for _, need := range s.Need {
			used[need.Operand] += counts[need.Operand][need.Block]
			delete(counts[need.Operand], need.Block) // once
		}
	}
	return used, owned
}

// largestLoaded is the operand with most stored entries: the first of equals, but a
// sparse one before a dense one. It is -1 where there is none. What += adds to does not count.
func (k *prepared) largestLoaded(ranks []rankStats) int {
	largest, most := -1, int64(-1)
	for i, o := range k.operands {
		n := int64(0)
		for _, x := range ranks {
			n += x.Owned[i]
		}
		sparser := largest >= 0 && n == most && !k.r.formats[o.tensor].AllDense() && k.r.formats[k.operands[largest].tensor].AllDense()
		if o.tensor != k.r.p.result && (n > most || sparser) {
			largest, most = i, n
		}
	}
	return largest
}

// spentLine says which rank spent most on each part of the last repeat.
func spentLine(ranks []exec.Spent) string {
	most := func(part func(exec.Spent) time.Duration) string {
		at := 0
		for n, s := range ranks {
			if part(s) > part(ranks[at]) {
				at = n
			}
		}
		return fmt.Sprintf("%.2f ms (rank %d)", 1e3*part(ranks[at]).Seconds(), at)
	}
	return "compute, last repeat, the rank that took longest: waiting for blocks " + most(func(s exec.Spent) time.Duration { return s.Fetch }) +
		", leaves " + most(func(s exec.Spent) time.Duration { return s.Leaf }) + ", sums of blocks " + most(func(s exec.Spent) time.Duration { return s.Sum })
}
