package spmd

import (
	"context"

	"distaff/io/tcs"
	"distaff/kernels/cc"
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

// Options are how a job runs.
type Options struct {
	Seed          int64  // fixes generated data, with the tensor's name
	Ranks         int    // ranks in this process; 0 is 1
	Threads       int    // threads a rank; 0 for the default
	Target        string // "cpu" (also ""), or "cuda"
	CPU           string // "native" (also ""), or an architecture level
	Repeat        int    // timed runs of the compute phase; 0 is 1
	Warmup        int    // runs before those, untimed
	Check         bool   // compare with the reference evaluator
	MemoryLimit   int64  // bytes a rank; 0 for the default
	Tmp           string // the folder for temporary files; "" for the default
	TrustInput    bool   // do not validate the level arrays of .tcs files
	Write         string // "auto" (also ""), "parallel" or "ordered"
	AllowUserCode bool
	// Interpret runs leaves in the checking interpreter instead of compiling
	// them: very slowly, without a C compiler, and with every access, race and
	// leak checked. For tests.
	Interpret bool
	Checksums bool // note the checksums of input files in Stats
	// StatsFile is where Stats are written ("-" is standard output), together with the
	// outputs: a job that cannot write one of its files replaces none. "" for nowhere.
	StatsFile string

	Schedule          []string // scheduling commands
	Machine           string
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

	// Argv is the command line, for Stats.
	Argv []string

	// compiler starts the C compiler (cc.Config.Run), where this process must not.
	compiler func(ctx context.Context, c cc.Command) (string, error)
	// compileOnly ends a job of several ranks when its leaves are there.
	compileOnly bool
}

// Input is where a tensor comes from: exactly one of File, Generate, Scalar and
// Tensor.
type Input struct {
	// File is read by its extension. "-.tns" reads standard input as a .tns
	// file. Where the tensor is a scalar, a number may stand here.
	File string
	// ZeroBased says that a .tns file's first coordinate is 0.
	ZeroBased bool
	// NoDuplicates refuses repeated coordinates, which are summed otherwise.
	NoDuplicates bool
	// Generate is a kind of generated data: "uniform:1000".
	Generate string
	// Scalar is the value of a scalar: an int, int64, int32, float64, float32,
	// complex128 or complex64, whose type becomes the tensor's.
	Scalar any
	// Tensor is a tensor in memory, which stays the caller's: the job reads it
	// and neither changes nor closes it. It must be whole, and valid.
	Tensor *tcs.Tensor
}

// File is an Input that reads a file.
func File(path string) Input { return Input{File: path} }

// Generated is an Input of generated data: "dense", "uniform:NNZ",
// "zipf:NNZ:SKEW", "banded:WIDTH", each also with ":int".
func Generated(kind string) Input { return Input{Generate: kind} }

// Scalar is an Input of one value; see Input.Scalar for v's types.
func Scalar(v any) Input { return Input{Scalar: v} }

// InMemory is an Input of a tensor that the program holds.
func InMemory(t *tcs.Tensor) Input { return Input{Tensor: t} }

// Output is a file to be written, by its extension. "-.mtx" writes standard
// output as a .mtx file.
type Output struct{ Tensor, File string }

// note and detail report to the user, if he listens.
func (o *Options) note(s string) {
	if o.Note != nil {
		o.Note(s)
	}
}

func (o *Options) detail(s string) {
	if o.Detail != nil {
		o.Detail(s)
	}
}
