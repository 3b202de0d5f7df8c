package oracle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"distaff/codegen/cin"
)

// ofFused draws, half of the time, a pos or a coord command for a loop over fused variables or a
// tile of such a loop. pos changes it to positions of an access that has the variables, and coord
// back to coordinates. kind is the command's index in commandNames. ok is false if no command fits.
func ofFused(rng *rand.Rand, s cin.Stmt, vars []string, n int) (kind int, command string, ok bool) {
	t, scheduled := s.(*cin.SuchThat)
	if !scheduled || rng.IntN(2) == 0 {
		return 0, "", false
	}
	var list []string
	for _, v := range vars {
		roots := t.Relations.Underived(v)
		if len(roots) < 2 || t.Relations.Component(v) == nil {
			continue
		}
		if t.Relations.PositionsOf(v) != "" {
			list = append(list, fmt.Sprintf("coord(%s,x%d)", v, n))
			continue
		}
		cin.Accesses(s, func(a *cin.Access) {
			for _, r := range roots {
				if !slices.Contains(a.Vars, r) {
					return
				}
			}
			list = append(list, fmt.Sprintf("pos(%s,x%d,%s)", v, n, strings.ReplaceAll(a.Key(), "'", "")))
		})
	}
	if len(list) == 0 {
		return 0, "", false
	}
	command = list[rng.IntN(len(list))]
	return slices.Index(commandNames[:], command[:strings.Index(command, "(")]), command, true
}

// ofTile draws, two times out of three, a command for a loop over positions: a split, a precompute
// of a product for all positions of a tile, or a command for the workspace of such a precompute.
// kind is the command's index in commandNames. ok is false if no command fits.
func ofTile(rng *rand.Rand, s cin.Stmt, vars []string, n int) (kind int, command string, ok bool) {
	t, scheduled := s.(*cin.SuchThat)
	if !scheduled || rng.IntN(3) == 0 {
		return 0, "", false
	}
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	small := 1 + rng.IntN(7)
	filled := false
	cin.Walk(s, func(t cin.Stmt) {
		w, ok := t.(*cin.Where)
		filled = filled || ok && len(cin.Target(w.Producer).Vars) > 0
	})
	for _, v := range vars {
		key := t.Relations.PositionsOf(t.Relations.ConsumerVar(v))
		if key == "" {
			continue
		}
		if filled {
			add("unroll(%s,%d)", v, small)
			add("unroll(%s)", v)
		}
		if t.Relations.MadeBy(v) == nil {
			add("split(%s,x%d,y%d,%d)", v, n, n, small)
			continue
		}
		if r := t.Relations.MadeBy(v); len(r.To) == 1 || rng.IntN(4) == 0 {
			add("split(%s,x%d,y%d,%d)", v, n, n, small)
			continue
		}
		cin.Paths(s, func(_ []*cin.Forall, a *cin.Assign) {
			cin.ExprAccesses(a.RHS, func(x *cin.Access) {
				if x.Key() == key {
					into := []string{v, fmt.Sprintf("u%d", n)}[rng.IntN(2)]
					add("precompute(%s,%s,%s,W%d)",
						strings.ReplaceAll(cin.ExprString(factors(rng, a.RHS, key)), "'", ""), v, into, n)
				}
			})
		})
	}
	cin.Walk(s, func(t cin.Stmt) {
		if w, ok := t.(*cin.Where); ok && len(cin.Target(w.Producer).Vars) > 0 && rng.IntN(3) == 0 {
			add("workspace(%s,Positions)", cin.Target(w.Producer).Name)
		}
	})
	if len(list) == 0 {
		return 0, "", false
	}
	command = list[rng.IntN(len(list))]
	return slices.Index(commandNames[:], command[:strings.Index(command, "(")]), command, true
}

// factors draws a part of the product x that contains the access with the given key.
func factors(rng *rand.Rand, x cin.Expr, key string) cin.Expr {
	b, ok := x.(*cin.Binary)
	if !ok || b.Op != '*' || rng.IntN(3) == 0 {
		return x
	}
	has := false
	cin.ExprAccesses(b.X, func(a *cin.Access) { has = has || a.Key() == key })
	switch {
	case rng.IntN(2) == 0:
		return x
	case has:
		return factors(rng, b.X, key)
	}
	return factors(rng, b.Y, key)
}

// drawnCommands lists the commands. A command that is drawn more often occurs several times.
var drawnCommands = strings.Fields(
	"split split split divide fuse fuse reorder reorder pos pos pos coord bound unroll parallelize parallelize parallelize " +
		"precompute precompute mergeby assemble assemble workspace workspace flatten longrows tile vectorize vectorize prefetch jam nontemporal layout layout lookup hoist")

// insideParallel are the commands that are drawn if a loop is parallel already. formCommands are
// the commands that drawForm draws.
var (
	insideParallel = strings.Fields(
		"parallelize parallelize parallelize workspace flatten longrows tile vectorize prefetch " +
			"nontemporal split unroll reorder mergeby precompute")
	formCommands = strings.Fields(
		"workspace flatten longrows tile vectorize prefetch jam nontemporal layout")
)

// drawCommand draws a command that may be legal. n makes new names unique, and parallel says that a
// loop is parallel already. If the statement has no loop, the command names a loop that does not
// exist.
func drawCommand(rng *rand.Rand, p *Prepared, s cin.Stmt, n int, parallel bool) (int, string) {
	var vars, accesses []string
	cin.Walk(s, func(t cin.Stmt) {
		if f, ok := t.(*cin.Forall); ok && !slices.Contains(vars, f.Var) {
			vars = append(vars, f.Var)
		}
	})
	cin.Accesses(s,
		func(a *cin.Access) { accesses = append(accesses, strings.ReplaceAll(a.Key(), "'", "")) })
	pick := func(list []string) string {
		if len(list) == 0 {
			return "none"
		}
		return list[rng.IntN(len(list))]
	}
	v := pick(vars)
	fresh := func(k int) string { return fmt.Sprintf("%c%d", "xyz"[k], n) }
	small := 1 + rng.IntN(5)
	name := pick(drawnCommands)
	if kind, c, ok := ofFused(rng, s, vars, n); ok && !parallel {
		return kind, c
	}
	if kind, c, ok := ofTile(rng, s, vars, n); ok && !parallel {
		return kind, c
	}
	if n == 0 && rng.IntN(3) == 0 { // only before other commands change the loop nest
		name = "flatten"
	}
	if left := cin.Target(s).Vars; n == 0 && len(vars) > 1 && len(left) > 0 &&
		left[len(left)-1] == vars[len(vars)-1] && rng.IntN(6) == 0 {
		order := slices.Clone(vars) // puts the loop over the result's last mode around a reduction
		k := len(order) - 1
		order[k-1], order[k] = order[k], order[k-1]
		return slices.Index(commandNames[:], "reorder"),
			fmt.Sprintf("reorder(%s)", strings.Join(order, ","))
	}
	if v := aroundSums(s); v != "" && rng.IntN(2) == 0 {
		return slices.Index(commandNames[:], "jam"), fmt.Sprintf("jam(%s,%d)", v, 1+small)
	}
	if parallel {
		name = pick(insideParallel)
	}
	kind := slices.Index(commandNames[:], name)
	if slices.Contains(formCommands, name) || name == "parallelize" && rng.IntN(3) == 0 {
		return kind, drawForm(rng, s, name, v, pick)
	}
	switch name {
	case "split", "divide":
		factor := int64(small)
		if rng.IntN(12) == 0 { // more than the loop's iterations
			factor = []int64{64, 300, 1 << 33, 1 << 40}[rng.IntN(4)]
		}
		return kind, fmt.Sprintf("%s(%s,%s,%s,%d)", name, v, fresh(0), fresh(1), factor)
	case "fuse":
		k := rng.IntN(max(len(vars)-1, 1))
		if len(vars) < 2 {
			return kind, "fuse(a,b,c)"
		}
		if rng.IntN(2) == 0 { // the outer loops, which a tensor's first levels may have
			k = 0
		}
		if t, ok := s.(*cin.SuchThat); ok && rng.IntN(3) == 0 { // the loops inside tiles
			for n, v := range vars[:len(vars)-1] {
				if r := t.Relations.MadeBy(v); r != nil && len(r.To) == 2 && v == r.To[1] {
					k = n
				}
			}
		}
		return kind, fmt.Sprintf("fuse(%s,%s,%s)", vars[k], vars[k+1], fresh(0))
	case "reorder":
		list := slices.Clone(vars)
		rng.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
		if rng.IntN(4) == 0 {
			return kind, "order({" + strings.Join(list, ",") + "})"
		}
		return kind, "reorder(" + strings.Join(list[:min(len(list), 2+rng.IntN(3))], ",") + ")"
	case "pos":
		if rng.IntN(4) > 0 {
			roots := []string{v}
			if t, ok := s.(*cin.SuchThat); ok {
				roots = t.Relations.Underived(v)
			}
			if holding := slices.DeleteFunc(slices.Clone(accesses), func(a string) bool {
				return slices.ContainsFunc(roots, func(r string) bool {
					return !slices.Contains(
						strings.FieldsFunc(a, func(c rune) bool { return strings.ContainsRune("(,)", c) })[1:], r)
				})
			}); len(holding) > 0 {
				return kind, fmt.Sprintf("pos(%s,%s,%s)", v, fresh(0), pick(holding))
			}
		}
		return kind, fmt.Sprintf("pos(%s,%s,%s)", v, fresh(0), pick(accesses))
	case "coord":
		if t, ok := s.(*cin.SuchThat); ok && rng.IntN(4) > 0 {
			if in := slices.DeleteFunc(slices.Clone(vars),
				func(v string) bool { return t.Relations.PositionsOf(v) == "" }); len(in) > 0 {
				v = pick(in)
			}
		}
		return kind, fmt.Sprintf("coord(%s,%s)", v, fresh(0))
	case "bound":
		size, ok := p.Sizes.Vars[v]
		if !ok {
			size = 5000
		}
		if ok && rng.IntN(2) == 0 {
			if rng.IntN(2) == 0 {
				return kind, fmt.Sprintf("bound(%s,%s,%d,MaxExact)", v, v, size)
			}
			return kind, fmt.Sprintf("bound(%s,%s,%d,MaxExact)", v, fresh(0), size)
		}
		return kind, fmt.Sprintf("bound(%s,%s,%d,MaxConstraint)", v, fresh(0), size+int64(rng.IntN(3)))
	case "unroll":
		return kind, fmt.Sprintf("unroll(%s,%d)", v, small)
	case "assemble":
		return kind, fmt.Sprintf("assemble(%s,%s)", p.Case.Tensors[0].Name,
			[]string{"Append", "Insert"}[rng.IntN(2)])
	case "hoist":
		return kind, fmt.Sprintf("hoist(%s)", pick(temporaries(s)))
	case "lookup":
		return kind, fmt.Sprintf("lookup(%s,W%d)", pick(accesses), n)
	case "mergeby":
		return kind, fmt.Sprintf("mergeby(%s,%s)", v,
			[]string{"TwoFinger", "Gallop", "Predicated", "Windows", "OneBody"}[rng.IntN(5)])
	case "precompute":
		if rng.IntN(3) == 0 {
			if c := drawSum(rng, s, n); c != "" {
				return kind, c
			}
		}
		i := pick(vars)
		w := i
		if rng.IntN(2) == 0 {
			w = fresh(0)
		}
		e := pick(accesses)
		if f := pick(accesses); f != e && rng.IntN(2) == 0 {
			e += "*" + f
		}
		switch rng.IntN(6) {
		case 0:
			return kind, fmt.Sprintf("precompute(%s,{},{},W%d)", e, n)
		case 1:
			if j := pick(vars); j != i {
				return kind, fmt.Sprintf("precompute(%s,{%s,%s},{%s,%s},W%d)", e, i, j, w, fresh(1), n)
			}
		}
		return kind, fmt.Sprintf("precompute(%s,%s,%s,W%d)", e, i, w, n)
	case "parallelize":
	default:
		panic("BUG: oracle: drawCommand cannot draw " + name)
	}
	unit := []string{"CPUThread", "CPUThread", "CPUVector"}[rng.IntN(3)]
	race := []string{"NoRaces", "NoRaces", "Atomics", "Temporary", "ParallelReduction"}[rng.IntN(5)]
	chunk := ""
	if rng.IntN(2) == 0 && unit == "CPUThread" {
		chunk = fmt.Sprintf(",%d", small)
	}
	return kind, fmt.Sprintf("parallelize(%s,%s,%s%s)", v, unit, race, chunk)
}

// drawSum draws a precompute of the whole right side of an assignment, over the variables of its
// left side and sometimes one more. If the left side is a workspace, the new workspace sometimes
// has the same name.
func drawSum(rng *rand.Rand, s cin.Stmt, n int) string {
	var list []*cin.Assign
	cin.Paths(s, func(_ []*cin.Forall, a *cin.Assign) {
		if a.Accumulate && len(a.LHS.Vars) > 0 {
			list = append(list, a)
		}
	})
	if len(list) == 0 {
		return ""
	}
	a := list[rng.IntN(len(list))]
	name := []string{a.LHS.Name, "w", fmt.Sprintf("W%d", n)}[rng.IntN(3)]
	from := slices.Clone(a.LHS.Vars)
	for _, v := range cin.Target(s).Vars {
		if !slices.Contains(from, v) && rng.IntN(4) == 0 {
			from = append([]string{v}, from...)
		}
	}
	to := slices.Clone(from)
	for k := range to {
		if rng.IntN(3) == 0 {
			to[k] = fmt.Sprintf("%c%d", "uvw"[k%3], n)
		}
	}
	return fmt.Sprintf("precompute(%s,{%s},{%s},%s)",
		strings.ReplaceAll(cin.ExprString(a.RHS), "'", ""), strings.Join(from, ","),
		strings.Join(to, ","), name)
}

// temporaries returns the names of the temporaries that producers fill.
func temporaries(s cin.Stmt) (names []string) {
	cin.Walk(s, func(t cin.Stmt) {
		if w, ok := t.(*cin.Where); ok {
			names = append(names, cin.Target(w.Producer).Name)
		}
	})
	return names
}

// aroundSums returns the variable of the result's last mode if its loop is directly around a
// reduction loop, or "".
func aroundSums(s cin.Stmt) (v string) {
	left := cin.Target(s).Vars
	cin.Walk(s, func(s cin.Stmt) {
		f, ok := s.(*cin.Forall)
		if !ok || len(left) == 0 || f.Var != left[len(left)-1] {
			return
		}
		if inner, ok := f.Body.(*cin.Forall); ok {
			if a, ok := inner.Body.(*cin.Assign); ok && a.Accumulate {
				v = f.Var
			}
		}
	})
	return v
}

// drawForm draws a command, which may be legal, for the form of a loop or a workspace, or for the
// chunks of work.
func drawForm(rng *rand.Rand, s cin.Stmt, name, v string, pick func([]string) string) string {
	var tensors, spaces []string
	cin.Accesses(s, func(a *cin.Access) { tensors = append(tensors, a.Name) })
	cin.Walk(s, func(t cin.Stmt) {
		if w, ok := t.(*cin.Where); ok {
			spaces = append(spaces, cin.Target(w.Producer).Name)
		}
	})
	small := 1 + rng.IntN(5)
	switch name {
	case "workspace":
		return fmt.Sprintf("workspace(%s,%s)", pick(spaces),
			[]string{"Hash", "List", "Bitmap", "Dense", "Sorted", "Positions"}[rng.IntN(6)])
	case "flatten":
		if first, ok := cin.Body(s).(*cin.Forall); ok {
			v = first.Var
		}
		return fmt.Sprintf("flatten(%s)", v)
	case "longrows":
		return fmt.Sprintf("longrows(%s,%s,%d)", v, pick(tensors), small)
	case "tile", "jam":
		if left := cin.Target(s).Vars; len(left) > 0 && rng.IntN(4) > 0 {
			v = left[len(left)-1]
		}
		return fmt.Sprintf("%s(%s,%d)", name, v, 1+small)
	case "layout":
		var reads []*cin.Access
		cin.Accesses(s, func(a *cin.Access) {
			if len(a.Vars) > 1 {
				reads = append(reads, a)
			}
		})
		if len(reads) == 0 {
			return "layout(none(i,j),1,0)"
		}
		a := reads[rng.IntN(len(reads))]
		order := strings.Trim(strings.ReplaceAll(fmt.Sprint(rng.Perm(len(a.Vars))), " ", ","), "[]")
		return fmt.Sprintf("layout(%s(%s),%s)", strings.TrimRight(a.Name, "'"), strings.Join(a.Vars, ","),
			order)
	case "nontemporal":
		return fmt.Sprintf("nontemporal(%s)", cin.Target(s).Name)
	case "vectorize":
		if rng.IntN(2) == 0 {
			return fmt.Sprintf("vectorize(%s)", v)
		}
		return fmt.Sprintf("vectorize(%s,%s)", v, pick(tensors))
	case "prefetch":
		t := pick(tensors)
		cin.Accesses(s, func(a *cin.Access) {
			if n := len(a.Vars); n > 1 && rng.IntN(2) == 0 {
				t, v = a.Name, a.Vars[n-2]
			}
		})
		if a := cin.Target(s); len(a.Vars) > 1 && rng.IntN(3) == 0 {
			t, v = a.Name, a.Vars[len(a.Vars)-2]
		}
		if small%2 == 0 {
			return fmt.Sprintf("prefetch(%s,%s,%d,%d)", t, v, small%5, 2*small+1)
		}
		return fmt.Sprintf("prefetch(%s,%s,%d)", t, v, small%5)
	case "parallelize":
	default:
		panic("BUG: oracle: drawForm cannot draw " + name)
	}
	how := []string{"NoRaces,Work", "NoRaces,Ordered", fmt.Sprintf("NoRaces,Ordered,%d", small),
		"NoRaces,Rows", "NoRaces,Whole", fmt.Sprintf("Temporary,Work,%d", 1+small),
		fmt.Sprintf("ParallelReduction,Work,%d", small)}
	return fmt.Sprintf("parallelize(%s,CPUThread,%s)", v, how[rng.IntN(len(how))])
}
