package notation

import (
	"errors"
	"strings"

	"distaff/codegen/diag"
	"distaff/io/tensor"
)

// ParseType returns the type with the given name. It also accepts TACO's names of types.
func ParseType(name string) (tensor.Type, error) {
	t, ok := tensor.ParseType(name)
	if !ok {
		return tensor.None, diag.Errorf(diag.BadType,
			"got type %q, want %s%s",
			name, tensor.TypeList, diag.DidYouMean(name, tensor.TypeNames()))
	}
	return t, nil
}

// ParseFormat reads a level string with an optional mode order, such as "ds" or "ds:1,0".
func ParseFormat(text string) (tensor.Format, error) { return parseFormat(text, 0) }

// ParseFormatFlag reads the value of the flag -f, NAME:LEVELS[:ORDER].
func ParseFormatFlag(text string) (name string, f tensor.Format, err error) {
	name, _, ok := strings.Cut(text, ":")
	if !ok || name == "" {
		return "", tensor.Format{}, diag.At(diag.BadFormat, text, 0, len(text),
			"got no tensor or no levels, want NAME:LEVELS[:ORDER], as in B:ds or B:ds:1,0")
	}
	f, err = parseFormat(text, len(name)+1)
	return name, f, err
}

// parseFormat reads the format that starts at text[at:]. The place in an error is an offset in
// text.
func parseFormat(text string, at int) (tensor.Format, error) {
	f, err := tensor.ParseFormat(text[at:])
	var bad *tensor.FormatError
	if errors.As(err, &bad) {
		return f, diag.At(diag.BadFormat, text, at+bad.Pos, at+bad.End, "%s", bad.Msg)
	}
	return f, err
}
