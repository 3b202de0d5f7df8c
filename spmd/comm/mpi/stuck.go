package mpi

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"distaff/spmd/comm"
)

// slowest is the lowest assumed rate of a message that makes progress, in bytes a second.
// The time limit for a wait grows with the bytes that it waits for.
const slowest = 20 << 20

// watchStuck tells rank 0 whether this rank has waited for a long time without progress. At rank 0
// it also calls judge, which ends the job if all ranks wait.
func (m *monitor) watchStuck() {
	if m.stuck < 0 {
		return
	}
	now := time.Now()
	rep := m.t.board.Report()
	if rep.Progress != m.lastProgress {
		m.lastProgress, m.progressAt = rep.Progress, now
	}
	interval := min(m.stuck/8, time.Second)
	if now.Before(m.nextReport) {
		return
	}
	m.nextReport = now.Add(interval)
	limit := m.stuck + time.Duration(float64(rep.Bytes)/slowest*float64(time.Second))
	long := rep.Waiting && rep.For >= limit && now.Sub(m.progressAt) >= limit
	switch {
	case long:
		m.reported = true
		m.send(0, control{Kind: ctlStuck, Report: &rep})
	case m.reported:
		m.reported = false
		m.send(0, control{Kind: ctlMoved})
	}
	if m.t.e.rank == 0 {
		m.judge(now, interval, long)
	}
}

// judge runs at rank 0, once in each interval. It makes the job fail if the job is stuck. The job
// is stuck if every rank has recently reported a long wait, in three intervals in a row, and some
// rank has not finished.
//
// now is the current time. long says that rank 0 itself has waited for a long time. If rank 0 has
// waited for a long time but other ranks have not, judge prints one note after some time.
func (m *monitor) judge(now time.Time, interval time.Duration, long bool) {
	for r, s := range m.reports {
		if r != 0 && now.Sub(s.at) > 4*interval+4*tick {
			delete(m.reports, r)
		}
	}
	if len(m.reports) < m.t.e.size {
		m.allStuck = 0
		if !long {
			m.longSince = now
		}
		if !m.warned && now.Sub(m.longSince) > max(m.stuck/2, 4*interval) {
			m.warned = true
			m.note("still waiting: " + m.describe() + "; the other ranks are either computing " +
				"or hanging outside communication")
		}
		return
	}
	finished := 0
	for _, s := range m.reports {
		if s.Finished {
			finished++
		}
	}
	if finished == m.t.e.size {
		return
	}
	if m.allStuck++; m.allStuck >= 3 {
		m.fail(&comm.StuckError{Reports: m.sorted()})
	}
}

func (m *monitor) sorted() []comm.Report {
	var rs []comm.Report
	for _, s := range m.reports {
		rs = append(rs, s.Report)
	}
	sort.Slice(rs, func(i, j int) bool { return rs[i].Rank < rs[j].Rank })
	return rs
}

func (m *monitor) describe() string {
	var parts []string
	for _, r := range m.sorted() {
		parts = append(parts, fmt.Sprintf("rank %d %s", r.Rank, r.Text))
	}
	return strings.Join(parts, "; ")
}
