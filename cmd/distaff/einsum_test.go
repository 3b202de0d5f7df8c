package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"distaff/io/pythontest"
)

// einsumCases is a Python program that makes random einsum strings with their operands and results.
const einsumCases = `
import json, random, numpy as np
rng = np.random.default_rng(1)
random.seed(1)
cases = []
for case in range(150):
    letters = random.sample("abcXYij", random.randint(1, 4))
    size = {c: random.randint(2, 4) for c in letters}
    dots = random.random() < .4
    tail = [random.randint(1, 3) for _ in range(random.randint(0, 2))]
    words, arrays = [], []
    for k in range(random.randint(1, 3)):
        s = [random.choice(letters) for _ in range(random.randint(0, 3))]
        shape = [1 if random.random() < .1 else size[c] for c in s]
        shape = [shape[s.index(c)] for c in s]
        if dots and random.random() < .8:
            r, p = random.randint(0, len(tail)), random.randint(0, len(s))
            e = [1 if random.random() < .2 else n for n in tail[len(tail) - r:]]
            s, shape = s[:p] + ["..."] + s[p:], shape[:p] + e + shape[p:]
        words.append((" " if random.random() < .1 else "").join(s))
        arrays.append(rng.integers(-3, 4, size=shape).astype(float))
    text = ",".join(words)
    if random.random() < .6:
        have = [c for c in letters if c in text]
        out = random.sample(have, random.randint(0, len(have)))
        if "..." in text and random.random() < .9:
            out.insert(random.randint(0, len(out)), "...")
        text += "->" + "".join(out)
    files = []
    for k, a in enumerate(arrays):
        files.append("%d.%d.npy" % (case, k))
        np.save(files[-1], a)
    try:
        want = np.einsum(text, *arrays)
        cases.append({"Text": text, "Files": files, "Shape": list(want.shape), "Values": want.ravel().tolist()})
    except ValueError:
        cases.append({"Text": text, "Files": files, "Refused": True})
print(json.dumps(cases))
`

// TestEinsumAsNumPy runs random einsum strings and compares the results with NumPy's.
func TestEinsumAsNumPy(t *testing.T) {
	python := pythontest.Find(t, "import numpy")
	dir := t.TempDir()
	c := exec.Command(python, "-c", einsumCases)
	c.Dir = dir
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Text    string
		Files   []string
		Shape   []int
		Values  []float64
		Refused bool
	}
	if err := json.Unmarshal(out, &cases); err != nil {
		t.Fatal(err)
	}
	refused := 0
	compare := `import sys, json, numpy as np
bad = []
for k, c in enumerate(json.load(open("cases.json"))):
    if not c["Refused"]:
        got = np.load("out%d.npy" % k)
        if list(got.shape) != c["Shape"] or got.ravel().tolist() != c["Values"]:
            bad.append("%s: got %s, want %s of %s" % (c["Text"], got, c["Values"], c["Shape"]))
print("\n".join(bad), end="")`
	for k, c := range cases {
		args := []string{"run", "--einsum", c.Text, "--target=interpreter", "-q",
			"-o=" + filepath.Join(dir, "out"+strconv.Itoa(k)+".npy")}
		for _, f := range c.Files {
			args = append(args, filepath.Join(dir, f))
		}
		code, _, words := inProcess(args...)
		if want := map[bool]int{true: 2}[c.Refused]; code != want {
			t.Errorf("%s: got exit code %d, want %d\n%s", c.Text, code, want, words)
		}
		if c.Refused {
			refused++
		}
	}
	if refused < 2 || refused > len(cases)/4 {
		t.Errorf("NumPy refuses %d of %d strings", refused, len(cases))
	}
	text, _ := json.Marshal(cases)
	if err := os.WriteFile(filepath.Join(dir, "cases.json"), text, 0o666); err != nil {
		t.Fatal(err)
	}
	c = exec.Command(python, "-c", compare)
	c.Dir = dir
	bad, err := c.CombinedOutput()
	if err != nil || len(bytes.TrimSpace(bad)) > 0 {
		t.Errorf("%s %v", bad, err)
	}
}
