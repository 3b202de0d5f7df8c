package jobs_test

import (
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"distaff/spmd"
)

// onCores are the dense algorithms on machines of nodes with several cores each, with the words
// that a rank receives in the mean, and sends where that tells them apart. The files are those of
// nodes with several GPUs, whose products the BLAS of a CPU makes.
var onCores = []struct {
	name  string
	words func(figures) float64
	sent  func(figures) float64
}{
	{"summa", tilesOfCores, summaOfCores}, {"pumma", tilesOfCores, pummaOfCores},
	{"cannon", tilesOfCores, cannonOfCores},
	{"johnson", facesOfCores, nil}, {"cosma", facesOfCores, nil}, {"solomonik", layersOfCores, nil},
	{"ttv", still, still}, {"innerprod", func(v figures) float64 { return innerprod(v).received },
		nil}, {"ttm", still, still}, {"mttkrp", edgesOfCores, nil},
}

// summaOfCores broadcasts every word once: of B along a row of nodes, of C along a column of them.
func summaOfCores(v figures) float64 { return 2 * v["n"] * v["n"] / v["ranks"] }

// leaving is how often a word is sent from the node where it lives to the next, whose cores get it
// from those that have their number, or all from the only one there that it came to.
func leaving(v figures) float64 {
	if v["cores"] == 2 {
		return 1
	}
	return v["cores"]
}

// pummaOfCores broadcasts the words of B, and those of C to the cores of their node, from where
// each node's cores pass them on to the next one's.
func pummaOfCores(v figures) float64 {
	n, x, c := v["n"], v["x"], v["cores"]
	return n * n / v["ranks"] * (2 + leaving(v) + (x-2)*c)
}

// cannonOfCores sends what it receives of B. Of C each core broadcasts its part of a tile to the
// cores of the node that takes it first, and to those of its own node when the tile comes by there;
// that is the first node of tiles in the first column of nodes, and the last of those in the
// second.
func cannonOfCores(v figures) float64 {
	n, x, y, c := v["n"], v["x"], v["y"], v["cores"]
	first, second, others := 1+leaving(v)+(x-2)*c, 2+(x-2)*c, 2+leaving(v)+(x-3)*c
	return n*n/(x*c)*(1-1/y) + n*n/v["ranks"]*(first+second+(y-2)*others)/y
}

// still is what an algorithm receives whose tensors lie where it wants them.
func still(figures) float64 { return 0 }

// tilesOfCores: a core has a part of the rows of its node's tiles. Of B it takes such a part of a
// row of tiles, of C all of a column of tiles, less what it has.
func tilesOfCores(v figures) float64 {
	n, x, y, c := v["n"], v["x"], v["y"], v["cores"]
	return n*n/(x*c)*(1-1/y) + n*n/y*(1-1/(x*c))
}

// facesOfCores: tiles lie on faces of a grid of nodes, rows of them at its cores. A core takes its
// rows of a tile of B and all of one of C, less what it has, and partial results are added along
// the third dimension.
func facesOfCores(v figures) float64 {
	m, n, k := v["rows"], v["columns"], v["inner"]
	if m == 0 {
		m, n, k = v["n"], v["n"], v["n"]
	}
	return (m*k*(v["y"]-1) + k*n*(v["x"]*v["cores"]-1) + m*n*(v["z"]-1)) / v["ranks"]
}

// layersOfCores: all tiles lie on the first layer of nodes, which has what it takes of them. Each
// layer takes a part of the summed variable.
func layersOfCores(v figures) float64 {
	n, z := v["n"], v["z"]
	return n * n * (v["y"] + v["x"]*v["cores"] - 2/z + z - 1) / v["ranks"]
}

// edgesOfCores: pieces of factors lie at the first core of nodes on an edge of a grid, from where
// all ranks take them that have something of B there. Partial results are added over the nodes that
// have the same rows.
func edgesOfCores(v figures) float64 {
	x, y, z, c := v["x"], v["y"], v["z"], v["cores"]
	return v["n"] * v["r"] * (x*z*c - 1 + x*y*c - 1 + y*z - 1) / v["ranks"]
}

// machinesOfCores are by the dimensions of their nodes; those of up to mostRun ranks are run.
var machinesOfCores = map[int][]string{
	1: {"nodes=2;cores=2", "nodes=4;cores=16"},
	2: {"nodes=2x2;cores=2", "nodes=4x4;cores=4"},
	3: {"nodes=2x1x2;cores=2", "nodes=1x2x2;cores=2", "nodes=2x2x2;cores=4"},
}

var (
	linesOfGPUs = regexp.MustCompile(`(?m)^.*GPU(Block|Thread).*\n`)
	forCores    = strings.NewReplacer("gpus", "cores", "cublas", "gemm")
)

// TestCores: the result of the dense algorithms on nodes of cores is that of the reference, ranks
// move what is planned, and that is what theory says. Tiles of C that the cores of a node have in
// parts come in these, and are not put together before.
func TestCores(t *testing.T) {
	texts := gpuJobs(t)
	for _, a := range onCores {
		text := forCores.Replace(linesOfGPUs.ReplaceAllString(texts[a.name], ""))
		machine := regexp.MustCompile(`nodes=([a-z ]+);cores=devices`).FindStringSubmatch(text)
		for _, m := range machinesOfCores[1+strings.Count(machine[1], " x ")] {
			t.Run(a.name+" "+m, func(t *testing.T) {
				x, err := file(filepath.Join(folder, "gpu", a.name+".dst"),
					strings.Replace(text, machine[0], m, 1), nil)
				if err != nil {
					t.Fatal(err)
				}
				v := figures{"ranks": 1, "x": 1, "y": 1, "z": 1}
				nodes, cores, _ := strings.Cut(strings.TrimPrefix(m, "nodes="), ";cores=")
				v["cores"], _ = strconv.ParseFloat(cores, 64)
				for k, n := range strings.Split(nodes, "x") {
					v[string("xyz"[k])], _ = strconv.ParseFloat(n, 64)
				}
				v["ranks"] = v["x"] * v["y"] * v["z"] * v["cores"]
				for _, name := range strings.Fields("n r rows columns inner") {
					if p := x.File.Param(name); p != nil {
						v[name] = float64(p.Value.Int)
					}
				}
				x.Ranks, x.Threads, x.Target = int(v["ranks"]), 1, spmd.Interpreter
				j := &told{FileJob: x}
				plan := j.planned(t, 0)
				if got, want := mean(plan.Comm.BytesReceived)/8, a.words(v); math.Abs(got-want) > 1e-6 {
					t.Errorf("a rank receives %g words in the mean, want %g", got, want)
				}
				for _, m := range plan.Moves {
					if !slices.ContainsFunc(plan.Plan.Tensors,
						func(x spmd.PlannedTensor) bool { return x.Name == m.Tensor && x.Broadcast }) {
						t.Errorf("%d bytes of %s are moved before the statement", m.Bytes, m.Tensor)
					}
				}
				if a.sent != nil {
					if got, want := mean(plan.Comm.BytesSent)/8, a.sent(v); math.Abs(got-want) > 1e-6 {
						t.Errorf("a rank sends %g words in the mean, want %g", got, want)
					}
				}
				if x.Ranks > mostRun {
					return
				}
				if got := j.checked(t); !reflect.DeepEqual(got, plan.Comm) {
					t.Errorf("a run counts %+v, a plan %+v", got, plan.Comm)
				}
			})
		}
	}
}
