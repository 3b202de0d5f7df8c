package prepared

import (
	"fmt"
	"strconv"
	"strings"

	"distaff/codegen/schedule"
	"distaff/kernels"
)

// brokenBound is the error of a bound() that a leaf of the schedule found not to hold, with
// the place in the schedule of the first that may be meant.
func brokenBound(broken *kernels.BoundError, list []string, sizes map[string]int64) error {
	which, at := whichBound(list, sizes)
	b := *broken
	b.Which = which
	return at.Refuse(b.Error())
}

// whichBound says which bound() of a schedule does not hold, and gives the first that may be
// meant: by the sizes, if it is of a variable of the statement, else one of those that there are.
func whichBound(list []string, sizes map[string]int64) (string, *schedule.Command) {
	commands, err := schedule.Parse(list)
	if err != nil {
		panic("BUG: prepared: a schedule that ran does not parse: " + err.Error())
	}
	var others []string
	var first *schedule.Command
	for _, c := range commands {
		if c.Name != "bound" {
			continue
		}
		size, ok := sizes[c.Args[0].Text]
		if !ok {
			others = append(others, c.String())
			if first == nil {
				first = c
			}
			continue
		}
		n, kind := c.Args[2].Text, c.Args[3].Text
		want, err := strconv.ParseInt(n, 10, 64)
		holds := kind == "MaxExact" && size == want || kind == "MaxConstraint" && size <= want || kind == "MinExact" && want == 0 || kind == "MinConstraint" && want <= 0
		if err == nil && !holds {
			return fmt.Sprintf("%s of the schedule does not hold: %s runs from 0 to %d,", c, c.Args[0].Text, size), c
		}
	}
	switch len(others) {
	case 0:
		panic("BUG: prepared: a bound is broken, and all bounds of the schedule hold")
	case 1:
		return others[0] + " of the schedule does not hold", first
	}
	return "one of " + strings.Join(others, ", ") + " of the schedule does not hold", first
}
