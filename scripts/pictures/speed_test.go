package main

import (
	"reflect"
	"testing"
)

func TestTables(t *testing.T) {
	const page = "# Text\n\n### A processor\n\nWords.\n\n```\nkernel  threads distaff median by hand median peer best median of hand of peer\n" +
		"SpMM 32 a                          1     82.24     83.00     84.04     85.00   mkl           120.10    121.00     0.98     0.69\n" +
		"MTTKRP 32 mode 1 c, one copy       2      1.70      1.80      1.62      1.70   -                  -         -     1.05        - over hand\n" +
		"\nbest of each                 threads    distaff      eigen\nSpMM 32 a                          1      82.24      90.10\n```\n\n" +
		"### Another\n\n```\nSpMV a   1  1.00  1.10  2.00  2.20   eigen  3.00  3.30  0.50  " +
		"0.33\n```\n\n### None\n\nNo table.\n"
	got, err := tables(page)
	want := []run{
		{"A processor", []line{{"SpMM 32 a", 1, 82.24, 84.04, 120.10, "mkl"},
			{"MTTKRP 32 mode 1 c, one copy", 2, 1.70, 1.62, 0, ""}}},
		{"Another", []line{{"SpMV a", 1, 1, 2, 3, "eigen"}}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if got := label(want[0].lines,
		"MTTKRP 32 mode 1 c, one copy"); got != "MTTKRP 32 mode 1 c, one copy (by hand)" {
		t.Errorf("got the label %q", got)
	}
	for _, bad := range []string{"", "a page", "### A processor\n```\nkernel threads\n```\n"} {
		if got, err := tables(bad); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}
