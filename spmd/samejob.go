package spmd

import (
	"fmt"

	"distaff/codegen/schedule"
	"distaff/spmd/launch"
)

// told is what all ranks of the job must be told alike. Threads, memory and folders may differ.
func (j *Job) told() launch.Told {
	t := launch.Told{{"version", Version()}, {"statement", j.Statement}}
	t.Say("-f", launch.Named(j.Formats)...)
	t.Say("-t", launch.Named(j.Types)...)
	t.Say("-d", launch.Named(j.Sizes)...)
	files, kinds, more := map[string]string{}, map[string]string{}, map[string]string{}
	for name, in := range j.Inputs {
		switch {
		case in.Generate != "":
			kinds[name] = in.Generate
		case in.Scalar != nil:
			files[name] = fmt.Sprintf("%v of type %T", in.Scalar, in.Scalar)
		case in.Tensor != nil:
			files[name] = "a tensor in memory"
		default:
			files[name] = in.File
		}
		if in.ZeroBased {
			more[name] = "0"
		}
		if in.NoDuplicates {
			more[name] += "error"
		}
	}
	t.Say("-i", launch.Named(files)...)
	t.Say("-g", launch.Named(kinds)...)
	t.Say("--index-base or --duplicates", launch.Named(more)...)
	var outputs []string
	for _, o := range j.Outputs {
		outputs = append(outputs, o.Tensor+":"+o.File)
	}
	t.Say("-o", outputs...)
	t.Number("--seed", j.Seed)
	t.Say("--target", j.Target)
	t.Say("--cpu", j.CPU)
	t.Number("--repeat", int64(j.Repeat))
	t.Number("--warmup", int64(j.Warmup))
	t.Option("--check", j.Check)
	t.Option("--trust-input", j.TrustInput)
	t.Say("--tune", j.Tune)
	t.Option("a result to keep", j.Keep)
	t.Option("a result to compute into", j.FixedPattern != nil)
	t.Say("--write", j.Write)
	t.Say("-s", j.Schedule...)
	if list, err := schedule.Parse(j.Schedule); err == nil {
		t.Say("the C of -s", j.userCode().Told(list)...)
	}
	t.Say("-m", j.Machine)
	t.Say("-p", j.Placements...)
	t.Say("--split", j.Splits...)
	t.Say("--order", j.BlockOrder)
	t.Say("--extend", j.Extend...)
	t.Say("--map", j.Map)
	t.Say("--network", j.Network)
	t.Number("--intermediate-order", int64(j.IntermediateOrder))
	t.Say("--stats", j.StatsFile)
	return t
}
