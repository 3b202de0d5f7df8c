package gpu_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/cin"
	"distaff/codegen/diag"
	"distaff/codegen/gpu"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// shape returns the shape of a statement with 64 coordinates of each variable. formats has the
// levels of each tensor by its name, and taken lists names that are in use. A tensor called even
// has rows of about equal length.
func shape(t *testing.T, stmt string, formats map[string]string, taken ...string) *gpu.Shape {
	t.Helper()
	body, err := cin.Parse(stmt)
	if err != nil {
		t.Fatal(err)
	}
	parsed := map[string]tensor.Format{}
	for name, levels := range formats {
		if parsed[name], err = notation.ParseFormat(levels); err != nil {
			t.Fatal(err)
		}
	}
	target := cin.Target(body)
	used := map[string]bool{}
	for _, name := range taken {
		used[name] = true
	}
	return &gpu.Shape{Body: body, Target: target, Vars: target.Vars, Result: parsed[target.Name],
		Format: func(name string) (tensor.Format, bool) {
			f, ok := parsed[name]
			return f, ok && name != target.Name
		},
		Size:     func(string) int64 { return 64 },
		Entries:  func(string) int64 { return 1000 },
		EvenRows: func(name string) int64 { return map[string]int64{"even": 9}[name] },
		Taken:    func() map[string]bool { return maps.Clone(used) }}
}

// TestForms checks commands of the best form of a statement.
func TestForms(t *testing.T) {
	vector := map[string]string{"y": "d", "B": "ds", "x": "d"}
	for _, c := range []struct {
		stmt    string
		formats map[string]string
		taken   []string
		want    string
	}{
		{"forall(i, forall(j, y(i) += B(i,j) * x(j)))", vector, nil,
			"fuse(i,j,f) pos(f,fpos,B(i,j)) split(fpos,block,tile,2048) " +
				"parallelize(tile,GPUThread,Atomics,Rows)"},
		{"forall(i, forall(j, y(i) += B(i,j) * x(j)))", vector, []string{"f", "tile"},
			"fuse(i,j,f_) pos(f_,f_pos,B(i,j)) split(f_pos,block,tile_,2048)"},
		{"forall(i, forall(j, forall(k, Y(i,k) += B(i,j) * X(j,k))))",
			map[string]string{"Y": "dd", "B": "ds", "X": "dd"}, nil,
			"split(fpos,block,fpos1,1024) split(fpos1,warp,nz,128) unroll(dense_val,2) " +
				"bound(dense_val_unbounded,dense_val,2,MaxExact) parallelize(thread,GPUThread,Atomics)"},
		{"forall(i, forall(j, forall(k, Y(i,k) += even(i,j) * X(j,k))))",
			map[string]string{"Y": "dd", "even": "ds", "X": "dd"}, nil,
			"split(i,block,warp,4) reorder(block,warp,thread,dense_val,j) unroll(dense_val,2) " +
				"parallelize(thread,GPUThread,NoRaces)"},
		{"forall(i, forall(j, forall(k, Y(i,j) += even(i,j) * X(i,k) * Z(j,k))))",
			map[string]string{"Y": "dd", "even": "ds", "X": "dd", "Z": "dd"}, nil,
			"split(fpos1,warp,nz,64) unroll(nz,2) parallelize(thread,GPUThread,ParallelReduction)"},
		{"forall(i, forall(j, y(i) += B(i,j) + x(j)))", vector, nil,
			"split(i,block,block_row,256) pos(j,jpos,B(i,j)) " +
				"parallelize(thread,GPUThread,ParallelReduction)"},
		{"forall(i, y(i) = x(i) + z(i))", map[string]string{"y": "d", "x": "d", "z": "d"}, nil,
			"split(i,block,thread,256) parallelize(block,GPUBlock,NoRaces) " +
				"parallelize(thread,GPUThread,NoRaces)"},
		{"forall(i, a += x(i) * z(i))", map[string]string{"a": "", "x": "d", "z": "d"}, nil,
			"parallelize(block,GPUBlock,Atomics) parallelize(thread,GPUThread,ParallelReduction)"},
		{"forall(i, where(forall(k, C(i,k) = w(k)), forall(j, forall(k, w(k) += A(i,j) * B(j,k)))))",
			map[string]string{"C": "ds", "A": "ds", "B": "ds"}, nil,
			"assemble(C,Insert) split(i,block,warp,8) parallelize(warp,GPUWarp,NoRaces) " +
				"parallelize(k,GPUThread,NoRaces)"},
		{"forall(i, forall(k, C(i,k) = A(i,k) + B(i,k)))",
			map[string]string{"C": "ds", "A": "ds", "B": "ds"}, nil,
			"assemble(C,Insert) split(i,block,thread,256) parallelize(thread,GPUThread,NoRaces)"},
	} {
		got := shape(t, c.stmt, c.formats, c.taken...).Forms()[0].Commands()
		for _, want := range strings.Fields(c.want) {
			if !slices.Contains(got, want) {
				t.Errorf("%s: got %s, want %s", c.stmt, strings.Join(got, " "), want)
			}
		}
	}
}

// TestPartedRows checks that the threads of a warp share a row of a sum if rows are long.
func TestPartedRows(t *testing.T) {
	s := shape(t, "forall(i, forall(k, C(i,k) = A(i,k) + B(i,k)))",
		map[string]string{"C": "ds", "A": "ds", "B": "ds"})
	s.Entries = func(name string) int64 { return map[string]int64{"A": 50, "B": 64 * 64}[name] }
	want := "assemble(C,Insert) split(i,block,warp,8) pos(k,kpos,B(i,k)) divide(kpos,thread,nz,32) " +
		"parallelize(block,GPUBlock,NoRaces) parallelize(warp,GPUWarp,NoRaces) " +
		"parallelize(thread,GPUThread,NoRaces)"
	if got := strings.Join(s.Forms()[0].Commands(), " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestFormsOfNests checks the last form of statements with several nests of loops. It runs every
// nest on all threads.
func TestFormsOfNests(t *testing.T) {
	formats := map[string]string{"y": "d", "x": "d", "z": "d", "B": "ds", "S": "ss", "a": ""}
	for _, c := range []struct{ stmt, want string }{
		{"seq(forall(j, forall(i, y(i) += B(j,i) * x(j))), forall(i, y(i) += z(i)))",
			"parallelize(j,GPUBlock,Atomics,256) parallelize(i,GPUBlock,NoRaces,256)"},
		{"seq(forall(j, forall(i, y(i) += S(j,i))), forall(i, y(i) += z(i)))",
			"parallelize(j,GPUBlock,Atomics,1024) parallelize(i,GPUBlock,NoRaces,256)"},
		{"where(forall(i, y(i) = t * z(i)), forall(i, t += x(i)))",
			"parallelize(i[1],GPUBlock,NoRaces,256) parallelize(i[2],GPUBlock,ParallelReduction,256)"},
		{"seq(forall(i, y(i) += x(i)), forall(i, y(i) += z(i)))",
			"parallelize(i,GPUBlock,NoRaces,256)"},
		{"where(a = t * t, forall(i, t += x(i)))",
			"parallelize(i,GPUBlock,ParallelReduction,256)"},
	} {
		forms := shape(t, c.stmt, formats).Forms()
		got := strings.Join(forms[len(forms)-1].Commands(), " ")
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.stmt, got, c.want)
		}
	}
}

// TestChoose checks which form is chosen, and the errors if none is.
func TestChoose(t *testing.T) {
	var asked [][]string
	made := func(commands []string) (*gpu.Shape, error) {
		asked = append(asked, commands)
		return shape(t, "forall(i, forall(j, y(i) += B(i,j) * x(j)))",
			map[string]string{"y": "d", "B": "ds", "x": "d"}), nil
	}
	var tried [][]string
	starts := [][]string{{}, {"temporaries(y)"}}
	second, err := gpu.Choose(starts, made, func(f gpu.Form) error {
		if tried = append(tried, f.Commands()); len(tried) < 2 {
			return errors.New("too early")
		}
		return nil
	})
	if err != nil || len(tried) != 2 || !slices.Equal(second.Commands(), tried[1]) {
		t.Errorf("got %v after %d forms, want the second: %v", second, len(tried), err)
	}
	if len(asked) != 1 || len(asked[0]) > 0 {
		t.Errorf("shapes after the commands %v, want only those without commands", asked)
	}
	tried = nil
	_, err = gpu.Choose(starts, made, func(f gpu.Form) error {
		if slices.ContainsFunc(tried, func(g []string) bool { return slices.Equal(f.Commands(), g) }) {
			t.Errorf("the form %v was tried twice", f.Commands())
		}
		tried = append(tried, f.Commands())
		return &diag.Error{Code: diag.ScheduleRefused, Msg: "form refused"}
	})
	var e *diag.Error
	if !errors.As(err, &e) || e.Code != diag.ScheduleRefused ||
		!strings.Contains(e.Msg, "form refused") {
		t.Errorf("no form: got the error %v", err)
	}
	if len(asked) != 3 || !slices.Equal(asked[2], starts[1]) {
		t.Errorf("shapes after the commands %v, want none and temporaries(y)", asked[1:])
	}
	nest := &diag.Error{Code: diag.NetworkRefused, Msg: "nest"}
	n := 0
	_, err = gpu.Choose(starts, made, func(gpu.Form) error { n++; return nest })
	if err != error(nest) || n != 2 {
		t.Errorf("a refused network: got the error %v after %d forms, want one for each start", err, n)
	}
}
