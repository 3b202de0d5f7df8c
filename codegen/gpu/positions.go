package gpu

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/schedule"
)

// Sizes of the default schedules. They come from Senanayake (2020), appendix A, unless other sizes
// were measured to be better.
const (
	blockThreads = 256  // threads of a block that is not divided into warps; rows of one that is
	warpLanes    = 32   // threads of a warp
	blockWarps   = 16   // warps of a block
	tileEntries  = 2048 // entries that a block loads before its threads sum rows of them
	perThread    = 7    // entries that a thread sums before it adds to the result (A.2)
	rowWarps     = 4    // warps of a block, each of which computes a row
	// perWarp is the number of entries of a warp whose threads run over a dense variable: A.4 has
	// 16, and A.8 has 4. denseWarps is the number of such warps in a block.
	perWarp    = 128
	denseWarps = 8
	// sumEntries and sumWarps are the same for warps whose threads sum over a dense variable.
	sumEntries = 64
	sumWarps   = 4
	// together is the largest number of values of a dense variable, or of entries, that a thread
	// computes at a time. Their loads do not wait for each other.
	together      = 4
	copiedEntries = 4       // entries of a thread in ownPlaces, coordinates of one in grids
	partedRow     = 64      // entries of a row that is long enough for the threads of a warp
	tableRowsEach = 4       // rows of a warp, if it must search for its first row
	tableWarps    = 8       // warps of a block that has a hash table for each warp
	scalarTerms   = 8       // terms that a thread sums for a scalar result
	fewResults    = 1 << 13 // if a result has fewer places, a warp computes each sum
)

// Forms returns the forms that the statement's shape allows, the best first.
func (s *Shape) Forms() []Form {
	if s.Body == nil {
		return []Form{s.lines()}
	}
	s.findLoops()
	if nests := s.findNests(); len(nests) == 1 && nests[0].loop == s.Body {
		s = s.ofNest(nests[0])
	}
	return slices.Concat(s.formsOfNest(), s.try(s.rows), s.perNest(), s.try(s.grids))
}

// formsOfNest returns the forms that fit a statement of one nest of loops, the best first.
func (s *Shape) formsOfNest() (out []Form) {
	if s.loops != nil && s.driver != nil {
		out = s.try(s.denseRows, s.positions, s.loadedPositions, s.plainPositions)
	}
	if s.loops != nil && s.driver == nil && !s.hasSparse(s.sum.RHS) && s.Result.AllDense() {
		out = append(out, s.try(s.factored, s.dense)...)
	}
	return append(out, s.try(s.tableRows(true, 1), s.tableRows(true, tableRowsEach),
		s.tableRows(false, 1), s.tableRows(false, tableRowsEach), s.partedRows, s.warpRows,
		s.rowsAcross)...)
}

// try returns the forms that the functions in ways make. A function returns nil if its form does
// not fit.
func (s *Shape) try(ways ...func() Form) (out []Form) {
	for _, way := range ways {
		s.used = s.Taken()
		if f := way(); f != nil {
			out = append(out, f)
		}
	}
	return out
}

// lines returns the form with the commands in s.First and, after them, the commands in texts. A
// text is a command, which may be followed by " # " and its reason. Empty texts are skipped.
func (s *Shape) lines(texts ...string) Form {
	var f Form
	for _, t := range append(slices.Clone(s.First), texts...) {
		if t != "" {
			command, why, _ := strings.Cut(t, " # ")
			f = append(f, schedule.Line{Command: command, Why: why})
		}
	}
	return f
}

// positionLoop is one loop over the positions of a level of an operand. It replaces the loops over
// this level and the levels above it.
type positionLoop struct {
	texts       []string // the commands that make it, with their reasons
	pos         string   // the variable of the loop
	vars        []string // the variables of the levels
	inner, sums []string // the variables of the loops inside: the result's, and summed ones
}

// positions returns the form that divides the stored positions of s.driver evenly among the blocks,
// warps and threads. s.driver is a sparse operand outside of whose entries the statement has no
// values.
func (s *Shape) positions() Form {
	c := s.fusePositions()
	if c == nil {
		return nil
	}
	races := slices.ContainsFunc(c.vars, func(v string) bool { return !s.inResult(v) })
	switch {
	case len(s.Vars) == 0:
		return s.scalar(c)
	case len(c.inner) > 0:
		return s.denseInside(c, races)
	case len(c.sums) > 0 && !races && !s.hasWalked(c.sums):
		return s.sumInside(c)
	case races:
		return s.rowsOfTiles(c)
	}
	return s.ownPlaces(c)
}

// loadedPositions returns the form that first loads the entries of each thread and then sums the
// loaded values. It is schedule A.2 of Senanayake (2020), appendix A. loadedPositions returns nil
// if the form does not fit the statement.
func (s *Shape) loadedPositions() Form {
	c := s.fusePositions()
	if c == nil || len(c.inner) > 0 || len(c.sums) > 0 || len(s.Vars) == 0 {
		return nil
	}
	return s.entriesOfThreads(c, true)
}

// plainPositions returns the form that sums the entries of each thread directly, without a
// workspace for the products. It is schedule A.11 of Senanayake (2020), appendix A. plainPositions
// returns nil if the form does not fit the statement.
func (s *Shape) plainPositions() Form {
	c := s.fusePositions()
	if c == nil || len(c.inner) > 0 || len(s.Vars) == 0 {
		return nil
	}
	return s.entriesOfThreads(c, false)
}

// fusePositions replaces the loops over the levels of s.driver by one loop over positions. If the
// result is dense, it fuses all levels down to the last one that is not dense. If the result uses
// the level arrays of s.driver, it fuses the levels down to the result's last level that is not
// dense. For any other result, or if the loops cannot be fused, fusePositions returns nil.
func (s *Shape) fusePositions() *positionLoop {
	levels := s.levels()
	deep := s.deep
	result := s.Result
	if !result.AllDense() {
		if s.Shared == nil || s.Shared.Key() != s.driver.Key() {
			return nil
		}
		deep = len(result.Levels) - result.TrailingDense()
	}
	c := &positionLoop{vars: levels[:deep]}
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
		return nil // the operand has a variable twice
	}
	if !slices.Equal(order, s.loops) {
		c.texts = append(c.texts,
			"reorder("+strings.Join(order, ",")+") # loops over the levels of "+s.key(s.driver)+" outside")
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
		fmt.Sprintf("pos(%s,%s,%s) # %s are divided evenly, wherever rows end",
			c.pos, p, s.key(s.driver),
			s.entries()))
	c.pos = p
	return c
}

// hasWalked reports whether one of vars is the variable of the last sparse level of s.driver, or of
// a level above it.
func (s *Shape) hasWalked(vars []string) bool {
	return slices.ContainsFunc(s.levels()[:s.deep],
		func(v string) bool { return slices.Contains(vars, v) })
}

// scalar returns the form of a scalar result. Each thread sums a few entries, the sums of a block's
// threads are added, and each block adds one sum to the result.
func (s *Shape) scalar(c *positionLoop) Form {
	block, thread, nz, inside := s.name("block"), s.name("thread"), s.name("thread_nz"),
		s.name(c.pos+"1")
	return s.lines(append(c.texts,
		fmt.Sprintf("split(%s,%s,%s,%d)", c.pos, block, inside, blockThreads*scalarTerms),
		fmt.Sprintf("split(%s,%s,%s,%d) # a thread sums %d entries", inside, thread, nz, scalarTerms,
			scalarTerms),
		fmt.Sprintf("parallelize(%s,GPUBlock,%s", block, s.sumOfBlocks()),
		fmt.Sprintf(
			"parallelize(%s,GPUThread,ParallelReduction) # sums of threads are added by shuffles "+
				"and in shared memory", thread),
	)...)
}

// sumOfBlocks returns the end of a parallelize command for blocks that sum one scalar: the race
// strategy, the closing parenthesis and a comment with the reason.
func (s *Shape) sumOfBlocks() string {
	if s.inTemporary {
		return "ParallelReduction) # the sums of blocks are stored, and then added"
	}
	return "Atomics) # one addition a block to the result"
}

// rowsOfTiles returns the form that gives each block a tile of neighbouring entries. First the
// threads store the products of the tile's entries in shared memory, where neighbouring threads
// load neighbouring entries. Then the rows of the tile are summed: each row by one thread, or by
// one warp if the tile has few rows. If c.sums is not empty, rowsOfTiles returns the form of
// entriesOfThreads instead.
func (s *Shape) rowsOfTiles(c *positionLoop) Form {
	if len(c.sums) > 0 {
		return s.entriesOfThreads(c, false)
	}
	block, tile, pre, w, k, lane := s.name("block"), s.name("tile"), s.name("tile_pre"),
		s.name("products"), s.name("load"), s.name("lane")
	return s.lines(append(c.texts,
		fmt.Sprintf("split(%s,%s,%s,%d)", c.pos, block, tile, tileEntries),
		fmt.Sprintf("precompute(%s,%s,%s,%s) # products of the tile's entries, before any row is summed",
			s.expr(s.sum.RHS), tile, pre, w),
		fmt.Sprintf("split(%s,%s,%s,%d) # threads load neighbouring entries", pre, k, lane, blockThreads),
		fmt.Sprintf("reorder(%s,%s)", lane, k),
		fmt.Sprintf("unroll(%s,%d) # loads of a thread do not wait for each other", k,
			tileEntries/blockThreads),
		fmt.Sprintf("parallelize(%s,GPUBlock,IgnoreRaces) # races are settled where threads add", block),
		fmt.Sprintf("parallelize(%s,GPUThread,NoRaces)", lane),
		fmt.Sprintf(
			"parallelize(%s,GPUThread,Atomics,Rows) # a thread sums a row of the tile, or a "+
				"warp if rows are few; a row of several tiles is added atomically", tile))...)
}

// entriesOfThreads returns the form that gives each thread a few neighbouring entries. The thread
// adds up its entries of each row, and adds the sum of each row to the result by an atomic
// addition. If products is true, the thread first computes the products of all its entries, as in
// schedule A.2 of Senanayake (2020), appendix A.
func (s *Shape) entriesOfThreads(c *positionLoop, products bool) Form {
	block, warp, thread, nz := s.name("block"), s.name("warp"), s.name("thread"), s.name("thread_nz")
	in1, in2 := s.name(c.pos+"1"), s.name(c.pos+"2")
	texts := append(c.texts,
		fmt.Sprintf("split(%s,%s,%s,%d)", c.pos, block, in1, perThread*warpLanes*blockWarps),
		fmt.Sprintf("split(%s,%s,%s,%d)", in1, warp, in2, perThread*warpLanes),
		fmt.Sprintf("split(%s,%s,%s,%d) # entries of a thread", in2, thread, nz, perThread))
	if products {
		pre, w := s.name("thread_nz_pre"), s.name("products")
		texts = append(texts,
			fmt.Sprintf("precompute(%s,%s,%s,%s) # loads of a thread do not wait for each other",
				s.expr(s.sum.RHS), nz, pre, w),
			fmt.Sprintf("unroll(%s,%d)", pre, perThread))
	}
	return s.lines(append(texts,
		fmt.Sprintf("parallelize(%s,GPUBlock,IgnoreRaces) # races are settled where threads add", block),
		fmt.Sprintf("parallelize(%s,GPUWarp,IgnoreRaces)", warp),
		fmt.Sprintf(
			"parallelize(%s,GPUThread,Atomics) # several threads may have entries of one row",
			thread))...)
}

// denseInside returns the form that gives each warp a few entries and lets the warp's threads run
// over the last dense variable of the result. races is true if several warps may add to the same
// row. The form has the loops of schedules A.4 and A.8 of Senanayake (2020), appendix A.
func (s *Shape) denseInside(c *positionLoop, races bool) Form {
	block, warp, thread, nz := s.name("block"), s.name("warp"), s.name("thread"), s.name("nz")
	in1, tile := s.name(c.pos+"1"), s.name("dense_val")
	last := c.inner[len(c.inner)-1]
	texts := append(c.texts,
		fmt.Sprintf("split(%s,%s,%s,%d)", c.pos, block, in1, perWarp*denseWarps),
		fmt.Sprintf("split(%s,%s,%s,%d) # entries of a warp", in1, warp, nz, perWarp))
	texts = append(texts, s.overLanes(last, tile, thread,
		"the threads of a warp read and write neighbours along "+last)...)
	order := slices.Concat([]string{block, warp}, c.inner[:len(c.inner)-1], []string{thread, tile, nz},
		c.sums)
	race := "NoRaces) # every entry writes its own elements"
	outer := race
	if races {
		race = "Atomics) # a row with entries of several warps is added atomically"
		outer = "IgnoreRaces) # races are settled where threads add"
	}
	return s.lines(append(texts, eachLane(thread, tile),
		"reorder("+strings.Join(order, ",")+")", s.togetherIn(last, tile),
		fmt.Sprintf("parallelize(%s,GPUBlock,%s", block, outer),
		fmt.Sprintf("parallelize(%s,GPUWarp,%s", warp, outer),
		fmt.Sprintf("parallelize(%s,GPUThread,%s", thread, race))...)
}

// denseRows returns the form that gives each row of a matrix to a warp, whose threads run over the
// last dense variable of the result. No additions are atomic, and the result need not be set to 0
// before. denseRows returns nil if rows are not known to be of about equal length.
func (s *Shape) denseRows() Form {
	levels, order := s.levels(), len(s.loops)
	if len(levels) != 2 || s.deep != 2 || order < 3 || !s.Result.AllDense() ||
		!s.inResult(levels[0]) || s.inResult(levels[1]) || s.EvenRows(s.driver.Name) == 0 {
		return nil
	}
	var inner []string
	for _, v := range s.loops {
		if !slices.Contains(levels, v) {
			inner = append(inner, v)
		}
	}
	if len(inner) != order-2 || // the operand has a variable twice
		slices.ContainsFunc(inner, func(v string) bool { return !s.inResult(v) }) {
		return nil
	}
	block, warp, thread, tile := s.name("block"), s.name("warp"), s.name("thread"), s.name("dense_val")
	last := inner[len(inner)-1]
	texts := []string{fmt.Sprintf("split(%s,%s,%s,%d) # a warp for each row: none of %s has more "+
		"than %d entries", levels[0], block, warp, rowWarps, s.key(s.driver), s.EvenRows(s.driver.Name))}
	texts = append(texts, s.overLanes(last, tile, thread,
		"the threads of a warp read and write neighbours along "+last)...)
	loops := slices.Concat([]string{block, warp}, inner[:len(inner)-1],
		[]string{thread, tile, levels[1]})
	return s.lines(append(texts, eachLane(thread, tile),
		"reorder("+strings.Join(loops, ",")+")", s.togetherIn(last, tile),
		fmt.Sprintf("parallelize(%s,GPUBlock,NoRaces) # every warp writes its own row", block),
		fmt.Sprintf("parallelize(%s,GPUWarp,NoRaces)", warp),
		fmt.Sprintf("parallelize(%s,GPUThread,NoRaces)", thread))...)
}

// sumInside returns the form that gives each warp a few entries. For each entry, the threads of the
// warp sum over a dense variable together.
func (s *Shape) sumInside(c *positionLoop) Form {
	block, warp, thread, nz := s.name("block"), s.name("warp"), s.name("thread"), s.name("nz")
	in1, tile := s.name(c.pos+"1"), s.name("dense_val")
	last := c.sums[len(c.sums)-1]
	order := slices.Concat([]string{block, warp, nz, thread, tile}, c.sums[:len(c.sums)-1])
	texts := append(c.texts,
		fmt.Sprintf("split(%s,%s,%s,%d)", c.pos, block, in1, sumEntries*sumWarps),
		fmt.Sprintf("split(%s,%s,%s,%d) # entries of a warp", in1, warp, nz, sumEntries))
	texts = append(texts, s.overLanes(last, tile, thread,
		"the threads of a warp sum over "+last+" together")...)
	return s.lines(append(texts,
		"reorder("+strings.Join(order, ",")+")", s.entriesTogether(last, nz),
		fmt.Sprintf(
			"parallelize(%s,GPUBlock,NoRaces) # every entry writes its own element", block),
		fmt.Sprintf("parallelize(%s,GPUWarp,NoRaces)", warp),
		fmt.Sprintf("parallelize(%s,GPUThread,ParallelReduction) # sums of threads are added by shuffles",
			thread))...)
}

// overLanes returns commands that split the loop over the dense variable v for the threads of a
// warp. tile and thread are names for the new variables, and why is the reason for the split. If
// the size of v is known and a multiple of the number of threads, and no call gets only a part of
// the range of v, the commands also say that the loop needs no check for its end.
func (s *Shape) overLanes(v, tile, thread, why string) []string {
	n := s.Size(v)
	if slices.Contains(s.Parts, v) || n%warpLanes != 0 || n == 0 {
		return []string{fmt.Sprintf("split(%s,%s,%s,%d) # %s", v, tile, thread, warpLanes, why)}
	}
	open := s.name(tile + "_unbounded")
	return []string{
		fmt.Sprintf("split(%s,%s,%s,%d) # %s", v, open, thread, warpLanes, why),
		fmt.Sprintf("bound(%s,%s,%d,MaxExact) # %s has %d coordinates", open, tile, n/warpLanes, v, n),
	}
}

// eachLane returns the command that moves the loop over a thread's values of a dense variable into
// the loop over threads. Unlike a command for all loops of the nest, it also fits other nests over
// the variable.
func eachLane(thread, tile string) string {
	return fmt.Sprintf("reorder(%s,%s)", thread, tile)
}

// togetherIn returns the command that lets each thread compute several values of the dense
// variable v at a time, so that it reads an entry once for several values. tile is the loop that a
// thread runs over its values of v. togetherIn returns "" if a thread is known to have one value.
func (s *Shape) togetherIn(v, tile string) string {
	each := int64(together)
	if n := s.Size(v); n > 0 {
		for each = min(each, (n+warpLanes-1)/warpLanes); n/warpLanes%each > 0; each-- {
		}
	}
	if each == 1 {
		return ""
	}
	return fmt.Sprintf("unroll(%s,%d) # a thread reads an entry once for %[2]d values of %s", tile,
		each, v)
}

// entriesTogether returns the command that lets a warp load several entries at a time, so that
// their loads do not wait for each other. nz is the loop over a warp's entries. last is the
// variable over which the warp's threads sum. entriesTogether returns "" if each thread already
// loads many values of an entry.
func (s *Shape) entriesTogether(last, nz string) string {
	values := max((s.Size(last)+warpLanes-1)/warpLanes, 1)
	if values > together {
		return ""
	}
	entries := max(together/values, 2)
	return fmt.Sprintf("unroll(%s,%d) # the loads of %[2]d entries do not wait for each other", nz,
		entries)
}

// ownPlaces returns the form that gives each thread a few stored positions, or one if the thread
// sums at each of them. No other thread writes to the result's elements that belong to these
// positions, so no additions are atomic.
func (s *Shape) ownPlaces(c *positionLoop) Form {
	block, thread, nz, in := s.name("block"), s.name("thread"), s.name("nz"), s.name(c.pos+"1")
	each := copiedEntries
	if len(c.sums) > 0 {
		each = 1
	}
	return s.lines(append(c.texts,
		fmt.Sprintf("split(%s,%s,%s,%d)", c.pos, block, in, blockThreads*each),
		fmt.Sprintf("split(%s,%s,%s,%d)", in, thread, nz, each),
		fmt.Sprintf(
			"parallelize(%s,GPUBlock,NoRaces) # every position writes its own elements", block),
		fmt.Sprintf("parallelize(%s,GPUThread,NoRaces)", thread))...)
}
