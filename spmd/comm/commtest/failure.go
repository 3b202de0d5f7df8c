package commtest

import (
	"fmt"
	"time"

	"distaff/spmd/comm"
)

// Failure is a job that must fail with an exit code, and with an error that contains certain words.
// Each needs a job of its own with at least two ranks.
type Failure struct {
	Name string
	Run  func(c comm.Comm) error
	Code int
	Want []string
	// Stuck means that the watchdog ends the job.
	Stuck bool
}

type failing struct{ n int }

// Failures returns the jobs that must fail. In the jobs that are Stuck, ranks wait for messages
// that no rank sends or receives. In each other job at least one rank fails.
func Failures() []Failure {
	last := func(c comm.Comm) bool { return c.Rank() == c.Size()-1 }
	never := func(c comm.Comm) error {
		return comm.Recv(c, make([]byte, 1), (c.Rank()+1)%c.Size(),
			1234)
	}
	return []Failure{
		{Name: "error", Code: 3, Want: []string{"[1] b.tns:7:3: no number"},
			Run: func(c comm.Comm) error {
				if c.Rank() == 1 {
					return &codeError{3, "b.tns:7:3: no number"}
				}
				return c.Barrier()
			}},
		{Name: "error while computing", Code: 1, Want: []string{"[0] disk full"},
			Run: func(c comm.Comm) error {
				if c.Rank() == 0 {
					time.Sleep(20 * time.Millisecond)
					return fmt.Errorf("disk full")
				}
				// a rank that does not wait in the communicator sees that its context is cancelled
				select {
				case <-c.Context().Done():
					return c.Context().Err()
				case <-time.After(20 * time.Second):
					return nil
				}
			}},
		{Name: "panic", Code: 1, Want: []string{"[1] panic: BUG: lost", "failure.go"},
			Run: func(c comm.Comm) error {
				if c.Rank() == 1 {
					panic("BUG: lost")
				}
				return never(c)
			}},
		{Name: "nil pointer", Code: 1,
			Want: []string{"[1] panic: runtime error: invalid memory address"},
			Run: func(c comm.Comm) error {
				if c.Rank() == 1 {
					var p *failing
					p.n++
				}
				return never(c)
			}},
		{Name: "abort", Code: 5, Want: []string{"[1] needs 3 GB"}, Run: func(c comm.Comm) error {
			if c.Rank() == 1 {
				return c.Abort(&codeError{5, "needs 3 GB"})
			}
			_, err := comm.AllreduceValue(c, int64(1), comm.Sum)
			return err
		}},
		{Name: "agreed", Code: 3, Want: []string{"[1] corrupt"}, Run: func(c comm.Comm) error {
			var err error
			if c.Rank() == 1 {
				err = &codeError{3, "corrupt"}
			}
			return comm.Agree(c, err)
		}},
		{Name: "sizes disagree", Code: 1,
			Want: []string{"Bcast #1 on world: receive from rank 0", "message is longer than the buffer"},
			Run: func(c comm.Comm) error {
				n := 10
				if last(c) {
					n = 5
				}
				if err := comm.Bcast(c, make([]float64, n), 0); err != nil {
					return err
				}
				return never(c)
			}},
		{Name: "mismatched collective", Code: 1, Stuck: true,
			Want: []string{"every rank waits", "Bcast #1 on world at rank", "Barrier #1 on world at rank",
				"rank 0 waits in Bcast #1 on world (root 1): receive from rank 1"},
			Run: func(c comm.Comm) error {
				if c.Rank() == 0 {
					return comm.Bcast(c, make([]byte, 8), 1)
				}
				return c.Barrier()
			}},
		{Name: "receive without send", Code: 1, Stuck: true,
			Want: []string{"rank 0 waits: receive from rank 1, tag 1234"}, Run: never},
		{Name: "long send without receive", Code: 1, Stuck: true,
			Want: []string{"rank 1 waits: send to rank 0, tag 7", "rank 0 waits in Barrier #1 on world"},
			Run: func(c comm.Comm) error {
				if c.Rank() == 1 {
					return comm.Send(c, make([]byte, 8<<20), 0, 7)
				}
				return c.Barrier()
			}},
		{Name: "left early", Code: 1, Stuck: true,
			Want: []string{"rank 1 has finished",
				"rank 0 waits in Reduce #1 on world (Sum, root 0): receive from rank 1"},
			Run: func(c comm.Comm) error {
				if c.Rank() == 1 {
					return nil
				}
				return comm.Reduce(c, []int64{1}, comm.Sum, 0)
			}},
		{Name: "in a group", Code: 1, Stuck: true,
			Want: []string{"every rank waits", "Barrier #1 on world/0", "rank 1 has finished"},
			Run: func(c comm.Comm) error {
				g, err := c.Split(0, -c.Rank())
				if err != nil {
					return err
				}
				if c.Rank() == 1 {
					return nil
				}
				return g.Barrier()
			}},
	}
}
