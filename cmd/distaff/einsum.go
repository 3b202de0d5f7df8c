package main

import (
	"slices"
	"strings"

	"distaff/cmd/argv"
	"distaff/codegen/notation"
	"distaff/spmd"
)

// einsum returns the statement that the flag --einsum stands for. The command's arguments are the
// files of its operands. einsum stores them in x.operands in the form of -i.
func (x *invocation) einsum() (string, error) {
	text, files := x.flags.String("einsum"), x.flags.Args().Slice()
	if len(files) == 0 {
		return "", argv.Errorf("--einsum=%s must have a file for each operand, as in --einsum "+
			"\"ij,jk->ik\" A.npz B.npy", text)
	}
	if k := slices.IndexFunc(files, func(f string) bool { return strings.Contains(f, "(") }); k >= 0 {
		return "", argv.Errorf("got both --einsum and the statement %q, want only one", files[k])
	}
	in, _, _ := strings.Cut(text, "->")
	parts := strings.Split(in, ",")
	orders := make([]int, len(files))
	for k, file := range files {
		orders[k] = -1
		if k < len(parts) && strings.Contains(parts[k], "...") {
			dims, _, err := spmd.SizesOf(file, 0)
			if err != nil {
				return "", err
			}
			if dims != nil {
				orders[k] = len(dims)
			}
		}
	}
	e, err := notation.ParseEinsum(text, orders)
	if err != nil {
		return "", err
	}
	for k, file := range files {
		x.operands = append(x.operands, e.Operands[k]+":"+file)
	}
	x.result = e.Result()
	statement, err := x.broadcast(e.Statement)
	if err == nil {
		x.note("%s is %s", text, statement)
	}
	return statement, err
}

// broadcast returns a statement that broadcasts modes of size 1. It reads the sizes of tensors from
// -d and from the headers of their files. It does not know sizes that only the entries of a text
// file determine.
func (x *invocation) broadcast(statement string) (string, error) {
	s, err := notation.Parse(statement)
	if err != nil {
		return statement, nil // the error is reported when the statement is compiled
	}
	j := &spmd.Job{Sizes: map[string][]int64{}, Types: map[string]string{},
		Formats: map[string]string{}, Inputs: map[string]spmd.Input{}}
	if err := x.tensors(j); err != nil {
		return "", err
	}
	if err := x.inputs(j); err != nil {
		return "", err
	}
	for _, a := range s.Accesses() {
		in, ok := j.Inputs[a.Name]
		if _, given := j.Sizes[a.Name]; given || !ok || in.File == "" {
			continue
		}
		dims, exact, err := spmd.SizesOf(in.File, len(a.Vars))
		if err != nil {
			return "", err
		}
		if exact && len(dims) == len(a.Vars) {
			j.Sizes[a.Name] = dims
		}
	}
	return notation.Broadcast(statement, j.Sizes)
}

// output returns the value of a flag -o in the form T:FILE. With --einsum, a value that names no
// tensor of the statement is the file of the result.
func (x *invocation) output(value string) string {
	if x.result == "" {
		return value
	}
	name, _, ok := strings.Cut(value, ":")
	isOperand := slices.ContainsFunc(x.operands, func(s string) bool {
		return strings.HasPrefix(s, name+":")
	})
	if ok && (name == x.result || isOperand) {
		return value
	}
	return x.result + ":" + value
}
