package oracle

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"distaff/codegen/ir"
)

// planted plants a mistake in the text of a leaf with launches, line by line.
type planted struct {
	name string
	// line returns the changed line of a launch. thread is the variable of the thread.
	line func(line, thread string) string
	want string // a part of the interpreter's error
}

var plants = []planted{
	{"a race", func(line, _ string) string { return strings.Replace(line, "atomic ", "", 1) },
		"race in launch"},
	{"a missing barrier", func(line, _ string) string {
		if strings.TrimSpace(line) == "barrier" {
			return ""
		}
		return line
	}, "race in launch"},
	{"a divergent barrier", func(line, thread string) string {
		if strings.TrimSpace(line) == "barrier" {
			return fmt.Sprintf("if %s < 7 {\nbarrier\n}", thread)
		}
		return line
	}, "barrier"},
	{"an overrun", func(line, _ string) string {
		for _, op := range []string{"] = ", "] += "} {
			if at := strings.Index(line, op); at > 0 && strings.Contains(line[:at], "_vals[") {
				return line[:at] + " + 1000" + line[at:]
			}
		}
		return line
	}, "is out of bounds"},
}

var launchLine = regexp.MustCompile(`^\s*launch .*\] \w+, (\w+) \{$`)

// plant returns the changed leaf. The second result is false if nothing was changed.
func (x planted) plant(f *ir.Func) (*ir.Func, bool, error) {
	text := ir.Print(f)
	var out []string
	thread := ""
	for _, line := range strings.Split(text, "\n") {
		if m := launchLine.FindStringSubmatch(line); m != nil {
			thread = m[1]
		} else if thread != "" {
			line = x.line(line, thread)
		}
		out = append(out, line)
	}
	changed := strings.Join(out, "\n")
	if changed == text {
		return f, false, nil
	}
	g, err := ir.Parse(changed)
	return g, true, err
}

// TestOracleGPUPlanted checks that the interpreter finds mistakes in launches of random schedules.
func TestOracleGPUPlanted(t *testing.T) {
	t.Parallel()
	for _, x := range plants {
		t.Run(x.name, func(t *testing.T) {
			tried, found := 0, 0
			run := func(ctx context.Context, c *compiled, _ string) (*Output, error) {
				f, changed, err := x.plant(c.unit.Func)
				if err != nil {
					t.Fatalf("%v\n%s", err, ir.Print(c.unit.Func))
				}
				if !changed {
					return nil, nil
				}
				tried++
				c.unit.Func = f
				return interpreted(ctx, c, "")
			}
			e := gpuEngine{name: x.name, run: run}
			for k := uint64(0); k < 60 && found < 3; k++ {
				for m, line := range gpuLines[:8] {
					p, err := kernelCase(line, Rand(uint64(m)<<32, k))
					if err != nil {
						t.Fatal(err)
					}
					if _, err := e.Run(context.Background(), p); err != nil &&
						strings.Contains(err.Error(), x.want) {
						found++
					}
				}
			}
			t.Logf("found %d times in %d leaves", found, tried)
			if found < 3 {
				t.Errorf("found %d times in %d leaves", found, tried)
			}
		})
	}
}
