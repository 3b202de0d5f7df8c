package spmd

import (
	"context"

	"distaff/codegen"
	"distaff/codegen/place"
	"distaff/io/outfile"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels/cc"
	"distaff/kernels/target"
	"distaff/spmd/check"
	"distaff/spmd/env"
	"distaff/spmd/fault"
	"distaff/spmd/input"
	"distaff/spmd/output"
)

// Job is one statement with its data. Statement must be set, and Run needs an input for each
// operand. The zero value of every other field is a good default.
type Job struct {
	Statement string

	// Formats and Types hold the storage ("ds", "ss:1,0") and the value type ("float32") of
	// tensors, by name.
	Formats map[string]string
	Types   map[string]string
	// Sizes holds the size of an index variable ("i": {1000}) or the sizes of a tensor's modes
	// ("A": {1000, 32}).
	Sizes map[string][]int64
	// Inputs holds where each operand comes from. For +=, it may also hold the old value of the
	// result, under the name of the result.
	Inputs map[string]Input
	// Outputs are the files to write. Any tensor of the statement can be written.
	Outputs []Output
	// Keep leaves the result in Report.Result. The caller must close it.
	Keep bool
	// FixedPattern, if not nil, is the kept result of an earlier run of the statement over operands
	// with the same patterns. The job then computes only its values, in place, and makes no level
	// arrays. It needs one rank and no schedule.
	//
	// The tensor must be complete and valid. Its values must be in memory (not in a mapped file)
	// and must not be the values of an operand. The caller closes it after the job; Report.Result
	// is another tensor over the same memory. A coordinate that it stores but the statement no
	// longer produces gets the value 0. A coordinate that it lacks is a *kernels.PatternError (exit
	// code 3). After any error of the compute phase its values are undefined. The reported compute
	// times count the computation of values only.
	FixedPattern *tcs.Tensor

	Options
}

// Interpreter is the Target that needs no C compiler. It checks every memory access and is very
// slow.
const Interpreter = target.Interpreter

// CUDA is the Target of NVIDIA GPUs. The ranks of a machine use the machine's GPUs in turn.
// Without a driver and a GPU the job ends with exit code 1. A statement that a GPU cannot run is
// run on the CPU, with a note. With the Target CUDAOnly, such a statement is an error with exit
// code 2. The Target Auto is CUDA if each rank has a GPU, and otherwise "cpu".
const (
	CUDA     = target.CUDA
	CUDAOnly = target.CUDAOnly
	Auto     = target.Auto
)

// Options say how a job runs.
type Options struct {
	Seed    int64 // seed of generated data, together with the tensor's name
	Ranks   int   // ranks in this process; 0 means 1
	Threads int   // threads of each rank; 0 for the default
	// Target says what leaves run on: "cpu" (or ""), "cuda", "cuda!" or "auto" (see CUDA), or
	// "interpreter" (see Interpreter).
	Target string
	CPU    string // "native" (also ""), or an architecture level
	Repeat int    // timed runs of the compute phase; 0 means 1
	Warmup int    // runs before the timed ones
	Check  bool   // compare the result with the reference evaluator
	// Verify checks the output of each pass of the compiler, and the C of leaves, against their
	// rules.
	Verify      bool
	MemoryLimit int64  // bytes for each rank; 0 for the default
	Tmp         string // the folder for temporary files; "" for the default
	// Tune is "auto" (or "") for the forms of code that were measured to be fastest on this CPU, or
	// "off" for the default forms. The results are the same, bit by bit.
	Tune          string
	TrustInput    bool   // do not validate the level arrays of .tcs files and tensors in memory
	Write         string // "auto" (also ""), "parallel" or "ordered"
	AllowUserCode bool   // compile and run the C functions that a schedule substitutes for loops
	Checksums     bool   // put the checksums of input files into Stats
	// StatsFile is the file for Stats: "-" is standard output, "" writes none. It is renamed
	// together with the outputs, so that a job that cannot write one of its files replaces none of
	// them.
	StatsFile string

	Schedule []string // scheduling commands
	// Machine arranges the ranks in a grid, as in "2x2" or "nodes=2x2;gpus=4"; "" is one dimension
	// of all ranks. Point n of the grid, in row-major order, is rank n mod the number of ranks.
	// Schedules and placements call the machine M.
	Machine string
	// Placements say which rank holds which part of a tensor, each as in "B(x,y) -> M(x)".
	Placements        []string
	Splits            []string
	BlockOrder        string
	Extend            []string
	Map               string
	Network           string
	IntermediateOrder int

	// Note is called with lines that a user should read, such as a conversion or a default that
	// matters. Detail is called with further lines. Either may be nil.
	Note, Detail func(string)
	// Trace, if not nil, is called after each pass of the compiler. text prints what the pass made;
	// it must not be called after Trace has returned.
	Trace func(pass string, text func() string)
	// Progress, if not nil, is called with the bytes read of a file so far, and with the file's
	// size or 0 if the size cannot be known. It is called from another goroutine.
	Progress func(file string, done, total int64)
	// Working, if not nil, is called with the progress of long work (the loop that rank 0's leaf
	// runs, or the runs of the compute phase, and Check) as two numbers without a unit. It is
	// called from another goroutine, except when the work is done and what is "".
	Working func(what string, done, total int64)

	// Argv is the command line. Stats records it.
	Argv []string

	// fileMachine and filePlacements are the machine and the placements of a statement of a job
	// file. The file itself moves tensors to their placements.
	fileMachine    *place.Machine
	filePlacements map[string]place.Placement
	// memoryOf, if not nil, returns the memory that the job file declares for a tensor.
	memoryOf func(tensor string) place.Memory

	// on names the target of a statement of a job file, as in How.On. needsGPU names the first
	// statement of the file that demands a GPU, for errors, or is "".
	on       string
	needsGPU string

	// inProgram is set if the job represents a statement of a program whose leaves are compiled
	// ahead. runs is the largest number of times that the statement runs (prepared.Options).
	inProgram bool
	runs      int64

	// compiler, if not nil, starts the C compiler (cc.Config.Run). It is set if this process must
	// not start one itself.
	compiler func(ctx context.Context, c cc.Command) (string, error)
	// compileTarget is the target that leaves are compiled for, if it differs from Target.
	compileTarget string
	// local is the number of this rank among the ranks of its machine, in a process of a launcher.
	local int
	// folder is the folder of the C files that a job file's schedules name; "" is the working
	// folder.
	folder string
	// compileOnly ends a job of several ranks once its leaves are compiled.
	compileOnly bool
	// leafUnits, if not nil, receives the units of the leaves.
	leafUnits *[]*codegen.Unit
}

// Input says where a tensor comes from. Exactly one of File, Generate, Scalar and Tensor is set.
type Input = input.Input

// File is an Input that reads a file.
func File(path string) Input { return Input{File: path} }

// Generated is an Input of generated data. kind is "dense", "uniform:NNZ", "zipf:NNZ:SKEW" or
// "banded:WIDTH", each optionally followed by ":int".
func Generated(kind string) Input { return Input{Generate: kind} }

// Scalar is an Input of one value. Input.Scalar lists the types that v may have.
func Scalar(v any) Input { return Input{Scalar: v} }

// InMemory is an Input of a tensor in the program's memory: one made by Dense, CSR, CSC, COO or
// CSF, or a result that was kept.
func InMemory(t *tcs.Tensor) Input { return Input{Tensor: t} }

// Output is a file to write. Its extension decides the format; "-.mtx" writes a .mtx file to
// standard output.
type Output = output.Output

// Error is a failure of a job, with the exit code that the process should end with.
type Error = fault.Error

// Difference is the error of a run if Check is set and the result is wrong (exit code 4).
type Difference = check.Difference

// Abandon removes the temporary files of the outputs of all unfinished jobs of this process. From
// then on, no output file gets its final name. A program calls Abandon before it exits on a signal.
func Abandon() { outfile.Cleanup() }

// FormatSize prints a number of bytes with a binary unit, such as 1.5 GiB.
func FormatSize(bytes int64) string { return tensor.Bytes(bytes) }

// FileSum returns the SHA-256 of the file's bytes, as Stats records it. It returns "" for standard
// input, pipes and devices, which can be read only once.
func FileSum(path string) (string, error) { return input.FileSum(path) }

// ParseSize reads a number of bytes: 1000, 512M, 1.5G. K, M, G and T are powers of 1024; they may
// be lower case and may be followed by B or iB.
func ParseSize(s string) (int64, error) { return env.ParseSize(s) }

// DefaultMemory returns the default memory limit, in bytes, of a job with one rank. It is 90% of
// the smallest of three limits: the machine's memory, the limit of its cgroup, and the limit of
// Slurm. source is the name of the smallest one.
func DefaultMemory() (bytes int64, source string) { return env.DefaultMemory(1) }

// note calls Note unless it is nil.
func (o *Options) note(s string) {
	if o.Note != nil {
		o.Note(s)
	}
}

// blockSpec returns the block schedule that the job's flags describe.
func (o *Options) blockSpec() (*place.BlockSpec, error) {
	return place.ParseBlocks(o.Splits, o.BlockOrder, o.Extend, o.Map)
}
