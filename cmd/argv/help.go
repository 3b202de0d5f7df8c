package argv

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// Help returns the lines of a flag in a help text.
func Help(f cli.Flag) string {
	head, usage := Describe(f)
	return "  " + head + "\n" + wrap(usage, "      ", 78)
}

// Describe returns the spelling of a flag, "-f, --format=T:LEVELS", and its description.
func Describe(f cli.Flag) (head, usage string) {
	value, usage := parts(f)
	if value != "" {
		value = "=" + value
	}
	var names []string
	for _, n := range f.Names() {
		if len(n) == 1 {
			names = append(names, "-"+n)
		} else {
			names = append(names, "--"+n)
		}
	}
	return strings.Join(names, ", ") + value, usage
}

// parts returns the name of a flag's value, which is between backquotes in the flag's description,
// and the rest of the description.
func parts(f cli.Flag) (value, usage string) {
	usage = f.(cli.DocGenerationFlag).GetUsage()
	if p := strings.SplitN(usage, "`", 3); len(p) == 3 {
		return p[1], strings.TrimSpace(p[2])
	}
	return "", usage
}

// Values returns the words that a flag accepts. The name of the flag's value lists the words, as in
// auto|always|never. Values leaves out names with capital letters, because users do not type them.
// Values returns nil if the name of the value contains "[" or is a single letter, such as i for an
// index variable.
func Values(f cli.Flag) []string {
	value, _ := parts(f)
	words := strings.Split(value, "|")
	if len(words) == 1 && len(value) < 2 || strings.Contains(value, "[") {
		return nil
	}
	var out []string
	for _, w := range words {
		if valueWord.MatchString(w) {
			out = append(out, w)
		}
	}
	return out
}

var valueWord = regexp.MustCompile(`^[a-z0-9-]+$`)

// placeholder returns the name of a flag's value, for messages.
func placeholder(f cli.Flag) string {
	if value, _ := parts(f); value != "" {
		return value
	}
	return "VALUE"
}

// wrap breaks text at spaces into lines of at most width characters, each starting with indent. A
// longer word has a line of its own.
func wrap(text, indent string, width int) string {
	var b strings.Builder
	line := indent
	for _, word := range strings.Fields(text) {
		if line != indent && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			b.WriteString(line + "\n")
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	b.WriteString(line + "\n")
	return b.String()
}
