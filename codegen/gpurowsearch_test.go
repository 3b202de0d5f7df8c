package codegen_test

import (
	"testing"

	"distaff/codegen"
)

// TestBlocksOfPositionsFusedFurther: a schedule cuts an operand's positions into tiles, and fuses
// the tiles' coordinates with a variable that the operand lacks. Blocks of a GPU then find the
// first rows of their tiles without a table of the rows of all blocks.
func TestBlocksOfPositionsFusedFurther(t *testing.T) {
	q := large(t, "C(i,k)=A(i,j)*B(j,k)\nA:ss\nk=3")
	q.Target.Kind, q.Ask.Verify = codegen.CUDA, true
	q.Ask.Schedule = []string{
		"fuse(i,j,f),pos(f,p,A(i,j)),split(p,b,t,30),coord(t,c),fuse(c,k,g),split(g,w,e,36),parallelize(b,GPUBlock,Atomics),parallelize(w,GPUThread,Atomics)"}
	if _, err := codegen.Compile(q); err != nil {
		t.Error(err)
	}
}
