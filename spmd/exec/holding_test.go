package exec

import (
	"testing"

	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/plan"
	"distaff/spmd/reduce"
)

// TestUnionOfOneStep checks that leaves that add in place use a union even for the pattern of a
// single step, and that the memory is forecast.
func TestUnionOfOneStep(t *testing.T) {
	x,
		err := tcs.New(&tcs.Shape{Header: tcs.Header{Dims: []int64{9}, Type: tensor.Float64},
		Format: tensor.FormatOf("s", []int{0}), Counts: []int64{2}}, nil, "A")
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	copy(tcs.Slice[int32](x.Levels[0].Pos), []int32{0, 2})
	copy(tcs.Slice[int32](x.Levels[0].Crd), []int32{3, 5})
	limit := tcs.NewLimit(0)
	shape := &reduce.Shape{Name: "A",
		Layout: tensor.Layout{Dims: []int64{9}, Type: tensor.Float64,
			Format: tensor.FormatOf("s", []int{0})},
		PosWidth: []uint8{4}, CrdWidth: []uint8{4}}
	pattern, maps, err := reduce.Union(shape, [][2]int64{{0, 9}}, []*tcs.Tensor{x}, 16, limit)
	if err != nil {
		t.Fatal(err)
	}
	defer pattern.Close()
	defer tcs.CloseList(maps...)
	c := newCost(1, 1)
	c.ranks[0].partials = []partialCost{
		{steps: 1, size: plan.Size{Entries: 2, Bytes: 2*4 + 2*4 + 2*8, Arrays: 3}, sources: 2}}
	most,
		_ := c.Memory(0, Making{InPlace: true, Value: 8, PosWidth: shape.PosWidth,
		CrdWidth: shape.CrdWidth, Ahead: 16}, 0, 0)
	if took := limit.Peak(); took > most {
		t.Errorf("took %d bytes, foretold %d", took, most)
	}
}

// TestCopiesHeld checks that blocks of several steps that share the arrays of copies count one copy
// each.
func TestCopiesHeld(t *testing.T) {
	size := plan.Size{Entries: 10, Bytes: 11*4 + 10*4 + 10*8, Arrays: 3}
	c := newCost(1, 1)
	c.ranks[0].partials = []partialCost{{steps: 4, size: size}}
	making := Making{Shared: true, Copied: true, CopiedBytes: 1000, Value: 8, PosWidth: []uint8{4},
		CrdWidth: []uint8{4}}
	if most, _ := c.Memory(0, making, 1000, 0); most < 4*1000 {
		t.Errorf("four copies of 1,000 bytes: foretold %d", most)
	}
}
