package spmd

import (
	"context"

	"distaff/codegen"
	"distaff/codegen/place"
	"distaff/io/outfile"
	"distaff/io/tcs"
	"distaff/kernels/cc"
	"distaff/kernels/target"
	"distaff/spmd/check"
	"distaff/spmd/env"
	"distaff/spmd/fault"
	"distaff/spmd/input"
	"distaff/spmd/output"
)

// Job is one statement with its data. The zero value of every field but
// Statement is a good default.
type Job struct {
	Statement string

	// Formats and Types give a tensor's storage ("ds", "ss:1,0") and value type
	// ("float32") by its name.
	Formats map[string]string
	Types   map[string]string
	// Sizes gives an index variable's size ("i": {1000}) or those of a tensor's
	// modes ("A": {1000, 32}).
	Sizes map[string][]int64
	// Inputs says where each operand comes from, and, for +=, what the result
	// is added to.
	Inputs map[string]Input
	// Outputs are files to write. Any tensor of the statement can be written.
	Outputs []Output
	// Keep leaves the result in Report.Result; the caller closes it.
	Keep bool
	// FixedPattern, if not nil, is a former result of the statement (of a job with Keep)
	// over operands with the same patterns: the job computes its values alone, in
	// place, and makes no level arrays. It stays the caller's, who closes it after
	// the job; Report.Result is one more tensor over the same memory. It must be
	// whole and valid; its values must lie in memory, not in a file, nor be an
	// operand's. Coordinates that it stores and the statement no longer gives have
	// the value 0; one that it lacks is a *kernels.PatternError (exit code 3), after
	// which, as after any error of computing, its values are undefined. It is for one
	// rank without a schedule. Compute times are those of values alone.
	FixedPattern *tcs.Tensor

	Options
}

// Interpreter is the Target that needs no C compiler, and checks every access, very slowly.
const Interpreter = target.Interpreter

// CUDA is the Target of NVIDIA GPUs: each rank takes the one that has its number among the ranks of
// its machine. Without a driver and a GPU a job ends with exit code 1; nothing runs on the CPU
// instead.
const CUDA = target.CUDA

// Options are how a job runs.
type Options struct {
	Seed    int64 // fixes generated data, with the tensor's name
	Ranks   int   // ranks in this process; 0 is 1
	Threads int   // threads a rank; 0 for the default
	// what leaves run on: "cpu" (also ""), "cuda", see CUDA, or "interpreter", see Interpreter
	Target string
	CPU    string // "native" (also ""), or an architecture level
	Repeat int    // timed runs of the compute phase; 0 is 1
	Warmup int    // runs before those, untimed
	Check  bool   // compare with the reference evaluator
	// hold what each pass of the compiler makes, and the C of leaves, to their rules
	Verify      bool
	MemoryLimit int64  // bytes a rank; 0 for the default
	Tmp         string // the folder for temporary files; "" for the default
	// Tune is "auto" (also ""), where leaves have the forms that were measured to be fastest on this
	// CPU, or "off", where they have the defaults. No bit of a result depends on it.
	Tune          string
	TrustInput    bool   // do not validate the level arrays of .tcs files and tensors in memory
	Write         string // "auto" (also ""), "parallel" or "ordered"
	AllowUserCode bool   // C functions that a schedule substitutes for loops may be compiled and run
	Checksums     bool   // note the checksums of input files in Stats
	// StatsFile is where Stats are written ("-" is standard output), together with the
	// outputs: a job that cannot write one of its files replaces none. "" for nowhere.
	StatsFile string

	Schedule []string // scheduling commands
	// Machine arranges the ranks, as in "2x2" or "nodes=2x2;gpus=4"; "" is one dimension with all
	// ranks. Point n of it, row-major, is on rank n mod the number of ranks. Schedules and placements
	// call it M.
	Machine string
	// Placements say where the pieces of tensors lie, each as in "B(x,y) -> M(x)".
	Placements        []string
	Splits            []string
	BlockOrder        string
	Extend            []string
	Map               string
	Network           string
	IntermediateOrder int

	// Note is told, in a line each, what a user should know: a conversion, a
	// default that matters. Detail is told more. Either may be nil.
	Note, Detail func(string)
	// Trace is told of each pass of the compiler behind it; text prints what the pass made,
	// and is called before Trace returns, if at all. It may be nil.
	Trace func(pass string, text func() string)
	// Progress is told how far loading is: bytes read of a file, and its size (0 where
	// that cannot be known). It is called from another goroutine. It may be nil.
	Progress func(file string, done, total int64)
	// Working is told how far what takes longer than a moment is, in no unit: the runs of the
	// compute phase, and the check. what is "" when it is done. It is called from another goroutine.
	// It may be nil.
	Working func(what string, done, total int64)

	// Argv is the command line, for Stats.
	Argv []string

	// over and placed are the machine and the placements of a job file's statement, to which the file
	// brings tensors itself.
	over   *place.Machine
	placed map[string]place.Placement
	// memoryOf, if not nil, is the memory that the file has a tensor lie in.
	memoryOf func(tensor string) place.Memory

	// inProgram says that the job stands for a statement of a program, which runs at most runs times
	// (prepared.Options).
	inProgram bool
	runs      int64

	// compiler starts the C compiler (cc.Config.Run), where this process must not.
	compiler func(ctx context.Context, c cc.Command) (string, error)
	// compiled is the target that leaves are compiled for, where Target does not say it.
	compiled string
	// local is the rank's number among those of its machine, of a launcher's job.
	local int
	// folder is where the C files of a job file's schedules are, "" for the working folder.
	folder string
	// compileOnly ends a job of several ranks when its leaves are there.
	compileOnly bool
	// made, if not nil, is told the units of such a job's leaves.
	made *[]*codegen.Unit
}

// Input is where a tensor comes from: exactly one of File, Generate, Scalar and
// Tensor.
type Input = input.Input

// File is an Input that reads a file.
func File(path string) Input { return Input{File: path} }

// Generated is an Input of generated data: "dense", "uniform:NNZ",
// "zipf:NNZ:SKEW", "banded:WIDTH", each also with ":int".
func Generated(kind string) Input { return Input{Generate: kind} }

// Scalar is an Input of one value; see Input.Scalar for v's types.
func Scalar(v any) Input { return Input{Scalar: v} }

// InMemory is an Input of a tensor that the program holds: one of Dense, CSR, CSC, COO and
// CSF, or a result that was kept.
func InMemory(t *tcs.Tensor) Input { return Input{Tensor: t} }

// Output is a file to be written, by its extension. "-.mtx" writes standard
// output as a .mtx file.
type Output = output.Output

// Error is a failure of a job, with the exit code that it asks for (SPEC, Errors).
type Error = fault.Error

// Difference is what Check found (exit 4).
type Difference = check.Difference

// Abandon removes what unfinished jobs of this process were writing, and lets
// none of them finish: what a program calls before it exits on a signal.
func Abandon() { outfile.Cleanup() }

// FormatSize prints bytes with a binary unit: 1.5 GiB.
func FormatSize(bytes int64) string { return tcs.Size(bytes) }

// FileSum is the SHA-256 of a plain file's bytes, as statistics give it; ""
// for standard input, pipes and devices, which are read once.
func FileSum(path string) (string, error) { return input.FileSum(path) }

// ParseSize reads a count of bytes: 1000, 512M, 1.5G. K, M, G and T are powers
// of 1024; B, iB after them and lower case are allowed.
func ParseSize(s string) (int64, error) { return env.ParseSize(s) }

// DefaultMemory is the memory limit of a job of one rank where none is given,
// and what it is 90% of, in words.
func DefaultMemory() (bytes int64, why string) { return env.DefaultMemory(1) }

// note reports to the user, if he listens.
func (o *Options) note(s string) {
	if o.Note != nil {
		o.Note(s)
	}
}

// blockSpec is the job's own block schedule.
func (o *Options) blockSpec() (*place.BlockSpec, error) {
	return place.ParseBlocks(o.Splits, o.BlockOrder, o.Extend, o.Map)
}
