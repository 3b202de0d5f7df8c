package spmd_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"distaff/codegen/format"
	"distaff/io/tcs"
)

// The letter of a level kind means the same to the compiler and to files.
func TestLevelKindsAgree(t *testing.T) {
	for k := range 256 {
		if letter := byte(k); format.Kind(letter).Valid() != containsByte(tcs.LevelLetters, letter) {
			t.Errorf("%q is a level kind to one of the compiler and files only", letter)
		}
	}
	for _, letter := range []byte(tcs.LevelLetters) {
		c, k := format.Kind(letter).Caps(), tcs.KindOf(letter)
		if c.HasPos != k.HasPos() || c.HasCrd != k.HasCrd() || c.Unique == k.Repeats ||
			c.Padded != k.Padded ||
			c.Locate != (k.Form == tcs.Full) || c.Branchless != (k.Form == tcs.Single) {
			t.Errorf("%c: the compiler has %+v, files have %+v", letter, c, k)
		}
	}
}

// The pages of the format and of the flags have a row for each letter.
func TestLevelKindsDocumented(t *testing.T) {
	for page, row := range map[string]string{"../docs/tcs.md": "\n| `%c` ",
		"../docs/reference.md": "\n| `%c` | "} {
		doc, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, letter := range []byte(tcs.LevelLetters) {
			if !strings.Contains(string(doc), fmt.Sprintf(row, letter)) {
				t.Errorf("%s has no row for level kind %c", page, letter)
			}
		}
	}
}

func containsByte(s string, b byte) bool {
	for i := range len(s) {
		if s[i] == b {
			return true
		}
	}
	return false
}
