package diag

import "fmt"

// Sprintf is fmt.Sprintf for the words of a message: a string among args, which may
// be anything that was given, is shown as Printable shows it, by %q too clipped.
// Errors among args are messages already.
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

// shown is a string that is formatted for a message.
type shown string

// Format implements fmt.Formatter.
func (s shown) Format(f fmt.State, verb rune) {
	text := Clip(string(s))
	if verb != 'q' {
		text = Printable(string(s))
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), text)
}
