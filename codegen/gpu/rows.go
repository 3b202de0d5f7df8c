package gpu

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/cin"
	"distaff/io/tensor"
)

// The forms in this file have no loop over positions. They run over places of the result, or over
// rows.

// dense returns the form for a statement without sparse tensors. A scalar result has the form of
// denseScalar. If the statement has sums, and the result has few elements or only one mode, a warp
// computes each element of the result. In the other cases one thread computes each element.
func (s *Shape) dense() Form {
	var places, sums []string
	for _, v := range s.loops {
		if s.inResult(v) {
			places = append(places, v)
		} else {
			sums = append(sums, v)
		}
	}
	// The innermost level comes last, so that neighbouring threads write neighbouring places.
	slices.SortFunc(places, func(a, b string) int {
		f := s.Result
		return f.Level(slices.Index(s.Vars, a)) - f.Level(slices.Index(s.Vars, b))
	})
	n := int64(1)
	for _, v := range places {
		n *= max(s.Size(v), 1)
	}
	var texts []string
	if order := slices.Concat(places, sums); !slices.Equal(order, s.loops) {
		texts = append(texts, "reorder("+strings.Join(order, ",")+") # loops over the "+
			"result's elements outside")
	}
	switch {
	case len(places) == 0:
		return s.denseScalar(texts, sums)
	case len(sums) > 0 && (n < fewResults || len(places) == 1):
		return s.warpPerPlace(texts, places, sums)
	}
	f, more := s.fused(places)
	block, thread := s.name("block"), s.name("thread")
	if len(more) > 0 { // each thread computes the coordinates of its place
		in, one := s.name(f+"1"), s.name("place")
		more = append(more,
			fmt.Sprintf("split(%s,%s,%s,%d) # a thread for each element of the result",
				f, block, in,
				blockThreads),
			fmt.Sprintf("split(%s,%s,%s,1)", in, thread, one))
	} else {
		more = append(more, fmt.Sprintf(
			"split(%s,%s,%s,%d) # a thread for each element of the result", f,
			block, thread, blockThreads))
	}
	return s.lines(append(append(texts, more...),
		fmt.Sprintf("parallelize(%s,GPUBlock,NoRaces)", block),
		fmt.Sprintf("parallelize(%s,GPUThread,NoRaces)", thread))...)
}

// fused returns the fuse commands that make one loop of the directly nested loops over vars.
// fusedVar is the variable of this loop.
func (s *Shape) fused(vars []string) (fusedVar string, texts []string) {
	fusedVar = vars[len(vars)-1]
	for k := len(vars) - 2; k >= 0; k-- {
		f := s.name("f" + vars[k])
		texts = append(texts, fmt.Sprintf("fuse(%s,%s,%s)", vars[k], fusedVar, f))
		fusedVar = f
	}
	return fusedVar, texts
}

// denseScalar returns the form for a statement without sparse tensors and with a scalar result.
// texts are the commands before the form's own commands. sums are the summed variables. The threads
// of a block sum neighbouring terms, so that they read neighbouring values. denseScalar returns nil
// if sums is empty.
func (s *Shape) denseScalar(texts, sums []string) Form {
	if len(sums) == 0 {
		return nil
	}
	f, more := s.fused(sums)
	block, thread, n, inside := s.name("block"), s.name("thread"), s.name("n"), s.name("inside")
	return s.lines(append(append(texts, more...),
		fmt.Sprintf("split(%s,%s,%s,%d)", f, block, inside, blockThreads*scalarTerms),
		fmt.Sprintf("split(%s,%s,%s,%d) # a thread sums %d terms", inside, n, thread, blockThreads,
			scalarTerms),
		fmt.Sprintf("reorder(%s,%s,%s) # neighbouring threads read neighbours", block, thread, n),
		fmt.Sprintf("parallelize(%s,GPUBlock,%s", block, s.sumOfBlocks()),
		fmt.Sprintf(
			"parallelize(%s,GPUThread,ParallelReduction) # sums of threads are added by shuffles "+
				"and in shared memory", thread))...)
}

// warpPerPlace returns the form that lets one warp compute each element of the result. texts are
// the commands before the form's own commands. places are the variables of the result, and sums are
// the summed variables. The warp's threads divide the coordinates of the last summed variable among
// themselves.
func (s *Shape) warpPerPlace(texts, places, sums []string) Form {
	f, more := s.fused(places)
	block, warp, thread, tile := s.name("block"), s.name("warp"), s.name("thread"), s.name("tile")
	last := sums[len(sums)-1]
	order := slices.Concat([]string{block, warp, thread, tile}, sums[:len(sums)-1])
	return s.lines(append(append(texts, more...),
		fmt.Sprintf("split(%s,%s,%s,%d) # a warp for each element of the result",
			f, block, warp, blockWarps),
		fmt.Sprintf("split(%s,%s,%s,%d) # its threads sum along %s together", last, tile, thread,
			warpLanes, last),
		"reorder("+strings.Join(order, ",")+")",
		fmt.Sprintf("parallelize(%s,GPUBlock,NoRaces)", block),
		fmt.Sprintf("parallelize(%s,GPUWarp,NoRaces)", warp),
		fmt.Sprintf("parallelize(%s,GPUThread,ParallelReduction) # sums of threads are added by shuffles",
			thread))...)
}

// warpRows returns the form that gives each row of a sparse operand to a warp. It also fits
// statements that add other terms to the sum over the entries of a row. A loop over the positions
// of several rows cannot compute these terms. The form is schedule A.10 of Senanayake (2020),
// appendix A.
func (s *Shape) warpRows() Form {
	outer, ok := s.Body.(*cin.Forall)
	if !ok || !s.inResult(outer.Var) || !s.Result.AllDense() {
		return nil
	}
	var inner []*cin.Forall
	cin.Walk(outer.Body, func(t cin.Stmt) {
		if f, ok := t.(*cin.Forall); ok {
			inner = append(inner, f)
		}
	})
	if len(inner) != 1 || s.inResult(inner[0].Var) {
		return nil
	}
	a := s.rowsOf(inner[0], outer.Var)
	if a == nil {
		return nil
	}
	i, j := outer.Var, inner[0].Var
	block, row, warp, thread, nz, p := s.name("block"), s.name("warp_row"), s.name("warp"),
		s.name("thread"), s.name("thread_nz"), s.name(j+"pos")
	inside := s.name("block_row")
	return s.lines(
		fmt.Sprintf("split(%s,%s,%s,%d)", i, block, inside, blockThreads),
		fmt.Sprintf("split(%s,%s,%s,%d) # a warp for a row at a time", inside, row, warp, blockWarps),
		fmt.Sprintf("pos(%s,%s,%s)", j, p, s.key(a)),
		fmt.Sprintf("split(%s,%s,%s,%d) # its threads take neighbouring entries of %s", p, nz, thread,
			warpLanes, s.key(a)),
		fmt.Sprintf("reorder(%s,%s)", warp, row),
		fmt.Sprintf("reorder(%s,%s)", thread, nz),
		fmt.Sprintf("parallelize(%s,GPUBlock,NoRaces)", block),
		fmt.Sprintf("parallelize(%s,GPUWarp,NoRaces)", warp),
		fmt.Sprintf("parallelize(%s,GPUThread,ParallelReduction) # sums of threads are added by shuffles",
			thread))
}

// rowsAcross returns the form that gives each coordinate of the outermost loops to a warp. The
// warp's threads run along the last variable of the result, so that they read and write
// neighbouring values. rowsAcross returns nil if the form does not fit the statement, for example
// if the innermost loop around an assignment is over another variable.
func (s *Shape) rowsAcross() Form {
	f, lhs := s.Result, s.Vars
	if !f.AllDense() || len(lhs) < 2 {
		return nil
	}
	last := lhs[f.Order[len(lhs)-1]]
	// A short range would leave most threads idle.
	if n := s.Size(last); !innermost(s.Body, last, false) || n > 0 && n < warpLanes/4 {
		return nil
	}
	var texts, units []string
	seen := map[string]bool{}
	for _, v := range outermostVars(s.Body) {
		if v == last || !s.inResult(v) {
			return nil
		}
		if seen[v] {
			continue
		}
		seen[v] = true
		block, warp := s.name("block"), s.name("warp")
		texts = append(texts, fmt.Sprintf("split(%s,%s,%s,%d) # a warp for each %s", v, block, warp,
			blockWarps, v))
		units = append(units, "parallelize("+block+",GPUBlock,NoRaces) # each writes its "+
			"own elements",
			"parallelize("+warp+",GPUWarp,NoRaces)")
	}
	tile, thread := s.name("dense_val"), s.name("thread")
	texts = append(texts, s.overLanes(last, tile, thread,
		"its threads read and write neighbours along "+last)...)
	return s.lines(append(append(texts, units...),
		fmt.Sprintf("parallelize(%s,GPUThread,NoRaces)", thread))...)
}

// innermost reports whether the innermost loop around every assignment of t is over v, and t has no
// workspace. within says that t is the body of a loop over v.
func innermost(t cin.Stmt, v string, within bool) bool {
	switch t := t.(type) {
	case *cin.Forall:
		return innermost(t.Body, v, t.Var == v)
	case *cin.Seq:
		return !slices.ContainsFunc(t.List, func(x cin.Stmt) bool { return !innermost(x, v, within) })
	case *cin.Assign:
		return within
	}
	return false
}

// rowsOf returns the only sparse operand of a sum over j, if it is a matrix with dense rows over i
// and sparse columns over j. Otherwise it returns nil.
func (s *Shape) rowsOf(j *cin.Forall, i string) *cin.Access {
	var found *cin.Access
	n := 0
	cin.Accesses(j.Body, func(a *cin.Access) {
		f, ok := s.Format(a.Name)
		if !ok || f.AllDense() || found != nil && found.Key() == a.Key() {
			return
		}
		n++
		if len(f.Levels) == 2 && f.Levels[0] == tensor.Dense && a.Vars[f.Order[0]] == i &&
			a.Vars[f.Order[1]] == j.Var {
			found = a
		}
	})
	if n != 1 {
		return nil
	}
	return found
}

// tableRows returns the form that gives perWarp neighbouring rows of a sparse result to each warp.
// The rows are summed in a hash table. If lanes is true, the threads of a warp share the loops over
// the last variable of the result. Otherwise only one thread adds to the table at a time.
func (s *Shape) tableRows(lanes bool, perWarp int) func() Form {
	return func() Form {
		outer, ok := s.Body.(*cin.Forall)
		if !ok || s.Shared != nil || s.Result.AllDense() || outer.Var != s.Vars[s.Result.Order[0]] ||
			!fillsTable(outer.Body) {
			return nil
		}
		block, warp := s.name("block"), s.name("warp")
		texts := []string{s.insertion()}
		if perWarp == 1 {
			texts = append(texts, fmt.Sprintf(
				"split(%s,%s,%s,%d) # a warp for each %[1]s, or a block if its sums are many",
				outer.Var, block, warp, tableWarps))
		} else {
			in, row := s.name(outer.Var+"1"), s.name(outer.Var+"_row")
			texts = append(texts, fmt.Sprintf("split(%s,%s,%s,%d)", outer.Var, block, in,
				tableWarps*perWarp), fmt.Sprintf("split(%s,%s,%s,%d) # a warp for %[4]d coordinates "+
				"of %[5]s, or a block if their sums are many", in, warp, row, perWarp, outer.Var))
		}
		texts = append(texts,
			"parallelize("+block+",GPUBlock,NoRaces) # each writes its own elements",
			"parallelize("+warp+",GPUWarp,NoRaces)")
		if lanes {
			last := s.Vars[s.Result.Order[len(s.Vars)-1]]
			texts = append(texts, "parallelize("+last+
				",GPUThread,NoRaces) # its threads add to the row together, in a hash table")
		}
		return s.lines(texts...)
	}
}

// partedRows returns the form that gives each row of a sparse matrix to a warp, whose threads write
// parts of the row. The parts have the same number of entries of one operand. The rows of this
// operand must be long.
func (s *Shape) partedRows() Form {
	f := s.Result
	if len(s.loops) != 2 || s.Shared != nil || len(f.Levels) != 2 || f.Levels[0] != tensor.Dense ||
		f.Levels[1] != tensor.Compressed || s.loops[0] != s.Vars[f.Order[0]] {
		return nil
	}
	var longest *cin.Access
	cin.ExprAccesses(s.sum.RHS, func(a *cin.Access) {
		g, ok := s.Format(a.Name)
		if ok && len(g.Levels) == 2 && g.Levels[0] == tensor.Dense && g.Levels[1] == tensor.Compressed &&
			a.Vars[g.Order[0]] == s.loops[0] && a.Vars[g.Order[1]] == s.loops[1] &&
			(longest == nil || s.Entries(a.Name) > s.Entries(longest.Name)) {
			longest = a
		}
	})
	rows := s.Size(s.loops[0])
	if longest == nil || rows == 0 || s.Entries(longest.Name) < rows*partedRow {
		return nil
	}
	i, k := s.loops[0], s.loops[1]
	block, warp, p, thread, nz := s.name("block"), s.name("warp"), s.name(k+"pos"), s.name("thread"),
		s.name("nz")
	return s.lines(s.insertion(),
		fmt.Sprintf("split(%s,%s,%s,%d) # a warp for each %s", i, block, warp, tableWarps, i),
		fmt.Sprintf("pos(%s,%s,%s)", k, p, s.key(longest)),
		fmt.Sprintf("divide(%s,%s,%s,%d) # its threads write parts of the row", p, thread, nz, warpLanes),
		"parallelize("+block+",GPUBlock,NoRaces) # each writes its own elements",
		"parallelize("+warp+",GPUWarp,NoRaces)",
		"parallelize("+thread+",GPUThread,NoRaces)")
}

// fillsTable reports whether s has a workspace over index variables.
func fillsTable(s cin.Stmt) bool {
	found := false
	cin.Walk(s, func(s cin.Stmt) {
		w, ok := s.(*cin.Where)
		found = found || ok && len(cin.Target(w.Producer).Vars) > 0
	})
	return found
}

// rows returns the form that gives each thread one coordinate of every outermost loop. If the loop
// walks a sparse operand, neighbouring threads get neighbouring entries.
func (s *Shape) rows() Form {
	texts := []string{s.insertion()}
	seen := map[string]bool{}
	for _, v := range outermostVars(s.Body) {
		if seen[v] {
			continue
		}
		seen[v] = true
		block, thread := s.name("block"), s.name("thread")
		texts = append(texts, fmt.Sprintf("split(%s,%s,%s,%d) # a thread for each %s", v, block, thread,
			blockThreads, v))
		outer, inner := s.racesOver(v)
		texts = append(texts, "parallelize("+block+",GPUBlock,"+outer,
			"parallelize("+thread+",GPUThread,"+inner)
	}
	return s.lines(texts...)
}

// racesOver returns the ends of two parallelize commands for a loop over v. blocks is the end of
// the command for the loop over GPU blocks. threads is the end of the command for the loop over
// threads. Each end has the race strategy, the closing parenthesis and, if needed, a comment with
// the reason.
func (s *Shape) racesOver(v string) (blocks, threads string) {
	switch {
	case len(s.Vars) == 0:
		return "Atomics) # one addition a block to the result",
			"ParallelReduction) # sums of threads are added by shuffles and in shared memory"
	case !s.inResult(v):
		return "IgnoreRaces) # races are settled where threads add",
			"Atomics) # several threads add to one element of the result"
	}
	return "NoRaces) # each writes its own elements", "NoRaces)"
}

// outermostVars returns the variables of the loops that are not inside another loop.
func outermostVars(t cin.Stmt) (out []string) {
	for _, f := range outermostLoops(t) {
		out = append(out, f.Var)
	}
	return out
}
