package main

import (
	"reflect"
	"testing"
)

func TestFirstTable(t *testing.T) {
	const page = "# Text\n\n```\nkernel   threads  distaff ms  by hand ms  ratio  limit\n" +
		"SpMM 32 a    1    82.24    84.04    0.98   1.05\nTTV d   2    1.70   1.62    1.05   1.05 over\n```\n\n```\nkernel x\nSpMV a  1  1  1  1.00  1.05\n```\n"
	got, err := firstTable(page)
	if want := []line{{"SpMM 32 a", 1, 0.98}, {"TTV d", 2, 1.05}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for _, bad := range []string{"", "a page", "```\nkernel threads\n```\n"} {
		if got, err := firstTable(bad); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}
