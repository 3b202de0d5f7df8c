package main

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/spmd"
)

// generated describes an input that bench generates. The kind is one of these:
//
//   - a kind of generated operand of a job (spmd.Generated), such as uniform:ENTRIES or dense
//   - fibres:SHARE (see the function fibres)
//   - a kind from the list of the function degrees, followed by its numbers
//
// Sizes shrink with the scale. Numbers of entries shrink too if they are more than 100,000. fixed
// is the number of last modes whose sizes do not shrink.
type generated struct {
	kind, format string
	dims         []int64
	fixed        int
}

// inputs maps names to generated inputs. If a name is not in the map, known looks for the name
// without the number at its end. So b1 and b2 are inputs like b, but with other entries.
var inputs = map[string]generated{
	"a":  {"uniform:10000000", "ds", []int64{1e6, 1e6}, 0},
	"b":  {"rows:5000000:0.884", "ds", []int64{5e5, 5e5}, 0},
	"z":  {"rows:5000000:1", "ds", []int64{5e5, 5e5}, 0},
	"g":  {"uniform:1000000", "ds", []int64{1e5, 1e5}, 0},
	"h":  {"rows:500000:0.7", "ds", []int64{5e4, 5e4}, 0},
	"c":  {"uniform:5000000", "sss", []int64{50000, 20000, 5000}, 0},
	"c1": {"uniform:5000000", "sss:1,0,2", []int64{50000, 20000, 5000}, 0},
	"c2": {"uniform:5000000", "sss:2,0,1", []int64{50000, 20000, 5000}, 0},
	"d":  {"zipf:5000000:0.6", "sss", []int64{50000, 20000, 5000}, 0},
	"e":  {"uniform:3000000", "ssss", []int64{20000, 10000, 5000, 2000}, 0},
	"f":  {"zipf:2000000:0.6", "sssss", []int64{10000, 8000, 6000, 4000, 2000}, 0},
	"m":  {"dense", "dd", []int64{4096, 4096}, 0},

	// schedules: at scale 1, fibers in the last mode of a tensor have about ten entries each
	"skewed":   {"heavy", "ds", []int64{2e6, 2e6}, 0},
	"balanced": {"each:10", "ds", []int64{2e6, 2e6}, 0},
	"long":     {"each:200", "ds", []int64{1e5, 1e5}, 0},
	"order3":   {"uniform:5000000", "dss", []int64{5000, 100, 5000}, 3},
	"order4":   {"uniform:5000000", "dsss", []int64{500, 50, 20, 5000}, 4},
	"order5":   {"uniform:5000000", "dssss", []int64{100, 25, 20, 10, 5000}, 5},

	// networks: if fibers have fewer slices, the fibers keep their lengths
	"fibers3":   {"uniform:4000000", "sss", []int64{5000, 100, 5000}, 2},
	"fibers4":   {"uniform:4000000", "ssss", []int64{500, 50, 20, 5000}, 3},
	"integrals": {"uniform:150000", "ssss", []int64{40, 40, 40, 40}, 4},
	"three":     {"uniform:900000", "sss:2,1,0", []int64{300, 300, 100}, 3},
	"sparseu":   {"uniform:1800", "ds", []int64{300, 60}, 2},
	"sparsev":   {"uniform:9000", "ds", []int64{300, 300}, 2},
	"pattern":   {"uniform:90000", "sss", []int64{60, 300, 100}, 3},
	"pqi":       {"uniform:25600", "sss", []int64{40, 40, 40}, 3},
	"rjp":       {"uniform:25600", "sss", []int64{40, 40, 40}, 3},
	"rqk":       {"uniform:25600", "sss", []int64{40, 40, 40}, 3},
	"rjk":       {"uniform:32000", "sss", []int64{40, 40, 40}, 3},

	// ranks
	"spmv":   {"uniform:50000000", "ds", []int64{5e6, 5e6}, 0},
	"square": {"uniform:9000000", "ds", []int64{30000, 30000}, 0},
	"ttm":    {"uniform:12500000", "sss", []int64{500000, 50000, 5000}, 0},

	// load: a file of 1 GB
	"blocks": {"each:20", "ds", []int64{4e6, 4e6}, 0},

	// gpu
	"uniform10M":  {"each:10", "ds", []int64{10e6, 10e6}, 0},
	"uniform1M":   {"each:10", "ds", []int64{1e6, 1e6}, 0},
	"uniform400k": {"each:10", "ds", []int64{400e3, 400e3}, 0},
	"long2M":      {"each:100", "ds", []int64{2e6, 2e6}, 0},
	"long100k":    {"each:100", "ds", []int64{100e3, 100e3}, 0},
	"uniform2M":   {"each:10", "ds", []int64{2e6, 2e6}, 0},
	"power10M":    {"shuffled:100000000:1", "ds", []int64{10e6, 10e6}, 0},
	"power1M":     {"shuffled:10000000:1", "ds", []int64{1e6, 1e6}, 0},
	"power2M":     {"shuffled:20000000:1", "ds", []int64{2e6, 2e6}, 0},
	"band10M":     {"bands", "ds", []int64{10e6, 10e6}, 0},
	"band1M":      {"bands", "ds", []int64{1e6, 1e6}, 0},
	"huge":        {"huge:5", "ds", []int64{10e6, 64e6}, 0},
	"wide":        {"tenth", "ds", []int64{100, 100e3}, 0},
	"even":        {"fibres:0", "sss", []int64{200e3, 2e6, 2e6}, 0},
	"short":       {"fibres:0", "sss", []int64{200e3, 2e6, 10e3}, 1},
	"half":        {"fibres:0.5", "sss", []int64{200e3, 2e6, 2e6}, 0},
}

// columns is the number of columns of the dense matrices with names like mat:a:1.
const columns = 32

// scaled shrinks a size or count.
func (b *bench) scaled(n int64) int64 { return max(int64(float64(n)*b.scale), 16) }

// known returns the description of the generated input with the given name. If the name is not of
// such an input, the kind of the result is "".
func known(name string) generated {
	if c, ok := strings.CutPrefix(name, "geometric"); ok {
		return generated{"geometric:100000000:" + c, "ds", []int64{200e3, 10e6}, 0}
	}
	if in, ok := inputs[name]; ok {
		return in
	}
	return inputs[strings.TrimRight(name, "0123456789")]
}

// dims returns the sizes of a generated input.
func (b *bench) dims(name string) []int64 {
	in := known(name)
	dims := slices.Clone(in.dims)
	for m := range len(dims) - in.fixed {
		dims[m] = b.scaled(dims[m])
	}
	return dims
}

// input returns the input with the given name, and makes it when it is first used. There are these
// kinds of names:
//
//   - A key of inputs is the name of one of these tensors. A number may follow.
//   - geometricFACTOR is a matrix of the kind geometric.
//   - vec:INPUT:MODE and mat:INPUT:MODE are a dense vector and a dense matrix. They have one row
//     for each coordinate of the mode of INPUT. mat:INPUT:MODE:COLUMNS has that many columns.
//   - full:SIZES is a dense tensor, for example full:40,40 or full:n,s. The size n is the number of
//     rows of the matrices of the group dense, s is 64, q is n/64, and h is n/2.
//   - last:INPUT:MODE is a copy of INPUT that stores the mode last.
//   - electrons is the tensor of that name (networks.go).
func (b *bench) input(name string) *tcs.Tensor {
	if b.tensors[name] == nil {
		b.tensors[name] = b.make(name)
	}
	return b.tensors[name]
}

func (b *bench) make(name string) *tcs.Tensor {
	if in := known(name); in.kind != "" {
		return b.generate(name, in)
	}
	parts := append(strings.Split(name, ":"), strconv.Itoa(columns))
	switch parts[0] {
	case "vec":
		return full(name, b.dims(parts[1])[integer(parts[2])])
	case "mat":
		return full(name, b.dims(parts[1])[integer(parts[2])], integer(parts[3]))
	case "full":
		n := b.square()
		named, dims := map[string]int64{"n": n, "s": 64, "q": n / 64, "h": n / 2}, []int64(nil)
		for _, d := range strings.Split(parts[1], ",") {
			if named[d] == 0 {
				named[d] = integer(d)
			}
			dims = append(dims, named[d])
		}
		return full(name, dims...)
	case "last":
		return b.result(lastMode(b.input(parts[1]), int(integer(parts[2]))))
	case "electrons":
		return b.electrons()
	}
	panic("BUG: bench: input " + name)
}

// number returns the number in a part of the name or kind of an input. It panics if the text is not
// a number. The function integer does the same for integers.
func number(text string) float64 {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic("BUG: bench: input of " + text)
	}
	return x
}

func integer(text string) int64 { return int64(number(text)) }

// seed returns the seed of an input's values and coordinates.
func seed(name string) (s int64) {
	for _, c := range name {
		s = 31*s + int64(c)
	}
	return s
}

// generate makes the input that in describes.
func (b *bench) generate(name string, in generated) *tcs.Tensor {
	parts, dims, x := strings.Split(in.kind, ":"), b.dims(name), []float64(nil)
	for _, text := range parts[1:] {
		x = append(x, number(text))
	}
	if len(x) > 0 && x[0] > 100000 {
		x[0] = float64(b.scaled(int64(x[0])))
		parts[1] = fmt.Sprint(int64(x[0]))
	}
	switch parts[0] {
	case "dense":
		return full(name, dims...)
	case "uniform", "zipf":
		j := copying(len(dims), spmd.Generated(strings.Join(parts, ":")), in.format)
		j.Formats["S"], j.Sizes, j.Seed = in.format, map[string][]int64{"S": dims}, seed(name)
		return b.result(j)
	case "fibres":
		return fibres(name, dims, x[0])
	}
	return byRows(name, dims, degrees(parts[0], dims[0], dims[1], x), parts[0] == "bands")
}

// letters are the variables of a tensor's modes.
var letters = []string{"i", "j", "k", "m", "n"}

// copying returns the job that copies a tensor of the given order into a format.
func copying(order int, from spmd.Input, format string) *spmd.Job {
	vars := "(" + strings.Join(letters[:order], ",") + ")"
	return &spmd.Job{Statement: "T" + vars + " = S" + vars, Formats: map[string]string{"T": format},
		Inputs: map[string]spmd.Input{"S": from}, Keep: true}
}

// lastMode returns the job that makes a copy of a tensor, with the given mode stored last.
func lastMode(t *tcs.Tensor, mode int) *spmd.Job {
	var order []string
	for m := range t.Header.Dims {
		if m != mode {
			order = append(order, strconv.Itoa(m))
		}
	}
	return copying(len(order)+1, spmd.InMemory(t), fmt.Sprintf("%s:%s,%d",
		strings.Repeat("s", len(order)+1), strings.Join(order, ","), mode))
}

// result runs a job and returns its result.
func (b *bench) result(j *spmd.Job) *tcs.Tensor { return must(j.Run(b.ctx)).Result }

// forget closes all inputs that were made.
func (b *bench) forget() {
	for _, t := range b.tensors {
		t.Close()
	}
	clear(b.tensors)
}

// file returns the path of a file that holds the named input. At first use, it makes the file by a
// call of write. ending is the ending of the file's name, such as ".tcs". The file is removed after
// the current row of the table.
func (b *bench) file(name, ending string, write func(path string, t *tcs.Tensor)) string {
	path := filepath.Join(b.dir, "row", strings.ReplaceAll(name, ":", "-")+ending)
	if _, err := os.Stat(path); err != nil {
		t := b.input(name)
		check(os.MkdirAll(filepath.Dir(path), 0o777))
		write(path, t)
	}
	return path
}

func writeTCS(path string, t *tcs.Tensor) { check(tcsfile.Write(path, t, tcsfile.WriteOptions{})) }

// written makes a file, to which the function write writes.
func written(path string, write func(w *bufio.Writer)) {
	f := must(os.Create(path))
	w := bufio.NewWriterSize(f, 1<<20)
	write(w)
	check(cmp.Or(w.Flush(), f.Close())) // Flush returns the first error of all writes
}

// dump writes a tensor to a file for the program of a peer. The comment of peer describes the
// file's format. t is a sparse matrix, a sparse tensor of order 3, or a dense matrix or vector.
func dump(path string, t *tcs.Tensor) {
	dims, level := t.Header.Dims, &t.Levels[len(t.Levels)-1]
	var parts []any
	switch {
	case len(dims) == 3:
		parts = append(parts, dims, t.Vals.Len)
		for m := range dims {
			crd := make([]int32, 0, t.Vals.Len)
			t.Entries(func(c []int64, _ int64) bool { crd = append(crd, int32(c[m])); return true })
			parts = append(parts, crd)
		}
	case len(dims) == 1:
		parts = append(parts, [3]int64{dims[0], 1, t.Vals.Len})
	default:
		parts = append(parts, [3]int64{dims[0], dims[1], t.Vals.Len})
		if level.Kind == 's' && level.Pos.Width*level.Crd.Width != 16 {
			fail(fmt.Errorf("%s: arrays of 64-bit integers are not for peers", path))
		}
		if level.Kind == 's' {
			parts = append(parts, tcs.Slice[int32](level.Pos), tcs.Slice[int32](level.Crd))
		}
	}
	written(path, func(w *bufio.Writer) {
		for _, p := range append(parts, vals(t)) {
			check(binary.Write(w, binary.LittleEndian, p))
		}
	})
}

func vals(t *tcs.Tensor) []float64 { return tcs.Slice[float64](t.Vals) }

// total returns the sum of a tensor's values.
func total(t *tcs.Tensor) float64 {
	s := 0.0
	for _, v := range vals(t) {
		s += v
	}
	return s
}
