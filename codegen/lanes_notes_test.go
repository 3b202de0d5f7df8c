package codegen_test

import (
	"strings"
	"testing"

	"distaff/codegen"
)

// TestScalarLanes: a note says which lanes of a schedule run one by one because they cannot run
// together. Other lanes get no note.
func TestScalarLanes(t *testing.T) {
	for _, c := range []struct{ request, want string }{
		{
			"C(i,k)=A(i,j)*B(j,k)\nA:ds\n-s=pos(j,p,A),split(p,p0,p1,8),parallelize(p0,CPUThread,Atomics),parallelize(k,CPUVector,NoRaces)",
			"the lanes of k add to C(i,k) atomically and so one after another; with Temporary instead of Atomics they would add together"},
		{
			"C(i,k)=A(i,j)*B(j,k)\nA:ds\n-s=fuse(i,j,f),pos(f,p,A),split(p,p0,p1,8),parallelize(p0,CPUThread,Atomics),parallelize(k,CPUVector,NoRaces)",
			"the lanes of k add to C(i,k) one after another in the first and last row of a tile, and atomically if another tile has a part of the row"},
		{
			"C(i,k)=A(i,j)*B(j,k)\nA:ds\n-s=pos(j,p,A),split(p,p0,p1,8),parallelize(p0,CPUThread,Temporary),parallelize(k,CPUVector,NoRaces)", ""},
		{
			"C(i,k)=A(i,j)*B(j,k)\nA:ds\n-s=parallelize(i,CPUThread,NoRaces),parallelize(k,CPUVector,NoRaces)", ""},
		{"y(i)=A(i,j)*x(j)\nA:ds\n-s=parallelize(j,CPUVector,ParallelReduction)", ""},
	} {
		u, err := codegen.Compile(goldenRequest(t, c.request))
		if err != nil {
			t.Errorf("%s: %v", c.request, err)
			continue
		}
		if got := strings.Join(u.Notes, "; "); got != c.want {
			t.Errorf("%s: got the notes %q, want %q", c.request, got, c.want)
		}
	}
}
