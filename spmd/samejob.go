package spmd

import (
	"encoding/json"
	"fmt"
	"strings"

	"distaff/spmd/comm"
)

// said is what a rank was told, in the words of the command line: all that the
// ranks of one job must be told alike. Threads, memory and folders may differ.
func (j *Job) said() [][2]string {
	text := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			panic("BUG: spmd: a job's flags do not marshal: " + err.Error())
		}
		return string(b)
	}
	inputs := map[string]string{}
	for name, in := range j.Inputs {
		inputs[name] = fmt.Sprint(in.File, in.Generate, in.Scalar, in.ZeroBased, in.NoDuplicates)
	}
	return [][2]string{
		{"version", Version()}, {"statement", j.Statement},
		{"-f", text(j.Formats)}, {"-t", text(j.Types)}, {"-d", text(j.Sizes)}, {"-i or -g", text(inputs)}, {"-o", text(j.Outputs)},
		{"--seed", text(j.Seed)}, {"--target", j.Target}, {"--cpu", j.CPU}, {"--repeat", text(j.Repeat)}, {"--warmup", text(j.Warmup)},
		{"--check", text(j.Check)}, {"--write", j.Write}, {"-s", text(j.Schedule)}, {"-m", j.Machine}, {"-p", text(j.Placements)},
		{"--split", text(j.Splits)}, {"--order", j.BlockOrder}, {"--extend", text(j.Extend)}, {"--map", j.Map},
		{"--network", j.Network}, {"--intermediate-order", text(j.IntermediateOrder)},
	}
}

// sameEverywhere refuses a job whose ranks were started with different
// statements, flags or versions of the program: they would wait for each other, or be wrong.
// Collective.
func (j *Job) sameEverywhere(c comm.Comm) error {
	mine := j.said()
	var first [][2]string
	if c.Rank() == 0 {
		first = mine
	}
	if err := comm.BcastValue(c, &first, 0); err != nil {
		return err
	}
	var err error
	for k, p := range mine {
		if k >= len(first) || first[k] != p {
			theirs := "nothing"
			if k < len(first) {
				theirs = strings.Join(first[k][:], " ")
			}
			err = commandErrorf("this rank was given another job than rank 0: %s %s, and there %s; give every rank the same command line and program", p[0], printable(p[1]), printable(theirs))
			break
		}
	}
	return comm.Agree(c, err)
}
