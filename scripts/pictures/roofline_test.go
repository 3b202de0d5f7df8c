package main

import (
	"reflect"
	"testing"
)

func TestRoofOf(t *testing.T) {
	const limits = "| reads from memory | 56.8 GB/s |\n| multiply-adds | 272 Gflop/s |\n"
	const jobs = "| job | flop/byte | Gflop/s |\n| --- | ---: | ---: |\n" +
		"| SpMM, 32 columns | 1.006 | 10.5 |\n"
	want := roof{56.8e9, 272e9, []point{{"SpMM, 32 columns", 1.006, 10.5e9}}}
	got, err := roofOf("Words.\n\n" + limits + "\n" + jobs)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for _, bad := range []string{"", limits, jobs, limits + "\n| job | 1.2.3 | 4 |\n"} {
		if got, err := roofOf(bad); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}
