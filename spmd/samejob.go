package spmd

import (
	"fmt"

	"distaff/codegen/schedule"
	"distaff/spmd/launch"
)

// description lists the properties of the job that must be the same at all ranks.
func (j *Job) description() launch.Description {
	t := launch.Description{{"version", Version()}, {"statement", j.Statement}}
	t.Add("-f", launch.Named(j.Formats)...)
	t.Add("-t", launch.Named(j.Types)...)
	t.Add("-d", launch.Named(j.Sizes)...)
	describeInputs(&t, j.Inputs)
	var outputs []string
	for _, o := range j.Outputs {
		outputs = append(outputs, o.Tensor+":"+o.File)
	}
	t.Add("-o", outputs...)
	t.AddSwitch("a result to keep", j.Keep)
	t.AddSwitch("a result to compute into", j.FixedPattern != nil)
	j.Options.describe(&t)
	if list, err := schedule.Parse(j.Schedule); err == nil {
		t.Add("the C of -s", j.userCode().CommandTexts(list)...)
	}
	return t
}

// description lists the properties of the job file that must be the same at all ranks. The text of
// the file already contains the changes that flags made to declared tensors. It does not contain
// the values that flags give to params. description lists these values separately.
func (j *FileJob) description() launch.Description {
	t := launch.Description{{"version", Version()}, {"job file", j.File.String()}}
	t.Add("-D", launch.Named(j.File.Given())...)
	t.Add("-d", launch.Named(j.File.Sizes)...)
	t.Add("-f", launch.Named(j.File.Formats)...)
	describeInputs(&t, j.Inputs)
	t.Add("-o", launch.Named(j.Outputs)...)
	j.inFolder().describe(&t)
	var code []string
	j.checkCode(func(list []*schedule.Command) error {
		code = append(code, j.inFolder().userCode().CommandTexts(list)...)
		return nil
	})
	t.Add("the C of the file's schedules", code...)
	return t
}

// describeInputs adds to t where each tensor comes from.
func describeInputs(t *launch.Description, inputs map[string]Input) {
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
		if in.Delimiter != 0 {
			more[name] += string(in.Delimiter)
		}
	}
	t.Add("-i", launch.Named(files)...)
	t.Add("-g", launch.Named(kinds)...)
	t.Add("--index-base, --delimiter or --duplicates", launch.Named(more)...)
}

// describe adds the options that must be the same at all ranks. Threads, memory, folders and what a
// rank shows or verifies by itself may differ.
func (o *Options) describe(t *launch.Description) {
	t.AddNumber("--seed", o.Seed)
	t.Add("--target", o.Target)
	t.Add("--cpu", o.CPU)
	t.AddNumber("--repeat", int64(o.Repeat))
	t.AddNumber("--warmup", int64(o.Warmup))
	t.AddSwitch("--check", o.Check)
	t.AddSwitch("--trust-input", o.TrustInput)
	t.Add("--tune", o.Tune)
	t.Add("--write", o.Write)
	t.Add("-s", o.Schedule...)
	t.Add("-m", o.Machine)
	t.Add("-p", o.Placements...)
	t.Add("--split", o.Splits...)
	t.Add("--order", o.BlockOrder)
	t.Add("--extend", o.Extend...)
	t.Add("--map", o.Map)
	t.Add("--network", o.Network)
	t.AddNumber("--intermediate-order", int64(o.IntermediateOrder))
	t.Add("--stats", o.StatsFile)
}
