package argv

import (
	"slices"
	"testing"

	"github.com/urfave/cli/v2"
)

func TestValues(t *testing.T) {
	for _, c := range []struct {
		usage string
		want  []string
	}{
		{"`auto|always|never` when", []string{"auto", "always", "never"}},
		{"`native|x86-64-v2` what", []string{"native", "x86-64-v2"}},
		{"`auto|TREE` how", []string{"auto"}},
		{"`cpu` what", []string{"cpu"}},
		{"`0|1` the first", []string{"0", "1"}},
		{"`[T:]sum|error` what", nil}, {"`i:4` or", nil}, {"`j,i` the", nil}, {"`j` the", nil},
		{"`N` times", nil}, {"`FILE.json` writes", nil}, {"does", nil},
	} {
		if got := Values(&cli.StringFlag{Name: "x", Usage: c.usage}); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.usage, got, c.want)
		}
	}
}
