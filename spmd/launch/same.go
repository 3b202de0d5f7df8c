package launch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/fault"
)

// Description describes a job in the words of the command line, as pairs of a flag and its value;
// the value is "" if the flag is not given. It lists everything that must be the same at all ranks.
type Description [][2]string

// Add adds a flag with its values.
func (t *Description) Add(flag string, values ...string) {
	*t = append(*t, [2]string{flag, strings.Join(values, " ")})
}

// AddNumber adds a flag with a number, where 0 means that the flag is not given.
func (t *Description) AddNumber(flag string, n int64) {
	v := ""
	if n != 0 {
		v = strconv.FormatInt(n, 10)
	}
	t.Add(flag, v)
}

// AddSwitch adds a flag that is on or off.
func (t *Description) AddSwitch(flag string, on bool) {
	v := ""
	if on {
		v = "on"
	}
	t.Add(flag, v)
}

// Named returns, sorted, the words NAME:VALUE of a flag that has a value for each name.
func Named[V any](values map[string]V) []string {
	var list []string
	for name, v := range values {
		list = append(list, fmt.Sprintf("%s:%v", name, v))
	}
	slices.Sort(list)
	return list
}

// CheckSame returns an error if a rank was started with another statement, other flags or another
// version of the program than rank 0. Such ranks could wait for each other forever, or compute
// wrong results. Every rank must call it.
func (t Description) CheckSame(c comm.Comm) error {
	var first Description
	if c.Rank() == 0 {
		first = t
	}
	if err := comm.BcastValue(c, &first, 0); err != nil {
		return err
	}
	var err error
	for k, p := range t {
		if k >= len(first) || first[k] != p {
			theirs := ""
			if k < len(first) {
				theirs = first[k][1]
			}
			err = &comm.LocalUsageError{Err: fault.Commandf(
				"this rank has another job than rank 0: %s is %s here, but %s at rank 0; give "+
					"every rank the same command line and program",
				p[0], orNothing(p[1]), orNothing(theirs))}
			break
		}
	}
	return comm.Agree(c, err)
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return tensor.Printable(s)
}
