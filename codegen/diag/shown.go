package diag

import (
	"distaff/io/tensor"
	"fmt"
)

// Sprintf is fmt.Sprintf for messages. A string among args may come from the user, so it is shown
// as by Printable, or clipped if its verb is %q. Errors among args already are messages.
func Sprintf(format string, args ...any) string {
	shows := make([]any, len(args))
	for k, a := range args {
		if s, ok := a.(string); ok {
			a = shown(s)
		}
		shows[k] = a
	}
	return fmt.Sprintf(format, shows...)
}

// shown is a string that is formatted as Sprintf describes.
type shown string

// Format implements fmt.Formatter.
func (s shown) Format(f fmt.State, verb rune) {
	text := tensor.Clip(string(s))
	if verb != 'q' {
		text = tensor.Printable(string(s))
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), text)
}
