package prepared

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/schedule"
)

// whichBound finds the bound() command of the schedule that does not hold. It is called after a
// leaf has found that some bound() does not hold. It returns the beginning of an error message that
// names the command, and the command itself.
//
// sizes holds the sizes of the statement's own variables. whichBound compares the bounds of these
// variables with the sizes. If all these bounds hold, the bound() of a variable that is not in
// sizes must be broken. The message then names every bound() of such a variable, and the returned
// command is the first of them.
func whichBound(list []string, sizes map[string]int64) (string, *schedule.Command) {
	var others []string
	var first *schedule.Command
	for _, c := range boundsOf(list) {
		size, ok := sizes[c.Args[0].Text]
		if !ok {
			others = append(others, c.String())
			if first == nil {
				first = c
			}
			continue
		}
		if !boundHolds(c, size) {
			return fmt.Sprintf(
				"%s in the schedule does not match the range: %s runs from 0 to %d,",
				c, c.Args[0].Text, size), c
		}
	}
	switch len(others) {
	case 0:
		panic("BUG: prepared: a bound is broken, and all bounds of the schedule hold")
	case 1:
		return others[0] + " in the schedule does not match the range", first
	}
	return "one of " + strings.Join(others, ", ") + " in the schedule does not match the range", first
}

// boundsHold reports whether every bound() of a variable of the statement holds for the sizes.
func boundsHold(list []string, sizes map[string]int64) bool {
	return !slices.ContainsFunc(boundsOf(list), func(c *schedule.Command) bool {
		size, ok := sizes[c.Args[0].Text]
		return ok && !boundHolds(c, size)
	})
}

// boundsOf returns the bound() commands of a schedule that has been applied before, so it must
// parse.
func boundsOf(list []string) []*schedule.Command {
	commands, err := schedule.Parse(list)
	if err != nil {
		panic("BUG: prepared: a schedule that was followed does not parse: " + err.Error())
	}
	return slices.DeleteFunc(commands, func(c *schedule.Command) bool { return c.Name != "bound" })
}

// boundHolds reports whether bound() command c holds for a variable that runs from 0 to size.
func boundHolds(c *schedule.Command, size int64) bool {
	want, err := strconv.ParseInt(c.Args[2].Text, 10, 64)
	switch c.Args[3].Text {
	case "MaxExact":
		return err != nil || size == want
	case "MaxConstraint":
		return err != nil || size <= want
	case "MinExact":
		return err != nil || want == 0
	}
	return err != nil || want <= 0
}
