package codegen_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"distaff/codegen"
	"distaff/codegen/emit/c"
)

func TestSize(t *testing.T) {
	if os.Getenv("SIZE") == "" {
		t.Skip()
	}
	for _, text := range []string{
		"y(i)=B(i,j)*x(j)\nB:ds\n",
		"A(i,l)=B(i,j,k)*C(j,l)*D(k,l)\nB:sss\n",
		"A(i,j)=B(i,k)*C(k,j)\nA:ds\nB:ds\nC:ds\n",
		"A(i,j)=B(i,j)+C(i,j)+D(i,j)\nA:ds\nB:ds\nC:ds\nD:ds\n",
		"A(i,j)=B(i,j)+C(i,j)+D(i,j)\nA:ss\nB:ss\nC:ss\nD:ss\n",
		"A(i,j,k)=B(i,j,k)+C(i,j,k)\nA:sss\nB:sss\nC:sss\n",
		"A(i,j,k)=B(i,j,k)*C(i,j,k)+D(i,j,k)\nA:sss\nB:sss\nC:sss\nD:sss\n",
		"A(i,j)=B(i,j)+C(i,j)+D(i,j)+E(i,j)+F(i,j)\nA:ss\nB:ss\nC:ss\nD:ss\nE:ss\nF:ss\n",
		"A(i,j)=B(i,k)*C(k,j)+D(i,k)*E(k,j)+F(i,j)\nA:ss\nB:ss\nC:ss\nD:ss\nE:ss\nF:ss\n",
	} {
		u, err := codegen.Compile(goldenRequest(t, text))
		if err != nil {
			t.Fatal(err)
		}
		src := c.File(u.Func)
		os.WriteFile("/tmp/bl/size.c", []byte(src), 0o644)
		t0 := time.Now()
		out, err := exec.Command("gcc", append(c.Flags("native"), "-c", "/tmp/bl/size.c", "-o", "/tmp/bl/size.o")...).CombinedOutput()
		if err != nil {
			t.Fatal(string(out))
		}
		fmt.Println(len(src), time.Since(t0).Milliseconds(), "ms", text[:40%len(text)])
	}
}
