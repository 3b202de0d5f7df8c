package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"distaff/kernels/tune"
	"distaff/spmd"
)

// TestPlanWhy checks what plan --why and --why-not print about a statement and a job file.
func TestPlanWhy(t *testing.T) {
	cache, dir := t.TempDir(), t.TempDir()
	t.Setenv("DISTAFF_CACHE", cache)
	both := func(x float64) tune.Pair { return tune.Pair{One: x, All: 2 * x} }
	model := &tune.Model{CPU: "a CPU", Threads: 2,
		Levels: []tune.Level{
			{Name: "memory", Read: both(1e9), Write: both(5e8), Dependent: 1e-8}},
		Gathers:        []tune.Gather{{Bytes: 1, Values: both(1e6), Rows: both(1e5)}},
		MultiplyAdds64: both(1e9), MultiplyAdds32: both(2e9), Branch: 1e-8, Segment: 1e-9, Call: 1e-6,
		Region: 1e-6, Compile: 0.5, Files: tune.Files{Load: 1e9, Parse: 1e8, Store: 1e9},
		Messages: []tune.Message{{Between: tune.BetweenThreads, Latency: 1e-6, Bandwidth: 1e9}}}
	if err := tune.Keep(cache, model); err != nil {
		t.Fatal(err)
	}
	plan := func(args ...string) string {
		t.Helper()
		var out, errors strings.Builder
		if code := mainExit(append([]string{"distaff", "plan"}, args...), &out, &errors); code != 0 {
			t.Fatalf("%v: exit code %d\n%s", args, code, errors.String())
		}
		return out.String()
	}
	has := func(text string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			at := strings.Index(text, part)
			if at < 0 {
				t.Fatalf("want %q in\n%s", part, text)
			}
			text = text[at+len(part):]
		}
	}
	spmv := []string{"y(i) = A(i,j)*x(j)", "-d=A:1000,1000", "-g=A:uniform:10000", "-f=A:ds", "-g=x:dense",
		"--threads=1"}
	out := plan(append(spmv, "--why", "--why-not=--threads=2", "--why-not=reorder(j,i)",
		"--why-not=-f=A:ss")...)
	has(out, "\nwhy\n", "parallelize(i,CPUThread,NoRaces,Work)  # each i writes", "bounds  random reads: ",
		"; without them ", ": operands that fit into caches", "\nother plans", "--ranks=2",
		"\nwith --threads=2\n", "compute and messages", "\n  random reads", " 0.5 ",
		"\nwith reorder(j,i)\nrefused: reorder: A(i,j) stores j below i",
		"\nwith -f=A:ss\n", "compute and messages")
	if plain := plan(spmv...); strings.Contains(plain, "why\n") || strings.Contains(plain, "other plans") {
		t.Errorf("without --why:\n%s", plain)
	}
	var told struct {
		Bytes  []int64            `json:"owned_bytes"`
		Leaves []spmd.PlannedLeaf `json:"leaves"`
		Time   spmd.PlannedTime   `json:"predicted_seconds"`
		Others []alternative      `json:"candidates"`
		WhyNot []alternative      `json:"why_not"`
	}
	text := plan(append(spmv, "--why", "--why-not=--threads=2", "--why-not=reorder(j,i)", "--json")...)
	if err := json.Unmarshal([]byte(text), &told); err != nil {
		t.Fatal(err)
	}
	if len(told.Bytes) != 1 || len(told.Leaves) != 1 || len(told.Time.Bounds) == 0 ||
		len(told.Others) == 0 || len(told.WhyNot) != 2 || told.WhyNot[0].Plan == nil ||
		told.WhyNot[1].Refused == "" {
		t.Errorf("got %+v", told)
	}
	page := filepath.Join(dir, "plan.html")
	plan(append(spmv, "--why", "--html="+page)...)
	html, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	has(string(html), "<h3>Why</h3>", "random reads: ")

	file := filepath.Join(dir, "two.dst")
	if err := os.WriteFile(file, []byte(`tensor A(1000, 1000): ds from uniform:10000
tensor x(1000): d from dense
y(i) = A(i,j) * x(j)
z(i) = A(i,j) * y(j)
`), 0o600); err != nil {
		t.Fatal(err)
	}
	has(plan(file, "--threads=1", "--why", "--why-not=--threads=2", "--why-not=--ranks=0"),
		"\nwhy\n", "bounds", "\nwhy\n", "bounds", "\nline 3\nwith --threads=2\n", " 0.5 ",
		"\nline 4\nwith --threads=2\n", "\nwith --ranks=0\nrefused: ")
	var errors strings.Builder
	for _, wrong := range []string{"-f=A:ds word", "--nothing=1"} {
		if code := mainExit(append(append([]string{"distaff", "plan"}, spmv...), "--why-not="+wrong),
			&errors, &errors); code != 2 {
			t.Errorf("--why-not=%s: got exit code %d, want 2\n%s", wrong, code, errors.String())
		}
	}
}
