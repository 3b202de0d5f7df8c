package comm

import "testing"

// TestComputing checks that the channel of Computing is closed when the last goroutine has stopped
// computing, and not before.
func TestComputing(t *testing.T) {
	g := &group{core: &core{board: NewBoard(0, 2)}}
	ended := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	if c := g.core.board.Computing(); c != nil {
		t.Error("a rank that has not said so computes")
	}
	one, two := g.Busy(), g.Busy()
	c := g.core.board.Computing()
	one()
	one() // again, which is nothing
	if c == nil || ended(c) || g.core.board.Report().Waiting {
		t.Error("a rank computes no more, of which another goroutine does")
	}
	two()
	if !ended(c) || g.core.board.Computing() != nil {
		t.Error("a rank computes on, of which all has ended")
	}
}
