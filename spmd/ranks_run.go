package spmd

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/exec"
	"distaff/spmd/plan"
)

// runEmbedded runs the job on ranks of this process.
func (j *Job) runEmbedded(ctx context.Context) (*Report, error) {
	if err := j.faults(); err != nil { // said once, before any rank starts
		return nil, err
	}
	var report *Report
	err := local.Run(ctx, max(j.Ranks, 1), func(c comm.Comm) error {
		rep, err := j.RunOn(c, c.Size(), c.Size())
		if c.Rank() == 0 {
			report = rep
		}
		return err
	})
	return report, err
}

// mostEmbedded is how many ranks one process may hold: each takes threads of the
// operating system. mostPlanned is how many a plan counts for.
const mostEmbedded, mostPlanned = 1024, 1 << 20

// faults is what is wrong with the job before any file is opened.
func (j *Job) faults() error {
	if j.Ranks > mostEmbedded {
		return commandErrorf("--ranks=%d: one process holds %d ranks at most; mpirun and srun start more, and plan counts for them", j.Ranks, mostEmbedded)
	}
	if _, err := j.parse(true); err != nil {
		return err
	}
	return j.refuse()
}

// RunOn runs the job as one rank of c; onNode of its ranks are on this machine,
// inProcess of them in this process. Every rank calls it with the same job. The report is rank 0's;
// other ranks get nil. An error of any rank is every rank's.
func (j *Job) RunOn(c comm.Comm, onNode, inProcess int) (report *Report, err error) {
	start := time.Now()
	if j.Into != nil {
		return nil, commandErrorf("a result to compute into is for a job of one rank without --split: blocks of several ranks are assembled anew")
	}
	root := c.Rank() == 0
	if !root {
		j = j.quiet()
	}
	r, err := j.prepare(c.Context(), onNode, inProcess)
	if err != nil {
		return nil, err
	}
	defer r.close()
	defer r.blameInput(&err)
	var outputs *outputs
	if root {
		if outputs, err = r.createOutputs(); err != nil {
			return nil, err
		}
		defer outputs.abort()
	}
	st := &r.report.Stats
	k, err := r.loadRanked(c)
	if err != nil {
		return nil, err
	}
	st.Phases.Load = seconds(start)
	if root {
		if err := r.checksums(); err != nil {
			return nil, err
		}
	}
	at := time.Now()
	if err := k.compile(); err != nil {
		return nil, err
	}
	if j.compileOnly {
		return nil, nil
	}
	st.Phases.Compile = seconds(at)
	blocks, err := k.computePhase()
	if err != nil {
		return nil, err
	}
	if err := r.unchanged(); err != nil {
		return nil, err
	}
	at = time.Now()
	difference, err := k.storePhase(outputs, blocks)
	if err != nil {
		return nil, err
	}
	st.Phases.Store = seconds(at)
	if err := k.stats(start); err != nil {
		return nil, err
	}
	if !root {
		return nil, nil
	}
	if err := outputs.commit(r, difference == nil); err != nil {
		return nil, err
	}
	return r.report, difference
}

// quiet is the job without what only rank 0 says.
func (j *Job) quiet() *Job {
	q := *j
	q.Note, q.Detail, q.Progress = nil, nil, nil
	return &q
}

// loadRanked goes from the job's flags to blocks at their ranks.
func (r *run) loadRanked(c comm.Comm) (*ranked, error) {
	r.ranks = c
	if err := r.openRanked(c); err != nil {
		return nil, err
	}
	if err := r.inferTypes(); err != nil {
		return nil, err
	}
	if err := r.chooseFormats(); err != nil {
		return nil, err
	}
	k, err := r.newRanked(c.Size())
	if err != nil {
		return nil, err
	}
	k.c = c
	if c.OneProcess() && r.runner != nil { // the rank's own goroutine has a thread (comm/local)
		r.runner.Close()
		r.runner = nil
	}
	return k, k.load()
}

// computePhase runs the statement warmup and repeat times and keeps the last
// result's blocks. A repeat takes as long as its slowest rank.
func (k *ranked) computePhase() (map[plan.Block]*tcs.Tensor, error) {
	r := k.r
	defer r.watchInputs()()
	repeat := max(r.job.Repeat, 1)
	var blocks map[plan.Block]*tcs.Tensor
	for n := range r.job.Warmup + repeat {
		for _, b := range blocks {
			b.Close()
		}
		if err := k.c.Uncounted().Barrier(); err != nil {
			return nil, err
		}
		k.before = k.c.Counters()
		at := time.Now()
		var err error
		if blocks, err = k.exec.Compute(); err != nil {
			return nil, err
		}
		took := []float64{seconds(at)}
		k.after = k.c.Counters()
		if err := k.c.Uncounted().Allreduce(comm.Of(took), comm.Max); err != nil {
			return nil, err
		}
		if n >= r.job.Warmup {
			r.report.Stats.Phases.Compute = append(r.report.Stats.Phases.Compute, took[0])
		}
	}
	r.arena.Reuse(false) // what stores the result wants the memory
	return blocks, nil
}

// rankStats is what a rank tells rank 0 about itself.
type rankStats struct {
	Host              string
	Sent, Recv, Msgs  int64
	Nonzeros, PeakRSS int64
	Load, Compile     float64
	Spent             exec.Spent // in the last repeat
	Allocated         int64
}

// stats gathers the statistics at rank 0. Collective.
func (k *ranked) stats(start time.Time) error {
	r := k.r
	st := &r.report.Stats
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	d := k.after.Sub(k.before)
	mine, err := json.Marshal(rankStats{host, d.BytesSent, d.BytesReceived, d.MessagesSent, k.nonzeros(), peakRSS(), st.Phases.Load, st.Phases.Compile, k.exec.Spent(), r.limit.Peak()})
	if err != nil {
		panic("BUG: spmd: a rank's statistics do not marshal: " + err.Error())
	}
	c := k.c.Uncounted()
	counts := make([]int64, c.Size())
	if err := c.Allgather(comm.Of([]int64{int64(len(mine))}), comm.Of(counts)); err != nil {
		return err
	}
	total := int64(0)
	for _, n := range counts {
		total += n
	}
	all := make([]byte, total)
	if err := c.Gatherv(comm.Of(mine), comm.Of(all), counts, 0); err != nil || c.Rank() != 0 {
		return err
	}
	r.fillStats()
	st.Compiler = k.statements[0].compiler
	st.Ranks, st.Hosts, st.Comm, st.Balance.Nonzeros, st.PeakRSS = c.Size(), nil, Comm{}, nil, nil
	r.report.Allocated = nil
	seen := map[string]bool{}
	var spent []exec.Spent
	for _, n := range counts {
		var x rankStats
		if err := json.Unmarshal(all[:n], &x); err != nil {
			return fmt.Errorf("BUG: spmd: statistics of a rank: %w", err)
		}
		all = all[n:]
		if !seen[x.Host] {
			seen[x.Host] = true
			st.Hosts = append(st.Hosts, x.Host)
		}
		st.Comm.BytesSent = append(st.Comm.BytesSent, x.Sent)
		st.Comm.BytesReceived = append(st.Comm.BytesReceived, x.Recv)
		st.Comm.MessagesSent = append(st.Comm.MessagesSent, x.Msgs)
		st.Balance.Nonzeros = append(st.Balance.Nonzeros, x.Nonzeros)
		st.PeakRSS = append(st.PeakRSS, x.PeakRSS)
		spent = append(spent, x.Spent)
		r.report.Allocated = append(r.report.Allocated, x.Allocated)
		st.Phases.Load, st.Phases.Compile = max(st.Phases.Load, x.Load), max(st.Phases.Compile, x.Compile)
	}
	r.job.detail(spentLine(spent))
	st.Phases.Total = seconds(start)
	return nil
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

// nonzeros counts the stored entries of the largest operand that this rank
// computes with: those of the blocks that live here, which its steps read.
func (k *ranked) nonzeros() int64 {
	largest := k.largest()
	if largest < 0 {
		return 0
	}
	n, used := int64(0), map[plan.Block]bool{}
	for s := range k.problem.Steps(k.c.Rank()) {
		for _, need := range s.Need {
			if t := k.exec.Own[largest][need.Block]; need.Operand == largest && !used[need.Block] && t != nil {
				used[need.Block] = true
				n += entries(t)
			}
		}
	}
	return n
}
