package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/comm/commtest"
	"distaff/spmd/comm/local"
)

// block is a matrix of compressed rows with the given number of rows, in memory that counts its
// closes.
func block(closed *int) *tcs.Tensor {
	s := &tcs.Shape{Header: tcs.Header{Dims: []int64{3, 4}, Type: tensor.Float64},
		Format: tensor.FormatOf("ds", []int{0, 1}), Counts: []int64{0, 2}}
	t, err := tcs.NewIn(s, "", func(bytes int64, what string) (*tcs.Memory, error) {
		m, err := tcs.Alloc(nil, bytes, what)
		if err != nil {
			return nil, err
		}
		return tcs.Foreign(m.Ptr, bytes, func() error { *closed++; return m.Release() }), nil
	})
	if err != nil {
		panic(err)
	}
	for k, p := range []int64{0, 0, 1, 2} {
		t.Levels[1].Pos.SetInt(int64(k), p)
	}
	copy(tcs.Values[float64](t), []float64{5, 6})
	return t
}

// A block arrives unchanged, with the same counts, over messages and in shared memory.
func TestSendAndBcast(t *testing.T) {
	for _, shared := range []bool{false, true} {
		for _, bcast := range []bool{false, true} {
			var counts [3]comm.Counters
			closed := 0
			err := local.Run(context.Background(), 3, func(c comm.Comm) error {
				if !shared {
					c = commtest.Apart(c)
				}
				var own, got *tcs.Tensor
				if c.Rank() == 1 {
					own = block(&closed)
				}
				like := Like{Name: "A", Layout: tensor.Layout{Dims: []int64{3, 4}, Type: tensor.Float64,
					Format: tensor.FormatOf("ds", []int{0, 1})}}
				var err error
				switch {
				case bcast:
					got, err = Bcast(c, own, like, 1, Pages(nil))
				case c.Rank() == 1:
					var s *Sending
					if s, err = Send(c, own, 2, 7); err == nil {
						err = s.Wait()
					}
				case c.Rank() == 2:
					got, err = Recv(c, like, 1, 7, Pages(nil))
				}
				if err != nil {
					return err
				}
				if own != nil {
					own.Close()
				}
				counts[c.Rank()] = c.Counters()
				if got == nil || got == own {
					return nil
				}
				defer got.Close()
				if v := tcs.Values[float64](got); !slices.Equal(v, []float64{5, 6}) ||
					!slices.Equal(got.Levels[1].Pos.Int64s(), []int64{0, 0, 1, 2}) {
					return fmt.Errorf("got values %v, pos %v", v, got.Levels[1].Pos.Int64s())
				}
				return nil
			})
			if err != nil {
				t.Fatalf("shared %v, bcast %v: %v", shared, bcast, err)
			}
			if closed != 1 {
				t.Errorf("shared %v, bcast %v: the block's memory was freed %d times", shared, bcast, closed)
			}
			const bytes, messages = 4*4 + 2*4 + 2*8, 3
			want := [3]comm.Counters{{}, {BytesSent: bytes, MessagesSent: messages},
				{BytesReceived: bytes, MessagesReceived: messages}}
			if bcast {
				want[0] = want[2]
			}
			if counts != want {
				t.Errorf("shared %v, bcast %v: got %+v, want %+v", shared, bcast, counts, want)
			}
		}
	}
}

// A block that nobody receives is freed when the job ends.
func TestFailedJobsGiveBlocksBack(t *testing.T) {
	closed := 0
	bad := errors.New("no luck")
	err := local.Run(context.Background(), 2, func(c comm.Comm) error {
		if c.Rank() == 1 {
			return bad
		}
		b := block(&closed)
		s, err := Send(c, b, 1, 0)
		b.Close()
		if err != nil {
			return err
		}
		return s.Wait()
	})
	if !errors.Is(err, bad) {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		n := 0
		handed.Range(func(any, any) bool { n++; return true })
		if n == 0 {
			break
		}
		if i > 200 {
			t.Fatalf("%d blocks are left", n)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Slices of a program are on the Go heap, whose addresses MPI must not keep. Blocks in memory that
// a tensor holds are sent directly.
func TestBuffersOfTheGoHeap(t *testing.T) {
	closed := 0
	held := block(&closed)
	defer held.Close()
	view, err := held.View(tcs.Block{Box: [][2]int64{{1, 3}, {0, 4}}})
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	slices := &tcs.Tensor{Header: tcs.Header{Dims: []int64{2}, Type: tensor.Float64},
		Levels: []tcs.Level{{Kind: 'd', Size: 2}}, Vals: tcs.Of([]float64{1, 2})}
	for _, c := range []struct {
		t    *tcs.Tensor
		heap bool
	}{{held, false}, {view, false}, {slices, true}} {
		for _, a := range arrays(c.t) {
			if b := buf(c.t, a); a.Len > 0 && b.Heap != c.heap {
				t.Errorf("%s: a buffer of %d bytes is of the Go heap: %v, want %v", c.t.Format().String(),
					b.Len,
					b.Heap, c.heap)
			}
		}
	}
}
