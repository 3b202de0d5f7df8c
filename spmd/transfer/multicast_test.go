package transfer

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/comm/commtest"
	"distaff/spmd/comm/local"
	"distaff/spmd/comm/mpi"
	"distaff/spmd/comm/mpi/mpitest"
)

// rankVar is the variable that makes this test binary a rank under MPI.
const rankVar = "DISTAFF_TRANSFER_RANK"

func TestMain(m *testing.M) {
	if os.Getenv(rankVar) != "" {
		os.Exit(multicastRank())
	}
	flag.Parse()
	os.Exit(m.Run())
}

// multicastRank is the main function of one rank.
func multicastRank() int {
	err := func() error {
		l, ok, err := mpi.Launched(os.Getenv)
		if err != nil || !ok {
			return errors.Join(err, errors.New("not launched"))
		}
		j, err := mpi.Prepare(context.Background(), l, mpi.Options{})
		if err != nil {
			return err
		}
		return j.Run(context.Background(), func(c comm.Comm, _ mpi.Info) error { return playAll(c) })
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return comm.ExitCode(err)
}

// cast is one multicast of a test. Its block is sample(tag).
type cast struct {
	list []int
	tag  int
}

// casts returns multicasts of every kind of block from every rank to lists of every length.
func casts(ranks int) []cast {
	rng := rand.New(rand.NewPCG(1, 2))
	var all []cast
	for root := range ranks {
		for n := 1; n <= ranks; n++ {
			for range samples {
				others := slices.DeleteFunc(rng.Perm(ranks), func(r int) bool { return r == root })[:n-1]
				slices.Sort(others)
				all = append(all, cast{append([]int{root}, others...), len(all)})
			}
		}
	}
	return all
}

const samples = 4 // kinds of sample

// sample returns a block of a kind that n chooses, with values that depend on n: sparse, dense,
// without entries, or without any array.
func sample(n int) *tcs.Tensor {
	s := &tcs.Shape{Header: tcs.Header{Dims: []int64{3, 4}, Type: tensor.Float64},
		Format: tensor.FormatOf("ds", []int{0, 1}), Counts: []int64{0, 2}}
	switch n % samples {
	case 1:
		s.Format, s.Counts = tensor.DenseOf(2), []int64{0, 0}
	case 2:
		s.Counts = []int64{0, 0}
	case 3:
		s.Format, s.Counts, s.Header.Dims = tensor.DenseOf(2), []int64{0, 0}, []int64{0, 4}
	}
	t, err := tcs.NewIn(s, "",
		func(bytes int64, what string) (*tcs.Memory, error) { return tcs.Alloc(nil, bytes, what) })
	if err != nil {
		panic(err)
	}
	if n%samples == 0 {
		for k, p := range []int64{0, 0, 1, 2} {
			t.Levels[1].Pos.SetInt(int64(k), p)
		}
		t.Levels[1].Crd.SetInt(1, 3)
	}
	for k, v := range tcs.Values[float64](t) {
		tcs.Values[float64](t)[k] = v + float64(100*n+k)
	}
	return t
}

// same returns an error if a block differs from sample(n).
func same(got *tcs.Tensor, n int) error {
	want := sample(n)
	defer want.Close()
	if g, w := meta(got), meta(want); !slices.Equal(g, w) {
		return fmt.Errorf("block %d: got sizes %v, want %v", n, g, w)
	}
	for k, a := range arrays(want) {
		if g, w := bytesOf(arrays(got)[k]), bytesOf(a); !slices.Equal(g, w) {
			return fmt.Errorf("block %d: got array %d %v, want %v", n, k, g, w)
		}
	}
	return nil
}

func bytesOf(a *tcs.Array) []byte { return unsafe.Slice((*byte)(a.Ptr), a.Len*int64(a.Width)) }

// playAll runs all casts at the same time and compares blocks and counters. Receivers take the
// multicasts in the order of their tags.
func playAll(c comm.Comm) error {
	before := c.Counters()
	var want comm.Counters
	var under []*Sending
	var blocks []*tcs.Tensor
	defer func() {
		for _, b := range blocks {
			b.Close()
		}
	}()
	all := casts(c.Size())
	for _, x := range all {
		if x.list[0] != c.Rank() {
			continue
		}
		b := sample(x.tag)
		blocks = append(blocks, b)
		s, err := Multicast(c, b, x.list, x.tag)
		if err != nil {
			return err
		}
		under = append(under, s)
		if n, bytes := payload(b); len(x.list) > 1 {
			want = want.Add(comm.Counters{MessagesSent: n, BytesSent: bytes})
		}
	}
	for _, x := range all {
		if slices.Index(x.list, c.Rank()) <= 0 {
			continue
		}
		form := sample(x.tag)
		n, bytes := payload(form)
		got, s, err := RecvMulticast(c, LikeOf("A", form), x.list, x.tag, Pages(nil))
		form.Close()
		if err != nil {
			return err
		}
		blocks, under = append(blocks, got), append(under, s)
		if err := same(got, x.tag); err != nil {
			return fmt.Errorf("ranks %v: %w", x.list, err)
		}
		want = want.Add(comm.Counters{MessagesReceived: n, BytesReceived: bytes})
	}
	for _, s := range under {
		if err := s.Wait(); err != nil {
			return err
		}
	}
	if got := c.Counters().Sub(before); got != want {
		return fmt.Errorf("rank %d of %d: got %+v, want %+v", c.Rank(), c.Size(), got, want)
	}
	return nil
}

// Blocks of every kind arrive at every rank of every list, from any root, all at the same time, and
// count once at the root and once at each receiver.
func TestMulticast(t *testing.T) {
	for _, shared := range []bool{false, true} {
		for _, ranks := range []int{1, 2, 3, 8} {
			err := local.Run(context.Background(), ranks, func(c comm.Comm) error {
				if !shared {
					c = commtest.Apart(c)
				}
				return playAll(c)
			})
			if err != nil {
				t.Errorf("shared %v, %d ranks: %v", shared, ranks, err)
			}
		}
	}
	handed.Range(func(k, _ any) bool { t.Errorf("block %v is left", k); return true })
}

func TestMulticastMPI(t *testing.T) {
	for _, l := range mpitest.Launchers(t) {
		for _, ranks := range []int{2, 5} {
			t.Run(fmt.Sprintf("%s/%d", l.Name, ranks), func(t *testing.T) {
				r := mpitest.Run(t, mpitest.Command{Argv: l.Argv(ranks, os.Args[0]),
					Env: []string{rankVar + "=1"}})
				if r.Code != 0 {
					t.Fatalf("exit code %d\n%s\n%s", r.Code, r.Out, r.Err)
				}
			})
		}
	}
}

// spy is a group whose ranks share no memory. It records the messages that start.
type spy struct {
	comm.Comm
	sends *atomic.Int64
}

func (s spy) OneProcess() bool     { return false }
func (s spy) Uncounted() comm.Comm { return spy{s.Comm.Uncounted(), s.sends} }
func (s spy) Isend(b comm.Buf, to, tag int) (*comm.Request, error) {
	s.sends.Add(1)
	return s.Comm.Isend(b, to, tag)
}

// Each rank sends the block to its children in the binomial tree over the list, and to no other
// rank.
func TestMulticastGoesAlongTheTree(t *testing.T) {
	list := []int{5, 0, 1, 2, 3, 4, 6, 7}
	children := []int{3, 0, 1, 0, 2, 0, 1, 0} // by position
	var sends [8]atomic.Int64
	err := local.Run(context.Background(), 8, func(c comm.Comm) error {
		b := sample(0)
		defer b.Close()
		x := spy{c, &sends[c.Rank()]}
		if c.Rank() == list[0] {
			s, err := Multicast(x, b, list, 1)
			if err != nil {
				return err
			}
			return s.Wait()
		}
		got, s, err := RecvMulticast(x, LikeOf("A", b), list, 1, Pages(nil))
		if err != nil {
			return err
		}
		defer got.Close()
		return s.Wait()
	})
	if err != nil {
		t.Fatal(err)
	}
	for at, rank := range list {
		// control, pos, crd, vals
		if got, want := sends[rank].Load(), int64(4*children[at]); got != want {
			t.Errorf("position %d sent %d messages, want %d", at, got, want)
		}
	}
}

// Every position except the first has one parent, which lists it as a child, and is at most log2 of
// the list's length below the root.
func TestTree(t *testing.T) {
	for n := 1; n <= 40; n++ {
		list := make([]int, n)
		for k := range list {
			list[k] = 1000 - k
		}
		from := make([]int, n)
		for at := range list {
			for _, rank := range treeRanks(list, at) {
				child := 1000 - rank
				if from[child]++; treeParent(child) != at {
					t.Errorf("length %d: position %d sends to %d, which receives from %d", n, at, child,
						treeParent(child))
				}
			}
			if d := bits.OnesCount(uint(at)); d > bits.Len(uint(n-1)) {
				t.Errorf("length %d: position %d is %d below the root", n, at, d)
			}
		}
		if from[0] != 0 || slices.ContainsFunc(from[1:], func(k int) bool { return k != 1 }) {
			t.Errorf("length %d: numbers of parents %v", n, from)
		}
	}
}

// A rank inside the tree that has no memory for the block ends the job with its error.
func TestMulticastWithoutMemory(t *testing.T) {
	bad := errors.New("no memory")
	list := []int{0, 1, 2, 3}
	err := local.Run(context.Background(), 4, func(c comm.Comm) error {
		b := sample(1)
		defer b.Close()
		c = commtest.Apart(c)
		if c.Rank() == 0 {
			s, err := Multicast(c, b, list, 0)
			if err != nil {
				return err
			}
			return s.Wait()
		}
		alloc := Pages(nil)
		if c.Rank() == 2 {
			alloc = func(int64, string) (*tcs.Memory, error) { return nil, bad }
		}
		got, s, err := RecvMulticast(c, LikeOf("A", b), list, 0, alloc)
		if err != nil {
			if got != nil || s != nil {
				t.Errorf("rank %d: a block or a sending beside the error %v", c.Rank(), err)
			}
			return err
		}
		defer got.Close()
		return s.Wait()
	})
	if !errors.Is(err, bad) {
		t.Fatal(err)
	}
}

// A multicast to a rank that does not exist is an error, and a multicast by a rank out of place is
// a bug.
func TestMulticastMisused(t *testing.T) {
	for _, shared := range []bool{false, true} {
		err := local.Run(context.Background(), 1, func(c comm.Comm) error {
			if !shared {
				c = commtest.Apart(c)
			}
			b := sample(1)
			defer b.Close()
			if _, err := Multicast(c, b, []int{0, 1}, 0); err == nil ||
				!strings.Contains(err.Error(), "rank 1, want 0 to 0") {
				t.Errorf("shared %v: got %v", shared, err)
			}
			if got := c.Counters(); got != (comm.Counters{}) {
				t.Errorf("shared %v: a refused multicast counts %+v", shared, got)
			}
			for _, list := range [][]int{nil, {1, 0}} {
				panics(t, "starts a multicast", func() { Multicast(c, b, list, 0) })
			}
			for _, list := range [][]int{nil, {0, 1}, {1, 2}} {
				panics(t, "receives a multicast",
					func() { RecvMulticast(c, LikeOf("A", b), list, 0, Pages(nil)) })
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// panics runs f, which must panic with a message that names a bug.
func panics(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if p := fmt.Sprint(recover()); !strings.HasPrefix(p, "BUG: transfer: ") ||
			!strings.Contains(p, what) {
			t.Errorf("got panic %q, want one that says %q", p, what)
		}
	}()
	f()
}
