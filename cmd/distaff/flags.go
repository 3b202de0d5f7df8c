package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"distaff/io/gen"
	"distaff/io/tensor"
)

// Categories of flags, in the order that help shows them.
const (
	catData     = "Data"
	catSchedule = "Schedule and blocks"
	catRun      = "Running"
	catOutput   = "Output"
)

var categories = []string{catData, catSchedule, catRun, catOutput, ""}

type cliFlag = cli.Flag

func text(name string, aliases []string, cat, usage string) cli.Flag {
	return &cli.StringFlag{Name: name, Aliases: aliases, Category: cat, Usage: usage}
}

// list returns a flag that users repeat to give several values.
func list(name string, aliases []string, cat, usage string) cli.Flag {
	return &cli.StringSliceFlag{Name: name, Aliases: aliases, Category: cat, Usage: usage,
		KeepSpace: true}
}

func on(name string, aliases []string, cat, usage string) cli.Flag {
	return &cli.BoolFlag{Name: name, Aliases: aliases, Category: cat, Usage: usage}
}

func al(names ...string) []string { return names }

// levelKinds returns the letters of the level kinds with their names, for help.
func levelKinds() string {
	var out []string
	for _, k := range tensor.Kinds {
		out = append(out, k.String()+" "+k.Words())
	}
	return strings.Join(out, ", ")
}

// dataFlags returns the flags that describe the tensors of a statement.
func dataFlags() []cli.Flag {
	return []cli.Flag{
		list("f", al("format"), catData,
			"`T:LEVELS[:ORDER]` how tensor T is stored, outermost level first: "+levelKinds()+
				"; B:ds is CSR, B:ds:1,0 CSC, B:sss CSF"),
		list("t", al("type"), catData,
			"`T:TYPE` "+tensor.TypeList+", or TACO's names"),
		list("d", al("dims"), catData,
			"`i:N` or T:N,N,... the size of an index variable, or the sizes of a tensor's "+
				"modes; 1e6 is 1000000"),
		list("i", al("input"), catData,
			"`T:FILE` reads T from a file in one of the formats of distaff help files; T:FILE:NAME "+
				"reads one of several tensors of a file, T:-.tns reads standard input, and alpha:2.5 sets a scalar"),
		list("g", al("generate"), catData,
			"`T:KIND` generates T: "+gen.Forms+"; values are in (0,1], or with :int at the end "+
				"integers 1 to 9"),
		text("einsum", nil, catData,
			"`\"ij,jk->ik\"` NumPy's einsum string in place of a statement; the arguments are the "+
				"files of its operands, A, B and so on, and -o=FILE writes the result, out"),
		on("broadcast", nil, catData,
			"broadcasts modes of size 1 against others, as NumPy and --einsum do"),
		list("index-base", nil, catData,
			"`[T:]0|1` the first coordinate in .tns, .csv, .tsv and edge-list files (default: 1)"),
		list("delimiter", nil, catData,
			"`[T:]comma|semicolon|tab|bar|space` what separates the columns of .csv, .tsv and "+
				"edge-list files (default: the first line decides)"),
		list("duplicates", nil, catData,
			"`[T:]sum|error` how repeated coordinates are treated (default: sum)"),
		list("fill", nil, catData,
			"`T:NUMBER` the value of operand T where it is absent (default: 0), as inf"),
		text("seed", nil, catData,
			"`N` fixes generated data, together with the tensor's name (default: 0)"),
		on("trust-input", nil, catData,
			"skips the checks of a .tcs file's checksums and level arrays: a bad file may "+
				"then crash the job, keep it from ending or give garbage"),
	}
}

// placeFlags returns the flags for schedules and for the placement of tensors.
func placeFlags() []cli.Flag {
	return []cli.Flag{
		list("s", al("schedule"), catSchedule,
			"`COMMAND(...),...` scheduling commands, applied in order; the default schedule is "+
				"then off"),
		text("m", al("machine"), catSchedule,
			"`GRID` arranges the ranks in a grid named M, as in 2x2 or Grid(2,2), or in a "+
				"hierarchy, as in \"nodes=2x2;gpus=4\" (default: one dimension with all ranks)"),
		list("p", al("place"), catSchedule,
			"`\"B(x,y) -> M(x)\"` where the pieces of tensor B are: a mode is divided evenly over "+
				"a dimension of the machine, * copies, a number fixes a coordinate; a hierarchy "+
				"has a part for each level, separated by ;"),
		list("split", nil, catSchedule,
			"`i:4` or i:100,200 divides an index variable's range into blocks"),
		text("order", nil, catSchedule, "`j,i` the order of the block loops"),
		list("extend", nil, catSchedule,
			"`j` partial outputs for each block of a reduction variable, summed in a tree"),
		text("map", nil, catSchedule, "`i,j` the variables that decide which rank runs a block"),
		text("network", nil, catSchedule,
			"`auto|direct|pairwise|TREE` how a product of many tensors is contracted: in the "+
				"cheapest steps, in one nest of loops, two at a time, or as a tree, such as "+
				"((A*B)*C)*D; docs/networks.md (default: auto)"),
		text("intermediate-order", nil, catSchedule,
			"`N` the largest number of index variables of an intermediate (default: the "+
				"smallest that costs no more)"),
		on("allow-user-code", nil, catSchedule,
			"allows substitute({i,...},\"file.c:name\") to compile and run that C"),
	}
}

// machineFlags returns the flags that describe what a job runs on.
func machineFlags() []cli.Flag {
	return []cli.Flag{
		text("ranks", nil, catRun, "`N` ranks inside one process, without MPI (default: 1)"),
		text("threads", nil, catRun,
			"`N` threads for each rank (default: OMP_NUM_THREADS, or the rank's share of the "+
				"cores that affinity, cgroup and Slurm allow; at most 8 times the machine's "+
				"hardware threads, or 64)"),
		text("target", nil, catRun,
			"`auto|cpu|cuda|cuda!|interpreter` what statements run on: this CPU, an NVIDIA GPU "+
				"(docs/gpu.md), or an interpreter, which needs no C compiler, checks every access "+
				"to memory and is very slow. cuda runs what a GPU cannot on the CPU; cuda! refuses "+
				"it; auto is cuda if there is a GPU, otherwise cpu (default: cpu)"),
		text("cpu", nil, catRun,
			"`native|x86-64-v2|x86-64-v3|x86-64-v4` what CPU leaves are compiled for; not with "+
				"--target=cuda (default: native)"),
		text("tune", nil, catRun,
			"`auto|off` auto uses the forms of code that distaff doctor --tune found to be fastest "+
				"on this CPU; off uses the defaults; results are the same (default: auto)"),
		text("memory-limit", nil, catRun,
			"`SIZE` limit of a rank's tensors, workspaces and buffers; K M G T are powers of 1024 "+
				"(default: DISTAFF_MEMORY_LIMIT, or the rank's share of 90% of the memory that "+
				"machine, cgroup and Slurm allow)"),
		text("tmp", nil, catRun, "`DIR` for temporary files (default: DISTAFF_TMP, or TMPDIR)"),
	}
}

// runFlags returns the flags for running a job. Most have no effect on compile.
func runFlags() []cli.Flag {
	return []cli.Flag{
		text("repeat", nil, catRun,
			"`N` runs the compute phase N times; the result is the result of one run (default: 1)"),
		text("warmup", nil, catRun,
			"`N` more runs before the timed ones (default: 0)"),
		on("check", nil, catRun,
			"compares the result with the reference evaluator, on all threads; exit 4 if they "+
				"differ"),
		on("verify", nil, catRun,
			"verifies the result of each pass of the compiler, and parses and types the C "+
				"of each leaf (as -v does)"),
		list("o", al("output"), catOutput,
			"`T:FILE` writes T to a file in one of the formats of distaff help files; T:-.mtx writes "+
				"standard output"),
		text("write", nil, catOutput,
			"`auto|parallel|ordered` how ranks write an output: at once, or one after another "+
				"(default: auto, which is ordered on network file systems only)"),
		text("stats", nil, catOutput,
			"`FILE.json` writes times, volumes and balance, together with the outputs"),
		text("progress", nil, catOutput,
			"`auto|always|never` shows the progress of loading, computing and --check, and the "+
				"statement of a job file that runs (default: auto, which means on a terminal)"),
		list("D", al("define"), catData,
			"`NAME=NUMBER` gives another value to a param of a job file"),
	}
}

// talkFlags returns the flags that decide how many messages are printed. Every command has them.
func talkFlags() []cli.Flag {
	return []cli.Flag{
		on("v", al("verbose"), catOutput, "prints more on standard error"),
		on("q", al("quiet"), catOutput, "prints only errors on standard error"),
	}
}

func join(groups ...[]cli.Flag) []cli.Flag {
	var all []cli.Flag
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}
