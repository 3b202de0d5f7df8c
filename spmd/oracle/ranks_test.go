package oracle

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/dtype"
	"distaff/codegen/place"
	"distaff/codegen/reference"
	"distaff/spmd"
)

// jobEngine runs a case as a job on several ranks of this process, under a
// random block schedule that the case's text fixes.
type jobEngine struct{}

func (jobEngine) Name() string { return "ranks" }

func (jobEngine) Run(ctx context.Context, p *Prepared) (*Output, error) {
	h := fnv.New64a()
	io.WriteString(h, p.Text())
	rng := rand.New(rand.NewPCG(h.Sum64(), 5))
	j := &spmd.Job{Statement: p.Stmt, Formats: map[string]string{}, Types: map[string]string{}, Sizes: map[string][]int64{},
		Inputs: map[string]spmd.Input{}, Keep: true}
	j.Interpret, j.Threads = true, 1
	j.Ranks = []int{1, 2, 3, 4, 6, 8}[rng.IntN(6)]
	for k, t := range p.Tensors {
		j.Formats[t.Name] = t.Format.String()
		if t.Type != dtype.None {
			j.Types[t.Name] = t.Type.String()
		}
		j.Sizes[t.Name] = t.Dims
		if k == 0 && !t.Input {
			continue
		}
		in, err := t.Assemble(false)
		if err != nil {
			return nil, fmt.Errorf("assembling %s: %w", t.Name, err)
		}
		defer in.Close()
		j.Inputs[t.Name] = spmd.InMemory(in)
	}
	schedule(rng, p, j)
	var out Output
	report, err := j.Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", blockFlags(j), err)
	}
	t := report.Result
	defer t.Close()
	t.Entries(func(at []int64, i int64) bool {
		v := t.Value(i)
		out.Entries = append(out.Entries, Entry{slices.Clone(at), reference.Value{I: v.I, C: v.C}})
		return true
	})
	return &out, nil
}

func blockFlags(j *spmd.Job) string {
	return fmt.Sprintf("--ranks=%d --split=%v --order=%q --extend=%v --map=%q", j.Ranks, j.Splits, j.BlockOrder, j.Extend, j.Map)
}

// schedule draws a block schedule: some of the variables, evenly or at points
// that may repeat, with orders, extensions and mappings.
func schedule(rng *rand.Rand, p *Prepared, j *spmd.Job) {
	if rng.IntN(4) == 0 {
		return // the default
	}
	var names, reductions []string
	for _, v := range p.Normal.Vars {
		name := v
		if s, ok := p.Normal.Source[v]; ok {
			name = s
		}
		if slices.Contains(names, name) || place.Splittable(p.Normal, v) != "" {
			continue
		}
		splittable := true
		for _, w := range p.Normal.Vars {
			if p.Normal.Source[w] == name && place.Splittable(p.Normal, w) != "" {
				splittable = false
			}
		}
		if !splittable || rng.IntN(2) == 0 {
			continue
		}
		names = append(names, name)
		size := p.Sizes.Vars[v]
		if rng.IntN(2) == 0 {
			j.Splits = append(j.Splits, fmt.Sprintf("%s:%d", name, 1+rng.IntN(4)))
		} else {
			points := make([]int64, 1+rng.IntN(3))
			for k := range points {
				points[k] = rng.Int64N(size + 1)
			}
			slices.Sort(points)
			text := name + ":"
			for _, x := range points {
				text += fmt.Sprint(x, ",")
			}
			j.Splits = append(j.Splits, text)
		}
		if !slices.Contains(p.Normal.LHS.Vars, v) {
			reductions = append(reductions, name)
		}
	}
	some := func(list []string) []string {
		var out []string
		for _, k := range rng.Perm(len(list)) {
			if rng.IntN(2) == 0 {
				out = append(out, list[k])
			}
		}
		return out
	}
	j.BlockOrder = strings.Join(some(names), ",")
	j.Extend = some(reductions)
	j.Map = strings.Join(some(names), ",")
}

func TestOracleRanks(t *testing.T) {
	caseFiles(t, jobEngine{})
	sweep(t, jobEngine{}, Options{}, 500)
}
