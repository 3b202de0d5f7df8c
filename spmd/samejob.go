package spmd

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/fault"
)

// said is what a rank was told, in the words of the command line, "" for nothing:
// all that the ranks of one job must be told alike. Threads, memory and folders may differ.
func (j *Job) said() [][2]string {
	list := [][2]string{{"version", Version()}, {"statement", j.Statement}}
	say := func(flag string, values ...string) {
		list = append(list, [2]string{flag, strings.Join(values, " ")})
	}
	number := func(flag string, n int64) {
		v := ""
		if n != 0 {
			v = strconv.FormatInt(n, 10)
		}
		say(flag, v)
	}
	option := func(flag string, on bool) {
		v := ""
		if on {
			v = "on"
		}
		say(flag, v)
	}
	say("-f", named(j.Formats)...)
	say("-t", named(j.Types)...)
	say("-d", named(j.Sizes)...)
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
	say("-i", named(files)...)
	say("-g", named(kinds)...)
	say("--index-base or --duplicates", named(more)...)
	var outputs []string
	for _, o := range j.Outputs {
		outputs = append(outputs, o.Tensor+":"+o.File)
	}
	say("-o", outputs...)
	number("--seed", j.Seed)
	say("--target", j.Target)
	say("--cpu", j.CPU)
	number("--repeat", int64(j.Repeat))
	number("--warmup", int64(j.Warmup))
	option("--check", j.Check)
	option("--trust-input", j.TrustInput)
	option("an interpreter", j.Interpret)
	option("a result to keep", j.Keep)
	option("a result to compute into", j.FixedPattern != nil)
	say("--write", j.Write)
	say("-s", j.Schedule...)
	say("-m", j.Machine)
	say("-p", j.Placements...)
	say("--split", j.Splits...)
	say("--order", j.BlockOrder)
	say("--extend", j.Extend...)
	say("--map", j.Map)
	say("--network", j.Network)
	number("--intermediate-order", int64(j.IntermediateOrder))
	say("--stats", j.StatsFile)
	return list
}

// named is the words NAME:VALUE of a flag that is given by names, sorted.
func named[V any](values map[string]V) []string {
	var list []string
	for name, v := range values {
		list = append(list, fmt.Sprintf("%s:%v", name, v))
	}
	slices.Sort(list)
	return list
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
			theirs := ""
			if k < len(first) {
				theirs = first[k][1]
			}
			err = fault.Commandf("this rank was given another job than rank 0: %s %s, and there %s; give every rank the same command line and program", p[0], orNothing(p[1]), orNothing(theirs))
			break
		}
	}
	return comm.Agree(c, err)
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return tcs.Printable(s)
}
