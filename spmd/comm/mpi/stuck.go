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

// watchStuck reports long waits of this rank to rank 0. Rank 0 ends the job if all ranks report
// one.
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

// judge decides at rank 0 whether the job is stuck, and makes the job fail if it is. The job is
// stuck if all ranks have recently reported a long wait, in three intervals in a row, and not all
// have finished. judge is called once in each interval. now is the current time, and long says that
// rank 0 itself has waited long. If rank 0 but not all ranks wait long, judge prints one note after
// some time.
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
