package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
	"distaff/spmd"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/load"
	"distaff/spmd/partition"
)

// stored is one line of the table: a job of one statement whose result is written to a file.
type stored struct {
	name, stmt, input, format string
	ranks                     int
	split                     string  // "" or how a variable is split, which is mapped to the ranks
	limit                     float64 // largest time, relative to write(); 0 means no limit
}

// storedTable has lines for several ways to store a result. In some lines, each rank writes its
// dense or sparse arrays to the file as they are. In other lines, the ranks hold blocks of the last
// mode, and each row of the file is combined from several blocks.
var storedTable = []stored{
	{"dense rows", "T(i,j) = S(i,j)", "mat:a:1", "dd", 1, "", 2},
	{"dense rows", "T(i,j) = S(i,j)", "mat:a:1", "dd", 2, "", 2},
	{"dense columns", "T(i,j) = S(i,j)", "mat:a:1", "dd", 2, "j:2", 0},
	{"CSR rows", "T(i,j) = 2*S(i,j)", "a", "ds", 1, "", 2},
	{"CSR rows", "T(i,j) = 2*S(i,j)", "a", "ds", 2, "", 2},
	{"CSR columns", "T(i,j) = 2*S(i,j)", "a", "ds", 2, "j:2", 2},
	{"DCSR columns", "T(i,j) = 2*S(i,j)", "a", "ss", 2, "j:2", 2},
	{"sss last mode", "T(i,j,k) = 2*S(i,j,k)", "c", "sss", 2, "k:2", 2},
}

// store returns the lines of storing. They compare two times: the time that a job takes to store a
// .tcs result on the disk, and the time of write() and fsync() with the same bytes and a file in
// the same folder.
func store(b *bench) (rows []row) {
	for _, k := range storedTable {
		path, data := filepath.Join(b.dir, "t.tcs"), []byte(nil)
		rows = append(rows, row{name: k.name, threads: once, sides: func(int) []side {
			j := b.job(kernel{stmt: k.stmt, formats: "T:" + k.format, operands: "S=" + k.input}, 1)
			j.Ranks, j.Keep, j.Repeat, j.Warmup = k.ranks, false, 0, 0
			j.Outputs = []spmd.Output{{Tensor: "T", File: path}}
			if k.split != "" {
				j.Splits, j.Map = []string{k.split}, k.split[:1]
			}
			return []side{func() outcome {
				report := must(j.Run(b.ctx))
				data = must(os.ReadFile(path))
				check(os.Remove(path))
				return outcome{times: times{report.Stats.Phases.Store}}
			}, func() outcome { return plainWrite(filepath.Join(b.dir, "plain"), data) }}
		}, line: func(_ int, t []times) {
			ratio := t[0].median() / t[1].median()
			b.line(b.over(k.limit > 0 && ratio > k.limit), k.name, k.ranks, len(data)>>20,
				1e3*t[0].median(), 1e3*t[1].median(), ratio, wanted(k.limit))
		}})
	}
	return rows
}

// plainWrite measures write() and fsync() of data to a new file, in pieces of 1 MiB. It removes the
// file.
func plainWrite(path string, data []byte) outcome {
	at := time.Now()
	f := must(os.Create(path))
	defer os.Remove(path)
	defer f.Close()
	for piece := range slices.Chunk(data, 1<<20) {
		must(f.Write(piece))
	}
	check(f.Sync())
	return outcome{times: times{time.Since(at).Seconds()}}
}

// loadRanks is the number of ranks, all in this process, that load the file.
const loadRanks = 2

// loads returns the lines of loading. Two ranks load a matrix from a .tcs file (1 GB at scale 1),
// and check its contents. The file is in the page cache. The time is compared with the time of
// reading the file sequentially.
func loads(b *bench) (rows []row) {
	n := b.dims("blocks")[0]
	halves, quarters := []int64{0, n / 2, n}, []int64{0, n / 4, n / 2, n / 4 * 3, n}
	for _, c := range []struct {
		name  string
		cuts  [][]int64 // by mode
		limit float64   // largest time of loading, relative to reading
	}{
		{"load row blocks", [][]int64{halves}, 2},
		{"load 2x4 blocks", [][]int64{halves, quarters}, 20},
	} {
		var peak, size int64
		part := &partition.Partition{Order: 2,
			Owner: func(at []int64) int { return int(at[0]) % loadRanks }}
		for m, points := range c.cuts {
			part.Axes = append(part.Axes, partition.Axis{Modes: []int{m}, Cuts: points})
		}
		target := &load.Target{Partition: part, Spec: coo.Spec{Dims: []int64{n, n}, Name: "A",
			Format: tensor.FormatOf("ds", []int{0, 1}), Type: tensor.Float64}}
		rows = append(rows, row{name: c.name, threads: once, sides: func(int) []side {
			path := b.file("blocks", ".tcs", writeTCS)
			b.forget()
			return []side{clocked(func() error { size = readFile(path); return nil }),
				clocked(func() error { peak = loadOnce(b.ctx, path, target); return nil })}
		}, line: func(_ int, t []times) {
			ratio, most := t[1].median()/t[0].median(), float64(size)/loadRanks*1.5+100e6
			b.line(b.over(ratio > c.limit)+b.over(float64(peak) > most), c.name, loadRanks,
				1e3*t[1].median(), 1e3*t[0].median(), ratio, c.limit, float64(peak)/1e6, most/1e6)
		}})
	}
	return rows
}

// readFile reads a file to its end, in pieces of 1 MiB, and returns its size.
func readFile(path string) int64 {
	f := must(os.Open(path))
	defer f.Close()
	return must(io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f},
		make([]byte, 1<<20)))
}

// loadOnce loads the tensor in the file at loadRanks ranks. Each rank loads its own blocks.
// loadOnce returns the largest number of bytes that were allocated at one rank.
func loadOnce(ctx context.Context, path string, target *load.Target) int64 {
	peaks := make([]int64, loadRanks)
	check(local.Run(ctx, loadRanks, func(c comm.Comm) error {
		t := must(tcsfile.Open(path))
		defer t.Close()
		g, limit := *target, tcs.NewLimit(0)
		g.Cfg = coo.Config{Limit: limit, Threads: 1}
		own, err := g.Tensor(c, load.Source{Tensor: t, Check: true, AsIs: true, Limit: limit})
		for _, x := range own {
			x.Close()
		}
		peaks[c.Rank()] = limit.Peak()
		return err
	}))
	return slices.Max(peaks)
}

// texts returns the lines of reading text files. The files are in the page cache. The lines measure
// the parsing of a file on one thread, and the conversion of a file to .tcs. Both times are
// compared with the time of a simple reader (scanAll). Another line measures memory.
func texts(b *bench) (rows []row) {
	n := int(b.scaled(5000000))
	tns := textFile{"sorted.tns", "", n, true, []int{50000, 20000, 5000}}
	mtx := textFile{"a.mtx", fmt.Sprintf(
		"%%%%MatrixMarket matrix coordinate real general\n1000000 1000000 %d\n", n), n, false,
		[]int{1000000, 1000000}}
	convertIt := func(path string) error {
		return convert.File(path, filepath.Join(b.dir, "out.tcs"),
			convert.Options{HasFormat: true, Format: tensor.FormatOf("sss", nil)})
	}
	parse := func(path string) error { return readAll(path, n) }
	for _, x := range []struct {
		name  string
		limit float64
		ours  func(path string) error
		file  textFile
	}{
		{"parse .tns, one core", 4, parse, tns},
		{"parse .mtx, one core", 4, parse, mtx},
		{"sorted .tns to sss .tcs", 1.5, convertIt, tns},
	} {
		rows = append(rows, row{name: x.name, threads: once, sides: func(int) []side {
			path := x.file.write(b.dir)
			return []side{clocked(func() error { return x.ours(path) }), clocked(func() error {
				return scanAll(path, strings.Count(x.file.head, "\n"), len(x.file.dims), n)
			})}
		}, line: func(_ int, t []times) {
			ours, theirs := t[0].median(), t[1].median()
			b.line(b.over(theirs/ours < x.limit), x.name, 1e3*ours, 1e3*theirs, theirs/ours, x.limit)
		}})
	}
	return append(rows, row{name: "memory", threads: once, measure: func(int) { b.textMemory(n) }})
}

// textFile describes a text file with the entries of a tensor. The file begins with the text head,
// and n random entries follow. dims has the sizes of the tensor. The values have the digits that a
// program would print. If sorted is true, the entries are in lexicographic order, mode 0 first.
type textFile struct {
	name, head string
	n          int
	sorted     bool
	dims       []int
}

// write makes the file in dir at first use, and returns its path.
func (f *textFile) write(dir string) string {
	path := filepath.Join(dir, f.name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	r, line, at := rand.New(rand.NewPCG(1, 1)), []byte(nil), make([]int, len(f.dims))
	written(path, func(w *bufio.Writer) {
		w.WriteString(f.head)
		for k := range f.n {
			for m, d := range f.dims {
				at[m] = r.IntN(d)
			}
			if f.sorted {
				f.sort(k, at)
			}
			line = line[:0]
			for _, c := range at {
				line = append(strconv.AppendInt(line, int64(c)+1, 10), ' ')
			}
			w.Write(append(strconv.AppendFloat(line, r.Float64(), 'g', -1, 64), '\n'))
		}
	})
	return path
}

// sort changes the first two coordinates of entry k so that the entries are in lexicographic order.
// at has the coordinates of the entry. Consecutive entries get the same coordinate of mode 0, in
// groups of a hundred, or in larger groups if mode 0 has too few coordinates. Within a group, mode
// 1 is divided into one range for each entry, in increasing order.
func (f *textFile) sort(k int, at []int) {
	each := max(100, (f.n+f.dims[0]-1)/f.dims[0])
	rows := (f.n + each - 1) / each
	at[0] = k / each * f.dims[0] / rows
	at[1] = (k%each*f.dims[1] + at[1]) / each
}

// readAll parses a file on one thread.
func readAll(path string, n int) error {
	s := must(convert.Open(path, coo.Options{Threads: 1}))
	defer s.Close()
	var batch coo.Batch
	for got := 0; ; got += batch.N {
		err := s.Next(&batch)
		if errors.Is(err, io.EOF) && got != n {
			return fmt.Errorf("%d entries, want %d", got, n)
		} else if errors.Is(err, io.EOF) {
			return nil
		}
		check(err)
	}
}

// scanAll reads a file in the simple way that the parser is compared with: by bufio.Scanner,
// strings.Fields and strconv, storing the entries in slices.
func scanAll(path string, skip, order, n int) error {
	f := must(os.Open(path))
	defer f.Close()
	s := bufio.NewScanner(f)
	coords := make([][]int64, order)
	var vals []float64
	for k := 0; s.Scan(); k++ {
		if k < skip {
			continue
		}
		fields := strings.Fields(s.Text())
		for m := range coords {
			coords[m] = append(coords[m], must(strconv.ParseInt(fields[m], 10, 64))-1)
		}
		vals = append(vals, must(strconv.ParseFloat(fields[order], 64)))
	}
	if len(vals) != n {
		return fmt.Errorf("%d entries, want %d", len(vals), n)
	}
	return s.Err()
}

// command builds the distaff command at first use, and returns its path.
func (b *bench) command() string {
	exe := filepath.Join(b.dir, "distaff")
	if _, err := os.Stat(exe); err != nil {
		must(output([]string{"go", "build", "-o", exe, "distaff/cmd/distaff"}))
	}
	return exe
}

// latency returns the lines of a tiny statement, timed from process start to exit: with its leaf in
// the cache, and with an empty cache.
func latency(b *bench) (rows []row) {
	for _, x := range []struct {
		name  string
		fresh bool // an empty cache for each run
		runs  int
		limit float64
	}{{"leaf in the cache", false, 20, 20}, {"first compile of the leaf", true, 5, 400}} {
		rows = append(rows, row{name: x.name, threads: once, measure: func(int) {
			exe, input := b.command(), filepath.Join(b.dir, "a.tns")
			check(os.WriteFile(input, []byte("1 1 2.5\n2 3 -1\n3 2 4\n"), 0o600))
			argv := []string{exe, "run", "y(i) = A(i,j)*x(j)", "-i", "A:" + input, "-f", "A:ds", "-g",
				"x:dense", "-o", "y:" + filepath.Join(b.dir, "y.tns")}
			k, cache := 0, "cache"
			ms := turns(1+x.runs, clocked(func() error {
				if k++; x.fresh {
					cache = fmt.Sprint("cache", k)
				}
				_, err := output(argv, "DISTAFF_CACHE="+filepath.Join(b.dir, cache))
				return err
			}))[0][1:] // the first run fills the cache
			for n := range ms {
				ms[n] *= 1e3
			}
			b.line(b.over(ms.median() > x.limit), x.name, ms.median(), ms.best(), slices.Max(ms), x.limit)
		}})
	}
	return rows
}

// textMemory runs the command to convert an unsorted file of 8 times the memory limit. It prints
// two peaks of the process: its own memory, which the limit restricts, and all its memory, with the
// pages of mapped files.
func (b *bench) textMemory(n int) {
	file := textFile{"unsorted.tns", "", 4 * n, false, []int{50000, 20000, 5000}}
	in := file.write(b.dir)
	info := must(os.Stat(in))
	limit := info.Size() / 8
	own, all := peakMemory(b.command(), "convert", in, filepath.Join(b.dir, "unsorted.tcs"),
		"--format=sss", fmt.Sprintf("--memory-limit=%d", limit), "--tmp="+b.dir)
	b.printf("\nan unsorted .tns of %s under a limit of %s: at most %s of its own%s, %s "+
		"resident with mapped files\n", tensor.Bytes(info.Size()), tensor.Bytes(limit),
		tensor.Bytes(own), b.over(own > limit), tensor.Bytes(all))
}

// peakMemory runs a command and returns its peak memory in bytes. own is the largest anonymous
// memory of samples every 2 ms, and all is the peak of its resident memory. peakMemory reads both
// from /proc until the command ends. It does not use wait4, because the numbers from wait4 include
// memory of the process that started the command.
func peakMemory(argv ...string) (own, all int64) {
	cmd := exec.Command(argv[0], argv[1:]...)
	check(cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			check(err)
			return own, all
		case <-time.After(2 * time.Millisecond):
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
			if err != nil {
				continue // it has just ended
			}
			own = max(own, statusBytes(string(text), "RssAnon:"))
			all = max(all, statusBytes(string(text), "VmHWM:"))
		}
	}
}

// statusBytes returns a figure of /proc/PID/status, or 0 if the figure is absent.
func statusBytes(text, key string) int64 {
	_, rest, _ := strings.Cut(text, key)
	var kb int64
	fmt.Sscan(rest, &kb)
	return kb << 10
}
