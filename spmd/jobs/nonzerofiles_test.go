package jobs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/readertest"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
	"distaff/spmd"
)

// tcsFile writes a matrix to a .tcs file in a folder.
func tcsFile(t *testing.T, dir, name, kinds string, in coo.Stream) {
	t.Helper()
	defer in.Close()
	x, err := coo.Assemble(in, coo.Spec{Format: tensor.FormatOf(kinds, nil), Name: name},
		coo.Config{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if err := tcsfile.Write(filepath.Join(dir, name), x, tcsfile.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// inOneRow returns a matrix with all entries in one row.
func inOneRow(rows, entries int64) *readertest.List {
	l := &readertest.List{Sizes: []int64{rows, 2 * entries}, Of: tensor.Float64}
	for k := range entries {
		l.Entries = append(l.Entries,
			readertest.Entry{Coords: []int64{rows / 2, 2 * k}, Val: complex(float64(k+1), 0)})
	}
	return l
}

// products lists statements that are distributed by the entries of a matrix B, with their other
// tensors.
var products = []struct{ name, tensors, statement, communicate string }{
	{"spmv", "tensor a(n): d\ntensor c(m): d place (x) -> M(*) from dense:int\n",
		"a(i) = B(i,j) * c(j)", "{a, B, c}"},
	{"spmm", "tensor a(n, 3): dd\ntensor c(m, 3): dd place (x,y) -> M(*) from dense:int\n",
		"a(i,k) = B(i,j) * c(j,k)", "{a, B, c}"},
	{"sddmm",
		"tensor a(n, m): FORMAT\ntensor c(n, 2): dd place (x,y) -> M(*) from dense:int\ntensor d(2, m): dd place (x,y) -> M(*) from dense:int\n",
		"a(i,j) = B(i,j) * c(i,k) * d(k,j)", "{a, B, c, d}"},
}

// TestNonzerosOfFiles checks that a plan reads from a .tcs file where the parts of the entries
// begin, so that it is exact. The parts' sizes must differ by one at most. The run must send what
// the plan says, and its result must be right in every row.
func TestNonzerosOfFiles(t *testing.T) {
	for _, file := range []string{"in one row", "no entries", "matrices/west0067.mtx",
		"matrices/LFAT5_hypersparse.mtx", "matrices/lp_afiro.mtx"} {
		for _, kinds := range []string{"ds", "ss"} {
			dir := t.TempDir()
			var in coo.Stream = inOneRow(9, 40)
			if file == "no entries" {
				in = inOneRow(5, 0)
			} else if file != "in one row" {
				var err error
				if in, err = convert.Open(readertest.Data(t, file), coo.Options{}); err != nil {
					t.Fatal(err)
				}
			}
			tcsFile(t, dir, "B.tcs", kinds, in)
			for _, p := range products {
				text := "machine M(p)\ntensor B(n, m): FORMAT place (x,y) -> M(~(x,y)) from \"B.tcs\"\n" + p.tensors + p.statement + `
  fuse(i, j, f)
  pos(f, fp, B)
  divide(fp, fpo, fpi, M.x)
  distribute(fpo)
  communicate(` + p.communicate + ", fpo)\n"
				text = strings.ReplaceAll(text, "FORMAT", kinds)
				for _, ranks := range []int{2, 3, 7} {
					j := job(t, dir, text, nil)
					j.Ranks = ranks
					planned := j.planned(t, 0)
					if n := planned.Plan.Balance.Nonzeros; slices.Max(n)-slices.Min(n) > 1 {
						t.Errorf("%s of %s as %s on %d ranks: got %v entries", p.name, file, kinds, ranks, n)
					}
					if p.name != "sddmm" && planned.Plan.Estimated {
						t.Errorf("%s of %s as %s on %d ranks: the plan is an estimate", p.name, file, kinds, ranks)
					}
					if got := j.checked(t); !reflect.DeepEqual(got, planned.Comm) {
						t.Errorf("%s of %s as %s on %d ranks: a run counts %+v, a plan %+v", p.name, file, kinds,
							ranks, got, planned.Comm)
					}
				}
			}
		}
	}
}

// byEntries returns a job whose only statement is distributed by the entries of a matrix in a .tcs
// file.
func byEntries(path string, ranks int) *spmd.Job {
	return &spmd.Job{Statement: "a(i) = B(i,j) * c(j)",
		Inputs: map[string]spmd.Input{"B": spmd.File(path), "c": {Generate: "dense:int"}},
		Options: spmd.Options{Ranks: ranks, Threads: 1, Target: spmd.Interpreter, Check: true,
			Schedule: []string{"fuse(i,j,f), pos(f,fp,B), divide(fp,fpo,fpi,M.x), distribute(fpo)"}}}
}

// TestNonzerosOfMappedFile checks that the ranks read their parts directly from the file.
func TestNonzerosOfMappedFile(t *testing.T) {
	for _, kinds := range []string{"ds", "ss", "dd", "uq"} {
		dir := t.TempDir()
		tcsFile(t, dir, "B.tcs", kinds, inOneRow(9, 40))
		for _, ranks := range []int{1, 2, 3, 7, 64} {
			j := byEntries(filepath.Join(dir, "B.tcs"), ranks)
			if kinds != "ds" && kinds != "ss" {
				j.Formats = map[string]string{"B": "ds"} // other than the file's
			}
			planned, err := j.Plan(context.Background(), 0)
			if err != nil {
				t.Fatal(err)
			}
			report, err := j.Run(context.Background())
			if err != nil {
				t.Fatalf("%s on %d ranks: %v", kinds, ranks, err)
			}
			if j.Formats == nil && (planned.Estimated ||
				!reflect.DeepEqual(report.Stats.Comm, planned.Comm)) {
				t.Errorf("%s on %d ranks: a run counts %+v, a plan, estimated %v, %+v", kinds, ranks,
					report.Stats.Comm, planned.Estimated, planned.Comm)
			}
		}
	}
}

// TestNonzerosOfDamagedFile checks that several ranks report the same error for a damaged file as
// one rank that reads the whole file, and that a plan does not panic.
func TestNonzerosOfDamagedFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "B.tcs")
	tcsFile(t, dir, "B.tcs", "ss", inOneRow(9, 40))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for at := 64; at < len(whole); at += 5 {
		damaged := slices.Clone(whole)
		damaged[at] ^= 0x55
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		_, want := byEntries(path, 1).Run(context.Background())
		for _, ranks := range []int{2, 3} {
			j := byEntries(path, ranks)
			if _, got := j.Run(context.Background()); !strings.HasSuffix(fmt.Sprint(got),
				fmt.Sprint(want)) || (got == nil) != (want == nil) {
				t.Errorf("byte %d, %d ranks: got %v, want %v", at, ranks, got, want)
			}
			j.Plan(context.Background(), 0) // it may fail, but must not panic
		}
		if want != nil {
			failed++
		}
	}
	if failed == 0 {
		t.Error("no damage was found")
	}
}

// TestNonzerosOfCoordinateLists checks that levels that repeat coordinates are cut only between
// different coordinates, whatever ranks the parts go to.
func TestNonzerosOfCoordinateLists(t *testing.T) {
	matrix := func() *readertest.List {
		l := &readertest.List{Sizes: []int64{13, 11}, Of: tensor.Float64}
		for k := range int64(13 * 11) {
			if i, j := k/11, k%11; (i*7+j*5)%3 == 0 && i != 4 && i != 12 || i == 6 {
				l.Entries = append(l.Entries,
					readertest.Entry{Coords: []int64{i, j}, Val: complex(float64(k+1), 0)})
			}
		}
		return l
	}
	for _, kinds := range []string{"uq", "uq:1,0"} {
		dir := t.TempDir()
		letters, _, columns := strings.Cut(kinds, ":")
		modes := []int{0, 1}
		loops, outer := "fuse(i,j,f)", "~x"
		if columns {
			modes, loops, outer = []int{1, 0}, "fuse(j,i,f)", "~y"
		}
		x, err := coo.Assemble(matrix(), coo.Spec{Format: tensor.FormatOf(letters, modes), Name: "B"},
			coo.Config{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "B.tcs")
		if err := tcsfile.Write(path, x, tcsfile.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		x.Close()
		for _, placement := range []string{"", "B(x,y) -> M(~(x,y))", "B(x,y) -> M(" + outer + ")",
			"B(x,y) -> M(x)"} {
			for _, ranks := range []int{2, 3, 7, 64} {
				j := byEntries(path, ranks)
				j.Formats = map[string]string{"B": kinds}
				j.Schedule = []string{loops + ", pos(f,fp,B), divide(fp,fpo,fpi,M.x), distribute(fpo)"}
				if placement != "" {
					j.Placements = []string{placement}
				}
				report, err := j.Run(context.Background())
				if err != nil {
					t.Fatalf("%s, %s on %d ranks: %v", kinds, placement, ranks, err)
				}
				if n := report.Stats.Balance.Nonzeros; slices.Max(n)-slices.Min(n) > 1 {
					t.Errorf("%s, %s on %d ranks: got %v entries", kinds, placement, ranks, n)
				}
			}
		}
	}
}

// TestNonzerosOfMappedTensors checks parts of tensors of order 3 that are cut between entries or
// between fibers, with dense levels above and below, from compressed and uncompressed files.
func TestNonzerosOfMappedTensors(t *testing.T) {
	const entries,
		fibers = "fuse(i,j,f), fuse(f,k,g), pos(g,gp,B), divide(gp,gpo,gpi,M.x), distribute(gpo)",
		"fuse(i,j,f), pos(f,fp,B), divide(fp,fpo,fpi,M.x), distribute(fpo)"
	l := &readertest.List{Sizes: []int64{7, 6, 5}, Of: tensor.Float64}
	for n := range int64(7 * 6 * 5) {
		if i, j, k := n/30, n/5%6, n%5; i != 2 && (i*3+j*5+k*7)%4 == 0 || i == 4 && j == 3 {
			l.Entries = append(l.Entries,
				readertest.Entry{Coords: []int64{i, j, k}, Val: complex(float64(n+1), 0)})
		}
	}
	for _, c := range []struct{ kinds, loops string }{
		{"sss", entries}, {"dss", entries}, {"dds", entries}, {"sds", entries}, {"sss", fibers},
		{"dss", fibers}, {"dsd", fibers}, {"ssd", fibers},
	} {
		for _, compress := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "B.tcs")
			if err := l.Rewind(); err != nil {
				t.Fatal(err)
			}
			x, err := coo.Assemble(l, coo.Spec{Format: tensor.FormatOf(c.kinds, nil), Name: "B"},
				coo.Config{Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			if err := tcsfile.Write(path, x, tcsfile.WriteOptions{Compress: compress}); err != nil {
				t.Fatal(err)
			}
			x.Close()
			for _, ranks := range []int{3, 7, 20} {
				for _, statement := range []string{"A(i,j) = B(i,j,k) * c(k)", "A(i,k) = B(i,j,k) * c(j)"} {
					j := byEntries(path, ranks)
					j.Statement, j.Schedule = statement, []string{c.loops}
					planned, err := j.Plan(context.Background(), 0)
					if err != nil {
						t.Fatal(err)
					}
					report, err := j.Run(context.Background())
					if err != nil {
						t.Fatalf("%s, compressed %v, %s on %d ranks: %v", c.kinds, compress, statement, ranks, err)
					}
					if !planned.Estimated && !reflect.DeepEqual(report.Stats.Comm, planned.Comm) {
						t.Errorf("%s, %s on %d ranks: a run counts %+v, a plan %+v", c.kinds, statement, ranks,
							report.Stats.Comm, planned.Comm)
					}
					// dense levels inside of the cut level
					if inside := c.kinds == "dds" || c.kinds == "sds"; planned.Estimated != (compress || inside) {
						t.Errorf("%s, compressed %v, %s on %d ranks: estimated is %v", c.kinds, compress, statement,
							ranks, planned.Estimated)
					}
				}
			}
		}
	}
}
