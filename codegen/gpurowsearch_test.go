package codegen_test

import (
	"testing"

	"distaff/codegen"
)

// TestBlocksOfPositionsFusedFurther: blocks of tiles of an operand's positions whose coordinates
// are fused with another variable, of which the operand has no level, find the rows that their
// tiles begin in without a table of rows of all blocks.
func TestBlocksOfPositionsFusedFurther(t *testing.T) {
	q := large(t, "C(i,k)=A(i,j)*B(j,k)\nA:ss\nk=3")
	q.Target, q.Verify = codegen.CUDA, true
	q.Schedule = []string{
		"fuse(i,j,f),pos(f,p,A(i,j)),split(p,b,t,30),coord(t,c),fuse(c,k,g),split(g,w,e,36),parallelize(b,GPUBlock,Atomics),parallelize(w,GPUThread,Atomics)"}
	if _, err := codegen.Compile(q); err != nil {
		t.Error(err)
	}
}
