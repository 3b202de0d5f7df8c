package spmd

import (
	"fmt"

	"distaff/codegen/schedule"
	"distaff/spmd/launch"
)

// told is what all ranks of the job must be told alike.
func (j *Job) told() launch.Told {
	t := launch.Told{{"version", Version()}, {"statement", j.Statement}}
	t.Say("-f", launch.Named(j.Formats)...)
	t.Say("-t", launch.Named(j.Types)...)
	t.Say("-d", launch.Named(j.Sizes)...)
	tellInputs(&t, j.Inputs)
	var outputs []string
	for _, o := range j.Outputs {
		outputs = append(outputs, o.Tensor+":"+o.File)
	}
	t.Say("-o", outputs...)
	t.Option("a result to keep", j.Keep)
	t.Option("a result to compute into", j.FixedPattern != nil)
	j.Options.tell(&t)
	if list, err := schedule.Parse(j.Schedule); err == nil {
		t.Say("the C of -s", j.userCode().Told(list)...)
	}
	return t
}

// told is what all ranks of the job file must be told alike. What flags have changed of the file's
// tensors is in the file's printed form, what they have changed of its params is not.
func (j *FileJob) told() launch.Told {
	t := launch.Told{{"version", Version()}, {"job file", j.File.String()}}
	t.Say("-D", launch.Named(j.File.Given())...)
	t.Say("-d", launch.Named(j.File.Sizes)...)
	tellInputs(&t, j.Inputs)
	t.Say("-o", launch.Named(j.Outputs)...)
	j.inFolder().tell(&t)
	var code []string
	j.checkCode(func(list []*schedule.Command) error {
		code = append(code, j.inFolder().userCode().Told(list)...)
		return nil
	})
	t.Say("the C of the file's schedules", code...)
	return t
}

// tellInputs adds where tensors come from.
func tellInputs(t *launch.Told, inputs map[string]Input) {
	files, kinds, more := map[string]string{}, map[string]string{}, map[string]string{}
	for name, in := range inputs {
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
}

// tell adds the options that all ranks must have alike. Threads, memory, folders and what a rank
// shows or checks by itself may differ.
func (o *Options) tell(t *launch.Told) {
	t.Number("--seed", o.Seed)
	t.Say("--target", o.Target)
	t.Say("--cpu", o.CPU)
	t.Number("--repeat", int64(o.Repeat))
	t.Number("--warmup", int64(o.Warmup))
	t.Option("--check", o.Check)
	t.Option("--trust-input", o.TrustInput)
	t.Say("--tune", o.Tune)
	t.Say("--write", o.Write)
	t.Say("-s", o.Schedule...)
	t.Say("-m", o.Machine)
	t.Say("-p", o.Placements...)
	t.Say("--split", o.Splits...)
	t.Say("--order", o.BlockOrder)
	t.Say("--extend", o.Extend...)
	t.Say("--map", o.Map)
	t.Say("--network", o.Network)
	t.Number("--intermediate-order", int64(o.IntermediateOrder))
	t.Say("--stats", o.StatsFile)
}
