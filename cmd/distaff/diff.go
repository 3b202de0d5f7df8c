package main

import (
	"fmt"
	"math"
	"strconv"

	"distaff/cmd/argv"
	"distaff/cmd/conv"
	"distaff/cmd/front"
	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/tensor"
)

func diffCommand() *command {
	return &command{
		name: "diff", args: "A B", short: "compares two files as tensors",
		long: `Compares two files of any formats as tensors; an absent entry is zero. Two
values a and b are equal if |a-b| <= atol + rtol*|b|, if both values are NaN, or
if both are the same infinity. The exit code is 0 if the tensors are equal, and
4 if values or sizes differ. If one file has no sizes, its coordinates must be
within the sizes of the other file.`,
		examples: []string{"distaff diff a.tcs a.mtx",
			"distaff diff y.npy reference.npy --rtol=1e-12"},
		flags: join([]cliFlag{
			text("rtol", nil, "", "`X` relative tolerance (default: 0)"),
			text("atol", nil, "", "`X` absolute tolerance (default: 0)"),
			text("head", nil, "", "`N` prints the first N differences (default: 10)"),
		}, readFlags(), talkFlags()),
		action: diff,
	}
}

func diff(x *invocation) error {
	if x.flags.Args().Len() != 2 {
		return argv.Errorf("diff takes two files; got %s",
			tensor.Count(x.flags.Args().Len(), "argument"))
	}
	rtol, err := x.tolerance("rtol")
	if err != nil {
		return err
	}
	atol, err := x.tolerance("atol")
	if err != nil {
		return err
	}
	head, err := x.count("head", 0)
	if err != nil {
		return err
	}
	if !x.flags.IsSet("head") {
		head = 10
	}
	opt, err := conv.ReadOptions(x.flags, x.flags.Args().Slice()...)
	if err != nil {
		return err
	}
	opt.Note = x.line
	cfg := sorting(opt)
	files := x.flags.Args().Slice()
	var streams [2]coo.Stream
	for k := range streams {
		if streams[k], err = convert.Open(files[k], opt); err != nil {
			return err
		}
		defer streams[k].Close()
	}
	var sides [2]*coo.Ordered
	for k := range sides {
		if sides[k], err = coo.Sort(streams[k], coo.Spec{Name: files[k]}, cfg); err != nil {
			return err
		}
		defer sides[k].Free()
	}
	d, err := coo.Diff(sides[0], sides[1], rtol, atol, int(head))
	if err != nil {
		return err
	}
	if d.Differ == 0 {
		return nil
	}
	for _, f := range d.First {
		at := ""
		for m, c := range f.Coords {
			if m > 0 {
				at += ","
			}
			at += strconv.FormatInt(c+1, 10)
		}
		fmt.Fprintf(x.stdout, "(%s): %s and %s\n", at, f.A.Text(), f.B.Text())
	}
	fmt.Fprintf(x.stdout, "%s and %s differ at %d of %s; largest difference %s, relative %s\n",
		tensor.Printable(files[0]), tensor.Printable(files[1]), d.Differ,
		tensor.Count(d.Compared, "coordinate"), short(d.MaxAbs), short(d.MaxRel))
	return &front.Silent{Code: 4}
}

// short formats a number with three digits. It writes inf and nan as they are written in entries.
func short(f float64) string {
	if math.IsInf(f, 0) || f != f {
		return tensor.Value{Type: tensor.Float64, C: complex(f, 0)}.Text()
	}
	return fmt.Sprintf("%.3g", f)
}

// tolerance returns the value of --rtol or --atol.
func (x *invocation) tolerance(flag string) (float64, error) {
	v := x.flags.String(flag)
	if !x.flags.IsSet(flag) {
		return 0, nil
	}
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || !(f >= 0) {
		return 0, argv.Errorf("--%s=%s: got %q, want a number of at least 0", flag, v, v)
	}
	return f, nil
}
