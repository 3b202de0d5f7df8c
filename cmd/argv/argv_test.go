package argv

import (
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

var table = NewTable([]cli.Flag{
	&cli.StringSliceFlag{Name: "format", Aliases: []string{"f"}},
	&cli.StringSliceFlag{Name: "input", Aliases: []string{"i"}},
	&cli.StringFlag{Name: "memory-limit"},
	&cli.StringFlag{Name: "repeat", Usage: "`N` times"},
	&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}},
	&cli.BoolFlag{Name: "check"},
	&cli.StringFlag{Name: "network", Hidden: true},
})

func TestArrange(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"S -f=A:ds", "--format=A:ds -- S"},
		{"-f A:ds S", "--format=A:ds -- S"},
		{"--f A:ds S --f=B:ss:1,0", "--format=A:ds --format=B:ss:1,0 -- S"},
		{"-format=A:ds", "--format=A:ds"},
		{"-v S --check", "--verbose --check -- S"},
		{"--check=false S", "--check=false -- S"},
		{"-- -f S", "-- -f S"},
		{"a - b", "-- a - b"},
		{"-.mtx -f=x -.tns", "--format=x -- -.mtx -.tns"},
		{"-i=B:-.tns -i -.tns", "--input=B:-.tns --input=-.tns"},
		{"-f=", "--format="},
		{"--network=direct", "--network=direct"},
		{"-i=a=b", "--input=a=b"},
		{"-i=a -i=b --repeat=3 --repeat 3 -v --verbose",
			"--input=a --input=b --repeat=3 --repeat=3 --verbose --verbose"},
	} {
		a, err := table.Arrange(strings.Fields(c.in))
		if err != nil {
			t.Errorf("%q: %v", c.in, err)
			continue
		}
		if got := a.List(); !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}

func TestArrangeErrors(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"S --repeet=3", `there is no flag "--repeet"; did you mean --repeat?`},
		{"S --mem=3G", `there is no flag "--mem"; did you mean --memory-limit?`},
		{"S --netwrk=3", `there is no flag "--netwrk"`},
		{"S -time=10",
			`there is no flag "-time"; instead of TACO's flag use --repeat=N with --stats=FILE.json, which has the times`},
		{"S -write-source=f.c",
			`there is no flag "-write-source"; instead of TACO's flag use distaff compile STATEMENT --emit=c --out=FILE.c`},
		{"S -print-compute",
			`there is no flag "-print-compute"; instead of TACO's flag use distaff compile STATEMENT --emit=c`},
		{"S -cuda", `there is no flag "-cuda"; instead of TACO's flag use --target=cuda`},
		{"S -nthreads=4", `there is no flag "-nthreads"; instead of TACO's flag use --threads=N`},
		{"S -c", `there is no flag "-c"; instead of TACO's flag use no flag: one leaf both assembles and computes`},
		{"S --zzz", `there is no flag "--zzz"`},
		{"S -z", `there is no flag "-z"`},
		{"S --repeat", "--repeat must have a value: --repeat=N"},
		{"S --repeat=", "--repeat=: got no value, want --repeat=N"},
		{"S --memory-limit=", "--memory-limit=: got no value, want --memory-limit=VALUE"},
		{"S -f --check", "-f must have a value: -f=VALUE"},
		{"S --repeat=3 --check --repeat 4",
			"got both --repeat=3 and --repeat=4, want one value for --repeat"},
		{"S -v --verbose=false", "got both -v and --verbose=false, want one value for --verbose"},
		{"S --check=3", `--check: got "3", want either no value, or true or false`},
	} {
		_, err := table.Arrange(strings.Fields(c.in))
		if err == nil || err.Error() != c.want {
			t.Errorf("%q: got %v, want %s", c.in, err, c.want)
			continue
		}
		if code := err.(interface{ ExitCode() int }).ExitCode(); code != 2 {
			t.Errorf("%q: exit code %d, want 2", c.in, code)
		}
	}
}

func TestPositional(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int
	}{{"run S", 0}, {"-v run S", 1}, {"-f A:ds run", 2}, {"-f=A:ds run", 1}, {"-v", -1}, {"--", -1},
		{"-- run", 1}, {"", -1}} {
		if got := table.Positional(strings.Fields(c.in)); got != c.want {
			t.Errorf("%q: got %d, want %d", c.in, got, c.want)
		}
	}
}
