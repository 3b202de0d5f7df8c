package mpi

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"distaff/spmd/comm"
)

// Most launchers end a job when one of its processes dies, but srun waits unless an option says
// otherwise. Therefore every rank watches the process of the next rank on its node, through a
// descriptor (pidfd). The system reports the end of the process through it at once.
//
// Between nodes, the first rank of each node sends signs of life to the first rank of the previous
// node, in a ring. beat is the time between two signs. A node counts as dead if no sign arrives for
// longer than silence. This limit is long, because a machine may be suspended for a while.
const (
	beat    = time.Second
	silence = 30 * time.Second
)

// guard holds whom one rank watches.
type guard struct {
	on   bool
	peer int       // the watched rank on this node, or -1
	fd   *int      // the descriptor of its process, or nil
	dead time.Time // when its process was first seen dead

	// hears is the rank whose signs of life this rank expects, and tells the rank to which it sends
	// its own: the first ranks of the next node and of the previous one. Both are -1 unless this
	// rank is the first one of its node and there are several nodes.
	hears, tells int
	heard, next  time.Time
	limit        time.Duration
}

// soloSilence is set only by tests. If it is not 0, every rank is treated as if it were alone on
// its node, so each rank sends signs of life to another one. A rank then counts as dead if no sign
// of life arrives from it for longer than soloSilence.
var soloSilence time.Duration

// watchLater gives the monitor the places of all ranks. The monitor watches from then on.
func (m *monitor) watchLater(places []comm.Place) {
	m.mu.Lock()
	m.places = places
	m.mu.Unlock()
}

// newGuard chooses the ranks that this rank watches. self is the number of this rank, and places
// says where each rank runs. newGuard returns an error if the process of a chosen rank has already
// died.
func newGuard(places []comm.Place, self int) (g guard, err error) {
	g = guard{on: true, peer: -1, hears: -1, tells: -1, limit: silence, heard: time.Now()}
	node := func(r int) string {
		if soloSilence > 0 {
			return fmt.Sprint(r)
		}
		return places[r].Node + " " + places[r].Space
	}
	if soloSilence > 0 {
		g.limit = soloSilence
	}
	for s := 1; s < len(places); s++ {
		if r := (self + s) % len(places); node(r) == node(self) {
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
			return g, g.death(self)
		}
	}
	var firsts []int
	at := -1
	seen := map[string]bool{}
	for r := range places {
		if !seen[node(r)] {
			seen[node(r)] = true
			if r == self {
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
		Err: fmt.Errorf(
			"rank %d reports that its process has died; it was killed, or ran out of memory", me)}
}

func (g *guard) close() {
	if g.fd != nil {
		unix.Close(*g.fd)
		g.fd = nil
	}
}

// watchRanks fails the job if a rank that this rank watches has died.
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
			// The process of a rank that ended regularly may be gone before its goodbye arrives.
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
				"it has not answered for %v, as rank %d reports: either its node is down, or "+
					"its process was killed or stopped", g.limit, me)})
	}
}
