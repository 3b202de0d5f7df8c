package assemble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/comm/commtest"
	"distaff/spmd/comm/local"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/reduce"
	"distaff/spmd/transfer"
)

// list is a stream of entries.
type list struct {
	dims []int64
	typ  tensor.Type
	at   [][]int64
	vals []byte
	done bool
}

func (s *list) Dims() ([]int64, bool) { return s.dims, true }
func (s *list) Type() tensor.Type     { return s.typ }
func (s *list) Rewind() error         { s.done = false; return nil }
func (s *list) Close() error          { return nil }

func (s *list) Next(b *coo.Batch) error {
	if s.done || len(s.at) == 0 {
		return io.EOF
	}
	s.done = true
	b.Coords, b.N, b.Vals = make([][]int64, len(s.dims)), len(s.at), s.vals
	for _, at := range s.at {
		for m, c := range at {
			b.Coords[m] = append(b.Coords[m], c)
		}
	}
	return nil
}

// trial is a random Sum, its parts, and the expected pieces.
type trial struct {
	sum   Sum
	parts []*list
	shape *reduce.Shape
}

var storages = []struct {
	kinds string
	modes []int
}{
	{"", nil}, {"d", []int{0}}, {"dd", []int{0, 1}}, {"dd", []int{1, 0}}, {"ddd", []int{2, 0, 1}},
	{"dddd", []int{0, 1, 2, 3}},
	{"s", []int{0}}, {"ds", []int{0, 1}}, {"ss", []int{0, 1}}, {"ds", []int{1, 0}},
	{"sss", []int{0, 1, 2}}, {"sss", []int{1, 2, 0}},
	{"dds", []int{0, 1, 2}}, {"sd", []int{0, 1}}, {"ssd", []int{0, 1, 2}}, {"sdd", []int{2, 1, 0}},
	{"sds", []int{0, 1, 2}}, {"dsd", []int{1, 0, 2}}, {"dss", []int{0, 1, 2}},
	{"sdsd", []int{0, 2, 1, 3}},
}

var types = []tensor.Type{tensor.Float64, tensor.Float32, tensor.Int64, tensor.Int32,
	tensor.Complex128,
	tensor.Complex64}

// inRegion reports whether a coordinate is in a region, by the definition.
func inRegion(at []int64, r Region, modes []int) bool {
	tuple := make([]int64, len(modes))
	for l, m := range modes {
		tuple[l] = at[m]
		if at[m] < r.Box[m][0] || at[m] >= r.Box[m][1] {
			return false
		}
	}
	key := func(k []int64) []int64 { return tuple[:len(k)] }
	return slices.Compare(key(r.From), r.From) >= 0 &&
		(len(r.To) == 0 || slices.Compare(key(r.To), r.To) < 0)
}

// everywhere calls f with every coordinate of a box, in order.
func everywhere(box [][2]int64, f func(at []int64)) {
	at := make([]int64, len(box))
	var visit func(m int)
	visit = func(m int) {
		if m == len(box) {
			f(at)
			return
		}
		for at[m] = box[m][0]; at[m] < box[m][1]; at[m]++ {
			visit(m + 1)
		}
	}
	visit(0)
}

// draw makes a trial for the given number of ranks.
func draw(r *rand.Rand, ranks int) *trial {
	form := storages[r.IntN(len(storages))]
	x := &trial{}
	like := transfer.Like{Name: "A",
		Layout: tensor.Layout{Type: types[r.IntN(len(types))],
			Format: tensor.FormatOf(form.kinds, form.modes)}}
	for range form.kinds {
		like.Layout.Dims = append(like.Layout.Dims, []int64{1, 2, 5, 9}[r.IntN(4)])
	}
	x.sum.Like = like
	x.shape = &reduce.Shape{Name: "A", Layout: like.Layout}
	for range form.kinds {
		x.shape.PosWidth, x.shape.CrdWidth = append(x.shape.PosWidth, 4), append(x.shape.CrdWidth, 4)
	}
	x.pieces(r, ranks)
	for range r.IntN(7) {
		x.part(r, r.IntN(ranks))
	}
	return x
}

// key returns a random tuple of coordinates, which may be after the last one.
func (x *trial) key(r *rand.Rand, n int) []int64 {
	var k []int64
	for _, m := range x.sum.Like.Layout.Format.Order[:n] {
		k = append(k, r.Int64N(x.sum.Like.Layout.Dims[m]+1))
	}
	return k
}

func (x *trial) whole() [][2]int64 {
	box := [][2]int64{}
	for _, d := range x.sum.Like.Layout.Dims {
		box = append(box, [2]int64{0, d})
	}
	return box
}

// pieces cuts the tensor by keys or into a grid of boxes. Some pieces are empty, and some are left
// out.
func (x *trial) pieces(r *rand.Rand, ranks int) {
	order := len(x.sum.Like.Layout.Dims)
	var all []Region
	if order > 0 && r.IntN(2) == 0 {
		n := 1 + r.IntN(order)
		keys := [][]int64{nil}
		for range r.IntN(5) {
			keys = append(keys, x.key(r, n))
		}
		slices.SortFunc(keys[1:], slices.Compare)
		keys = append(keys, nil)
		for k := range len(keys) - 1 {
			all = append(all, x.boxed(r, Region{x.whole(), keys[k], keys[k+1]}))
		}
	} else {
		boxes := [][][2]int64{x.whole()}
		for m := range order {
			if r.IntN(2) == 0 {
				continue
			}
			c := r.Int64N(x.sum.Like.Layout.Dims[m] + 1)
			var cut [][][2]int64
			for _, b := range boxes {
				left, right := slices.Clone(b), slices.Clone(b)
				left[m], right[m] = [2]int64{0, c}, [2]int64{c, b[m][1]}
				cut = append(cut, left, right)
			}
			boxes = cut
		}
		for _, b := range boxes {
			all = append(all, Region{Box: b})
		}
	}
	for _, p := range all {
		if r.IntN(8) > 0 {
			x.sum.Pieces = append(x.sum.Pieces, Piece{r.IntN(ranks), p})
		}
	}
}

// boxed returns a region whose box is as small as possible, or unchanged.
func (x *trial) boxed(r *rand.Rand, p Region) Region {
	n, ok := p.common(p, x.sum.Like.Layout.Format.Order)
	if !ok {
		n.Box = x.whole()
		for m := range n.Box {
			n.Box[m][1] = 0
		}
	}
	if r.IntN(4) > 0 || !ok {
		p.Box = n.Box
	}
	return p
}

// part adds a part with random entries: a piece by itself, or any region.
func (x *trial) part(r *rand.Rand, rank int) {
	order := len(x.sum.Like.Layout.Dims)
	p := Region{Box: x.whole()}
	if r.IntN(2) == 0 {
		for m := range p.Box {
			a, b := r.Int64N(p.Box[m][1]+1), r.Int64N(p.Box[m][1]+1)
			p.Box[m] = [2]int64{min(a, b), max(a, b)}
		}
	}
	if order > 0 && r.IntN(2) == 0 {
		p.From, p.To = x.key(r, 1+r.IntN(order)), x.key(r, 1+r.IntN(order))
		if slices.Compare(p.From, p.To) > 0 {
			p.From, p.To = p.To, p.From
		}
		p = x.boxed(r, p)
	}
	if len(x.sum.Pieces) > 0 && r.IntN(3) == 0 {
		p = x.sum.Pieces[r.IntN(len(x.sum.Pieces))].Region
	}
	s := &list{dims: x.sum.Like.Layout.Dims, typ: x.sum.Like.Layout.Type}
	filled := []float64{0, 0.3, 1}[r.IntN(3)]
	everywhere(p.Box, func(at []int64) {
		if inRegion(at, p, x.sum.Like.Layout.Format.Order) && r.Float64() < filled {
			s.at = append(s.at, slices.Clone(at))
			s.vals = append(s.vals, number(r, s.typ)...)
		}
	})
	x.sum.Parts, x.parts = append(x.sum.Parts, Piece{rank, p}), append(x.parts, s)
}

// number returns a random value in memory: usually one whose sums round, sometimes -0, NaN or an
// infinity.
func number(r *rand.Rand, typ tensor.Type) []byte {
	one := func() float64 {
		switch r.IntN(20) {
		case 0:
			return math.Copysign(0, -1)
		case 1:
			return math.NaN()
		case 2:
			return math.Inf(1 - 2*r.IntN(2))
		}
		return r.NormFloat64() * 1e3
	}
	v := tensor.Value{Type: typ, I: r.Int64N(200) - 100, C: complex(one(), 0)}
	if typ.IsComplex() {
		v.C = complex(one(), one())
	}
	t := tcs.Scalar(v)
	defer t.Close()
	return slices.Clone(t.Vals.Bytes())
}

// tensor makes the tensor of part k.
func (x *trial) tensor(k int, limit *tcs.Limit) (*tcs.Tensor, error) {
	like := x.sum.Like
	in := *x.parts[k]
	return coo.Assemble(&in,
		coo.Spec{Format: like.Layout.Format, Dims: like.Layout.Dims, Type: like.Layout.Type,
			Box: x.sum.Parts[k].Region.Box}, coo.Config{Limit: limit, Threads: 1})
}

// deep returns the last compressed level, or -1 if there is none.
func (x *trial) deep() int {
	for l := len(x.sum.Like.Layout.Format.Levels) - 1; l >= 0; l-- {
		if x.sum.Like.Layout.Format.Levels[l] == 's' {
			return l
		}
	}
	return -1
}

// path returns the coordinates of the levels down to the last compressed level, as a key.
func (x *trial) path(at []int64) string {
	var p []int64
	for _, m := range x.sum.Like.Layout.Format.Order[:x.deep()+1] {
		p = append(p, at[m])
	}
	return fmt.Sprint(p)
}

// want returns the expected entries of piece k: the sums of the parts' entries, in order.
func (x *trial) want(t *testing.T, k int) map[string]tensor.Value {
	t.Helper()
	piece, modes := x.sum.Pieces[k].Region, x.sum.Like.Layout.Format.Order
	sums, paths := map[string]tensor.Value{}, map[string]bool{}
	for n := range x.parts {
		part, err := x.tensor(n, nil)
		if err != nil {
			t.Fatal(err)
		}
		part.Entries(func(at []int64, i int64) bool {
			if !inRegion(at, piece, modes) || !inRegion(at, x.sum.Parts[n].Region, modes) {
				return true
			}
			paths[x.path(at)] = true
			v, key := part.Value(i), fmt.Sprint(at)
			if old, ok := sums[key]; ok {
				v = plus(old, v)
			}
			sums[key] = v
			return true
		})
		part.Close()
	}
	out := map[string]tensor.Value{}
	everywhere(piece.Box, func(at []int64) {
		if key := fmt.Sprint(at); x.deep() < 0 || paths[x.path(at)] {
			out[key] = tensor.Value{Type: x.sum.Like.Layout.Type}
			if v, ok := sums[key]; ok {
				out[key] = v
			}
		}
	})
	return out
}

// plus adds two values in their type.
func plus(a, b tensor.Value) tensor.Value {
	switch a.Type {
	case tensor.Int64, tensor.Int32:
		a.I += b.I
	case tensor.Float64:
		a.C = complex(real(a.C)+real(b.C), 0)
	case tensor.Float32:
		a.C = complex(float64(float32(real(a.C))+float32(real(b.C))), 0)
	case tensor.Complex128:
		a.C += b.C
	case tensor.Complex64:
		a.C = complex128(complex64(a.C) + complex64(b.C))
	}
	return a
}

// same compares two values by their bits, except that all NaNs are equal. The sign of a zero
// matters if signed is true.
func same(a, b tensor.Value, signed bool) bool {
	one := func(a, b float64) bool {
		return a == b && (!signed || math.Signbit(a) == math.Signbit(b)) || a != a && b != b
	}
	return a.Type == b.Type && a.I == b.I && one(real(a.C), real(b.C)) && one(imag(a.C), imag(b.C))
}

// poisoned allocates memory that is not 0, to find code that expects zeros.
func poisoned(limit *tcs.Limit) transfer.Alloc {
	return func(n int64, what string) (*tcs.Memory, error) {
		m, err := tcs.Alloc(limit, n, what)
		if err == nil {
			for i := range m.Slice() {
				m.Slice()[i] = 0x7f
			}
		}
		return m, err
	}
}

// run computes the pieces of a trial on ranks, and calls f with the pieces of each rank before they
// are closed.
func (x *trial) run(ranks int, shared bool, limits []*tcs.Limit,
	f func(c comm.Comm, pieces map[partition.Piece]*tcs.Tensor) error) error {
	return local.Run(context.Background(), ranks, func(c comm.Comm) error {
		if !shared {
			c = commtest.Apart(c)
		}
		limit := limits[c.Rank()]
		parts := map[partition.Piece]*tcs.Tensor{}
		for k := range x.parts {
			if x.sum.Parts[k].Rank != c.Rank() {
				continue
			}
			t, err := x.tensor(k, limit)
			if err != nil {
				tcs.CloseAll(parts)
				return err
			}
			parts[partition.Piece(k)] = t
		}
		before := limit.Used()
		limit.ResetPeak()
		pieces, err := x.sum.Run(c, parts,
			Options{Alloc: poisoned(limit), Limit: limit, Shape: x.shape, Threads: 2, Tag: 3})
		if err != nil {
			return err
		}
		defer tcs.CloseAll(pieces)
		if err := x.costs(c, limit.Peak()-before); err != nil {
			return err
		}
		return f(c, pieces)
	})
}

// costs compares the memory that a rank used at most for a dense tensor, besides its parts, with
// Cost. Empty blocks use memory too.
func (x *trial) costs(c comm.Comm, peak int64) error {
	if x.deep() >= 0 {
		return nil
	}
	cost := x.sum.Cost(c.Size(), nil, nil, Drift{}, func(r Region) (z plan.Size) {
		z.Add(r.coordinates(), int64(x.sum.Like.Layout.Type.Size()))
		return z
	})
	if most := cost.Peak[c.Rank()] + int64(tcs.Align*len(x.sum.Pieces)); peak > most {
		return fmt.Errorf("rank %d has taken %d bytes, want %d at most", c.Rank(), peak, most)
	}
	return nil
}

func limits(ranks int, most int64) []*tcs.Limit {
	var out []*tcs.Limit
	for range ranks {
		out = append(out, tcs.NewLimit(most))
	}
	return out
}

func TestPiecesAreTheSumsOfParts(t *testing.T) {
	trials := 1500
	if testing.Short() {
		trials = 200
	}
	defer func(n int64) { maxCopiesUnderWay = n }(maxCopiesUnderWay)
	for seed := range uint64(trials) {
		maxCopiesUnderWay = int64(1 + seed%2*1e6) // each copy is waited for before the next, or none
		r := rand.New(rand.NewPCG(seed, 7))
		ranks := 1 + r.IntN(8)
		x := draw(r, ranks)
		name := fmt.Sprintf("seed %d: %s%v of %v, %d ranks, %d parts, %d pieces", seed,
			x.sum.Like.Layout.Format.Levels,
			x.sum.Like.Layout.Format.Order, x.sum.Like.Layout.Dims, ranks, len(x.sum.Parts),
			len(x.sum.Pieces))
		want := make([]map[string]tensor.Value, len(x.sum.Pieces))
		for k := range want {
			want[k] = x.want(t, k)
		}
		for _, shared := range []bool{false, true} {
			held := limits(ranks, 1<<40)
			err := x.run(ranks, shared, held,
				func(c comm.Comm, pieces map[partition.Piece]*tcs.Tensor) error {
					for k := range x.sum.Pieces {
						got := pieces[partition.Piece(k)]
						if (got != nil) != (x.sum.Pieces[k].Rank == c.Rank()) {
							return fmt.Errorf("rank %d has piece %d: %v", c.Rank(), k, got != nil)
						}
						if got == nil {
							continue
						}
						if err := x.compare(got, k, want[k]); err != nil {
							return fmt.Errorf("piece %d: %w", k, err)
						}
					}
					return x.traffic(c)
				})
			if err != nil {
				t.Fatalf("%s, shared %v: %v\nparts %+v\npieces %+v", name, shared, err, x.sum.Parts,
					x.sum.Pieces)
			}
			for rank, l := range held {
				if l.Used() != 0 {
					t.Fatalf("%s, shared %v: rank %d has not given back %d bytes", name, shared, rank, l.Used())
				}
			}
		}
	}
}

// compare compares a piece with the expected entries, and checks its format.
func (x *trial) compare(p *tcs.Tensor, k int, want map[string]tensor.Value) error {
	if !p.Format().Equal(x.sum.Like.Layout.Format) ||
		!slices.Equal(boxOf(p), x.sum.Pieces[k].Region.Box) {
		return fmt.Errorf("it is %s of %v", p.Format().String(), boxOf(p))
	}
	if _, ok := p.Shape(); !ok {
		return errors.New("its arrays are not those of its box")
	}
	fresh := &tcs.Tensor{Header: p.Header.Clone(), Levels: p.Levels, Vals: p.Vals}
	if err := fresh.ValidateGiven(); err != nil {
		return err
	}
	// Keys that cut dense levels below a compressed one leave zeros, which are added.
	signed := x.deep() < 0 || x.deep() == len(x.sum.Like.Layout.Format.Levels)-1
	n := 0
	var err error
	p.Entries(func(at []int64, i int64) bool {
		n++
		w, ok := want[fmt.Sprint(at)]
		if !ok || !same(p.Value(i), w, signed) {
			err = fmt.Errorf("it has %v at %v, want %v (stored: %v)", p.Value(i).Text(), at, w.Text(), ok)
		}
		return err == nil
	})
	if err == nil && n != len(want) {
		err = fmt.Errorf("it has %d entries, want %d", n, len(want))
	}
	if err == nil {
		err = x.canonical(p, k, want)
	}
	return err
}

// canonical compares the level arrays of a piece with the arrays of a tensor that is assembled from
// its entries.
func (x *trial) canonical(p *tcs.Tensor, k int, want map[string]tensor.Value) error {
	like := x.sum.Like
	in := &list{dims: like.Layout.Dims, typ: like.Layout.Type}
	everywhere(x.sum.Pieces[k].Region.Box, func(at []int64) {
		if _, ok := want[fmt.Sprint(at)]; ok {
			in.at, in.vals = append(in.at, slices.Clone(at)),
				append(in.vals, make([]byte, like.Layout.Type.Size())...)
		}
	})
	w, err := coo.Assemble(in,
		coo.Spec{Format: like.Layout.Format, Dims: like.Layout.Dims, Type: like.Layout.Type,
			Box: x.sum.Pieces[k].Region.Box}, coo.Config{Threads: 1})
	if err != nil {
		return err
	}
	defer w.Close()
	for l := range w.Levels {
		a, b := &p.Levels[l], &w.Levels[l]
		if a.Size != b.Size || a.Offset != b.Offset || !bytes.Equal(a.Pos.Bytes(), b.Pos.Bytes()) ||
			!bytes.Equal(a.Crd.Bytes(), b.Crd.Bytes()) {
			return fmt.Errorf("level %d has pos %v and crd %v, want %v and %v", l, a.Pos.Int64s(),
				a.Crd.Int64s(), b.Pos.Int64s(), b.Crd.Int64s())
		}
	}
	return nil
}

// traffic compares a rank's counters with Moves: exactly for dense tensors; for others it checks
// only whether anything moves.
func (x *trial) traffic(c comm.Comm) error {
	var want comm.Counters
	width := int64(x.sum.Like.Layout.Type.Size())
	x.sum.Moves(func(_ int, r Region) plan.Size {
		var z plan.Size
		z.Add(r.coordinates(), width)
		return z
	}, func(z plan.Size, from, to int) {
		if from == c.Rank() {
			want.BytesSent, want.MessagesSent = want.BytesSent+z.Bytes, want.MessagesSent+z.Arrays
		}
		if to == c.Rank() {
			want.BytesReceived, want.MessagesReceived = want.BytesReceived+z.Bytes,
				want.MessagesReceived+z.Arrays
		}
	})
	got := c.Counters()
	if x.deep() < 0 && got != want {
		return fmt.Errorf("rank %d counts %+v, want %+v", c.Rank(), got, want)
	}
	if want.BytesSent == 0 && got.BytesSent > 0 || want.BytesReceived == 0 && got.BytesReceived > 0 {
		return fmt.Errorf("rank %d counts %+v where nothing moves", c.Rank(), got)
	}
	return nil
}

// Wherever a rank runs out of memory, all allocated memory is freed.
func TestWhatFailsGivesMemoryBack(t *testing.T) {
	refused, made := 0, 0
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 8))
		ranks := 1 + r.IntN(5)
		x := draw(r, ranks)
		for most := int64(128); most < 1<<16; most *= 2 {
			held := limits(ranks, 1<<40)
			held[r.IntN(ranks)] = tcs.NewLimit(most)
			err := x.run(ranks, seed%2 == 0, held,
				func(comm.Comm, map[partition.Piece]*tcs.Tensor) error { return nil })
			switch {
			case err == nil:
				made++
			case comm.ExitCode(err) == 5:
				refused++
			default:
				t.Fatalf("seed %d, %d bytes: %v", seed, most, err)
			}
			for rank, l := range held {
				// What a failed job has handed over is given back as it ends.
				for try := 0; l.Used() != 0; try++ {
					if try > 500 {
						t.Fatalf("seed %d, %d bytes (%v): rank %d has not given back %d bytes", seed, most, err, rank,
							l.Used())
					}
					time.Sleep(2 * time.Millisecond)
				}
			}
		}
	}
	if refused < 50 || made < 50 {
		t.Errorf("%d trials were refused, and %d made: too few", refused, made)
	}
}
