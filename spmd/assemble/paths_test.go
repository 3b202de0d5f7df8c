package assemble

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"distaff/codegen/place"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/comm/commtest"
	"distaff/spmd/comm/local"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/reduce"
	"distaff/spmd/store"
	"distaff/spmd/transfer"
)

// trailing are formats with dense levels below compressed ones, and some without.
var trailing = []struct {
	kinds string
	modes []int
}{
	{"sd", []int{0, 1}}, {"sd", []int{1, 0}}, {"ssd", []int{0, 1, 2}}, {"ssd", []int{2, 0, 1}},
	{"sdd", []int{2, 1, 0}}, {"dsd", []int{1, 0, 2}}, {"sdsd", []int{0, 2, 1, 3}},
	{"ds", []int{0, 1}}, {"dd", []int{0, 1}}, {"sds", []int{0, 1, 2}},
}

// cut is a tensor in a grid of pieces with random entries.
type cut struct {
	like   transfer.Like
	part   *partition.Partition
	pieces []*list
}

func drawCut(r *rand.Rand, ranks int) *cut {
	form := trailing[r.IntN(len(trailing))]
	x := &cut{like: transfer.Like{Name: "A",
		Layout: tensor.Layout{Type: types[r.IntN(len(types))],
			Format: tensor.FormatOf(form.kinds, form.modes)}}}
	x.part = partition.Whole(len(form.modes))
	for m := range form.modes {
		n := []int64{1, 2, 3, 5}[r.IntN(4)]
		x.like.Layout.Dims = append(x.like.Layout.Dims, n)
		if r.IntN(3) > 0 {
			x.part.Axes = append(x.part.Axes,
				partition.Axis{Modes: []int{m}, Cuts: place.EvenCuts(n, int64(1+r.IntN(3)))})
		}
	}
	owners := make([]int, x.part.Pieces())
	for b := range owners {
		owners[b] = r.IntN(ranks)
	}
	x.part.Owner = func(at []int64) int { return owners[x.part.Of(at)] }
	filled := []float64{0, 0.1, 0.4, 1}[r.IntN(4)]
	for b := range owners {
		p := &list{dims: x.like.Layout.Dims, typ: x.like.Layout.Type}
		everywhere(x.part.Box(partition.Piece(b), x.like.Layout.Dims), func(at []int64) {
			if r.Float64() < filled {
				p.at = append(p.at, append([]int64{}, at...))
				p.vals = append(p.vals, number(r, p.typ)...)
			}
		})
		x.pieces = append(x.pieces, p)
	}
	return x
}

// piece assembles piece b.
func (x *cut) piece(b int, limit *tcs.Limit) (*tcs.Tensor, error) {
	in := *x.pieces[b]
	return coo.Assemble(&in,
		coo.Spec{Format: x.like.Layout.Format, Dims: x.like.Layout.Dims, Type: x.like.Layout.Type,
			Box: x.part.Box(partition.Piece(b), x.like.Layout.Dims)}, coo.Config{Limit: limit, Threads: 1})
}

// blocks returns the pieces, with only the own ones of rank.
func (x *cut) blocks(rank int, limit *tcs.Limit) (*store.Blocks, error) {
	b := &store.Blocks{Layout: x.like.Layout,
		Own: map[int]*tcs.Tensor{}}
	for k := range x.pieces {
		b.Owners = append(b.Owners, x.part.OwnerOf(partition.Piece(k)))
		b.Boxes = append(b.Boxes, x.part.Box(partition.Piece(k), x.like.Layout.Dims))
		if b.Owners[k] != rank {
			continue
		}
		t, err := x.piece(k, limit)
		if err != nil {
			return nil, err
		}
		b.Own[k] = t
	}
	return b, nil
}

// stored returns the entries of a tensor, by coordinate.
func stored(t *tcs.Tensor) map[string]tensor.Value {
	out := map[string]tensor.Value{}
	t.Entries(func(at []int64, i int64) bool { out[fmt.Sprint(at)] = t.Value(i); return true })
	return out
}

// want returns the expected entries of piece b: the entries of the whole tensor in the piece's box.
func (x *cut) want(t *testing.T, b int) map[string]tensor.Value {
	t.Helper()
	all := &list{dims: x.like.Layout.Dims, typ: x.like.Layout.Type}
	for _, p := range x.pieces {
		all.at, all.vals = append(all.at, p.at...), append(all.vals, p.vals...)
	}
	whole, err := coo.Assemble(all,
		coo.Spec{Format: x.like.Layout.Format, Dims: x.like.Layout.Dims, Type: x.like.Layout.Type},
		coo.Config{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	values, out := stored(whole), map[string]tensor.Value{}
	everywhere(x.part.Box(partition.Piece(b), x.like.Layout.Dims), func(at []int64) {
		if v, ok := values[fmt.Sprint(at)]; ok {
			out[fmt.Sprint(at)] = v
		}
	})
	return out
}

// Pieces store the entries of the whole tensor in their boxes, however the tensor is cut. Old
// values do not change, including the sign of zeros; no message is counted; a piece that has all
// paths is not copied.
func TestPiecesStoreThePathsOfTheWhole(t *testing.T) {
	grown, stayed := 0, 0
	for seed := range uint64(1200) {
		r := rand.New(rand.NewPCG(seed, 11))
		ranks := 1 + r.IntN(5)
		x, shared := drawCut(r, ranks), r.IntN(2) == 0
		name := fmt.Sprintf("seed %d: %s%v of %v, %d ranks, %d pieces", seed, x.like.Layout.Format.Levels,
			x.like.Layout.Format.Order,
			x.like.Layout.Dims, ranks, len(x.pieces))
		got := make([]map[string]tensor.Value, len(x.pieces))
		kept := make([]bool, len(x.pieces))
		limit := limits(ranks, 0)
		err := local.Run(context.Background(), ranks, func(c comm.Comm) error {
			if !shared {
				c = commtest.Apart(c)
			}
			l := limit[c.Rank()]
			b, err := x.blocks(c.Rank(), l)
			if err != nil {
				return err
			}
			before := map[int]*tcs.Tensor{}
			for k, t := range b.Own {
				before[k] = t
			}
			shape := &reduce.Shape{Name: "A",
				Layout: tensor.Layout{Dims: b.Layout.Dims, Type: tensor.Float64, Format: b.Layout.Format}}
			for range b.Layout.Format.Levels {
				shape.PosWidth, shape.CrdWidth = append(shape.PosWidth, 4), append(shape.CrdWidth, 4)
			}
			if err := Complete(c, b,
				Options{Alloc: poisoned(l), Limit: l, Shape: shape, Threads: 2, Tag: 3}); err != nil {
				return err
			}
			if n := c.Counters(); n != (comm.Counters{}) {
				return fmt.Errorf("%+v was counted", n)
			}
			for k, t := range b.Own {
				got[k], kept[k] = stored(t), t == before[k]
				if err := t.Validate(); err != nil {
					return err
				}
			}
			err = c.Uncounted().Barrier()
			tcs.CloseAll(b.Own)
			return err
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for k := range x.pieces {
			want := x.want(t, k)
			if len(got[k]) != len(want) {
				t.Fatalf("%s: piece %d stores %v, want %v", name, k, got[k], want)
			}
			for at, v := range want {
				if g, ok := got[k][at]; !ok || !same(g, v, true) {
					t.Fatalf("%s: piece %d has %v at %s, want %v", name, k, got[k], at, v)
				}
			}
			own, err := x.piece(k, nil)
			if err != nil {
				t.Fatal(err)
			}
			if all := len(stored(own)) == len(want); all != kept[k] {
				t.Fatalf("%s: piece %d had all that it is to store: %v, and is the same: %v", name, k, all,
					kept[k])
			}
			own.Close()
			if kept[k] {
				stayed++
			} else {
				grown++
			}
		}
		for rank := range ranks {
			if limit[rank].Used() != 0 {
				t.Fatalf("%s: rank %d holds %d bytes in the end", name, rank, limit[rank].Used())
			}
		}
	}
	if grown < 200 || stayed < 300 {
		t.Errorf("%d pieces have grown and %d stayed, want 200 and 300", grown, stayed)
	}
}

// halves runs Complete on two ranks, of whom only the first has entries, one in each row, and calls
// f with the pieces.
func halves(rows int64, limit []*tcs.Limit, f func(c comm.Comm, b *store.Blocks)) error {
	return local.Run(context.Background(), 2, func(c comm.Comm) error {
		b := &store.Blocks{Layout: tensor.Layout{Dims: []int64{rows, 4}, Type: tensor.Float64,
			Format: tensor.FormatOf("sd", []int{0, 1})},
			Owners: []int{0, 1}, Boxes: [][][2]int64{{{0, rows}, {0, 2}}, {{0, rows}, {2, 4}}},
			Own: map[int]*tcs.Tensor{}}
		in := &list{dims: b.Layout.Dims, typ: b.Layout.Type}
		for i := int64(0); i < rows && c.Rank() == 0; i++ {
			in.at, in.vals = append(in.at, []int64{i, 1}), append(in.vals, make([]byte, 8)...)
		}
		l := limit[c.Rank()]
		own, err := coo.Assemble(in,
			coo.Spec{Format: b.Layout.Format, Dims: b.Layout.Dims, Type: b.Layout.Type,
				Box: b.Boxes[c.Rank()]},
			coo.Config{Limit: l, Threads: 1})
		if err != nil {
			return err
		}
		b.Own[c.Rank()] = own
		defer tcs.CloseAll(b.Own)
		l.ResetPeak()
		shape := &reduce.Shape{Name: "A", Layout: b.Layout,
			PosWidth: []uint8{4, 4}, CrdWidth: []uint8{4, 4}}
		if err := Complete(commtest.Apart(c), b,
			Options{Alloc: transfer.Pages(l), Limit: l, Shape: shape, Threads: 1}); err != nil {
			return err
		}
		f(c, b)
		return nil
	})
}

// No rank uses more memory than CompleteCost returns, and the rank whose piece grows uses at least
// a third of it.
func TestPathsTakeWhatIsForetold(t *testing.T) {
	const rows = 20000
	limit := limits(2, 0)
	err := halves(rows, limit, func(c comm.Comm, b *store.Blocks) {
		own := b.Own[c.Rank()]
		if own.Vals.Len != 2*rows {
			t.Errorf("rank %d has %d values, want %d", c.Rank(), own.Vals.Len, 2*rows)
		}
		z := plan.Size{Entries: own.Vals.Len, Bytes: own.Bytes(), Arrays: 3}
		most := z.Memory() + CompleteCost(b, 2, []uint8{4, 4}, []uint8{4, 4},
			func(plan.Block) plan.Size { return z })[c.Rank()]
		if peak := limit[c.Rank()].Peak(); peak > most || c.Rank() == 1 && peak < most/3 {
			t.Errorf("rank %d has taken %d bytes at most, and %d are foretold", c.Rank(), peak, most)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// If the completed piece exceeds the memory limit of one rank, all ranks end.
func TestPathsThatDoNotFit(t *testing.T) {
	limit := limits(2, 0)
	limit[1] = tcs.NewLimit(300 << 10)
	err := halves(20000, limit, func(c comm.Comm, _ *store.Blocks) {
		if c.Rank() == 1 { // rank 0 may have its own before it hears of rank 1's failure
			t.Error("rank 1 has its piece")
		}
	})
	if comm.ExitCode(err) != 5 {
		t.Errorf("got %v, want exit code 5", err)
	}
}
