package spmd

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/jobfile"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
)

// If a rank was given another job, the error names the difference in the words of the command line.
func TestRanksAreToldTheSame(t *testing.T) {
	base := Job{Statement: "y(i) = alpha*A(i,j)*x(j)",
		Inputs: map[string]Input{"A": {File: "a.tns"}, "x": {Generate: "dense"}, "alpha": {File: "2.5"}}}
	for _, c := range []struct {
		change func(j *Job)
		want   string // "" for the same job
	}{
		{func(j *Job) {}, ""},
		{func(j *Job) { j.Threads, j.MemoryLimit, j.Tmp = 3, 1<<30, "/tmp" }, ""},
		{func(j *Job) { j.Statement = "y(i) = A(i,j)*x(j)" },
			"statement is y(i) = A(i,j)*x(j) here, but y(i) = alpha*A(i,j)*x(j) at rank 0;"},
		{func(j *Job) { j.Inputs["A"] = Input{File: "b.tns"} },
			"-i is A:b.tns alpha:2.5 here, but A:a.tns alpha:2.5 at rank 0;"},
		{func(j *Job) { j.Inputs["alpha"] = Input{File: "2"} }, "-i is A:a.tns alpha:2 here, but A:a.tns alpha:2.5 at rank 0;"},
		{func(j *Job) { j.Inputs["alpha"] = Input{Scalar: 2} }, "-i is A:a.tns alpha:2 of type int here, but A:a.tns alpha:2.5 at rank 0;"},
		{func(j *Job) { j.Inputs["x"] = Input{Generate: "dense:int"} },
			"-g is x:dense:int here, but x:dense at rank 0;"},
		{func(j *Job) { j.Inputs["A"] = Input{File: "a.tns", ZeroBased: true} },
			"--index-base, --delimiter or --duplicates is A:0 here, but nothing at rank 0;"},
		{func(j *Job) { j.Inputs["A"] = Input{File: "a.tns", NoDuplicates: true} },
			"--index-base, --delimiter or --duplicates is A:error here, but nothing at rank 0;"},
		{func(j *Job) { j.Formats = map[string]string{"A": "ds"} }, "-f is A:ds here, but nothing at rank 0;"},
		{func(j *Job) { j.Sizes = map[string][]int64{"A": {3, 4}} }, "-d is A:[3 4] here, but nothing at rank 0;"},
		{func(j *Job) { j.Outputs = []Output{{Tensor: "y", File: "y.tns"}} },
			"-o is y:y.tns here, but nothing at rank 0;"},
		{func(j *Job) { j.Splits = []string{"i:4", "j:2"} }, "--split is i:4 j:2 here, but nothing at rank 0;"},
		{func(j *Job) { j.Seed = 4 }, "--seed is 4 here, but nothing at rank 0;"},
		{func(j *Job) { j.TrustInput = true }, "--trust-input is on here, but nothing at rank 0;"},
		{func(j *Job) { j.Target = Interpreter }, "--target is interpreter here, but nothing at rank 0;"},
		{func(j *Job) { j.StatsFile = "s.json" }, "--stats is s.json here, but nothing at rank 0;"},
	} {
		other := base
		other.Inputs = map[string]Input{}
		for name, in := range base.Inputs {
			other.Inputs[name] = in
		}
		c.change(&other)
		err := local.Run(context.Background(), 3, func(w comm.Comm) error {
			if w.Rank() == 2 {
				return other.description().CheckSame(w)
			}
			return base.description().CheckSame(w)
		})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("got %v, want nothing", err)
		case c.want != "" && (err == nil || comm.ExitCode(err) != 2 ||
			!strings.Contains(err.Error(), "[2] ") || !strings.Contains(err.Error(), c.want)):
			t.Errorf("got %v, want %q from rank 2", err, c.want)
		}
	}
}

// mayDiffer lists the fields of jobs, options and inputs that may differ between ranks, each with
// the reason.
var mayDiffer = map[string]string{
	"Ranks":         "a launcher's job has one a process",
	"Threads":       "no bit of a result depends on them",
	"MemoryLimit":   "nodes have different memory",
	"Tmp":           "nodes have different folders",
	"AllowUserCode": "a rank without it refuses the job by itself",
	"Verify":        "it checks what a rank compiles",
	"Checksums":     "rank 0 alone tells them",
	"Argv":          "rank 0 alone tells it",
	"Say":           "rank 0 alone prints", "Running": "rank 0 alone prints",
	"RunningAfter": "rank 0 alone prints",
	"Ended":        "it is a function, which the library sets at every rank",
	"Note":         "rank 0 alone prints", "Detail": "rank 0 alone prints",
	"Trace":    "rank 0 alone prints",
	"Progress": "rank 0 alone prints", "Working": "rank 0 alone prints",
}

// Every field of a job, of a job file's job and of an input is in the description that ranks
// compare, or is in mayDiffer.
func TestEveryOptionIsDescribed(t *testing.T) {
	const text = "param n = 3\nparam tol = 1e-3\ntensor A(n,n): ds\ntensor x(n)\ny(i) = A(i,j)*x(j)\n"
	file := func() *jobfile.File {
		f, err := jobfile.Parse("j.dst", text)
		if err == nil {
			err = f.Bind(nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	seen := map[string]bool{}
	fields := func(v any, told func() any) {
		base := told()
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v).Elem()) {
			if f.Anonymous || !f.IsExported() || f.Type == reflect.TypeFor[*jobfile.File]() {
				continue
			}
			old := reflect.New(f.Type).Elem()
			at := reflect.ValueOf(v).Elem().FieldByIndex(f.Index)
			old.Set(at)
			at.Set(filled(f.Type))
			differs := !reflect.DeepEqual(base, told())
			at.Set(old)
			if _, may := mayDiffer[f.Name]; differs == may {
				t.Errorf("%T.%s: told %v, want %v", v, f.Name, differs, !may)
			}
			seen[f.Name] = true
		}
	}
	j := &Job{Statement: "y(i) = x(i)"}
	fields(j, func() any { return j.description() })
	fj := &FileJob{File: file()}
	fields(fj, func() any { return fj.description() })
	for what, change := range map[string]func(*jobfile.File){
		"sizes":   func(f *jobfile.File) { f.Sizes = map[string]int64{"y": 3} },
		"formats": func(f *jobfile.File) { f.Formats = map[string]string{"y": "s"} },
	} {
		other := &FileJob{File: file()}
		if change(other.File); reflect.DeepEqual(fj.description(), other.description()) {
			t.Errorf("the description does not have the %s that flags give to temporaries", what)
		}
	}
	var in Input
	fields(&in, func() any { return (&Job{Inputs: map[string]Input{"x": in}}).description() })
	for name := range mayDiffer {
		if !seen[name] {
			t.Errorf("there is no %s", name)
		}
	}

	for _, params := range []map[string]string{{"n": "4"}, {"tol": "1e-4"}} {
		base, other := fj.description(), &FileJob{File: file()}
		if err := other.File.Bind(params); err != nil {
			t.Fatal(err)
		}
		err := local.Run(context.Background(), 2, func(w comm.Comm) error {
			if w.Rank() == 1 {
				return other.description().CheckSame(w)
			}
			return base.CheckSame(w)
		})
		for _, name := range slices.Collect(maps.Keys(params)) {
			if want := "-D is " + name + ":" + params[name] + " here, but nothing at rank 0;"; err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		}
	}
}

// filled returns a value of the type that is not its zero value.
func filled(typ reflect.Type) reflect.Value {
	v := reflect.New(typ).Elem()
	switch typ.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8:
		v.SetUint(7)
	case reflect.String:
		v.SetString("s")
	case reflect.Slice:
		v = reflect.Append(v, filled(typ.Elem()))
	case reflect.Map:
		v = reflect.MakeMap(typ)
		v.SetMapIndex(filled(typ.Key()), filled(typ.Elem()))
	case reflect.Struct:
		for k := range typ.NumField() {
			if v.Field(k).CanSet() {
				v.Field(k).Set(filled(typ.Field(k).Type))
			}
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf(5))
	case reflect.Pointer:
		if typ == reflect.TypeFor[*tcs.Tensor]() {
			return reflect.ValueOf(&tcs.Tensor{})
		}
	}
	return v
}
