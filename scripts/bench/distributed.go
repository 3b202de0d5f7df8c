package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/diag"
	"distaff/io/tcsfile"
	"distaff/spmd"
	"distaff/spmd/comm"
)

// placed is one line of the table: a job over placed tensors at two ranks of one thread, compared
// with another library at two ranks or with another job.
type placed struct {
	name   string
	job    placedJob
	inputs []string // inputs of the operands, in the order of the job and the peer

	peer, function string // the peer and its function; "" if there is none
	against        placedJob
	least          float64 // smallest accepted speedup
}

// placedJob is a statement with the placements of its tensors and of its computation.
type placedJob struct {
	stmt       string
	operands   string // names separated by spaces
	formats    map[string]string
	machine    string
	placements string // separated by ;
	schedule   string
}

// distributedRanks is the number of ranks of each side. Each has one thread.
const distributedRanks = 2

var (
	// summa multiplies two matrices. Each rank has half of the columns. A rank first uses its own
	// half of B, while the other half arrives.
	summa = placedJob{
		stmt: "A(i,j) = B(i,k) * C(k,j)", operands: "B C", formats: map[string]string{"A": "dd"},
		machine:    "1x2",
		placements: "A(x,y) -> M(x,y); B(x,y) -> M(x,y); C(x,y) -> M(x,y)",
		schedule: "distribute({i,j},{io,jo},{ii,ji},M),divide(k,ko,ki,M.y),reorder(io,jo,ko,ii,ji,ki),rotate(ko,{jo},kr)," +
			"communicate({A,C},jo),communicate(B,kr),substitute({ii,ji,ki},gemm)",
	}
	spmvRows = placedJob{
		stmt: "a(i) = B(i,j) * c(j)", operands: "B c",
		placements: "a(x) -> M(x); B(x,y) -> M(x); c(x) -> M(x)",
		schedule:   "divide(i,io,ii,M.x),distribute(io),communicate({a,B,c},io)",
	}
	spmvNonzeros = placedJob{
		stmt: spmvRows.stmt, operands: spmvRows.operands,
		placements: "B(x,y) -> M(~(x,y)); c(x) -> M(x)",
		schedule:   "fuse(i,j,f),pos(f,fp,B),divide(fp,fpo,fpi,M.x),distribute(fpo),communicate({a,B,c},fpo)",
	}
	spmmRows = placedJob{
		stmt: "A(i,k) = B(i,j) * C(j,k)", operands: "B C",
		placements: "A(x,y) -> M(x); B(x,y) -> M(x); C(x,y) -> M(x)",
		schedule:   "divide(i,io,ii,M.x),distribute(io),communicate({A,B,C},io)",
	}
	spmmNonzeros = placedJob{
		stmt: spmmRows.stmt, operands: spmmRows.operands, formats: map[string]string{"A": "dd"},
		placements: "B(x,y) -> M(~(x,y)); C(x,y) -> M(x)",
		schedule:   "fuse(i,j,f),pos(f,fp,B),divide(fp,fpo,fpi,M.x),distribute(fpo),communicate({A,B,C},fpo)",
	}
	spadd3Rows = placedJob{
		stmt: "A(i,j) = B(i,j) + C(i,j) + D(i,j)", operands: "B C D",
		formats:    map[string]string{"A": "ds"},
		placements: "A(x,y) -> M(x); B(x,y) -> M(x); C(x,y) -> M(x); D(x,y) -> M(x)",
		schedule:   "divide(i,io,ii,M.x),distribute(io),communicate({A,B,C,D},io)",
	}
	sddmmRows = placedJob{
		stmt: "A(i,j) = B(i,j) * C(i,k) * D(j,k)", operands: "B C D",
		formats:    map[string]string{"A": "ds"},
		placements: "A(x,y) -> M(x); B(x,y) -> M(x); C(x,y) -> M(x); D(x,y) -> M(*)",
		schedule:   "divide(i,io,ii,M.x),distribute(io),communicate({A,B,C,D},io)",
	}
	sddmmNonzeros = placedJob{
		stmt: sddmmRows.stmt, operands: sddmmRows.operands, formats: sddmmRows.formats,
		placements: "A(x,y) -> M(~(x,y)); B(x,y) -> M(~(x,y)); C(x,y) -> M(*); D(x,y) -> M(*)",
		schedule:   "fuse(i,j,f),pos(f,fp,B),divide(fp,fpo,fpi,M.x),distribute(fpo),communicate({A,B,C,D},fpo)",
	}
)

// spmvChunks returns SpMV by rows over chunks of columns. Each rank's part of the vector has n
// chunks, which fit a cache. A rank starts with the chunks of its own part while the next chunks
// arrive.
func spmvChunks(n int) placedJob {
	j := spmvRows
	j.schedule = fmt.Sprintf(
		"divide(i,io,ii,M.x),divide(j,jo,ji,M.x),divide(ji,jc,jj,%d),reorder(io,jo,jc,ii,jj),distribute(io),rotate(jo,{io},jr),communicate(a,io),communicate({B,c},jc)", n)
	return j
}

var placedTable = []placed{
	{name: "product 4096", job: summa, inputs: []string{"m", "m2"}, peer: "scalapack",
		function: "gemm", least: 1.15},
	{name: "SpMV a", job: spmvRows, inputs: []string{"a", "vec:a:1"}, peer: "petsc",
		function: "spmv", least: 1.1},
	{name: "SpMV b", job: spmvChunks(2), inputs: []string{"b", "vec:b:1"}, peer: "petsc",
		function: "spmv", least: 1.3},
	{name: "SpMV b non-zeros", job: spmvNonzeros, inputs: []string{"b", "vec:b:1"}, peer: "petsc",
		function: "spmv", least: 1.3},
	{name: "SpMM 32 a", job: spmmRows, inputs: []string{"a", "mat:a:1"}, peer: "petsc",
		function: "spmm", least: 3},
	{name: "SpMM 32 b", job: spmmRows, inputs: []string{"b", "mat:b:1"}, peer: "petsc",
		function: "spmm", least: 2},
	{name: "SpMM 32 b non-zeros", job: spmmNonzeros, inputs: []string{"b", "mat:b:1"},
		peer: "petsc", function: "spmm", least: 2},
	{name: "SpAdd3 a", job: spadd3Rows, inputs: []string{"a", "a2", "a3"}, peer: "petsc",
		function: "spadd3", least: 10},
	{name: "SpAdd3 b", job: spadd3Rows, inputs: []string{"b", "b2", "b3"}, peer: "petsc",
		function: "spadd3", least: 10},
	{name: "SDDMM 32 b non-zeros", job: sddmmNonzeros, inputs: []string{"b", "mat:b:0", "mat:b:1"},
		against: sddmmRows, least: 1.5},
	{name: "SDDMM 32 z non-zeros", job: sddmmNonzeros, inputs: []string{"z", "mat:z:0", "mat:z:1"},
		against: sddmmRows, least: 1.5},
}

// way is a way to start the ranks of a job: in this process, or under mpirun.
type way struct {
	name string
	run  func(*spmd.Job) (*outcome, error)
}

// distributed prints the section of jobs over placed tensors. Distaff runs as ranks of this
// process. If mpirun and a built bin/distaff exist, it also runs under mpirun, as the other
// libraries do.
func distributed(b *bench) error {
	dir, err := os.MkdirTemp("", "bench-distributed-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ways := []way{{"local", b.localRanks}}
	if launcher := mpirun(); launcher != "" {
		ways = append(ways, way{"mpirun", func(j *spmd.Job) (*outcome,
			error) {
			return b.mpiRanks(j, dir, launcher)
		}})
	} else {
		b.printf("(no mpirun with bin/distaff: make build, scripts/install-mpi.sh)\n")
	}
	list := map[string]*peer{"scalapack": scalapack(dir), "petsc": petsc(dir)}
	for _, name := range []string{"scalapack", "petsc"} {
		if p := list[name]; p.argv == nil {
			b.printf("%s is left out: %s\n", name, p.reason)
		}
	}
	b.printf("%-22s %-8s %12s %-10s %12s %8s %7s %8s\n", "job", "ranks", "distaff ms", "other",
		"other ms", "by least", "faster", "at least")
	for _, k := range placedTable {
		if !b.wants(k.name) {
			continue
		}
		if err := b.placedLines(k, ways, list, dir); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	for _, w := range ways {
		if err := b.band(w); err != nil {
			return fmt.Errorf("banded: %w", err)
		}
	}
	return nil
}

// placedLines measures one job with each way to start its ranks.
func (b *bench) placedLines(k placed, ways []way, list map[string]*peer, dir string) error {
	files, dumps, err := b.placedFiles(k, dir, true)
	if err != nil {
		return err
	}
	defer func() {
		for _, f := range append(files, dumps...) {
			os.Remove(f)
		}
	}()
	p := list[k.peer]
	if p != nil && p.argv == nil {
		p = nil
	}
	for _, w := range ways {
		other, name := func() (*outcome, error) { return w.run(b.placedJob(k.against, files)) },
			"by rows"
		switch {
		case p != nil:
			other, name = func() (*outcome, error) { return b.placedPeer(p, k.function, dumps) },
				p.name
		case k.peer != "":
			other, name = nil, "-"
		}
		err := b.placedLine(k, w, files, name, other)
		if err != nil && comm.ExitCode(err) == diag.ExitCommand { // refused in every way
			first, _, _ := strings.Cut(err.Error(), "\n")
			b.printf("%-22s is left out: %s\n", k.name, first)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// placedLine measures the placed job k and a baseline job alternately, and prints the speedup of k
// over the baseline. The limit applies to the speedup of the median times. The speedup of the
// minimum times is printed too, because other load on the machine changes it less. If baseline is
// nil, only k is measured.
func (b *bench) placedLine(k placed, w way, files []string, name string,
	baseline func() (*outcome, error)) error {
	var ours, theirs []float64
	for range b.rounds {
		mine, err := w.run(b.placedJob(k.job, files))
		if err != nil {
			return err
		}
		ours = append(ours, mine.times...)
		if baseline == nil {
			continue
		}
		its, err := baseline()
		if err != nil {
			return err
		}
		if err := sameSum(mine.sum, its.sum, name); err != nil {
			return err
		}
		theirs = append(theirs, its.times...)
	}
	if baseline == nil {
		b.printf("%-22s %-8s %12.2f %-10s %12s %8s %7s %8.2f\n", k.name, w.name, 1e3*median(ours),
			name, "-", "-", "-", k.least)
		return nil
	}
	faster, byLeast := median(theirs)/median(ours), slices.Min(theirs)/slices.Min(ours)
	b.printf("%-22s %-8s %12.2f %-10s %12.2f %8.2f %7.2f %8.2f%s\n", k.name, w.name,
		1e3*median(ours), name, 1e3*median(theirs), byLeast, faster, k.least,
		b.over(faster < k.least))
	return nil
}

func (b *bench) placedPeer(p *peer, function string, dumps []string) (*outcome, error) {
	times, sum, err := p.run(function, distributedRanks, b.repeat, dumps)
	return &outcome{times: times, sum: sum}, err
}

// placedJob returns the job that k describes. The job reads its operands from the given files,
// which are in the order of k.operands.
func (b *bench) placedJob(k placedJob, files []string) *spmd.Job {
	j := &spmd.Job{Statement: k.stmt, Formats: k.formats, Inputs: map[string]spmd.Input{}}
	operands := strings.Fields(k.operands)
	for n, file := range files {
		j.Inputs[operands[n]] = spmd.File(file)
	}
	j.Machine, j.Placements, j.Schedule = k.machine, strings.Split(k.placements, "; "),
		[]string{k.schedule}
	j.Ranks, j.Threads, j.Warmup, j.Repeat, j.TrustInput = distributedRanks, 1, 1, b.repeat, true
	return j
}

// placedFiles writes the operands of k's job as .tcs files into dir. If dumped is true, it also
// writes the operands in the format that the peer programs read. It returns the paths of both.
func (b *bench) placedFiles(k placed, dir string, dumped bool) (files, dumps []string, err error) {
	for _, in := range k.inputs {
		t, err := b.input(in)
		if err != nil {
			return nil, nil, err
		}
		path := filepath.Join(dir, strings.ReplaceAll(in, ":", "-"))
		files = append(files, path+".tcs")
		if err := tcsfile.Write(path+".tcs", t, tcsfile.WriteOptions{}); err != nil {
			return nil, nil, err
		}
		if dumped {
			dumps = append(dumps, path)
			if err := dump(path, t); err != nil {
				return nil, nil, err
			}
		}
	}
	return files, dumps, nil
}

// bandWidth is the largest distance of an entry of the banded matrix from the diagonal.
const bandWidth = 100

// band runs SpMV on a banded matrix, and checks that the ranks receive only the vector's entries
// within the band.
func (b *bench) band(w way) error {
	const name = "SpMV banded"
	if !b.wants(name) {
		return nil
	}
	n := b.scaled(200_000)
	j := b.placedJob(spmvRows, nil)
	j.Inputs = map[string]spmd.Input{"B": spmd.Generated("banded:" + strconv.Itoa(bandWidth)),
		"c": spmd.Generated("dense")}
	j.Sizes, j.Formats = map[string][]int64{"B": {n, n}}, map[string]string{"B": "ds"}
	got, err := w.run(j)
	if err != nil {
		return err
	}
	over := false
	for rank, bytes := range got.stats.Comm.BytesReceived {
		over = over || bytes != 8*min(bandWidth, n/2) || got.stats.Comm.BytesSent[rank] != bytes
	}
	b.printf("%-22s %-8s %12.2f a rank receives %v bytes, %d of a band%s\n", name, w.name,
		1e3*median(got.times), got.stats.Comm.BytesReceived, 8*min(bandWidth, n/2), b.over(over))
	return nil
}
