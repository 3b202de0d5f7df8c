package notation

import (
	"strings"
	"testing"
)

func TestParseFormatFlag(t *testing.T) {
	name, f, err := ParseFormatFlag("B:ds:1,0")
	if err != nil || name != "B" || f.String() != "ds:1,0" {
		t.Errorf("got %q %v %v", name, f, err)
	}
	for _, s := range []string{"", "B", ":ds", "B:dq", "B:d s"} {
		if _, _, err := ParseFormatFlag(s); err == nil {
			t.Errorf("ParseFormatFlag(%q) gave no error", s)
		}
	}
	_, _, err = ParseFormatFlag("B:dq")
	if want := "\n    B:dq\n       ^"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("caret: got %v, want suffix %q", err, want)
	}
}

func TestParseType(t *testing.T) {
	_, err := ParseType("flaot64")
	if err == nil || !strings.Contains(err.Error(), "did you mean float64?") {
		t.Errorf("got %v", err)
	}
}
