// Package interp is the executable meaning of the IR: it runs an ir.Func over
// typed arrays, checks everything that C would leave undefined, and says where
// a leaf breaks the rules.
//
// A leaf is compiled once to closures (Compile), one for each node, and run as
// often as wanted (Program.Run). Scalars live in a frame of 64-bit integers,
// floats and complex numbers; arithmetic of narrower types is rounded or
// wrapped in its type after each operation. Arrays are handles on blocks of
// memory that know their bounds, which of their elements were written, and who
// owns them. What is found wrong is an *Error: an index out of bounds, a read of an
// element never written, use after free or after Publish, a leak, a 64-bit
// value stored where 32 bits cannot hold it, an integer division by zero, a loop that does not end,
// a race,
// and a divergent barrier.
//
// Iterations of a Parallel loop run one after another in an order shuffled by Env.Seed, and so do
// those of Blocks, Warps and Lanes; those of a Vector loop in order. In all, a location that one
// iteration writes and another touches is a race, except where both write it by atomic stores, or
// both in their ordered sections. A Parallel loop inside a Parallel loop is a serial one. In a loop
// with an ordered section, iterations are cut before and behind it, and their parts run in any
// order that keeps the ordered sections in theirs.
//
// The blocks of a Launch run one after another, and so do the threads of a block from one
// Barrier or Shuffle to the next, all in shuffled orders. Threads that wait for others at one
// statement while these are at another, in another iteration or have ended without a Fail are an
// error, a divergent barrier. An element that one thread writes and another touches is a race,
// except where both update it atomically, or a barrier of their block or warp is between.
//
// # Files
//
//	interp.go     Run, and its errors
//	compile.go    a function as closures
//	stmts.go      statements
//	loops.go      loops, and their iterations in shuffled order
//	ordered.go    loops with an ordered section
//	ints.go       expressions of type Bool, Int32 and Int64
//	floats.go     of floats
//	complexes.go  of complex numbers
//	memory.go     arrays, with bounds and what was written
//	tables.go     tables of arrays
//	bits.go       bitmaps
//	union.go      sums of two sparse segments
//	race.go       races between iterations
//	launch.go     launches as code that stops where threads meet
//	threads.go    the threads of a block
//	threadrace.go races between threads
package interp

import (
	"fmt"
	"math/rand/v2"

	"distaff/codegen/ir"
)

// Array is memory that the caller gives to a leaf or receives from it. Data is
// a []bool, []int32, []int64, []float32, []float64, []complex64 or
// []complex128, or nil for none; Data[0] is element First of the whole array.
// The contents of a Fresh array are undefined on entry.
type Array struct {
	Data  any
	First int64
	Fresh bool
}

// Level is one level of an argument.
type Level struct {
	Size, Offset int64
	Pos, Crd     Array
}

// Arg is one tensor argument. Params of part NNZ receive the length of Vals.
type Arg struct {
	Levels []Level
	Vals   Array
}

// Failure is what a Fail statement reports.
type Failure struct {
	Code  ir.FailCode
	Coord []int64
}

func (f *Failure) Error() string {
	return fmt.Sprintf("leaf failed: %s at %v", f.Code, f.Coord)
}

// Error is a broken rule: the leaf is wrong, or its arguments do not fit it.
type Error struct {
	Func string // name of the leaf
	Msg  string // what, with the array and the index
	Vars string // loop variables and their values at that point
}

func (e *Error) Error() string {
	s := "interp: " + e.Func + ": " + e.Msg
	if e.Vars != "" {
		s += " (" + e.Vars + ")"
	}
	return s
}

// Env is what a run depends on beside its arguments.
type Env struct {
	Threads int    // what ir.Func.Threads receives; at least 1
	Seed    uint64 // of the order of parallel iterations, blocks and threads
	Steps   int64  // limit of loop iterations; 0: 10^9
	Memory  int64  // limit of live allocated bytes, past which Alloc fails; 0: 2^31
	// Watch, where it is not nil, is told of the bytes that an array of the leaf's own takes, as it is
	// allocated and as it grows.
	Watch func(array string, bytes int64)
}

// Run compiles and runs f: see Program.Run.
func Run(f *ir.Func, args []Arg, bounds [][2]int64, threads int) (*Failure, error) {
	p, err := Compile(f)
	if err != nil {
		return nil, err
	}
	return p.Run(args, bounds, Env{Threads: threads, Seed: 1})
}

// Run runs the leaf over args, whose arrays it reads and writes in place;
// published arrays replace those of their slots. A Failure is the leaf's own
// error return; arrays are then as far as the leaf came, and nothing is
// published. An error is a broken rule.
func (p *Program) Run(args []Arg, bounds [][2]int64, env Env) (fail *Failure, err error) {
	if env.Threads < 1 {
		env.Threads = 1
	}
	if env.Steps == 0 {
		env.Steps = 1e9
	}
	if env.Memory == 0 {
		env.Memory = 1 << 31
	}
	fr := &frame{
		prog:     p,
		ints:     make([]int64, p.ints),
		floats:   make([]float64, p.floats),
		complexs: make([]complex128, p.complexs),
		arrays:   make([]*memory, len(p.arrays)),
		tables:   make([]*table, len(p.tables)),
		tracks:   make([]track, p.tracks),
		grids:    make([]*grid, p.kernels),
		steps:    env.Steps,
		limit:    env.Memory,
		watch:    env.Watch,
		rng:      rand.New(rand.NewPCG(env.Seed, 0x9e3779b97f4a7c15)),
		live:     map[*memory]bool{},
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Failure:
			fail = r
		case *Error:
			err = r
		default:
			panic(r)
		}
	}()
	p.bind(fr, args, bounds, env.Threads)
	p.body(fr)
	for m := range fr.live {
		fr.errorf("leak: %s is neither freed nor published", m.name)
	}
	for k, t := range fr.tables {
		if t != nil {
			fr.errorf("leak: table %s is not freed", p.tables[k].Name)
		}
	}
	for _, out := range fr.published {
		out.publish(args)
	}
	return nil, nil
}

// frame is the state of one run.
type frame struct {
	prog      *Program
	ints      []int64 // Bool, Int32 and Int64 variables
	floats    []float64
	complexs  []complex128
	arrays    []*memory
	tables    []*table
	tracks    []track
	steps     int64 // loop iterations left
	limit     int64 // bytes that may still be allocated
	watch     func(array string, bytes int64)
	rng       *rand.Rand
	live      map[*memory]bool // allocated, neither freed nor published
	published []published
	inLoops   []int // slots of the loop variables, outermost first
	launches  uint32
	grids     []*grid // of the leaf's launches, once they ran
	thread    *thread // whose frame it is; nil for the leaf's
}

// errorf ends the run with an *Error.
func (fr *frame) errorf(format string, args ...any) {
	e := &Error{Func: fr.prog.name, Msg: fmt.Sprintf(format, args...)}
	for i, k := range fr.inLoops {
		if i > 0 {
			e.Vars += " "
		}
		e.Vars += fmt.Sprintf("%s=%d", fr.prog.intNames[k], fr.ints[k])
	}
	panic(e)
}

// step counts a loop iteration.
func (fr *frame) step() {
	fr.steps--
	if fr.steps < 0 {
		fr.errorf("too many loop iterations: the leaf does not end")
	}
}

// published is an array given to a result.
type published struct {
	slot ir.Slot
	m    *memory
	n    int64
}

func (o published) publish(args []Arg) {
	a := Array{Data: o.m.prefix(o.n)}
	switch arg := &args[o.slot.Arg]; o.slot.Field {
	case ir.Pos:
		arg.Levels[o.slot.Level].Pos = a
	case ir.Crd:
		arg.Levels[o.slot.Level].Crd = a
	default:
		arg.Vals = a
	}
}

// slot finds a slot of the arguments, or ends the run where there is none.
func (fr *frame) slot(args []Arg, s ir.Slot) (arg *Arg, level *Level) {
	if s.Arg < 0 || s.Arg >= len(args) {
		fr.errorf("slot %s: got %d arguments", s, len(args))
	}
	arg = &args[s.Arg]
	if !s.Field.HasLevel() {
		return arg, nil
	}
	if s.Level < 0 || s.Level >= len(arg.Levels) {
		fr.errorf("slot %s: got an argument with %d levels", s, len(arg.Levels))
	}
	return arg, &arg.Levels[s.Level]
}

// bind loads parameters, bounds and the thread count into the frame.
func (p *Program) bind(fr *frame, args []Arg, bounds [][2]int64, threads int) {
	for k, a := range p.arrays {
		fr.arrays[k] = &memory{name: a.Name, elem: a.Elem, state: unallocated}
	}
	for _, q := range p.params {
		arg, level := fr.slot(args, q.slot)
		switch q.slot.Field {
		case ir.Pos:
			fr.arrays[q.index] = fr.wrap(p.arrays[q.index], level.Pos)
		case ir.Crd:
			fr.arrays[q.index] = fr.wrap(p.arrays[q.index], level.Crd)
		case ir.Vals:
			fr.arrays[q.index] = fr.wrap(p.arrays[q.index], arg.Vals)
		case ir.Rows:
			rows, first := arg.Vals, arg.Levels[0].Offset
			for _, below := range arg.Levels[1 : q.slot.Level+1] {
				first *= below.Size
			}
			rows.First += first
			fr.arrays[q.index] = fr.wrap(p.arrays[q.index], rows)
		case ir.Size:
			fr.ints[q.index] = level.Size
		case ir.Offset:
			fr.ints[q.index] = level.Offset
		case ir.NNZ:
			fr.ints[q.index] = dataLen(arg.Vals.Data)
		case ir.End:
			fr.ints[q.index] = level.Crd.First + dataLen(level.Crd.Data)
		}
	}
	for _, s := range p.publishes {
		fr.slot(args, s)
	}
	p.checkAliases(fr)
	if len(bounds) < len(p.bounds) {
		fr.errorf("got %d bounds, want %d", len(bounds), len(p.bounds))
	}
	for k, b := range p.bounds {
		for side := range b {
			if b[side] >= 0 {
				fr.ints[b[side]] = bounds[k][side]
			}
		}
	}
	if p.threads >= 0 {
		fr.ints[p.threads] = int64(threads)
	}
}

// checkAliases refuses memory that the leaf stores to and that it also sees by
// another array: generated code relies on restrict.
func (p *Program) checkAliases(fr *frame) {
	seen := map[any]int{}
	for _, q := range p.params {
		if !q.slot.Field.IsArray() {
			continue
		}
		key := fr.arrays[q.index].address()
		if key == nil {
			continue
		}
		if other, ok := seen[key]; ok && !(p.arrays[other].Const && p.arrays[q.index].Const) {
			fr.errorf("%s and %s are the same memory, and one of them is stored to", p.arrays[other].Name,
				p.arrays[q.index].Name)
		}
		seen[key] = q.index
	}
}
