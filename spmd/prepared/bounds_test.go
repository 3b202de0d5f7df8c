package prepared

import (
	"strings"
	"testing"

	_ "distaff/kernels/verified"
)

func TestWhichBound(t *testing.T) {
	sizes := map[string]int64{"i": 10, "j": 7}
	for _, c := range []struct{ schedule, want string }{
		{"bound(i,ib,10,MaxExact),bound(j, jb, 8, MaxExact)",
			"bound(j, jb, 8, MaxExact) in the schedule does not match the range: j runs from 0 to 7,"},
		{"bound(i,ib,9,MaxConstraint)",
			"bound(i,ib,9,MaxConstraint) in the schedule does not match the range: i runs from 0 to 10,"},
		{"bound(i,ib,1,MinExact)",
			"bound(i,ib,1,MinExact) in the schedule does not match the range: i runs from 0 to 10,"},
		{"bound(i,ib,0,MinExact),bound(j,jb,1,MinConstraint)",
			"bound(j,jb,1,MinConstraint) in the schedule does not match the range: j runs from 0 to 7,"},
		{"split(i,i0,i1,3),bound(i0,b,3,MaxExact),bound(j,jb,7,MaxExact)",
			"bound(i0,b,3,MaxExact) in the schedule does not match the range"},
		{"split(i,i0,i1,3),bound(i0,a,3,MaxExact),bound(i1,b,2,MaxExact)",
			"one of bound(i0,a,3,MaxExact), bound(i1,b,2,MaxExact) in the schedule does not match the range"},
	} {
		got, at := whichBound([]string{c.schedule}, sizes)
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.schedule, got, c.want)
		}
		if s := at.String(); !strings.Contains(c.want, s) {
			t.Errorf("%s: the place is that of %s", c.schedule, s)
		}
	}
}
