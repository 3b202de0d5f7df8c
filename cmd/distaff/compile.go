package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"distaff/cmd/argv"
	"distaff/codegen"
	"distaff/codegen/cin"
	"distaff/codegen/diag"
	emitc "distaff/codegen/emit/c"
	"distaff/codegen/emit/clib"
	"distaff/codegen/emit/gopkg"
	"distaff/codegen/emit/signature"
	"distaff/codegen/ir"
	"distaff/codegen/schedule"
	"distaff/io/outfile"
	"distaff/io/tensor"
	"distaff/spmd"
)

func compileCommand() *command {
	return &command{
		name: "compile", args: "STATEMENT|FILE.dst",
		short: "prints the stages of compiling a statement",
		long: `Compiles a statement without running it, and prints the stage that --emit names:

  cin      concrete index notation: loops, workspaces, assignments
  provenance  where the schedule's index variables come from, as a DOT graph
  lattice  the merge lattice of every loop: where it looks for values
  schedule the commands that make the leaf, one on each line, with the reason for
           each. With -s=@FILE they make the same leaf again
  network  how a product of several tensors is contracted: the tree, the loops, the
           intermediates, and their cost
  ir       the imperative leaf, independent of the target
  c        the leaf in C99 with OpenMP (the default). --out=FOLDER/ writes C for other
           programs: FOLDER/NAME.c and FOLDER/NAME.h, named after the folder
  cuda     the kernels of the leaf in CUDA C++ (the default with --target=cuda);
           needs no GPU
  go       a Go package with the C under cgo, ready to import: --out names its folder
  after:PASS  the result of one pass of the compiler, for its developers

If every operand has an input, compile loads the operands and prints the leaf
that run would call. A tensor without an input is float64 and dense unless -t
and -f say otherwise, and a size without a value is assumed to be large. The
leaf of a += has an operand for the old value of the left side.

With --cache, compile adds the compiled C for --cpu to the cache, where run
finds the leaf on a machine without a compiler. If an operand has no input, or
with --ranks or --split, --cache also adds a general leaf for all sizes and any
number of ranks. If every operand has an input, --ranks and --split add to the
cache the leaves of their blocks.

Flags that only concern a run have no effect on compile. With -v, compile prints
the time of each pass and verifies each result. For a job file, compile prints
the stage of each statement, and --emit=go writes one package per statement.
With --emit=c, go or cuda it leaves out statements that run on another target.`,
		examples: []string{
			`distaff compile "y(i) = A(i,j) * x(j)" -f=A:ds`,
			`distaff compile "A(i,l) = B(i,j,k) * C(j,l) * D(k,l)" -f=B:sss --emit=cin`,
			`distaff compile "y(i) = A(i,j) * x(j)" -f=A:ds --emit=go --out=spmv`,
			`distaff compile "y(i) = A(i,j) * x(j)" -f=A:ds --emit=c --out=spmv/`,
			`distaff compile "y(i) = A(i,j) * x(j)" -f=A:ds --emit=cuda`,
			`distaff compile "y(i) = A(i,j) * x(j)" -i=A:matrix.tcs -g=x:dense --cache --cpu=x86-64-v3`,
		},
		flags: join(dataFlags(), placeFlags(), machineFlags(), runFlags(), []cliFlag{
			text("emit", nil, catOutput,
				"`cin|provenance|lattice|schedule|network|ir|c|cuda|go|after:PASS` the stage to "+
					"print"),
			text("out", nil, catOutput,
				"`PATH` the file, or for go and c a folder, to write instead of standard output"),
			on("cache", nil, catOutput, "compiles the leaf into the cache"),
		}, talkFlags()),
		action: compile,
	}
}

func compile(x *invocation) (err error) {
	statement := ""
	if !x.isJobFile() {
		if statement, err = x.statement(); err != nil {
			return err
		}
	}
	stage := x.flags.String("emit")
	pass, after := strings.CutPrefix(stage, "after:")
	if passes := codegen.PassNames(); after && !slices.Contains(passes, pass) {
		return argv.Errorf("--emit=%s: got an unknown pass, want one of %s%s", stage,
			strings.Join(passes, ", "), diag.DidYouMean(pass, passes))
	}
	if !after {
		if stage, err = x.choice("emit", "cin", "provenance", "lattice", "schedule", "network",
			"ir", "c", "cuda", "go"); err != nil {
			return err
		}
	}
	if stage, err = x.source(stage); err != nil {
		return err
	}
	out := x.flags.String("out")
	if stage == "go" && out == "" {
		return argv.Errorf("--emit=go must have --out=FOLDER for the package")
	}
	if stage == "" && out != "" {
		return argv.Errorf("--out=%s needs --emit, as in --emit=c", out)
	}
	if !x.isJobFile() {
		j, err := x.job(statement)
		if err != nil {
			return err
		}
		if err := x.apartFrom(j.Files(), "out", out); err != nil {
			return err
		}
		j.Target = targetOf(x.flags.String("emit"), j.Target, spmd.CUDAOnly)
		return x.emit(j, stage, pass, out, func(text string) error { return x.put(out, text) })
	}
	f, err := x.fileJob()
	if err != nil {
		return err
	}
	if err := x.apartFrom(f.Files(), "out", out); err != nil {
		return err
	}
	f.Target = targetOf(x.flags.String("emit"), f.Target, spmd.CUDA)
	parts, err := f.Jobs()
	if err != nil {
		return err
	}
	var all strings.Builder
	for _, p := range parts {
		to := out
		if stage == "go" || stage == "c" && isFolder(out) { // one folder for each statement
			to = filepath.Join(out, fmt.Sprintf("line%d", p.Line)) + "/"
		}
		err := x.emit(p.Job, stage, pass, to, func(text string) error {
			fmt.Fprintf(&all, "%s %s:%d: %s\n%s\n", comment(stage),
				tensor.Printable(x.flags.Args().First()),
				p.Line, p.Statement, text)
			return nil
		})
		if err != nil {
			return p.Locate(err)
		}
	}
	if all.Len() == 0 {
		return nil
	}
	return x.put(out, all.String())
}

// targetOf returns the target of a job whose stage emit is printed. target is the job's own target.
// cuda is the target that --emit=cuda implies, unless the job's own target has a GPU.
func targetOf(emit, target, cuda string) string {
	switch {
	case emit == "cuda" && target != spmd.CUDAOnly:
		return cuda
	case (emit == "c" || emit == "go") && target == spmd.Auto:
		return ""
	}
	return target
}

// source returns the stage of compilation to print. stage is the value of --emit. If stage is "",
// source returns the stage with the source code for the target. With --cache and without --emit, it
// returns "", because the command then prints no source code. It returns an error if stage is
// source code for another target: C is for a CPU, and CUDA C++ for a GPU.
func (x *invocation) source(stage string) (string, error) {
	target := x.flags.String("target")
	onGPU := target == spmd.CUDA || target == spmd.CUDAOnly
	switch {
	case stage == "" && x.flags.Bool("cache"):
		return "", nil
	case stage == "" && onGPU:
		return "cuda", nil
	case stage == "":
		return "c", nil
	case onGPU && (stage == "c" || stage == "go"):
		return "", argv.Errorf(
			"--emit=%s --target=%s: C is only for leaves on a CPU; want either --emit=cuda, "+
				"or --emit=%s without --target=%s", stage, target, stage, target)
	case stage == "cuda" && target != "" && target != spmd.Auto && !onGPU:
		return "", argv.Errorf(
			"--emit=cuda --target=%s: kernels are only for --target=cuda, which --emit=cuda "+
				"implies; leave --target out", target)
	}
	return stage, nil
}

// comment returns the characters that start a comment in the text of a stage.
func comment(stage string) string {
	if stage == "c" || stage == "cuda" || stage == "provenance" {
		return "//"
	}
	return "#"
}

// emit compiles a job and writes one stage of the compilation. A Go package is written to files in
// the folder out. C is written in the same way if out is a folder. emit passes the text of any
// other stage, or of the named pass, to put. If stage is "", emit writes nothing.
func (x *invocation) emit(j *spmd.Job, stage, pass, out string, put func(string) error) error {
	after := strings.HasPrefix(stage, "after:")
	name := ""
	switch {
	case stage == "go":
		name = gopkg.Name(folderName(out))
	case stage == "c" && isFolder(out):
		name, stage = emitc.Symbol(folderName(out)), library
	}
	made := ""
	j.Trace = func(p string, text func() string) {
		if p == pass {
			made = text()
		}
	}
	u, err := j.Compile(x.flags.Context, name)
	if err != nil {
		return err
	}
	if x.isElsewhere(u, stage) {
		return nil
	}
	if x.flags.Bool("cache") {
		if err := u.Build(x.flags.Context); err != nil {
			return err
		}
		x.note("the leaf of %s is now in the cache", u.Statement)
	}
	switch stage {
	case "":
		return nil
	case "go", library:
		return x.writeFolder(out, name, stage, u)
	}
	if after {
		return put(made)
	}
	if stage == "schedule" {
		text, err := scheduleText(x, u)
		if err != nil {
			return err
		}
		return put(text)
	}
	text := map[string]func() string{
		"cin":        func() string { return cin.String(u.Unit.CIN) + "\n" },
		"lattice":    func() string { return u.Unit.Lattices },
		"network":    func() string { return u.Unit.Network() },
		"ir":         func() string { return ir.Print(u.Unit.Func) },
		"provenance": func() string { return cin.Relations(u.Unit.CIN).Picture(u.Unit.Vars) },
		"c":          u.Source,
		"cuda":       u.Source,
	}[stage]()
	return put(text)
}

// isElsewhere reports whether --emit or --out asks for code for another target than the target of
// the statement u, and says so in a note. Source code without --emit is code for each target.
func (x *invocation) isElsewhere(u *spmd.Compiled, stage string) bool {
	wants := map[string]codegen.Kind{"c": codegen.CPU, "go": codegen.CPU, "cuda": codegen.CUDA}
	kind, ok := wants[x.flags.String("emit")]
	if stage == library {
		kind, ok = codegen.CPU, true
	}
	runs := u.Unit.Request.Target.Kind
	if !ok || runs == kind {
		return false
	}
	what := map[codegen.Kind]string{codegen.CPU: "C", codegen.CUDA: "CUDA C++"}
	x.note("%s is left out, because it runs on the target %s and has no %s", u.Statement, runs,
		what[kind])
	return true
}

// scheduleText returns the schedules of all leaves of a job.
func scheduleText(x *invocation, u *spmd.Compiled) (string, error) {
	units, err := u.Leaves(x.flags.Context)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for k, unit := range units {
		lines, err := codegen.Schedule(unit.Request)
		if err != nil {
			return "", err
		}
		if len(units) > 1 {
			fmt.Fprintf(&b,
				"# Leaf %d of %d, of %s: -s accepts these commands for a statement with only "+
					"these terms.\n", k+1,
				len(units), unit.Request.Statement.Normal)
		}
		b.WriteString(schedule.Text(lines))
	}
	return b.String(), nil
}

// put writes a text to a file, or to standard output if file is "".
func (x *invocation) put(file, text string) error {
	if file != "" {
		return writeWhole(file, []byte(text))
	}
	_, err := fmt.Fprint(x.stdout, text)
	return err
}

// library is the name of a stage: C that is written to a folder. It replaces the stage c if --out
// is a folder.
const library = "c library"

// isFolder reports whether the --out path means a folder: it ends in a slash, or a folder of
// that name exists.
func isFolder(out string) bool {
	info, err := os.Stat(out)
	return out != "" && (os.IsPathSeparator(out[len(out)-1]) || err == nil && info.IsDir())
}

// folderName returns the last element of a folder's absolute path.
func folderName(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return filepath.Base(path)
}

// writeFolder writes the leaf to a folder for use by other programs: as a C file and its header, or
// as a Go package. The Go package gets its own go.mod, unless the folder is inside a module.
func (x *invocation) writeFolder(dir, name, stage string, u *spmd.Compiled) error {
	left := u.Unit.Args[0].Tensor
	if u.Unit.Result.Repack {
		x.note("%s gets the levels %s, because generated code cannot write the levels %s", left,
			u.Unit.Result.Format,
			u.Unit.Request.Tensors.All[left].Format)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	var files map[string]string
	if stage == library {
		files = clib.Files(name, clib.Leaf{Func: u.Unit.Func,
			Signature: signature.Of(u.Statement, u.Unit, u.Types)})
	} else {
		p := &gopkg.Package{Name: name, Statement: u.Statement, Unit: u.Unit,
			Values: gopkg.Values(u.Unit), Types: u.Types}
		files = p.Files()
		abs, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		if !inModule(abs) {
			files["go.mod"] = "module " + name + "\n\ngo 1.21\n"
		}
	}
	var writes []outfile.Use
	for _, f := range sortedKeys(files) {
		path := filepath.Join(dir, f)
		writes = append(writes, outfile.Use{What: "--out: " + path, Path: path, Writes: true})
	}
	if err := x.apart(nil, writes...); err != nil {
		return err
	}
	for _, f := range sortedKeys(files) {
		if err := writeWhole(filepath.Join(dir, f), []byte(files[f])); err != nil {
			return err
		}
	}
	return nil
}

func inModule(dir string) bool {
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		dir = up
	}
}
