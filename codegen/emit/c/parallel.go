package c

import (
	"fmt"
	"math"
	"strings"

	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// maxSumPieces is the largest number of pieces of a parallel loop with sums. Each piece has partial
// sums of its own.
const maxSumPieces = 256

// parallelLoop is a parallel loop whose function is called for each piece of the loop's range, or
// for the whole range. The strings are names of C variables.
type parallelLoop struct {
	function                    *cfunc // the function with the calls
	s                           *ir.For
	piece                       *piece // the function that is called
	begin, end, at, size, fault string
	ordered                     string   // the state of the ordered section, which threads share
	parts                       []string // arrays of partial sums
	reportsPieces               bool     // finished pieces are reported as progress
}

// parallel prints a parallel loop in two versions. With OpenMP, threads share the pieces of the
// loop's range, and the loop's function is called for each piece. Without OpenMP, one thread calls
// the function once for the whole range. It calls the function for each piece instead if the loop
// has sums, or if finished pieces are reported as progress. outermost is true if the loop is in no
// other loop.
func (f *cfunc) parallel(s *ir.For, outermost bool) {
	l := &parallelLoop{function: f, s: s, piece: f.leaf.pieceOf(s, outermost)}
	l.reportsPieces = outermost && !l.piece.reportsProgress
	f.Line("{")
	f.Scoped(l.write)
	f.Line("}")
}

// write prints the calls for the pieces of the range or for the whole range (see cfunc.parallel).
func (l *parallelLoop) write() {
	f, s, p := l.function, l.s, l.piece
	v := f.Variable(s.V)
	begin, end := f.Temps.Fresh(v+"_begin"), f.Temps.Fresh(v+"_end")
	f.Line("const int64_t %s = %s;", begin, f.expr(s.Lo, 0))
	f.Line("const int64_t %s = %s;", end, f.expr(s.Hi, 0))
	l.begin, l.end = begin, end
	l.at, l.size = f.Temps.Fresh(v+"_at"), f.Temps.Fresh(v+"_size")
	if p.fails {
		f.leaf.file.need("fault")
		l.fault = f.Temps.Fresh(v + "_fault")
		f.Line("dst_fault %s = {%s, 0, 0, {0}};", l.fault, clike.Integer(f, math.MaxInt64, 0))
	}
	length := l.pieceLength()
	if len(p.reduce) > 0 {
		f.Line("const int64_t %s = %s;", l.size, length)
		for _, r := range p.reduce {
			name := f.Temps.Fresh(f.Variable(r) + "_part")
			l.parts = append(l.parts, name)
			f.Line("%s %s[%d];", ctype(r.Typ), name, maxSumPieces)
		}
	}
	if p.ordered {
		f.leaf.file.need("ordered")
		l.ordered = f.Temps.Fresh(v + "_ordered")
		f.Line("dst_ordered %s = {%s, %s};", l.ordered, begin, l.failures())
	}
	if p.reportsProgress {
		l.beginChunks()
	}
	f.Line("if (env->threads > 1 && %s - %s > %s) {", end, begin,
		clike.Integer(f, s.Step, clike.PrecSum))
	f.Scoped(func() {
		if len(p.reduce) == 0 {
			f.Line("const int64_t %s = %s;", l.size, length)
		}
		l.beginPieces()
		kind := "static"
		if s.Dynamic {
			kind = "dynamic"
		}
		if p.ordered {
			kind = "monotonic:dynamic" // a piece starts after all earlier pieces have started
		}
		f.pragma("omp parallel for num_threads(env->threads) schedule(%s, 1)", kind)
		l.callPieces(true)
	})
	f.Line("} else {")
	f.Scoped(func() {
		switch {
		case len(p.reduce) > 0:
			l.beginPieces()
			l.callPieces(false)
		case l.reportsPieces:
			f.leaf.file.need("progress")
			f.Line("const int64_t %s = dst_begin_strips(env, %s, %s, %s);", l.size, begin, end,
				clike.Integer(f, s.Step, 0))
			l.callPieces(false)
		default:
			l.callOnce()
		}
	})
	f.Line("}")
	l.afterPieces()
}

// failures returns the C expression of a pointer to the fault that the threads of a loop share. It
// is a null pointer if the loop cannot fail.
func (l *parallelLoop) failures() string {
	if l.fault == "" {
		return "0"
	}
	return "&" + l.fault
}

// pieceLength returns the C expression for the length of a piece. If the loop has sums, the length
// does not depend on the number of threads.
func (l *parallelLoop) pieceLength() string {
	f, s := l.function, l.s
	f.leaf.file.need("chunk")
	even := func(count string) string {
		return fmt.Sprintf("dst_piece(%s, %s, %s, %s)", l.begin, l.end, clike.Integer(f, s.Step, 0),
			count)
	}
	chunk := ""
	if s.Chunk > 0 {
		chunk = clike.Integer(f, saturated(s.Chunk, s.Step), 0)
	}
	switch {
	case len(l.piece.reduce) > 0 && chunk != "":
		return fmt.Sprintf("%s(%s, %s)", f.leaf.file.helper("max", tensor.Int64), chunk,
			even(fmt.Sprint(maxSumPieces)))
	case len(l.piece.reduce) > 0:
		return even(fmt.Sprint(maxSumPieces))
	case chunk != "":
		return chunk
	case s.Dynamic:
		return even("(int64_t)64 * env->threads")
	}
	return even("env->threads")
}

// saturated returns chunk * step, or 2^62 if the product is larger.
func saturated(chunk, step int64) int64 {
	if chunk > (1<<62)/step {
		return 1 << 62
	}
	return chunk * step
}

// callPieces prints the loop over pieces. shared says that several threads run the loop.
func (l *parallelLoop) callPieces(shared bool) {
	f := l.function
	f.Line("for (int64_t %s = %s; %s < %s; %s += %s) {", l.at, l.begin, l.at, l.end, l.at, l.size)
	f.Depth++
	upTo := fmt.Sprintf("%s - %s > %s ? %s + %s : %s", l.end, l.at, l.size, l.at, l.size, l.end)
	sums := make([]string, len(l.parts))
	for i, p := range l.parts {
		sums[i] = fmt.Sprintf("&%s[(%s - %s) / %s]", p, l.at, l.begin, l.size)
	}
	switch {
	case l.fault == "":
		f.Line("%s;", l.call(l.at, upTo, sums, "", shared))
	case shared:
		own := f.Temps.Fresh("own")
		f.Line("if (dst_failed_before(&%s, %s))", l.fault, l.at)
		f.Line("    continue;")
		f.Line("dst_fault %s = {%s, 0, 0, {0}};", own, l.at)
		f.Line("%s.code = %s;", own, l.call(l.at, upTo, sums, "&"+own, shared))
		f.Line("if (%s.code)", own)
		f.Line("    dst_keep_fault(&%s, &%s);", l.fault, own)
	default:
		f.Line("%s.code = %s;", l.fault, l.call(l.at, upTo, sums, "&"+l.fault, shared))
		f.Line("if (%s.code)", l.fault)
		f.Line("    break;")
	}
	if l.reportsPieces {
		f.Line("dst_done(env, %s - %s, %s);", l.at, l.begin, l.size)
	}
	f.Depth--
	f.Line("}")
}

// callOnce prints a single call of the loop's function, for the whole range.
func (l *parallelLoop) callOnce() {
	text := l.call(l.begin, l.end, nil, "&"+l.fault, false)
	if l.fault != "" {
		text = l.fault + ".code = " + text
	}
	l.function.Line("%s;", text)
}

// afterPieces prints what follows the pieces: the exit if one of them failed, and the addition of
// the partial sums.
func (l *parallelLoop) afterPieces() {
	f := l.function
	if l.fault != "" {
		f.Line("if (%s.code) {", l.fault)
		f.Scoped(func() {
			f.Line("dst_report(env, &%s);", l.fault)
			f.fail(l.fault + ".code")
		})
		f.Line("}")
	}
	if len(l.parts) == 0 {
		return
	}
	k := f.Temps.Fresh("k")
	f.Line("for (int64_t %s = 0; %s < %s - %s; %s += %s) {", k, k, l.end, l.begin, k, l.size)
	for i, r := range l.piece.reduce {
		f.Line("    %s += %s[%s / %s];", f.Variable(r), l.parts[i], k, l.size)
	}
	f.Line("}")
}

// call returns a C call of the loop's function, which runs the iterations in [lo, hi). sums are C
// pointers to the variables that receive the sums of these iterations. fault is a C pointer to the
// variable that receives a failure. shared is true if other threads run iterations at the same
// time.
func (l *parallelLoop) call(lo, hi string, sums []string, fault string, shared bool) string {
	f := l.function
	var args []string
	for _, a := range l.piece.arrays {
		args = append(args, f.Array(a))
	}
	for _, t := range l.piece.tables {
		args = append(args, f.table(t))
	}
	for _, v := range l.piece.vars {
		args = append(args, f.Variable(v))
	}
	args = append(args, lo, hi)
	args = append(args, sums...)
	if l.piece.env {
		args = append(args, "env")
	}
	if l.piece.fails {
		args = append(args, fault)
	}
	if l.piece.atomic {
		args = append(args, fmt.Sprint(truth(shared)))
	}
	if l.ordered != "" {
		args = append(args, "&"+l.ordered)
	}
	return l.piece.name + "(" + strings.Join(args, ", ") + ")"
}

// beginChunks prints the call that starts the progress report of a loop whose iterations are
// chunks. The call passes the number of iterations.
func (l *parallelLoop) beginChunks() {
	f := l.function
	f.leaf.file.need("progress")
	n := fmt.Sprintf("%s - %s", l.end, l.begin)
	if l.s.Step != 1 {
		n = fmt.Sprintf("(%s - 1) / %s + 1", n, clike.Integer(f, l.s.Step, 0))
	}
	f.Line("dst_begin(env, %s, 1);", n)
}

// beginPieces prints the call that starts the progress report of the loop, if the loop reports
// after each piece of its range. The C variable with the length of a piece must already be
// declared.
func (l *parallelLoop) beginPieces() {
	f := l.function
	if l.reportsPieces {
		f.leaf.file.need("progress")
		f.Line("dst_begin_pieces(env, %s - %s, %s);", l.end, l.begin, l.size)
	}
}

// ordered prints the section of a parallel loop's body that runs in the order of the iterations.
func (f *cfunc) ordered(s *ir.Ordered) {
	if f.orderedOf == nil || ir.OrderedOf(f.orderedOf) != s { // its loop is serial here
		f.stmt(s.Body)
		return
	}
	v := f.Variable(f.orderedOf.V)
	if f.fails {
		f.Line("if (!dst_ordered_enter(ordered, %s)) {", v)
		f.Scoped(func() { f.fail("0") })
		f.Line("}")
	} else {
		f.Line("dst_ordered_enter(ordered, %s);", v)
	}
	f.stmt(s.Body)
	f.Line("dst_ordered_leave(ordered, %s + %s);", v,
		clike.Integer(f, f.orderedOf.Step, clike.PrecSum))
}
