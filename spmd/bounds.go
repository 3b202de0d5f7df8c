package spmd

import (
	"fmt"
	"strconv"
	"strings"

	"distaff/codegen/schedule"
)

// whichBound says which bound() of a schedule does not hold: by the sizes, if it is of a
// variable of the statement, else one of those that there are.
func whichBound(list []string, sizes map[string]int64) string {
	commands, err := schedule.Parse(list)
	if err != nil {
		panic("BUG: spmd: a schedule that ran does not parse: " + err.Error())
	}
	var others []string
	for _, c := range commands {
		if c.Name != "bound" {
			continue
		}
		size, ok := sizes[c.Args[0].Text]
		if !ok {
			others = append(others, c.String())
			continue
		}
		n, kind := c.Args[2].Text, c.Args[3].Text
		want, err := strconv.ParseInt(n, 10, 64)
		holds := kind == "MaxExact" && size == want || kind == "MaxConstraint" && size <= want || kind == "MinExact" && want == 0 || kind == "MinConstraint" && want <= 0
		if err == nil && !holds {
			return fmt.Sprintf("%s of the schedule does not hold: %s runs from 0 to %d,", c, c.Args[0].Text, size)
		}
	}
	if len(others) == 1 {
		return others[0] + " of the schedule does not hold"
	}
	return "one of " + strings.Join(others, ", ") + " of the schedule does not hold"
}
