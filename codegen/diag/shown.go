package diag

import (
	"distaff/io/tensor"
	"fmt"
)

// Sprintf is like fmt.Sprintf, for messages. A string in args may come from the user, so Sprintf
// passes it through Printable. For the verb %q it only shortens the string, because %q already
// escapes characters. Errors in args are not changed, because their texts are already messages.
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
