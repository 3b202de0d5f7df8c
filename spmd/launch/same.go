package launch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/fault"
)

// Told is what a rank was told, in the words of the command line, "" for nothing:
// all that the ranks of one job must be told alike.
type Told [][2]string

// Say adds what a flag says.
func (t *Told) Say(flag string, values ...string) {
	*t = append(*t, [2]string{flag, strings.Join(values, " ")})
}

// Number adds a number; 0 is nothing.
func (t *Told) Number(flag string, n int64) {
	v := ""
	if n != 0 {
		v = strconv.FormatInt(n, 10)
	}
	t.Say(flag, v)
}

// Option adds whether an option is on.
func (t *Told) Option(flag string, on bool) {
	v := ""
	if on {
		v = "on"
	}
	t.Say(flag, v)
}

// Named is the words NAME:VALUE of a flag that is given by names, sorted.
func Named[V any](values map[string]V) []string {
	var list []string
	for name, v := range values {
		list = append(list, fmt.Sprintf("%s:%v", name, v))
	}
	slices.Sort(list)
	return list
}

// Same refuses a job whose ranks were started with different statements, flags or
// versions of the program: they would wait for each other, or be wrong. Collective.
func (t Told) Same(c comm.Comm) error {
	var first Told
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
			err = &comm.OwnMistake{Err: fault.Commandf(
				"this rank was given another job than rank 0: %s %s, and there %s; give every rank the same command line and program", p[0], orNothing(p[1]), orNothing(theirs))}
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
