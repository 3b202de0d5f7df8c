package interp_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// threadAccess is an access of a thread to an element, after some barriers of its block and some of
// its warp. Its kind is 0 for a load, 1 for a store and 2 for an atomic store.
type threadAccess struct {
	kind, elem, block, thread, barriers, warpBarriers int
}

// races implements the definition: two accesses race if different threads make them to the same
// element, they are not both loads, not both atomic, and no barrier of the block separates them,
// nor one of the warp if both threads are in it.
func races(list []threadAccess) bool {
	for i, p := range list {
		for _, q := range list[:i] {
			switch {
			case p.elem != q.elem || p.block == q.block && p.thread == q.thread:
			case p.kind == q.kind && p.kind != 1:
			case p.block != q.block:
				return true
			case p.barriers != q.barriers:
			case p.thread/32 != q.thread/32 || p.warpBarriers == q.warpBarriers:
				return true
			}
		}
	}
	return false
}

// TestThreadRaces draws programs of a few accesses and barriers, and compares the interpreter with
// races.
func TestThreadRaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	found := 0
	const programs = 2500
	for range programs {
		shared := rng.IntN(2) == 0
		var body strings.Builder
		array := "x"
		if shared {
			array = "u"
			body.WriteString("shared u float64[2]\n if t == 0 {\n u[0] = 0.0\n u[1] = 0.0\n }\n barrier\n")
		}
		body.WriteString("var a float64 = 0.0\n")
		var list []threadAccess
		barriers, warpBarriers := 0, 0
		for range 3 + rng.IntN(5) {
			switch rng.IntN(7) {
			case 0:
				body.WriteString("barrier\n")
				barriers++
			case 1:
				body.WriteString("barrier warp\n")
				warpBarriers++
			case 2: // threads meet, and nothing is ordered
				body.WriteString("shuffle a = a, 1\n")
			default:
				p := threadAccess{kind: []int{0, 0, 1, 2}[rng.IntN(4)], elem: rng.IntN(2),
					thread: []int{0, 0, 1, 1, 32, 33}[rng.IntN(6)], barriers: barriers, warpBarriers: warpBarriers}
				what := []string{"a = %s[%d]", "%s[%d] = 1.0", "atomic %s[%d] += 1.0"}[p.kind]
				at := fmt.Sprintf("t == %d", p.thread)
				if !shared { // else each block does it, in memory of its own
					p.block = rng.IntN(8) / 7
					at += fmt.Sprintf(" && b == %d", p.block)
				}
				list = append(list, p)
				fmt.Fprintf(&body, "if "+at+" {\n "+what+"\n }\n", array, p.elem)
			}
		}
		want := races(list)
		if want {
			found++
		}
		for seed := range uint64(3) {
			_, err := launched(t, body.String(), make([]float64, 2), make([]int32, 1), seed)
			if got := err != nil && strings.Contains(err.Error(), "race in launch kernel"); got != want ||
				err != nil && !got {
				t.Fatalf("got %v, want a race: %v, in\n%s", err, want, body.String())
			}
		}
	}
	if found < programs/10 || found > programs*9/10 {
		t.Errorf("%d of %d programs race", found, programs)
	}
}
