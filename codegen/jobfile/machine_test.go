package jobfile

import (
	"strings"
	"testing"

	"distaff/codegen/place"
)

// TestMachines checks grids and hierarchies, placements over them, and statements that are
// distributed.
func TestMachines(t *testing.T) {
	f := checked(t, `param q = 2
machine N(q, p/q)
machine H = "nodes=2x2;gpus=4"
tensor A(8, 8): dd place (x,y) -> N(y,0) from dense
tensor B(8, 8): dd place (x,y) -> nodes(x,*); (x,y) -> gpus(y) from dense
tensor c(8): d place (x) -> M(x) from dense
C(i,k) = A(i,j) * B(j,k)
  distribute({i,k}, {io,ko}, {ii,ki}, H.nodes)
  divide(j, jo, ji, H.gpus.x)
  rotate(jo, {io,ko}, jr)
  communicate({A,B}, jr)
d(i) = A(i,j) * c(j)
  distribute(i)
e(i) = A(i,j) * c(j)
place B (x,y) -> M(*)
`)
	for n, want := range map[string]string{"A": "N 2x3", "B": "H nodes=2x2;gpus=4", "c": "M 6"} {
		m, err := f.MachineOf(f.Tensor(n).Placement.Placement).Resolve(6, nil)
		if err != nil || m.Name+" "+m.String() != want {
			t.Errorf("%s lies over %v, %v, want %s", n, m, err, want)
		}
	}
	var names []string
	for s := range f.Statements() {
		if m := s.Machine(); m != nil {
			names = append(names, m.Name)
		} else {
			names = append(names, "none")
		}
	}
	if got := strings.Join(names, " "); got != "H N none" {
		t.Errorf("the statements are distributed over %s, want H N none", got)
	}
	again := checked(t, f.String())
	if again.String() != f.String() {
		t.Errorf("printed and read: got\n%s\nwant\n%s", again, f)
	}
}

// TestMachineTooLarge checks a machine that is too large for the number of ranks that a run has.
func TestMachineTooLarge(t *testing.T) {
	f := checked(t, "machine N(p*p, p*p)\n")
	_, err := f.Items[0].(*Machine).Resolve(1<<20, nil)
	want := "job.dst:1:1: machine N: got a machine with too many points, want at most 2147483647"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestMachineOf checks that MachineOf returns nil for a placement that Check refuses.
func TestMachineOf(t *testing.T) {
	f := checked(t, "machine N(2)\n")
	p, _, err := place.ParsePlacement("(x) -> K(x)", 0, 11)
	if err != nil || f.MachineOf(p) != nil {
		t.Errorf("got %v, %v", f.MachineOf(p), err)
	}
}
