package codegen_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"distaff/codegen"
	"distaff/codegen/cin"
	"distaff/codegen/emit/c"
	"distaff/codegen/ir"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

var update = flag.Bool("update", false, "rewrite testdata/golden")

// TestGolden compares each stage of the kernels in testdata/golden with the stored text. The
// comment of an archive is the statement, followed by lines with a tensor's format, a variable's
// size, scheduling commands after "-s=", --target=cuda, or a tree after "--network=" and the
// largest number of variables of an intermediate after "--intermediate-order=". The C code is
// compared if the archive contains it, which is so for one kernel of each class. TestC and
// TestPromisedLoops check the C code of the others.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			a := txtar.Parse(data)
			u, structured, explicit := goldenUnit(t, string(a.Comment))
			hasC := slices.ContainsFunc(a.Files, func(f txtar.File) bool { return f.Name == "c" })
			order := "order " + strings.Join(u.Order, " ") + "\n" + strings.Join(append(u.Notes, ""), "\n")
			a.Files = []txtar.File{
				{Name: "order", Data: []byte(order)},
				{Name: "network", Data: []byte(goldenNetwork(u, string(a.Comment)))},
				{Name: "cin", Data: []byte(cin.Pretty(u.CIN))},
				{Name: "explicit", Data: []byte(explicit)},
				{Name: "lattice", Data: []byte(u.Lattices)},
				{Name: "ir", Data: []byte(structured)},
			}
			if text := ir.Print(u.Func); strings.Contains(string(a.Comment), "--target=cuda") {
				a.Files = append(a.Files, txtar.File{Name: "launches", Data: []byte(text)})
			}
			if hasC {
				_, body, _ := strings.Cut(c.File(u.Func), "\n#endif\n") // without the interface's header
				a.Files = append(a.Files, txtar.File{Name: "c", Data: []byte(body)})
			}
			a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return len(f.Data) == 0 })
			if again, err := ir.Parse(ir.Print(u.Func)); err != nil || ir.Print(again) != ir.Print(u.Func) {
				t.Errorf("the leaf's text does not read back: %v", err)
			}
			if again, err := cin.Parse(cin.Pretty(u.CIN)); err != nil ||
				cin.String(again) != cin.String(u.CIN) {
				t.Errorf("the nest's text does not read back: %v", err)
			}
			got := txtar.Format(a)
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if !bytes.Equal(got, data) {
				t.Errorf("the stages have changed: see the difference after\n\tgo test ./codegen -update\n%s",
					firstDifference(data, got))
			}
		})
	}
}

// goldenUnit compiles the request that goldenRequest reads from text. structured is the text of the
// leaf before sums carry positions over from one segment to the next, and before a GPU's loops
// become launches. explicit is the text of the nest with explicit forms of loops, or "" if it has
// none.
func goldenUnit(t *testing.T, text string) (u *codegen.Unit, structured, explicit string) {
	t.Helper()
	r := goldenRequest(t, text)
	after := "inplace"
	if r.Target.Kind == codegen.CUDA {
		after = "simplify"
	}
	r.Ask.Trace = func(pass string, _ time.Duration, text func() string) {
		switch pass {
		case "positions":
			explicit = text()
		case after:
			structured = text()
		}
	}
	u, err := codegen.Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	if explicit == cin.Pretty(u.CIN) {
		explicit = ""
	}
	if s, err := cin.Parse(explicit); explicit != "" && (err != nil || cin.Pretty(s) != explicit) {
		t.Errorf("the explicit nest's text does not read back: %v", err)
	}
	return u, structured, explicit
}

// goldenNetwork describes how the statement is contracted, if the archive gives --network.
func goldenNetwork(u *codegen.Unit, text string) string {
	if !strings.Contains(text, "--network=") {
		return ""
	}
	return u.Network()
}

// goldenRequest reads a statement, formats and a schedule. A variable without a given size has size
// 1000.
func goldenRequest(t *testing.T, text string) codegen.Request {
	t.Helper()
	lines := strings.Fields(strings.ReplaceAll(strings.ReplaceAll(text, " ", ""), "\n", " "))
	s, err := notation.Parse(lines[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := notation.Check(s); err != nil {
		t.Fatal(err)
	}
	r := codegen.Request{Statement: codegen.Statement{Stmt: s, ComputeType: tensor.Float64},
		Tensors: codegen.Tensors{All: map[string]codegen.Tensor{}, Sizes: map[string]int64{}},
		Ask:     codegen.Ask{Verify: true}}
	for _, v := range notation.Normalize(s).Vars {
		r.Tensors.Sizes[v] = 1000
	}
	for _, u := range s.Tensors() {
		r.Tensors.All[u.Name] = goldenTensor(tensor.DenseOf(u.Order))
	}
	for _, line := range lines[1:] {
		if commands, ok := strings.CutPrefix(line, "-s="); ok {
			r.Ask.Schedule = append(r.Ask.Schedule, commands)
			continue
		}
		if line == "--target=cuda" {
			r.Target.Kind = codegen.CUDA
			continue
		}
		if tree, ok := strings.CutPrefix(line, "--network="); ok {
			r.Ask.Network = tree
			continue
		}
		if v, n, ok := strings.Cut(line, "="); ok {
			size, err := strconv.ParseInt(n, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if r.Tensors.Sizes[v] = size; v == "--intermediate-order" {
				r.Ask.IntermediateOrder = int(size)
			}
			continue
		}
		name, f, err := notation.ParseFormatFlag(line)
		if err != nil {
			t.Fatal(err)
		}
		r.Tensors.All[name] = goldenTensor(f)
	}
	return r
}

// goldenTensor describes a tensor with ten entries in each row and four in each fiber.
func goldenTensor(f tensor.Format) codegen.Tensor {
	t := codegen.Tensor{Format: f, Type: tensor.Float64, NNZ: 10000}
	for l, k := range f.Levels {
		t.Dims = append(t.Dims, 1000)
		t.PosWidth = append(t.PosWidth, 4)
		t.CrdWidth = append(t.CrdWidth, 4)
		if k != tensor.Dense && !f.AllDense() {
			t.Counts = append(t.Counts, 10000>>(2*(len(f.Levels)-1-l)))
		} else {
			t.Counts = append(t.Counts, 1000)
		}
	}
	return t
}

func firstDifference(want, got []byte) string {
	w, g := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for k := range min(len(w), len(g)) {
		if w[k] != g[k] {
			return fmt.Sprintf("line %d: got %q, want %q", k+1, g[k], w[k])
		}
	}
	return fmt.Sprintf("got %d lines, want %d", len(g), len(w))
}
