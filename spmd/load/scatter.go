package load

import (
	"errors"
	"maps"
	"math"
	"slices"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/io/text"
	"distaff/spmd/comm"
	"distaff/spmd/plan"
)

// Scatter assembles the blocks that this rank owns from the pieces that all ranks read. The
// argument piece is this rank's piece. The pieces follow one another in the order of ranks, so that
// values at equal coordinates are summed in the order of the input. With one rank and one block,
// Scatter does the same as coo.Assemble.
//
// Scatter assembles blocks in one of three ways (see chooseWay). It stores each entry of a dense
// block at the entry's position when the entry arrives. If the blocks are not dense and every piece
// is in their storage order, as a piece of a .tcs file of the same format is, it usually makes two
// passes (SuperTaco (2019), sections 4.4.2 to 4.4.4). In the first pass, each rank counts its
// entries of each block. The owner of a block computes the sizes of the block's arrays from the
// counts. In the second pass, the entries are written directly into the arrays. The counts of the
// lower ranks determine where each rank's entries are written. Otherwise, or if one of these ways
// fails because coordinates repeat or entries are out of order, the owners of the blocks collect
// the entries, pack them and sort them.
//
// If the input has mistakes, the error is about the first mistake in the input, for any number of
// ranks. Every rank must call Scatter. The caller closes the blocks.
func (g *Target) Scatter(c comm.Comm, piece coo.Stream) (map[plan.Block]*tcs.Tensor, error) {
	if g.isWhole(c) { // nothing is cut and nothing is sent
		t, err := coo.Assemble(piece, g.Spec, g.Cfg)
		if err != nil {
			return nil, err
		}
		return map[plan.Block]*tcs.Tensor{0: t}, nil
	}
	s := &scatterer{g: g.withDefaults(piece.Type()), c: c}
	s.part, _ = piece.(text.Part)
	own, err := s.run(piece)
	if err != nil {
		tcs.CloseAll(own)
		return nil, err
	}
	return own, nil
}

// withDefaults returns the target with defaults filled in. typ is the default type of values.
func (g *Target) withDefaults(typ tensor.Type) *Target {
	t := *g
	if t.Spec.Format.Order == nil {
		t.Spec.Format.Order = tensor.Identity(len(t.Spec.Format.Levels))
	}
	if t.Spec.Type == tensor.None {
		t.Spec.Type = typ
	}
	return &t
}

// scatterer holds the state of one Scatter at one rank.
type scatterer struct {
	g      *Target
	c      comm.Comm
	part   text.Part // the input, if it is a part of a text file
	router *router
	owners []int32 // by block
	mine   []plan.Block
}

func (s *scatterer) run(in coo.Stream) (map[plan.Block]*tcs.Tensor, error) {
	g := s.g
	intake, err := coo.NewIntake(in, g.Spec)
	if err := Agree(s.c, err); err != nil {
		return nil, err
	}
	if err := begin(s.c, s.part); err != nil {
		return nil, err
	}
	s.owners = make([]int32, g.Partition.Pieces())
	for b := range s.owners {
		s.owners[b] = int32(g.Partition.OwnerOf(plan.Block(b)))
		if int(s.owners[b]) == s.c.Rank() {
			s.mine = append(s.mine, plan.Block(b))
		}
	}
	s.router = newRouter(g, intake)
	held := buffers(s.c.Size(), g.Partition.Pieces(), g.Partition.Order, g.Spec.Type,
		g.Cfg.Limit.Free())
	if err := Agree(s.c, g.Cfg.Limit.Reserve(held,
		"distributing "+tensor.Printable(g.Spec.Name))); err !=
		nil {
		return nil, err
	}
	defer g.Cfg.Limit.Release(held)
	slots := newSlots(g, s.router.split)
	way, err := comm.AllreduceValue(s.c.Uncounted(), g.chooseWay(in, slots), comm.Min)
	if err != nil {
		return nil, err
	}
	switch way {
	case spreading:
		own, err := s.spread(g.placing(in))
		if err != errRepeated {
			return own, err
		}
		if err := Agree(s.c, s.router.rewind()); err != nil {
			return nil, err
		}
	case joining:
		own, err := s.join()
		if err != coo.ErrUnordered {
			return own, err
		}
		if err := Agree(s.c, s.router.rewind()); err != nil {
			return nil, err
		}
	}
	if slots != nil && g.Spec.Duplicates == coo.Refuse {
		// The zeros that make room would look like repeated coordinates. Therefore look for
		// repeated coordinates first, without these zeros.
		own, err := s.collect()
		tcs.CloseAll(own)
		if err == nil {
			err = Agree(s.c, s.router.rewind())
		}
		if err != nil {
			return nil, err
		}
		summed := *g
		summed.Spec.Duplicates = coo.Sum
		s.g = &summed
	}
	s.router.slots = slots
	return s.collect()
}

// The ways to assemble blocks.
const (
	collecting int64 = iota // entries are packed at the owner, then sorted
	spreading               // the block is dense, and each entry is stored at its position
	joining                 // entries are counted first, then filled in place
)

// chooseWay chooses how the blocks are assembled from a stream: by collecting, spreading or
// joining. The stream is this rank's own piece of the input. Different ranks may therefore choose
// different ways, and the caller must make them agree. s is the result of newSlots.
func (g *Target) chooseWay(in coo.Stream, s *slots) int64 {
	_, stored := in.(coo.TensorStream)
	switch {
	case g.Spec.Format.AllDense():
		return spreading
	case stored && coo.InOrder(in, g.Spec.Format.Order) &&
		(coo.Filled(in, g.Spec.Format) || s == nil):
		return joining
	}
	return collecting
}

// placing chooses what storing an entry of the stream in a dense block does to the value that is
// there already (see coo.Placing).
func (g *Target) placing(in coo.Stream) coo.Placing {
	t, stored := in.(coo.TensorStream)
	switch {
	case !stored || g.Spec.Duplicates == coo.Refuse || t.Tensor().Format().Repeats():
		return coo.Once
	case t.Tensor().Dense():
		return coo.Set
	}
	return coo.Add
}

// spec returns the spec of one block.
func (s *scatterer) spec(b plan.Block) coo.Spec {
	spec := s.g.Spec
	spec.Box = s.g.Partition.Box(b, spec.Dims)
	return spec
}

// exchange sends every rank's entries to the sinks of the owners.
func (s *scatterer) exchange(to sink) error {
	x := newExchange(s.c, s.g, s.owners, to)
	r := s.router
	r.vals, r.flush = true, x.pack
	most := int(sendRoom(s.g.Cfg.Limit.Free()))
	for {
		var fail error
		for !r.done && x.sent < most && fail == nil {
			_, fail = r.next()
		}
		if r.done && fail == nil {
			fail = r.finish()
		}
		state := []int64{0, 0} // whether some rank has entries left, and whether some rank failed
		if !r.done {
			state[0] = 1
		}
		if fail != nil {
			state[1] = 1
		}
		if err := s.c.Uncounted().Allreduce(comm.Of(state), comm.Max); err != nil {
			return err
		}
		if state[1] > 0 {
			return settle(s.c, s.part, fail, r.in.CheckRest)
		}
		if err := x.deliver(); err != nil {
			return err
		}
		if state[0] == 0 {
			break
		}
	}
	if s.part != nil {
		return settle(s.c, s.part, nil, nil)
	}
	return nil
}

// maker assembles one block.
type maker interface {
	Finish() (*tcs.Tensor, error)
	Close()
}

// finish completes the block of each maker and returns the blocks. If any rank failed, finish
// closes all blocks and returns an error at every rank. err is an earlier error of this rank, or
// nil. Every rank must call finish.
func finish[M maker](c comm.Comm, makers map[plan.Block]M, err error) (map[plan.Block]*tcs.Tensor,
	error) {
	own := map[plan.Block]*tcs.Tensor{}
	for _, b := range slices.Sorted(maps.Keys(makers)) {
		if err == nil {
			own[b], err = makers[b].Finish()
		}
		if err != nil {
			makers[b].Close()
			delete(own, b)
		}
	}
	if err := Agree(c, err); err != nil {
		tcs.CloseAll(own)
		return nil, err
	}
	return own, nil
}

// abandon closes all makers.
func abandon[M maker](makers map[plan.Block]M) {
	for _, m := range makers {
		m.Close()
	}
}

// spreads is the sink for dense blocks.
type spreads map[plan.Block]*coo.Spread

func (m spreads) add(b plan.Block, lane int, cols [][]int64, vals []byte, n int) error {
	return m[b].Add(cols, vals, n)
}

// errRepeated says, at every rank, that a coordinate occurs more than once. The blocks must then be
// assembled in another way, which sums the values in the order of the input.
var errRepeated = errors.New("a coordinate occurs twice in the input, want it once")

// spread makes dense blocks. It stores each entry at its position when the entry arrives. The
// parameter how selects what happens to a value that the block already has there. If how is
// coo.Once and a coordinate repeats at any rank, spread returns errRepeated.
func (s *scatterer) spread(how coo.Placing) (map[plan.Block]*tcs.Tensor, error) {
	makers := spreads{}
	var err error
	for _, b := range s.mine {
		if makers[b], err = coo.NewSpread(s.spec(b), s.g.Cfg, how); err != nil {
			delete(makers, b)
			break
		}
	}
	if err = Agree(s.c, err); err == nil {
		err = s.exchange(makers)
	}
	if err == nil && how == coo.Once {
		twice := int64(0)
		for _, m := range makers {
			if m.Repeated() {
				twice = 1
			}
		}
		if twice, err = comm.AllreduceValue(s.c.Uncounted(), twice, comm.Max); err == nil && twice > 0 {
			err = errRepeated
		}
	}
	if err != nil {
		abandon(makers)
		return nil, err
	}
	return finish(s.c, makers, nil)
}

// sorting makes a block from entries in any order.
type sorting struct {
	sorter *coo.Sorter
	wide   bool
}

func (b *sorting) Finish() (*tcs.Tensor, error) { return b.sorter.Finish(b.wide) }
func (b *sorting) Close()                       { b.sorter.Close() }

type sortings map[plan.Block]*sorting

func (m sortings) add(b plan.Block, lane int, cols [][]int64, vals []byte, n int) error {
	return m[b].sorter.Add(lane, cols, vals, n)
}

// collect assembles blocks from entries in any order.
func (s *scatterer) collect() (map[plan.Block]*tcs.Tensor, error) {
	makers := sortings{}
	pool := coo.NewPool(s.g.Cfg.Limit)
	for _, b := range s.mine {
		makers[b] = &sorting{sorter: coo.NewSorter(s.spec(b), s.g.Cfg, s.c.Size(), pool)}
	}
	if err := s.exchange(makers); err != nil {
		abandon(makers)
		return nil, err
	}
	most := int64(0)
	for _, m := range makers {
		most = max(most, m.sorter.N())
	}
	wide, err := s.wide(most)
	if err != nil {
		abandon(makers)
		return nil, err
	}
	for _, m := range makers {
		m.wide = wide
	}
	return finish(s.c, makers, nil)
}

// wide reports whether the blocks get positions of 64 bits. If a block of any rank needs 64 bits,
// wide returns true at all ranks, so that one leaf can read all blocks. maxEntries is the number of
// entries of this rank's largest block. Every rank must call wide.
func (s *scatterer) wide(maxEntries int64) (bool, error) {
	maxEntries, err := comm.AllreduceValue(s.c.Uncounted(), maxEntries, comm.Max)
	return maxEntries > math.MaxInt32, err
}

// joins is the sink for blocks whose entries were counted.
type joins map[plan.Block]*coo.Joined

func (m joins) add(b plan.Block, lane int, cols [][]int64, vals []byte, n int) error {
	return m[b].Add(lane, cols, vals, n)
}

// join distributes the entries to blocks in two passes: the first counts them, and the second fills
// the blocks. It returns coo.ErrUnordered, at every rank, if entries are not in order, or if
// coordinates repeat in blocks that must not keep repeats.
func (s *scatterer) join() (map[plan.Block]*tcs.Tensor, error) {
	parts, err := s.count()
	if err != nil {
		return nil, err
	}
	makers := joins{}
	most, unordered := int64(0), int64(0)
	for _, b := range s.mine {
		n := int64(0)
		for _, p := range parts[b] {
			n += p.N
		}
		most = max(most, n)
		j, err := coo.Join(s.spec(b), parts[b])
		if errors.Is(err, coo.ErrUnordered) {
			unordered = 1
			break
		}
		makers[b] = j
	}
	if unordered, err = comm.AllreduceValue(s.c.Uncounted(), unordered, comm.Max); err != nil {
		return nil, err
	}
	if unordered > 0 {
		return nil, coo.ErrUnordered
	}
	wide, err := s.wide(most)
	if err != nil {
		return nil, err
	}
	for _, b := range s.mine {
		if err = makers[b].Allocate(s.g.Cfg.Limit, wide); err != nil {
			break
		}
	}
	if err == nil {
		err = s.router.rewind()
	}
	if err = Agree(s.c, err); err == nil {
		err = s.exchange(makers)
	}
	if err != nil {
		abandon(makers)
		return nil, err
	}
	return finish(s.c, makers, nil)
}

// count makes the first pass over this rank's piece: it counts the entries of each block and sends
// the counts to the owner of the block. For each block that this rank owns, count returns the
// counts of all ranks, indexed by rank. Every rank must call count.
func (s *scatterer) count() (map[plan.Block][]coo.PartCount, error) {
	r, levels := s.router, len(s.g.Spec.Format.Levels)
	counters := make([]*coo.PartCounter, len(s.owners))
	r.vals = false
	r.flush = func(b plan.Block, cols [][]int64, vals []byte, n int) error {
		if counters[b] == nil {
			counters[b] = coo.NewPartCounter(levels)
		}
		counters[b].Add(cols, n)
		return nil
	}
	if err := Agree(s.c, r.all()); err != nil {
		return nil, err
	}
	out := make([][]int64, s.c.Size())
	for b, k := range counters {
		if k != nil {
			to := s.owners[b]
			out[to] = appendPart(append(out[to], int64(b)), k.Part())
		}
	}
	in, err := alltoallv(s.c.Uncounted(), out)
	if err != nil {
		return nil, err
	}
	parts := map[plan.Block][]coo.PartCount{}
	for _, b := range s.mine {
		parts[b] = make([]coo.PartCount, s.c.Size())
		for from := range parts[b] {
			parts[b][from].Sorted = true
		}
	}
	for from, msg := range in {
		for len(msg) > 0 {
			b := plan.Block(msg[0])
			parts[b][from], msg = takePart(msg[1:], levels)
		}
	}
	return parts, nil
}

// appendPart appends the counts of part p to out as numbers; takePart decodes them.
func appendPart(out []int64, p coo.PartCount) []int64 {
	sorted := int64(0)
	if p.Sorted {
		sorted = 1
	}
	out = append(out, p.N, sorted)
	out = append(out, p.Hist...)
	return append(append(out, p.First...), p.Last...)
}

func takePart(in []int64, levels int) (coo.PartCount, []int64) {
	p := coo.PartCount{N: in[0], Sorted: in[1] == 1}
	in = in[2:]
	p.Hist, in = in[:levels+1], in[levels+1:]
	p.First, in = in[:levels], in[levels:]
	p.Last, in = in[:levels], in[levels:]
	return p, in
}

// alltoallv sends out[r] to rank r, and returns what each rank sent to this one.
func alltoallv(c comm.Comm, out [][]int64) ([][]int64, error) {
	n := c.Size()
	counts, got := make([]int64, n), make([]int64, n)
	var send []int64
	for r, p := range out {
		counts[r] = int64(len(p))
		send = append(send, p...)
	}
	if err := c.Alltoall(comm.Of(counts), comm.Of(got)); err != nil {
		return nil, err
	}
	total := int64(0)
	for _, k := range got {
		total += k
	}
	recv := make([]int64, total)
	if err := c.Alltoallv(comm.Of(send), counts, comm.Of(recv), got); err != nil {
		return nil, err
	}
	in := make([][]int64, n)
	for r, k := range got {
		in[r], recv = recv[:k:k], recv[k:]
	}
	return in, nil
}
