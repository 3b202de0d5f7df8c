// Package interp defines the meaning of the IR by executing it: it runs an ir.Func over typed
// arrays, checks everything that C leaves undefined, and reports where a leaf breaks the rules.
//
// Compile turns a leaf into closures, one for each node. Program.Run runs them any number of times.
// Scalars are stored in a frame of 64-bit integers, floats and complex numbers; after each
// operation of a narrower type, the result is rounded or wrapped to that type. Arrays are handles
// on blocks of memory. A block knows its bounds, its owner, and which of its elements were written.
// A broken rule is returned as an *Error: an index out of bounds, a read of an element that was
// never written, a use after free or after Publish, a leak, a 64-bit value stored where 32 bits
// cannot hold it, an integer division by zero, a loop that does not end, a race, or a divergent
// barrier.
//
// The iterations of a Parallel, Blocks, Warps or Lanes loop run one after another, in an order
// shuffled by Env.Seed. The iterations of a Vector loop run in order. In all these loops it is a
// race if one iteration writes a location and another one reads or writes it, unless both write it
// by atomic stores, or both accesses are in ordered sections. A Parallel loop inside a Parallel
// loop is serial. In a loop with an ordered section, each iteration is divided into three parts:
// before the section, the section, and after it. The parts of different iterations run in a random
// order, but the ordered sections run in the order of the iterations.
//
// The blocks of a Launch run one after another, in shuffled order. The threads of a block run in
// shuffled order too, each until its next Barrier or Shuffle. If a thread waits at one statement
// while another waits at a different statement or in another iteration, or has ended without a
// Fail, the error is a divergent barrier. It is a race if one thread writes an element and another
// one reads or writes it, unless both update it atomically, or a barrier of their block or warp
// separates them.
//
// # Files
//
//	interp.go     Run, and its errors
//	compile.go    functions compiled to closures
//	stmts.go      statements
//	loops.go      loops, and their iterations in shuffled order
//	ordered.go    loops with an ordered section
//	ints.go       expressions of type Bool and of integer types
//	floats.go     expressions of floats
//	complexes.go  expressions of complex numbers
//	memory.go     arrays, their bounds, and which elements were written
//	tables.go     tables of arrays
//	bits.go       bitmaps
//	union.go      sums of sparse segments
//	race.go       races between iterations
//	launch.go     compiles a launch to code that can stop at barriers
//	threads.go    runs the threads of a block
//	threadrace.go races between threads
package interp

import (
	"fmt"
	"math/rand/v2"

	"distaff/codegen/ir"
)

// Array is memory that the caller gives to a leaf or receives from it. Data is a []bool or a slice
// of one of the other types of values. Data is nil for an array without memory. Data may be a part
// of a longer array: Data[0] is then the element with index First. If Fresh is set, the contents
// are undefined on entry.
type Array struct {
	Data  any
	First int64
	Fresh bool
}

// Level is one level of an argument. Size and Offset belong to dense levels.
type Level struct {
	Size, Offset int64
	Pos, Crd     Array
}

// Arg is one tensor argument. A parameter with the field NNZ receives the length of Vals.
type Arg struct {
	Levels []Level
	Vals   Array
}

// Failure is the error that a Fail statement or a failed allocation reports.
type Failure struct {
	Code  ir.FailCode
	Coord []int64
}

func (f *Failure) Error() string {
	return fmt.Sprintf("leaf failed: %s at %v", f.Code, f.Coord)
}

// Error describes a broken rule. Either the leaf is wrong, or the arguments do not fit the leaf, or
// the leaf calls a user's C function, which only compiled leaves can do.
type Error struct {
	Func string // name of the leaf
	Msg  string // what is wrong, with the array and the index
	Vars string // the loop variables and their values at that point
}

func (e *Error) Error() string {
	s := "interp: " + e.Func + ": " + e.Msg
	if e.Vars != "" {
		s += " (" + e.Vars + ")"
	}
	return s
}

// Env holds the settings of a run.
type Env struct {
	Threads int    // the value of ir.Func.Threads; at least 1
	Seed    uint64 // shuffles the order of parallel iterations, blocks and threads
	Steps   int64  // the largest number of loop iterations and GPU threads; 0 means 10^9
	Memory  int64  // Alloc fails if more bytes are allocated at once; 0 means 2^31
	Ran     *int64 // if not nil, is set to the number of loop iterations and GPU threads that ran
	// Watch, if not nil, is called when an array that the leaf owns is allocated or grows. bytes is
	// the memory that the array then occupies.
	Watch func(array string, bytes int64)
}

// Run compiles f and runs it once: see Program.Run.
func Run(f *ir.Func, args []Arg, bounds [][2]int64, threads int) (*Failure, error) {
	p, err := Compile(f)
	if err != nil {
		return nil, err
	}
	return p.Run(args, bounds, Env{Threads: threads, Seed: 1})
}

// Run runs the leaf over args, whose arrays it reads and writes in place. At the end, published
// arrays replace the arrays of their slots in args. A Failure is the leaf's own error return;
// nothing is then published, and the arrays keep what was stored before the failure. An error is a
// broken rule.
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
		if env.Ran != nil {
			*env.Ran = env.Steps - fr.steps
		}
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
	ints      []int64 // variables of Bool and of integer types
	floats    []float64
	complexs  []complex128
	arrays    []*memory
	tables    []*table
	tracks    []track
	steps     int64 // how many more loop iterations and GPU threads may run
	limit     int64 // bytes that may still be allocated
	watch     func(array string, bytes int64)
	rng       *rand.Rand
	live      map[*memory]bool // arrays that the leaf owns and that are not in a table
	published []published
	inLoops   []int // indices in ints of the loop variables, outermost first
	launches  uint32
	grids     []*grid // the grid of each launch of the leaf; nil until it has run
	thread    *thread // the GPU thread that owns the frame; nil if the leaf owns it
}

// errorf ends the run with an *Error, by a panic that Run recovers.
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

// step counts a loop iteration, and ends the run if there were too many.
func (fr *frame) step() {
	fr.steps--
	if fr.steps < 0 {
		fr.errorf("too many loop iterations: the leaf does not end")
	}
}

// published is an array that the leaf gave to its result.
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

// slot returns the argument and the level of a slot. The level is nil if the slot's field has no
// level. If args do not contain the slot, the run ends.
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

// bind stores parameters, bounds and the thread count in the frame.
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

// checkAliases ends the run if two array parameters are the same memory and the leaf stores to one
// of the two, because generated code declares its arrays restrict.
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
			fr.errorf("%s and %s are the same memory, but one of them is stored to",
				p.arrays[other].Name,
				p.arrays[q.index].Name)
		}
		seen[key] = q.index
	}
}
