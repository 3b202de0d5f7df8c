package codegen

import (
	"fmt"
	"slices"
	"strings"
)

// Sizes of the default schedules: those of source 004, appendix A, where nothing was measured to be
// better.
const (
	gpuThreads   = 256  // of a block whose threads have nothing to do with each other
	gpuLanes     = 32   // of a warp
	gpuWarps     = 16   // of a block that has warps
	gpuTile      = 2048 // entries that a block loads before its threads sum rows of them
	gpuPerThread = 7    // entries that a thread sums before it adds to the result (A.2)
	// entries that a warp takes whose threads have a dense variable (A.4 has 16)
	gpuPerWarp = 32
	// the same, of an operand of order 3 or more, whose slices may be huge (A.8 has 4)
	gpuPerWarpTree = 128
	gpuCopied      = 4       // entries that a thread takes which has nothing to sum
	gpuScalar      = 8       // entries, or places, that a thread sums of a scalar result
	gpuFewResults  = 1 << 13 // results below which a warp computes each, where sums are long
)

// forms are those that the statement's shape allows, the best first.
func (s *gpuShape) forms() []gpuForm {
	var out []gpuForm
	try := func(ways ...func() gpuForm) {
		for _, way := range ways {
			s.used = s.c.taken()
			if f := way(); f != nil {
				out = append(out, f)
			}
		}
	}
	if s.loops != nil && s.drive != nil {
		try(s.positions, s.loadedPositions, s.plainPositions)
	}
	if s.loops != nil && s.drive == nil && !s.sparse(s.sum.RHS) && s.c.unit.Result.Format.AllDense() {
		try(s.dense)
	}
	try(s.warpRows, s.rowsAcross, s.rows, s.tiledRows)
	return out
}

// lines makes a form of texts, each a command and, behind #, its reason.
func (s *gpuShape) lines(texts ...string) gpuForm {
	var f gpuForm
	for _, t := range append(slices.Clone(s.first), texts...) {
		if t != "" {
			command, why, _ := strings.Cut(t, " # ")
			f = append(f, ScheduleLine{command, why})
		}
	}
	return f
}

// cut is what the positions of an operand do to the loops: those over its levels become one.
type cut struct {
	texts       []string
	pos         string   // the loop over positions
	vars        []string // the variables of these levels
	inner, sums []string // of the loops inside: variables of the result, and others
}

// positions are forms over the positions of drive: every unit of the GPU gets as many of its
// entries.
func (s *gpuShape) positions() gpuForm {
	c := s.cut()
	if c == nil {
		return nil
	}
	races := slices.ContainsFunc(c.vars, func(v string) bool { return !s.inResult(v) })
	switch {
	case len(s.c.normal.LHS.Vars) == 0:
		return s.scalar(c)
	case len(c.inner) > 0:
		return s.denseInside(c, races)
	case len(c.sums) > 0 && !races && !s.walked(c.sums):
		return s.sumInside(c)
	case races:
		return s.rowsOfTiles(c)
	}
	return s.ownPlaces(c)
}

// loadedPositions is the form of entries that threads sum after they loaded them (A.2).
func (s *gpuShape) loadedPositions() gpuForm {
	c := s.cut()
	if c == nil || len(c.inner) > 0 || len(c.sums) > 0 || len(s.c.normal.LHS.Vars) == 0 {
		return nil
	}
	return s.entriesOfThreads(c, true)
}

// plainPositions is the form of entries that threads sum without their products in a workspace
// (A.11).
func (s *gpuShape) plainPositions() gpuForm {
	c := s.cut()
	if c == nil || len(c.inner) > 0 || len(s.c.normal.LHS.Vars) == 0 {
		return nil
	}
	return s.entriesOfThreads(c, false)
}

// cut makes one loop of those over drive's levels, over the positions of the last of them that
// is to be split: of all that are not dense, or of those that the result has too, where
// it has the operand's level arrays.
func (s *gpuShape) cut() *cut {
	levels := s.levels()
	deep := s.deep
	result := s.c.unit.Result.Format
	if !result.AllDense() {
		if s.c.sharedWith == nil || s.c.sharedWith.Key() != s.drive.Key() {
			return nil
		}
		deep = len(result.Levels) - result.TrailingDense()
	}
	c := &cut{vars: levels[:deep]}
	for _, v := range s.loops {
		switch {
		case slices.Contains(c.vars, v):
		case s.inResult(v):
			c.inner = append(c.inner, v)
		default:
			c.sums = append(c.sums, v)
		}
	}
	order := slices.Concat(c.vars, c.inner, c.sums)
	if len(order) != len(s.loops) {
		return nil // a variable stands twice in the operand
	}
	if !slices.Equal(order, s.loops) {
		c.texts = append(c.texts,
			"reorder("+strings.Join(order, ",")+") # loops over the levels of "+s.key(s.drive)+" outside")
	}
	c.pos = c.vars[deep-1]
	for k := deep - 2; k >= 0; k-- {
		want := "f"
		if k > 0 {
			want += c.vars[k]
		}
		f := s.name(want)
		c.texts = append(c.texts, fmt.Sprintf("fuse(%s,%s,%s)", c.vars[k], c.pos, f))
		c.pos = f
	}
	p := s.name(c.pos + "pos")
	c.texts = append(c.texts,
		fmt.Sprintf("pos(%s,%s,%s) # %s are cut evenly, wherever its rows end", c.pos, p, s.key(s.drive),
			s.entries()))
	c.pos = p
	return c
}

// walked tells whether drive has one of these variables at a level that is not dense.
func (s *gpuShape) walked(vars []string) bool {
	return slices.ContainsFunc(s.levels()[:s.deep],
		func(v string) bool { return slices.Contains(vars, v) })
}

// scalar sums entries in each thread, then over the block, and adds a sum for each block.
func (s *gpuShape) scalar(c *cut) gpuForm {
	block, thread, nz, inside := s.name("block"), s.name("thread"), s.name("thread_nz"),
		s.name(c.pos+"1")
	return s.lines(append(c.texts,
		fmt.Sprintf("split(%s,%s,%s,%d)", c.pos, block, inside, gpuThreads*gpuScalar),
		fmt.Sprintf("split(%s,%s,%s,%d) # a thread sums %d entries", inside, thread, nz, gpuScalar,
			gpuScalar),
		fmt.Sprintf("parallelize(%s,GPUBlock,Atomics) # one addition a block to the result", block),
		fmt.Sprintf(
			"parallelize(%s,GPUThread,ParallelReduction) # sums of threads are added by shuffles and in shared memory", thread),
	)...)
}

// rowsOfTiles gives each block a tile of neighbouring entries: its threads load them side by side
// into shared memory, and then have a row of the tile each, or a warp has where the tile lies in
// few rows.
func (s *gpuShape) rowsOfTiles(c *cut) gpuForm {
	if len(c.sums) > 0 {
		return s.entriesOfThreads(c, false)
	}
	block, tile, pre, w, k, lane := s.name("block"), s.name("tile"), s.name("tile_pre"),
		s.name("products"), s.name("load"), s.name("lane")
	return s.lines(append(c.texts,
		fmt.Sprintf("split(%s,%s,%s,%d)", c.pos, block, tile, gpuTile),
		fmt.Sprintf("precompute(%s,%s,%s,%s) # products of the tile's entries, before any row is summed",
			s.expr(s.sum.RHS), tile, pre, w),
		fmt.Sprintf("split(%s,%s,%s,%d) # threads load neighbouring entries", pre, k, lane, gpuThreads),
		fmt.Sprintf("reorder(%s,%s)", lane, k),
		fmt.Sprintf("unroll(%s,%d) # loads of a thread do not wait for each other", k,
			gpuTile/gpuThreads),
		fmt.Sprintf("parallelize(%s,GPUBlock,IgnoreRaces) # races are settled where threads add", block),
		fmt.Sprintf("parallelize(%s,GPUThread,NoRaces)", lane),
		fmt.Sprintf(
			"parallelize(%s,GPUThread,Atomics,Rows) # a row of the tile is summed by a thread, or by a warp where there are few; one that is cut is added", tile))...)
}

// entriesOfThreads gives each thread a few neighbouring entries (A.2): the factors of all are
// loaded first, then summed by row, and a row's sum is added atomically.
func (s *gpuShape) entriesOfThreads(c *cut, products bool) gpuForm {
	block, warp, thread, nz := s.name("block"), s.name("warp"), s.name("thread"), s.name("thread_nz")
	in1, in2 := s.name(c.pos+"1"), s.name(c.pos+"2")
	texts := append(c.texts,
		fmt.Sprintf("split(%s,%s,%s,%d)", c.pos, block, in1, gpuPerThread*gpuLanes*gpuWarps),
		fmt.Sprintf("split(%s,%s,%s,%d)", in1, warp, in2, gpuPerThread*gpuLanes),
		fmt.Sprintf("split(%s,%s,%s,%d) # entries of a thread", in2, thread, nz, gpuPerThread))
	if products {
		pre, w := s.name("thread_nz_pre"), s.name("products")
		texts = append(texts,
			fmt.Sprintf("precompute(%s,%s,%s,%s) # loads of a thread do not wait for each other",
				s.expr(s.sum.RHS), nz, pre, w),
			fmt.Sprintf("unroll(%s,%d)", pre, gpuPerThread))
	}
	return s.lines(append(texts,
		fmt.Sprintf("parallelize(%s,GPUBlock,IgnoreRaces) # races are settled where threads add", block),
		fmt.Sprintf("parallelize(%s,GPUWarp,IgnoreRaces)", warp),
		fmt.Sprintf("parallelize(%s,GPUThread,Atomics) # a row may lie in the entries of several threads",
			thread))...)
}

// denseInside runs the last dense variable of the result on the threads of a warp (A.4, A.8), which
// goes through a few entries.
func (s *gpuShape) denseInside(c *cut, races bool) gpuForm {
	block, warp, thread, nz := s.name("block"), s.name("warp"), s.name("thread"), s.name("nz")
	in1, tile := s.name(c.pos+"1"), s.name("dense_val")
	entries := gpuPerWarp
	if len(c.vars) > 2 {
		entries = gpuPerWarpTree
	}
	last := c.inner[len(c.inner)-1]
	texts := append(c.texts,
		fmt.Sprintf("split(%s,%s,%s,%d)", c.pos, block, in1, entries*gpuWarps),
		fmt.Sprintf("split(%s,%s,%s,%d) # entries of a warp", in1, warp, nz, entries))
	texts = append(texts, s.overLanes(last, tile, thread,
		"the threads of a warp read and write neighbours along "+last)...)
	order := slices.Concat([]string{block, warp}, c.inner[:len(c.inner)-1], []string{tile, thread, nz},
		c.sums)
	race := "NoRaces) # every entry writes places of its own"
	outer := race
	if races {
		race = "Atomics) # a row's sum is added where it passes a warp's entries"
		outer = "IgnoreRaces) # races are settled where threads add"
	}
	return s.lines(append(texts,
		"reorder("+strings.Join(order, ",")+")",
		fmt.Sprintf("parallelize(%s,GPUBlock,%s", block, outer),
		fmt.Sprintf("parallelize(%s,GPUWarp,%s", warp, outer),
		fmt.Sprintf("parallelize(%s,GPUThread,%s", thread, race))...)
}

// sumInside gives each entry to a warp, whose threads sum over a dense variable together.
func (s *gpuShape) sumInside(c *cut) gpuForm {
	block, warp, thread, nz := s.name("block"), s.name("warp"), s.name("thread"), s.name("nz")
	in1, tile := s.name(c.pos+"1"), s.name("dense_val")
	last := c.sums[len(c.sums)-1]
	order := slices.Concat([]string{block, warp, nz, thread, tile}, c.sums[:len(c.sums)-1])
	texts := append(c.texts,
		fmt.Sprintf("split(%s,%s,%s,%d)", c.pos, block, in1, gpuPerWarp*gpuWarps),
		fmt.Sprintf("split(%s,%s,%s,%d) # entries of a warp", in1, warp, nz, gpuPerWarp))
	texts = append(texts, s.overLanes(last, tile, thread,
		"the threads of a warp sum over "+last+" together")...)
	return s.lines(append(texts,
		"reorder("+strings.Join(order, ",")+")",
		fmt.Sprintf("parallelize(%s,GPUBlock,NoRaces) # every entry writes a place of its own", block),
		fmt.Sprintf("parallelize(%s,GPUWarp,NoRaces)", warp),
		fmt.Sprintf("parallelize(%s,GPUThread,ParallelReduction) # sums of threads are added by shuffles",
			thread))...)
}

// overLanes cuts a dense variable for the threads of a warp. Where its size is known, and they
// share it evenly, nothing asks for its end.
func (s *gpuShape) overLanes(v, tile, thread, why string) []string {
	n := s.c.size(v)
	if slices.Contains(s.c.request.Parts, v) || n%gpuLanes != 0 || n == 0 {
		return []string{fmt.Sprintf("split(%s,%s,%s,%d) # %s", v, tile, thread, gpuLanes, why)}
	}
	open := s.name(tile + "_unbounded")
	return []string{
		fmt.Sprintf("split(%s,%s,%s,%d) # %s", v, open, thread, gpuLanes, why),
		fmt.Sprintf("bound(%s,%s,%d,MaxExact) # %s has %d coordinates", open, tile, n/gpuLanes, v, n),
	}
}

// ownPlaces gives each thread a few positions, which write places of their own.
func (s *gpuShape) ownPlaces(c *cut) gpuForm {
	block, thread, nz, in := s.name("block"), s.name("thread"), s.name("nz"), s.name(c.pos+"1")
	return s.lines(append(c.texts,
		fmt.Sprintf("split(%s,%s,%s,%d)", c.pos, block, in, gpuThreads*gpuCopied),
		fmt.Sprintf("split(%s,%s,%s,%d)", in, thread, nz, gpuCopied),
		fmt.Sprintf("parallelize(%s,GPUBlock,NoRaces) # every position writes places of its own", block),
		fmt.Sprintf("parallelize(%s,GPUThread,NoRaces)", thread))...)
}
