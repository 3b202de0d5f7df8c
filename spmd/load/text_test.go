package load_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"distaff/codegen/place"
	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/load"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
)

// list returns a tensor's entries as lines of text, with values as bits.
func list(t *tcs.Tensor) []string {
	var out []string
	size := int(t.Header.Type.Size())
	t.Entries(func(at []int64, i int64) bool {
		out = append(out, fmt.Sprint(at, " ", t.Vals.Bytes()[int(i)*size:int(i+1)*size]))
		return true
	})
	return out
}

// uneven cuts every mode of a tensor into three uneven ranges, one of them empty. The variable of
// the first mode determines the rank.
func uneven(dims []int64, ranks int) *partition.Partition {
	b := &place.Blocking{}
	cuts := make([]int, len(dims))
	for m, d := range dims {
		cuts[m] = m
		b.Vars = append(b.Vars, place.BlockVar{Name: fmt.Sprint("v", m),
			Cuts: []int64{0, d / 3, d / 3, d/3 + (d+1)/2, d}})
	}
	if len(dims) > 0 {
		b.Map = []int{0}
	}
	part, _ := (&plan.Problem{Blocking: b, Ranks: ranks}).Partition(cuts)
	return part
}

// loaded loads a text file at several ranks. It returns the entries of all blocks, in the order of
// blocks, or the job's error.
func loaded(path string, opt coo.Options, dims []int64, kinds string, ranks int) ([]string, error) {
	var mu sync.Mutex
	blocks := map[plan.Block][]string{}
	err := local.Run(context.Background(), ranks, func(c comm.Comm) error {
		whole, err := convert.Open(path, opt)
		if err != nil {
			return err
		}
		head := convert.HeadOf(whole)
		whole.Close()
		if head == nil {
			return errors.New("no head")
		}
		part, err := convert.OpenPart(path, head, c.Rank(), c.Size(), opt)
		if err != nil {
			return err
		}
		defer part.Close()
		dims := dims
		if dims == nil {
			if dims, err = load.Sizes(c, part); err != nil {
				return err
			}
		}
		part.SetDims(dims, nil)
		g := &load.Target{Partition: uneven(dims, c.Size()),
			Spec: coo.Spec{Format: tensor.FormatOf(kinds, tensor.Identity(len(dims))), Dims: dims,
				Type: opt.Type,
				Name: path}}
		own, err := g.Scatter(c, part)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for b, t := range own {
			if err := t.Check(); err != nil {
				return err
			}
			blocks[b] = list(t)
			t.Close()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out []string
	for b := range plan.Block(len(blocks)) {
		out = append(out, fmt.Sprint("block ", b))
		out = append(out, blocks[b]...)
	}
	return out, nil
}

// rankOf matches the prefix that a job of several ranks adds to a rank's message.
var rankOf = regexp.MustCompile(`^\[\d+\] `)

// message returns an error's text and exit code, without the rank.
func message(err error) string {
	if err == nil {
		return ""
	}
	code := 1
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		code = coded.ExitCode()
	}
	return fmt.Sprintf("%s (exit %d)", rankOf.ReplaceAllString(err.Error(), ""), code)
}

// TestTextInParts reads files at 1 to 8 ranks. Blocks must equal the blocks of a single reader to
// the last bit, and so must messages.
func TestTextInParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	var big, twice, array, symm strings.Builder
	for range 300 {
		fmt.Fprintf(&big, "%d %d %v\n", 1+rng.IntN(40), 1+rng.IntN(30), rng.NormFloat64())
		fmt.Fprintf(&twice, "%d\t%d   %v # and more\r\n", 1+rng.IntN(4), 1+rng.IntN(3), rng.NormFloat64())
	}
	for k := range 35 {
		fmt.Fprintln(&array, k*(k%3))
	}
	for range 60 {
		i := 1 + rng.IntN(9)
		fmt.Fprintf(&symm, "%d %d %d\n", i, 1+rng.IntN(i), rng.IntN(100))
	}
	const banner = "%%MatrixMarket matrix "
	long := strings.Repeat("x", 5000)
	tests := []struct{ name, ext, text string }{
		{"plain", ".tns", big.String()},
		{"duplicates, tabs and CRLF", ".tns", twice.String()},
		{"no end of the last line", ".tns", "1 1 1\n2 2 2\n3 1 4"},
		{"shorter than ranks", ".tns", "1 1 1"},
		{"comments and blanks", ".tns",
			"# " + long + "\n\n1 1 1 # " + long + "\n\n\n   \n# " + long + "\n2 3 4\n#\n"},
		{"one long line", ".tns", "1 1 1\n3 2 " + strings.Repeat(" ", 9000) + "5\n1 1 2\n"},
		{"comments only after", ".tns", "2 2 1\n" + strings.Repeat("# no more\n", 400)},
		{"ParTI", ".tns", "# sizes first\n2\n7 9\n" + strings.Repeat("7 9 .5\n1 2 3\n", 50)},
		{"complex", ".tns", "# distaff: complex values, real and imaginary part\n" + strings.Repeat(
			"2 3 .5 1e3\n1 2 3 4\n", 20)},
		{"word in a coordinate", ".tns", big.String() + "1 x 3\n" + big.String()},
		{"word in a value, twice", ".tns",
			big.String() + "1 1 3\n2 2 two\n" + big.String() + "3 3 three\n"},
		{"zero coordinate at the end", ".tns", big.String() + "0 1 3"},
		{"column too few at the start", ".tns", "1 2 3\n1 2\n" + big.String()},
		{"column too many", ".tns", big.String() + "1 2 3 4\r\n" + big.String()},
		{"past ParTI's size", ".tns", "2\n40 29\n" + big.String()},
		{"coordinate", ".mtx", banner + "coordinate real general\n% hi\n40 30 300\n" + big.String()},
		{"pattern", ".mtx", banner + "coordinate pattern general\n3 3 3\n1 1\n2 2\n3 1\n"},
		{"integer symmetric", ".mtx", banner + "coordinate integer symmetric\n9 9 60\n" + symm.String()},
		{"hermitian", ".mtx", banner +
			"coordinate complex hermitian\n9 9 3\n1 1 2 0\n2 1 3 4\n9 7 -1 -2\n"},
		{"entries in both triangles", ".mtx",
			banner + "coordinate real symmetric\n9 9 6\n2 1 1\n3 1 2\n4 1 3\n2 3 4\n2 4 5\n2 3 6\n"},
		{"both triangles", ".mtx",
			banner + "coordinate real symmetric\n9 9 6\n2 1 1\n3 1 2\n4 1 3\n2 3 4\n2 4 5\n1 3 6\n"},
		{"a mistake and both triangles", ".mtx",
			banner + "coordinate real symmetric\n9 9 4\n2 1 1\n1 2 2\n4 1 3\n2 x 4\n"},
		{"too few of both triangles", ".mtx",
			banner + "coordinate real symmetric\n9 9 4\n2 1 1\n1 2 2\n4 1 3\n"},
		{"pattern with ones", ".mtx",
			banner + "coordinate pattern general\n3 3 3\n% c\n1 1 1\n2 2 1\n3 1 1\n"},
		{"pattern with a two", ".mtx",
			banner + "coordinate pattern general\n3 3 3\n% c\n1 1 1\n2 2 1\n3 1 2\n"},
		{"hermitian diagonal", ".mtx",
			banner + "coordinate complex hermitian\n9 9 3\n2 1 3 4\n9 7 -1 -2\n\n1 1 2 1\n"},
		{"too many entries", ".mtx", banner + "coordinate real general\n40 30 131\n" + big.String()},
		{"one entry too many", ".mtx", banner + "coordinate real general\n40 30 299\n" + big.String()},
		{"too few entries", ".mtx",
			banner + "coordinate real general\n40 30 301\n" + big.String() + "% no more"},
		{"too few entries, no end", ".mtx",
			banner + "coordinate real general\n3 3 4\n1 1 1\n2 2 2\n3 3 3"},
		{"no entries", ".mtx", banner + "coordinate real general\n3 3 0\n"},
		{"mistake after too many", ".mtx",
			banner + "coordinate real general\n40 30 200\n" + big.String() + "1 1 x\n"},
		{"mistake before too many", ".mtx",
			banner + "coordinate real general\n40 30 301\n1 1 x\n" + big.String() + "1 1 1\n"},
		{"past the sizes", ".mtx", banner + "coordinate real general\n40 29 300\n" + big.String()},
		{"array", ".mtx", banner + "array integer general\n5 7\n" + array.String()},
		{"array symmetric", ".mtx",
			banner + "array real symmetric\n5 5\n" + strings.Join(
				strings.SplitAfter(array.String(), "\n")[:15], "")},
		{"array skew", ".mtx", banner + "array real skew-symmetric\n5 5\n" + strings.Join(
			strings.SplitAfter(array.String(), "\n")[:10], "")},
		{"array complex", ".mtx",
			banner + "array complex general\n2 3\n1 2\n%\n3 4\n5 6\n7 8\n9 1\n\n2 3\n"},
		{"array too long", ".mtx", banner + "array integer general\n5 6\n" + array.String()},
		{"array symmetric too long", ".mtx", banner + "array real symmetric\n5 5\n" + array.String()},
		{"array too short", ".mtx", banner + "array integer general\n5 8\n" + array.String()},
		{"array with a word", ".mtx",
			banner + "array integer general\n5 7\n" + strings.Replace(array.String(), "\n44\n", "\n44 x\n",
				1)},
		{"TACO tensor", ".ttx", banner[:14] +
			" tensor coordinate real general\n3 4 2\n1 1 5.5\n3 4 .25\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "in"+test.ext)
			if err := os.WriteFile(path, []byte(test.text), 0o666); err != nil {
				t.Fatal(err)
			}
			opt := coo.Options{Order: 2}
			want, dims, werr := whole(path, opt, "ss")
			for ranks := 1; ranks <= 8; ranks++ {
				d := dims
				if test.ext == ".tns" && ranks%2 == 0 {
					d = nil // the ranks find the sizes
				}
				got, err := loaded(path, opt, d, "ss", ranks)
				if message(err) != message(werr) {
					t.Fatalf("%d ranks: got %s\nwant %s", ranks, message(err), message(werr))
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%d ranks: got %q\nwant %q", ranks, got, want)
				}
			}
			if werr == nil {
				if got, err := loaded(path, opt, dims, "dd", 3); err != nil || len(got) == 0 {
					t.Fatalf("dense: %v, %v", got, err)
				}
				// A row with an entry in one block has room in all blocks.
				want, _, err := whole(path, opt, "sd")
				if err != nil {
					t.Fatal(err)
				}
				for ranks := 1; ranks <= 4; ranks++ {
					if got, err := loaded(path, opt, dims, "sd", ranks); err != nil || !slices.Equal(got, want) {
						t.Fatalf("sd, %d ranks: got %q, %v\nwant %q", ranks, got, err, want)
					}
				}
			}
		})
	}
}

// whole reads the file as one stream, and returns the blocks as loaded lists them.
func whole(path string, opt coo.Options, kinds string) (out []string, dims []int64, err error) {
	s, err := convert.Open(path, opt)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	var exact bool
	if dims, exact = s.Dims(); !exact {
		var b coo.Batch
		for err == nil {
			err = s.Next(&b)
		}
		if err != io.EOF {
			return nil, nil, err
		}
		dims, _ = s.Dims()
		if err := s.Rewind(); err != nil {
			return nil, nil, err
		}
		s.(coo.Sizable).SetDims(dims, nil)
	}
	t, err := coo.Assemble(s,
		coo.Spec{Format: tensor.FormatOf(kinds, tensor.Identity(len(dims))), Dims: dims, Name: path},
		coo.Config{})
	if err != nil {
		return nil, dims, err
	}
	defer t.Close()
	part := uneven(dims, 1)
	for b := range plan.Block(part.Pieces()) {
		out = append(out, fmt.Sprint("block ", b))
		v, err := t.View(tcs.Block{Box: part.Box(b, dims)})
		if err != nil {
			return nil, dims, err
		}
		out = append(out, list(v)...)
		v.Close()
	}
	return out, dims, nil
}
