package cmd_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	// maxCommentRate is the largest accepted number of hard phrases in 1,000 words of a
	// package's comments.
	maxCommentRate = 2
	// maxPageRate is the same limit for all pages together.
	maxPageRate = 3
	// maxColumn is the last column that a line of Go may occupy. A tab and a character of several
	// bytes count as one column each.
	maxColumn = 100
	// maxWideShare is the accepted share of longer lines in a package: 0.2%, or one line in a
	// package of fewer than 500 lines.
	maxWideShare = 0.002
)

// hardPhrase is a kind of phrase that makes English hard to read.
type hardPhrase struct {
	name    string // what the test prints
	instead string // what to write
	match   string // an expression that finds the phrase in one line, in either case
	allowed string // an expression for the matches that are plain English, or empty
}

var hardPhrases = []hardPhrase{
	{"tells whether", "reports whether", `\b(tell|say)s? whether\b`, ""},
	{"of which, of whose", "two sentences, or the noun again",
		`\b(at|by|from|in|of|on|to|with) (which|whom|whose)\b`, ""},
	{"those of, that of", "the noun again",
		`\b(that|those) (at|from|in|of|ones?|that|which|with)\b`, ""},
	{"where it is, where there is", "if or when",
		`\bwhere (` + subjects + `) ?\w* ?(` + auxiliaries + `)\b`, ""},
	{"X is how, X is what", "a verb: returns, computes, lists",
		`^\w+ (is|are) (by|from|how|what|where|whether|which|why)\b`, ""},
	{"so many, as much", "the number", `\b(as|so) (few|many|much)\b`, ""},
	{"behind, beside", "after; besides, next to", `\b(behind|beside)\b`, ""},
	{"comes to, goes on", "reaches; continues", `\b(come|comes|came) to\b|\b(go|goes|went) on\b`, ""},
	{"is said, is told", "who says what", `\b(is|are|was|were) (asked|meant|said|spoken|told)\b`, ""},
	{"for none, nil for", "returns nil if there is none",
		`\b(by|for|of|with) none\b|\bnil (for|of|where)\b|\bfalse (for|of)\b`, ""},
	{"is no, are no", "is not a", `\b(is|are) no \w+`, `\b(is|are) no (longer|more\b)`},
	{"is to be", "must", `\b(is|are) to be\b`, ""},
	{"lies in, stands for", "is stored in, is in, is",
		`\b(lie|lies|lay|stand|stands|stood) (` + places + `)\b`, ""},
	{"at hand, all the same, in turn", "nothing: drop it",
		`\b(all the same|as a whole|at hand|in turn|the like)\b`, ""},
	{"has X be", "makes, sets",
		`\b(had|has|have) (\w+ ){1,4}(be|hold|keep|lie|look|read|run|take)\b`, ""},
	{"all but", "except", `\b(all|none|nothing|those|what)[^.]{0,30} but\b`, ""},
	{"as long as, as often as", "while, until, each time", `\bas (far|long|often|soon) as\b`, ""},
	{"; else", "a full sentence", `[;,] else\b`, ""},
	{"of what, with what", "the thing by its name", `\b(by|for|from|in|of|to|with) what\b`, ""},
	{"these, those without a noun", "the noun again",
		`\b(and|by|for|from|in|of|than|to|with) (it|them|these|this|those)\b[.,;:)]`, ""},
}

// Alternatives of the longer expressions in hardPhrases.
const (
	subjects = `a|all|an|it|no|nothing|none|one|several|some|that|the|there|these|they|this`

	auxiliaries = `are|can|do|does|had|has|have|is|was|were|would`

	places = `at|before|behind|beside|between|for|in|inside|on|outside|there|together|where`
)

// proseRoots are the folders with the Go packages that the test reads.
var proseRoots = []string{"cmd", "codegen", "io", "kernels", "scripts", "slurm", "spmd"}

// ceiling limits a package that is not clean yet.
type ceiling struct {
	rate float64 // hard phrases in 1,000 words; zero means maxCommentRate
	wide int     // lines past maxColumn; zero means maxWideShare
}

// unclean lists the packages that pass a limit today. Their values may fall and not rise. The
// test fails for a package that has become clean, so that its line is removed.
var unclean = map[string]ceiling{
	"codegen/emit/clike": {wide: 19},
	"codegen/emit/gopkg": {wide: 8},
}

// prose is what the test counts in one package or in the pages.
type prose struct {
	words, phrases  int
	lines, wide     int
	found, wideCode []string // where each phrase and each wide line is
}

// rate returns the number of hard phrases in 1,000 words.
func (p *prose) rate() float64 { return 1000 * float64(p.phrases) / float64(max(p.words, 1)) }

// mostWide returns how many lines of the package may pass maxColumn.
func (p *prose) mostWide() int { return max(1, int(maxWideShare*float64(p.lines))) }

// TestProseOfComments checks that the comments of each package have few hard phrases, and that
// few of its lines pass maxColumn. Files of tests and generated files are not read.
func TestProseOfComments(t *testing.T) {
	packages := map[string]*prose{}
	for _, root := range proseRoots {
		readTree(t, root, ".go", func(path string, text string) {
			if strings.HasSuffix(path, "_test.go") || isGenerated(text) {
				return
			}
			dir := filepath.Dir(path)
			if packages[dir] == nil {
				packages[dir] = &prose{}
			}
			packages[dir].addGo(t, path, text)
		})
	}
	if len(packages) < 50 {
		t.Fatalf("read %d packages, want at least 50", len(packages))
	}
	for dir := range unclean {
		if packages[dir] == nil {
			t.Errorf("unclean lists %s, which is not a package", dir)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		checkPackage(t, dir, packages[dir])
	}
}

// checkPackage compares the counts of one package with the limits or with its ceiling.
func checkPackage(t *testing.T, dir string, p *prose) {
	limit := unclean[dir]
	if most := max(limit.rate, maxCommentRate); p.rate() > most {
		t.Errorf("%s: %.1f hard phrases in 1,000 words of comments, want at most %.1f:\n%s",
			dir, p.rate(), most, strings.Join(p.found, "\n"))
	}
	if most := max(limit.wide, p.mostWide()); p.wide > most {
		t.Errorf("%s: %d of %d lines pass column %d, want at most %d:\n%s",
			dir, p.wide, p.lines, maxColumn, most, strings.Join(p.wideCode, "\n"))
	}
	if limit.rate > 0 && p.rate() <= maxCommentRate {
		t.Errorf("%s: the comments are clean: remove the rate from unclean", dir)
	}
	if limit.wide > 0 && p.wide <= p.mostWide() {
		t.Errorf("%s: the lines are short: remove the number of wide lines from unclean", dir)
	}
}

// TestProseOfPages checks that the README and the pages in docs have few hard phrases, and no
// conflict markers of a merge.
func TestProseOfPages(t *testing.T) {
	pages := &prose{}
	for _, root := range []string{"README.md", "docs"} {
		readTree(t, root, ".md", func(path, text string) {
			pages.addPage(path, text)
			if mark := conflict.FindString(text); mark != "" {
				t.Errorf("%s: got the conflict marker %q of a merge", path, mark)
			}
		})
	}
	if pages.words < 10_000 {
		t.Fatalf("read %d words, want at least 10,000", pages.words)
	}
	if pages.rate() > maxPageRate {
		t.Errorf("%.1f hard phrases in 1,000 words of pages, want at most %d:\n%s",
			pages.rate(), maxPageRate, strings.Join(pages.found, "\n"))
	}
}

// TestProseCounts checks the counting itself: each kind of phrase is found, plain English is
// not, and only comments are read.
func TestProseCounts(t *testing.T) {
	for _, c := range []struct {
		line  string
		kinds int
	}{
		{"equal tells whether both have the same levels", 1},
		{"the levels of which the first is dense", 1},
		{"the bounds are those of the operand", 1},
		{"nil where the operand is dense", 2},
		{"size is how wide a row is", 1},
		{"so many as there are ranks", 1},
		{"the file behind the name", 1},
		{"the sum comes to zero and the loop goes on", 2},
		{"rank 0 is told the size", 1},
		{"a level is no array", 1},
		{"the level is no longer dense, and no more is read", 0},
		{"the file is to be closed", 1},
		{"the values lie in one array", 1},
		{"the ranks send in turn", 1},
		{"has the other ranks read the file", 1},
		{"all ranks but the first", 1},
		{"as long as rows follow", 1},
		{"dense, else compressed", 1},
		{"the size of what was read", 1},
		{"the sum of them.", 1},
		{"equal reports whether both have the same levels.", 0},
	} {
		p := &prose{}
		p.addLine("x", 1, c.line)
		if p.phrases != c.kinds {
			t.Errorf("%q: %d hard phrases, want %d: %q", c.line, p.phrases, c.kinds, p.found)
		}
	}
	long := strings.Repeat("x", maxColumn)
	text := "// Package x stands in a file.\npackage x\n\n//go:generate lies in\n/* as long as */\n" +
		"const s = \"behind\" // beside s\n\n// " + long + "\nconst t = \"" + long + "\"\n\n" +
		"\t// " + long[4:] + "\n"
	p := &prose{}
	p.addGo(t, "x.go", text)
	if p.words != 10 || p.phrases != 2 || p.wide != 2 {
		t.Errorf("%d words, %d phrases, %d wide lines, want 10, 2, 2: %q %q",
			p.words, p.phrases, p.wide, p.found, p.wideCode)
	}
	p = &prose{}
	p.addPage("x.md", "lies in\n\n    behind\n```\nbeside\n```\nthe file `behind` X, as a whole\n")
	if p.words != 9 || p.phrases != 2 {
		t.Errorf("%d words, %d phrases, want 9 and 2: %q", p.words, p.phrases, p.found)
	}
}

// readTree calls read with the path below the repository's root and the text of each file
// whose name ends in ext. root is a folder or a file. Folders named testdata are not read.
func readTree(t *testing.T, root, ext string, read func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join("..", root), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ext:
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil {
			read(filepath.ToSlash(path[len("../"):]), string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// isGenerated reports whether the text of a Go file says before its package clause that it
// must not be edited.
func isGenerated(text string) bool {
	head, _, _ := strings.Cut(text, "\npackage ")
	return strings.Contains(head, "DO NOT EDIT")
}

// addGo counts the lines of one Go file, and the phrases in its comments. Comments between
// /* and */ are C code and are not read.
func (p *prose) addGo(t *testing.T, path, text string) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range f.Comments {
		for _, c := range group.List {
			line, ok := strings.CutPrefix(c.Text, "//")
			if ok && !strings.HasPrefix(line, "go:") {
				p.addLine(path, fset.Position(c.Pos()).Line, strings.TrimSpace(line))
			}
		}
	}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		p.lines++
		if n := utf8.RuneCountInString(line); n > maxColumn {
			p.wide++
			p.wideCode = append(p.wideCode, fmt.Sprintf("\t%s:%d: %d columns", path, i+1, n))
		}
	}
}

var conflict = regexp.MustCompile(`(?m)^(<<<<<<<|>>>>>>>) .*`)

var inlineCode = regexp.MustCompile("`[^`]*`")

// addPage counts the phrases in one page of Markdown. Blocks of code are not read, and code
// within a line counts as one word.
func (p *prose) addPage(path, text string) {
	fenced := false
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			fenced = !fenced
		case !fenced && !strings.HasPrefix(line, "    "):
			p.addLine(path, i+1, inlineCode.ReplaceAllString(line, "X"))
		}
	}
}

// addLine counts the words and the hard phrases in one line of prose.
func (p *prose) addLine(path string, number int, line string) {
	p.words += len(strings.Fields(line))
	for _, k := range compiledPhrases {
		n := len(k.match.FindAllString(line, -1))
		if k.allowed != nil {
			n -= len(k.allowed.FindAllString(line, -1))
		}
		if n > 0 {
			p.phrases += n
			p.found = append(p.found, fmt.Sprintf("\t%s:%d: %s (write %s): %s",
				path, number, k.name, k.instead, line))
		}
	}
}

// compiledPhrase is a hardPhrase whose expressions are compiled. allowed is nil if the phrase
// has no plain matches.
type compiledPhrase struct {
	hardPhrase
	match, allowed *regexp.Regexp
}

var compiledPhrases = compilePhrases()

func compilePhrases() []compiledPhrase {
	var all []compiledPhrase
	for _, h := range hardPhrases {
		c := compiledPhrase{hardPhrase: h, match: regexp.MustCompile("(?i)" + h.match)}
		if h.allowed != "" {
			c.allowed = regexp.MustCompile("(?i)" + h.allowed)
		}
		all = append(all, c)
	}
	return all
}
