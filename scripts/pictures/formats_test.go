package main

import (
	"reflect"
	"testing"
)

func TestArrays(t *testing.T) {
	for _, c := range []struct {
		levels string
		order  [2]int
		want   []array
	}{
		{"ds", [2]int{0, 1}, []array{{"pos of level 1", []string{"0", "2", "2", "4", "5"}},
			{"crd of level 1", []string{"0", "3", "1", "3", "4"}},
			{"values", []string{"5", "1", "7", "2", "4"}}}},
		{"ds", [2]int{1, 0}, []array{{"pos of level 1", []string{"0", "1", "2", "2", "4", "5"}},
			{"crd of level 1", []string{"0", "2", "0", "2", "3"}},
			{"values", []string{"5", "7", "1", "2", "4"}}}},
		{"ss", [2]int{0, 1}, []array{{"pos of level 0", []string{"0", "3"}},
			{"crd of level 0", []string{"0", "2", "3"}},
			{"pos of level 1", []string{"0", "2", "4", "5"}},
			{"crd of level 1", []string{"0", "3", "1", "3", "4"}},
			{"values", []string{"5", "1", "7", "2", "4"}}}},
	} {
		if got := arrays(c.levels, c.order); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:%v: got %v, want %v", c.levels, c.order, got, c.want)
		}
	}
}
