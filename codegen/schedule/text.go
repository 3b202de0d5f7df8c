package schedule

import (
	"fmt"
	"strings"
)

// Line is a scheduling command with its reason.
type Line struct{ Command, Why string }

// Text formats lines as a file for -s=@FILE.
func Text(lines []Line) string {
	width := 0
	for _, l := range lines {
		width = max(width, len(l.Command))
	}
	var b strings.Builder
	for _, l := range lines {
		if l.Why == "" {
			fmt.Fprintln(&b, l.Command)
		} else {
			fmt.Fprintf(&b, "%-*s  # %s\n", width, l.Command, l.Why)
		}
	}
	return b.String()
}
