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

// onCores lists the dense algorithms on machines whose nodes have several cores. words computes the
// mean number of words that a rank receives, and sent the mean number that it sends (nil: not
// tested). The files are the files for nodes with GPUs. Here the BLAS of a CPU computes products.
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

// summaOfCores broadcasts every word once: words of B along a row of nodes, words of C along a
// column.
func summaOfCores(v figures) float64 { return 2 * v["n"] * v["n"] / v["ranks"] }

// leaving returns how many times a word is sent from its own node to the next node. Each core of
// the next node receives it from the core with the same number. With two cores a node, only one
// core besides the owner has received the word, and broadcasts it to the next node once.
func leaving(v figures) float64 {
	if v["cores"] == 2 {
		return 1
	}
	return v["cores"]
}

// pummaOfCores broadcasts the words of B. Words of C are broadcast to the cores of their node, and
// the cores of each node pass them on to the next node.
func pummaOfCores(v figures) float64 {
	n, x, c := v["n"], v["x"], v["cores"]
	return n * n / v["ranks"] * (2 + leaving(v) + (x-2)*c)
}

// cannonOfCores sends each word of B that it receives. Each core broadcasts its part of a tile of C
// twice: to the cores of the node that takes the tile first, and to the cores of its own node when
// the tile passes by. A tile visits its own node first if it is in the first column of nodes, and
// last if it is in the second column.
func cannonOfCores(v figures) float64 {
	n, x, y, c := v["n"], v["x"], v["y"], v["cores"]
	first, second, others := 1+leaving(v)+(x-2)*c, 2+(x-2)*c, 2+leaving(v)+(x-3)*c
	return n*n/(x*c)*(1-1/y) + n*n/v["ranks"]*(first+second+(y-2)*others)/y
}

// still is the volume of an algorithm whose tensors are already where it needs them.
func still(figures) float64 { return 0 }

// tilesOfCores computes the words if each core has a part of the rows of its node's tiles. A core
// receives its part of the rows of a row of tiles of B, and a whole column of tiles of C, without
// the words that it has.
func tilesOfCores(v figures) float64 {
	n, x, y, c := v["n"], v["x"], v["y"], v["cores"]
	return n*n/(x*c)*(1-1/y) + n*n/y*(1-1/(x*c))
}

// facesOfCores computes the words if tiles are on the faces of a grid of nodes, and each core of a
// node has some of the tile's rows. A core receives its rows of a tile of B and a whole tile of C,
// without the words that it has. Partial results are added along the third dimension.
func facesOfCores(v figures) float64 {
	m, n, k := v["rows"], v["columns"], v["inner"]
	if m == 0 {
		m, n, k = v["n"], v["n"], v["n"]
	}
	return (m*k*(v["y"]-1) + k*n*(v["x"]*v["cores"]-1) + m*n*(v["z"]-1)) / v["ranks"]
}

// layersOfCores computes the words if all tiles are on the first layer of nodes, whose cores
// already have their operands. Each layer sums over a part of the summed variable.
func layersOfCores(v figures) float64 {
	n, z := v["n"], v["z"]
	return n * n * (v["y"] + v["x"]*v["cores"] - 2/z + z - 1) / v["ranks"]
}

// edgesOfCores computes the words if the pieces of factors are at the first core of each node on an
// edge of a grid. All ranks that need a piece receive it from there. Partial results are added over
// the nodes with the same rows.
func edgesOfCores(v figures) float64 {
	x, y, z, c := v["x"], v["y"], v["z"], v["cores"]
	return v["n"] * v["r"] * (x*z*c - 1 + x*y*c - 1 + y*z - 1) / v["ranks"]
}

// machinesOfCores lists machines by the number of dimensions of their nodes. Machines of up to
// mostRun ranks are run.
var machinesOfCores = map[int][]string{
	1: {"nodes=2;cores=2", "nodes=4;cores=16"},
	2: {"nodes=2x2;cores=2", "nodes=4x4;cores=4"},
	3: {"nodes=2x1x2;cores=2", "nodes=1x2x2;cores=2", "nodes=2x2x2;cores=4"},
}

var (
	linesOfGPUs = regexp.MustCompile(`(?m)^.*GPU(Block|Thread).*\n`)
	forCores    = strings.NewReplacer("gpus", "cores", "cublas", "gemm")
)

// TestCores checks the dense algorithms on nodes of cores. The result must be the reference's, and
// ranks must move what is planned and what the theory predicts. Tiles of C that the cores of a node
// have in parts must arrive in these parts and not be assembled before.
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
