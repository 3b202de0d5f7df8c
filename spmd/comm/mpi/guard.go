package mpi

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"distaff/spmd/comm"
)

// Most launchers end a job when one of its processes dies; srun, unless told
// otherwise, waits on. So every rank holds the process of the next rank on its
// node, whose end the system tells at once, and the first ranks of the nodes send
// each other signs of life in a ring: those are let be missing for long, because a
// machine may stand still and go on.
const (
	beat    = time.Second
	silence = 30 * time.Second
)

// guard is what one rank watches.
type guard struct {
	on   bool
	peer int // on this node, and its process; nil fd for none
	fd   *int
	dead time.Time // when it was seen dead

	hears, tells int // first ranks of the next and the last node, -1 for none
	heard, next  time.Time
	limit        time.Duration
}

// apart is set by tests: every rank is taken to be alone on its node.
var apart time.Duration

// watchLater has the monitor watch, once all ranks are there.
func (m *monitor) watchLater(places []comm.Place) {
	m.mu.Lock()
	m.places = places
	m.mu.Unlock()
}

// newGuard chooses whom rank me watches.
func newGuard(places []comm.Place, me int) (g guard, err error) {
	g = guard{on: true, peer: -1, hears: -1, tells: -1, limit: silence, heard: time.Now()}
	node := func(r int) string {
		if apart > 0 {
			return fmt.Sprint(r)
		}
		return places[r].Node + " " + places[r].Space
	}
	if apart > 0 {
		g.limit = apart
	}
	for s := 1; s < len(places); s++ {
		if r := (me + s) % len(places); node(r) == node(me) {
			g.peer = r
			break
		}
	}
	if g.peer >= 0 {
		fd, e := unix.PidfdOpen(places[g.peer].PID, 0)
		switch e {
		case nil:
			g.fd = &fd
		case unix.ESRCH:
			return g, g.death(me)
		}
	}
	var firsts []int
	at := -1
	seen := map[string]bool{}
	for r := range places {
		if !seen[node(r)] {
			seen[node(r)] = true
			if r == me {
				at = len(firsts)
			}
			firsts = append(firsts, r)
		}
	}
	if n := len(firsts); at >= 0 && n > 1 {
		g.hears, g.tells = firsts[(at+1)%n], firsts[(at-1+n)%n]
	}
	return g, nil
}

func (g *guard) death(me int) error {
	return &comm.RankError{Rank: g.peer, Code: 1,
		Err: fmt.Errorf("its process has died (killed, or out of memory), as rank %d sees", me)}
}

func (g *guard) close() {
	if g.fd != nil {
		unix.Close(*g.fd)
		g.fd = nil
	}
}

// watchRanks fails the job when a rank that this one watches has died.
func (m *monitor) watchRanks() {
	me := m.t.e.rank
	g := &m.guard
	m.mu.Lock()
	places, failed := m.places, m.failed != nil
	m.mu.Unlock()
	if places == nil || failed {
		return
	}
	now := time.Now()
	if !g.on {
		var err error
		if *g, err = newGuard(places, me); err != nil {
			m.fail(err)
			return
		}
	}
	if g.fd != nil {
		fds := []unix.PollFd{{Fd: int32(*g.fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, 0); err == nil && n > 0 {
			if g.dead.IsZero() {
				g.dead = now
			}
			// One that has ended in order may be gone before the goodbye is here.
			if !m.endSent || now.Sub(g.dead) > time.Second {
				g.close()
				m.fail(g.death(me))
				return
			}
		}
	}
	if g.tells >= 0 && !now.Before(g.next) && len(m.sends) < 4 {
		g.next = now.Add(min(beat, g.limit/4))
		m.send(g.tells, control{Kind: ctlAlive})
	}
	if g.hears >= 0 && now.Sub(g.heard) > g.limit {
		m.fail(&comm.RankError{Rank: g.hears, Code: 1,
			Err: fmt.Errorf(
				"it has given no sign of life for %v, as rank %d sees: its node is down, or its process was killed or stopped", g.limit, me)})
	}
}
