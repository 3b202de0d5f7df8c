package diag_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"distaff/codegen"
	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// TestExamples runs the example of every code that has one.
func TestExamples(t *testing.T) {
	seen := map[diag.Code]bool{}
	for _, c := range diag.Codes {
		if seen[c.Code] || c.Meaning == "" {
			t.Errorf("%s: listed twice, or without a meaning", c.Code)
		}
		seen[c.Code] = true
		if c.Example == "" {
			continue
		}
		var err error
		switch c.Flag {
		case "f":
			_, _, err = notation.ParseFormatFlag(c.Example)
		case "t":
			_, err = notation.ParseType(c.Example)
		case "network":
			err = compileWith(func(r *codegen.Request) { r.Ask.Network = c.Example })
		case "s":
			err = compileWith(func(r *codegen.Request) { r.Ask.Schedule = []string{c.Example} })
		default:
			var s *notation.Stmt
			if s, err = notation.Parse(c.Example); err == nil {
				err = notation.Check(s)
			}
		}
		var d *diag.Error
		if !errors.As(err, &d) || d.Code != c.Code {
			t.Errorf("%s: the example %q gives %v", c.Code, c.Example, err)
		}
	}
}

// compileWith compiles y(i) = B(i,j) * x(j) with other settings of the request.
func compileWith(change func(*codegen.Request)) error {
	s, err := notation.Parse("y(i) = B(i,j) * x(j)")
	if err != nil {
		return err
	}
	vector, matrix := tensor.Format{Levels: []tensor.Kind{tensor.Dense}, Order: []int{0}},
		tensor.Format{Levels: []tensor.Kind{tensor.Dense, tensor.Dense}, Order: []int{0, 1}}
	r := codegen.Request{Statement: codegen.Statement{Stmt: s},
		Tensors: codegen.Tensors{Sizes: map[string]int64{"i": 9, "j": 9}, All: map[string]codegen.Tensor{
			"y": {Format: vector, Type: tensor.Float64, Dims: []int64{9}},
			"x": {Format: vector, Type: tensor.Float64, Dims: []int64{9}},
			"B": {Format: matrix, Type: tensor.Float64, Dims: []int64{9, 9}},
		}}}
	change(&r)
	_, err = codegen.Compile(r)
	return err
}

func TestErrorPlaces(t *testing.T) {
	e := diag.At(diag.Syntax, "A(é) =\n  B ? C", 12, 13, "got ?")
	if want := "got ?\n      B ? C\n        ^"; e.Error() != want {
		t.Errorf("got %q, want %q", e.Error(), want)
	}
	if got := e.InFile("job.dst", 7, 5); got.Line != 8 || got.Col != 5 {
		t.Errorf("got %d:%d, want 8:5", got.Line, got.Col)
	}
	one := diag.At(diag.Syntax, "A(é) ? B", 6, 7, "got ?").InFile("job\x1b.dst", 7, 5)
	if want := "job\\x1b.dst:7:10: got ?\n    A(é) ? B\n         ^"; one.Error() != want {
		t.Errorf("got %q, want %q", one.Error(), want)
	}
	if e.ExitCode() != 2 || (&diag.Error{Exit: 3}).ExitCode() != 3 {
		t.Error("exit codes")
	}
	long := strings.Repeat("é+", 50000)
	for _, pos := range []int{0, len(long) / 3, len(long)} {
		lines := strings.Split(diag.At(diag.Syntax, long, pos, pos+90000, "got %s", long).Error(), "\n")
		if len(lines) != 3 || utf8.RuneCountInString(lines[0]) > tensor.MaxQuoted+50 ||
			utf8.RuneCountInString(lines[1]) > tensor.MaxQuoted+10 ||
			utf8.RuneCountInString(lines[2]) > tensor.MaxQuoted+10 {
			t.Errorf("a long statement at %d: %.1000q", pos, lines)
			continue
		}
		at := []rune(lines[1] + "  ")[strings.Index(lines[2], "^")]
		if want := []rune(long[pos:] + " ")[0]; at != want {
			t.Errorf("a long statement: the caret of offset %d stands under %q, want %q", pos, at, want)
		}
	}
	if got := diag.At(diag.Syntax, "ab", 9, 12, "x").Error(); got != "x\n    ab\n      ^" {
		t.Errorf("a place past the end: %q", got)
	}
}
