package oracle

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// Text returns the case as a case file. The first line is the statement. The next lines are
//
//	variant N
//	schedule COMMAND      for each command in Schedule
//	over RANKS MACHINE    if Over is not nil
//	command COMMAND       for each command in Over
//	place PLACEMENT       for each placement in Over
//
// A line for each tensor follows:
//
//	tensor NAME FORMAT TYPE SIZES
//
// and a line for each entry, with its coordinates (from 0) and its value. The first word is
// "result" instead of "tensor" if the tensor has no input. An empty format, type or list of sizes
// is written as "-". Lines that start with # are comments.
func (c *Case) Text() string {
	var b strings.Builder
	fmt.Fprintln(&b, c.Stmt)
	fmt.Fprintln(&b, "variant", c.Variant)
	for _, s := range c.Schedule {
		fmt.Fprintln(&b, "schedule", s)
	}
	if c.Over != nil {
		c.Over.text(&b)
	}
	for _, t := range c.plain().Tensors {
		word := "tensor"
		if !t.Input {
			word = "result"
		}
		sizes := make([]string, len(t.Dims))
		for m, d := range t.Dims {
			sizes[m] = strconv.FormatInt(d, 10)
		}
		typ := ""
		if t.Type != tensor.None {
			typ = t.Type.String()
		}
		fmt.Fprintln(&b, word, t.Name, orDash(t.Format.String()), orDash(typ),
			orDash(strings.Join(sizes, "x")))
		for _, e := range t.Entries {
			for _, x := range e.Coord {
				fmt.Fprint(&b, x, " ")
			}
			fmt.Fprintln(&b, formatValue(t.Type, e.Value))
		}
	}
	return b.String()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// ParseCase parses a case file and checks the case (see Prepare).
func ParseCase(text string) (*Case, error) {
	c := &Case{}
	in := bufio.NewScanner(strings.NewReader(text))
	for n := 1; in.Scan(); n++ {
		line := strings.TrimSpace(in.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if c.Stmt == "" {
			c.Stmt = line
			continue
		}
		if err := c.parseLine(strings.Fields(line)); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	_, err := c.Prepare()
	return c, err
}

func (c *Case) parseLine(f []string) (err error) {
	if f[0] == "variant" && len(f) == 2 {
		c.Variant, err = strconv.ParseUint(f[1], 10, 64)
		return err
	}
	if f[0] == "schedule" && len(c.Tensors) == 0 {
		c.Schedule = append(c.Schedule, strings.Join(f[1:], " "))
		return nil
	}
	if len(c.Tensors) == 0 {
		if ok, err := c.parseOver(f); ok {
			return err
		}
	}
	if f[0] == "tensor" || f[0] == "result" {
		if len(f) != 5 {
			return fmt.Errorf("got %d words, want tensor NAME FORMAT TYPE SIZES", len(f))
		}
		for k := range f {
			if f[k] == "-" {
				f[k] = ""
			}
		}
		t := &Tensor{Name: f[1], Input: f[0] == "tensor"}
		if t.Format, err = notation.ParseFormat(f[2]); err != nil {
			return err
		}
		if f[3] != "" {
			if t.Type, err = notation.ParseType(f[3]); err != nil {
				return err
			}
		}
		for _, s := range strings.FieldsFunc(f[4], func(r rune) bool { return r == 'x' }) {
			d, err := strconv.ParseInt(s, 10, 64)
			if err != nil {
				return err
			}
			t.Dims = append(t.Dims, d)
		}
		c.Tensors = append(c.Tensors, t)
		return nil
	}
	if len(c.Tensors) == 0 {
		return fmt.Errorf("got %q, want tensor or result", f[0])
	}
	t := c.Tensors[len(c.Tensors)-1]
	var e Entry
	for _, s := range f[:len(f)-1] {
		x, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return err
		}
		e.Coord = append(e.Coord, x)
	}
	v, err := parseValue(t.Type, f[len(f)-1])
	e.Value = v
	t.Entries = append(t.Entries, e)
	return err
}

func parseValue(t tensor.Type, s string) (v tensor.Value, err error) {
	switch v.Type = t; {
	case t == tensor.Uint64:
		var u uint64
		u, err = strconv.ParseUint(s, 10, 64)
		v.I = int64(u)
	case t.HoldsInts():
		v.I, err = strconv.ParseInt(s, 10, 64)
	case t.IsFloat():
		var f float64
		f, err = strconv.ParseFloat(s, 64)
		v.C = complex(f, 0)
	default:
		v.C, err = strconv.ParseComplex(s, 128)
	}
	return v, err
}

// Script returns a shell script that runs the case with the distaff command. It writes the inputs
// as .tns files and checks the result with --check.
func (c *Case) Script() string {
	var b strings.Builder
	args := fmt.Sprintf("distaff run '%s'", c.Stmt)
	if len(c.Schedule) > 0 {
		args += " -s='" + strings.Join(c.Schedule, ",") + "'"
	}
	for k, t := range c.plain().Tensors {
		if len(t.Dims) > 0 {
			args += " -f=" + t.Name + ":" + t.Format.String()
			sizes := make([]string, len(t.Dims))
			for m, d := range t.Dims {
				sizes[m] = strconv.FormatInt(d, 10)
			}
			args += " -d=" + t.Name + ":" + strings.Join(sizes, ",")
		}
		if t.Type != tensor.None {
			args += " -t=" + t.Name + ":" + t.Type.String()
		}
		switch {
		case !t.Input && k == 0:
		case len(t.Dims) == 0:
			args += fmt.Sprintf(" -i=%s:%s", t.Name, scalarText(t.Type, t.Entries[0].Value))
		default:
			fmt.Fprintf(&b, "cat > %s.tns <<'END'\n", t.Name)
			t.tns(&b)
			b.WriteString("END\n")
			args += fmt.Sprintf(" -i=%s:%s.tns", t.Name, t.Name)
		}
	}
	if len(c.Tensors[0].Dims) > 0 {
		args += " -o=" + c.Tensors[0].Name + ":-.tns"
	}
	return b.String() + args + " --check\n"
}

// formatValue returns the text of a value of type t in a case.
func formatValue(t tensor.Type, v tensor.Value) string {
	switch {
	case t == tensor.Uint64:
		return fmt.Sprint(uint64(v.I))
	case t.HoldsInts():
		return fmt.Sprint(v.I)
	case t.IsFloat():
		return fmt.Sprint(real(v.C))
	}
	return fmt.Sprint(v.C)
}

// scalarText returns a value as it is written in text files. A complex value is two numbers.
func scalarText(t tensor.Type, v tensor.Value) string {
	if t.IsComplex() {
		return fmt.Sprint(real(v.C), imag(v.C))
	}
	return formatValue(t, v)
}
