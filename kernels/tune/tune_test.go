package tune

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/forms"
	"distaff/kernels/cc"
)

// machine simulates a machine with known figures and a clock of its own. Two of three runs of a
// loop are slowed down by a random factor of up to 1 + noise. Each run takes start seconds more,
// like the run of a loop whose data are in no cache yet.
type machine struct {
	unit         map[probe]float64 // seconds of a unit
	perRep       float64           // units of a repetition
	start, noise float64
	forms        float64 // seconds of each form's run
	random       *rand.Rand
	clock        float64
	runs         map[probe]int
	formed       map[string]int // runs of each form
	fail         error
	// Loops in busy take 10 times as long until busyUntil. Each loop's first run takes stopped
	// seconds more.
	busy      map[probe]bool
	busyUntil float64
	stopped   float64
}

func newMachine(m *Model, seed uint64) *machine {
	x := &machine{unit: map[probe]float64{}, perRep: 1000, random: rand.New(rand.NewPCG(seed, 1)),
		runs: map[probe]int{}, formed: map[string]int{}}
	together := map[kind]float64{} // rate of all threads as a multiple of one thread's rate
	for _, p := range probes(m) {
		x.unit[p] = math.Exp(x.random.Float64()*12 - 25)
		inner, one := x.unit[probe{p.kind, p.level - 1, 1}], x.unit[probe{p.kind, p.level, 1}]
		switch {
		case p.kind == atomic:
		case p.threads > 1 && one > 0:
			if together[p.kind] == 0 {
				together[p.kind] = 0.6 + 2*x.random.Float64()
			}
			x.unit[p] = one / together[p.kind]
		case slices.Contains([]kind{read, write, dependent}, p.kind) && inner > 0:
			x.unit[p] = inner * (1 + 3*x.random.Float64())
		}
	}
	return x
}

func (x *machine) elapsed() float64 { return x.clock }

func (x *machine) run(p probe, reps int64) (sample, error) {
	if x.fail != nil {
		return sample{}, x.fail
	}
	x.runs[p]++
	units := float64(reps) * x.perRep
	s := sample{units * x.unit[p], units}
	// One run in three is not slowed down.
	if x.random.IntN(3) > 0 {
		s.seconds *= 1 + x.noise*x.random.Float64()
	}
	if x.busy[p] && x.clock < x.busyUntil {
		s.seconds *= 10
	}
	if x.runs[p] == 1 {
		s.seconds += x.stopped
	}
	s.seconds += x.start
	x.clock += s.seconds
	return s, nil
}

func (x *machine) form(choice string, form int64) (float64, error) {
	x.formed[formKey(choice, form)]++
	x.clock += x.forms
	return 1, x.fail
}

func blank(threads int) *Model {
	return &Model{Threads: threads, Levels: []Level{{Name: "L1", Bytes: 32 << 10, Shared: 1},
		{Name: "L2", Bytes: 16 << 20, Shared: 4}, {Name: "memory"}}, Gathers: gathers(64 << 10)}
}

// TestMeasure compares measured figures with the figures of simulated machines.
func TestMeasure(t *testing.T) {
	for seed := range uint64(50) {
		for _, threads := range []int{1, 6} {
			m := blank(threads)
			x := newMachine(m, seed)
			x.noise = 2
			if err := measure(t.Context(), x, m); err != nil {
				t.Fatal(err)
			}
			for _, p := range probes(m) {
				if x.runs[p] < 3 {
					t.Errorf("seed %d: %v ran %d times", seed, p, x.runs[p])
				}
			}
			if x.clock > Time+0.5 {
				t.Errorf("seed %d: measuring took %.2f s, want about %v", seed, x.clock, Time)
			}
			want := wanted(m, x.unit)
			if !reflect.DeepEqual(want, m) {
				t.Errorf("seed %d, %d threads: got %+v\nwant %+v", seed, threads, m, want)
			}
		}
	}
}

// wanted returns the model of a machine with the given times of a unit. It converts each figure by
// itself.
func wanted(like *Model, unit map[probe]float64) *Model {
	m := blank(like.Threads)
	m.Forms = forms.Set{}
	for _, c := range measured() { // all forms take the same time
		m.Forms[c.Name] = c.Default
	}
	all := m.Threads
	pair := func(k kind, level int) Pair {
		return Pair{unit[probe{k, level, 1}],
			unit[probe{k, level, all}]}
	}
	rate := func(k kind, level int) Pair {
		return Pair{1 / unit[probe{k, level, 1}], 1 / unit[probe{k, level, all}]}
	}
	for n := range m.Levels {
		m.Levels[n].Read, m.Levels[n].Write = rate(read, n), rate(write, n)
		m.Levels[n].Dependent = unit[probe{dependent, n, 1}]
	}
	for n := range m.Gathers {
		m.Gathers[n].Values, m.Gathers[n].Rows = rate(gather, n), rate(rows, n)
	}
	m.MultiplyAdds64, m.MultiplyAdds32 = rate(multiply64, 0), rate(multiply32, 0)
	m.Atomic = pair(atomic, 0)
	m.Call, m.Branch, m.Segment = unit[probe{call, 0, 1}], unit[probe{branch, 0, 1}],
		unit[probe{segment, 0, 1}]
	if all > 1 {
		m.Region = unit[probe{region, 0, all}]
	}
	return near(m, like)
}

// near returns m. It first replaces each number in m by the number in like, if they differ only by
// rounding.
func near(m, like *Model) *Model {
	a, b := reflect.ValueOf(m).Elem(), reflect.ValueOf(like).Elem()
	nearValue(a, b)
	return m
}

func nearValue(a, b reflect.Value) {
	switch a.Kind() {
	case reflect.Float64:
		if math.Abs(a.Float()-b.Float()) <= 1e-9*math.Abs(a.Float()) {
			a.Set(b)
		}
	case reflect.Struct:
		for n := range a.NumField() {
			nearValue(a.Field(n), b.Field(n))
		}
	case reflect.Slice:
		for n := range min(a.Len(), b.Len()) {
			nearValue(a.Index(n), b.Index(n))
		}
	}
}

// TestMeasureEnds checks that measuring ends after Time, however long loops and forms take. It may
// exceed Time by the minimum that each of them needs, and by the last round.
func TestMeasureEnds(t *testing.T) {
	forms := 0
	for _, c := range measured() {
		forms += len(c.Forms)
	}
	for _, seconds := range []float64{0, 1e-3, 1e-2, 0.03, 0.1, 1} {
		m := blank(4)
		x := newMachine(m, 5)
		x.forms = seconds
		if err := measure(t.Context(), x, m); err != nil {
			t.Fatal(err)
		}
		round := 0.0 // a round of all loops, each of which is repeated for a short time
		for range x.unit {
			round += 2 * minRunSeconds
		}
		if most := max(Time, minRounds*float64(forms)*seconds+3*round) +
			max(round, float64(forms)*seconds); x.clock > most {
			t.Errorf("forms of %v s: measuring took %.3f s, want %.3f at most", seconds, x.clock,
				most)
		}
		for key, n := range x.formed {
			if n < minRounds || n > maxRounds || seconds == 0 && n != maxRounds ||
				seconds == 1 && n != minRounds {
				t.Errorf("forms of %v s: %s ran %d times", seconds, key, n)
			}
		}
	}
}

// TestMeasureSlow checks that each loop runs only once if it takes longer than the remaining time,
// and that the figures do not depend on slow first runs.
func TestMeasureSlow(t *testing.T) {
	m := blank(2)
	x := newMachine(m, 1)
	for p := range x.unit {
		x.unit[p] = 1e-3
	}
	if err := measure(t.Context(), x, m); err != nil {
		t.Fatal(err)
	}
	for p, n := range x.runs {
		if n != 1 {
			t.Errorf("%v ran %d times, want once", p, n)
		}
	}
	if m.Levels[0].Read.One != 1e3 {
		t.Errorf("got %v bytes a second, want 1000", m.Levels[0].Read.One)
	}
	m = blank(2)
	x = newMachine(m, 2)
	x.start = 1e-6
	if err := measure(t.Context(), x, m); err != nil {
		t.Fatal(err)
	}
	p := probe{read, 0, 1}
	if got, want := 1/m.Levels[0].Read.One, x.unit[p]; got < want || got > 1.01*want {
		t.Errorf("got %v seconds a byte, want about %v", got, want)
	}
}

// TestBusyMachine checks that loops with impossible figures run again until the figures are
// possible, and that figures that stay impossible are refused.
func TestBusyMachine(t *testing.T) {
	for name, c := range map[string]struct {
		slow  probe
		until float64
		want  string // "" if the figures are right in the end
	}{
		"a cache, for a while":           {probe{read, 0, 1}, Time + 1, ""},
		"a cache's latency, for a while": {probe{dependent, 1, 1}, Time + 1, ""},
		"all threads, for a while":       {probe{multiply64, 0, 4}, Time + 1, ""},
		"a cache":                        {probe{read, 0, 1}, 1e9, "L1 is read at 0."},
		"a cache of all threads": {probe{write, 1, 4}, 1e9,
			"L2 is written by 4 threads at 0."},
		"a cache's latency": {probe{dependent, 0, 1}, 1e9,
			"a load from L1 that depends on another load takes"},
		"all threads": {probe{rows, 1, 4}, 1e9,
			"rows of an array of 32768 bytes are gathered by 4 threads at 0."},
	} {
		m := blank(4)
		x := newMachine(m, 7)
		x.busy, x.busyUntil = map[probe]bool{c.slow: true}, c.until
		err := measure(t.Context(), x, m)
		var busy *BusyError
		if c.want == "" && (err != nil || !reflect.DeepEqual(wanted(m, x.unit), m)) {
			t.Errorf("%s: %v, got %+v\nwant %+v", name, err, m, wanted(m, x.unit))
		}
		if c.want != "" && (!errors.As(err, &busy) || busy.ExitCode() != 1 ||
			!strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		if x.clock > Time+remeasureSeconds+0.5 {
			t.Errorf("%s: measuring took %.2f s", name, x.clock)
		}
	}
	got := (&BusyError{1.25, []string{"a", "b"}}).Error()
	if want := "the machine cannot be measured while other programs run, " +
		"which kept 1.2 CPUs busy: a; b"; got != want {
		t.Errorf("got %q", got)
	}
}

// If other work stopped a loop while its number of repetitions was determined, runs that are too
// short must not determine its figure.
func TestStoppedLoop(t *testing.T) {
	m := blank(2)
	x := newMachine(m, 3)
	x.start, x.stopped = 1e-6, 5e-3
	x.clock = Time // compilation took all of the time
	if err := measure(t.Context(), x, m); err != nil {
		t.Fatal(err)
	}
	for n := range m.Levels {
		if got, want := m.Levels[n].Dependent, x.unit[probe{dependent, n, 1}]; got < want ||
			got > 1.01*want {
			t.Errorf("%s: got %v seconds a load, want about %v", m.Levels[n].Name, got, want)
		}
	}
}

// Errors of loops end the measurement.
func TestMeasureFails(t *testing.T) {
	m := blank(1)
	x := newMachine(m, 1)
	x.fail = errors.New("no such leaf")
	if err := measure(t.Context(), x, m); err != x.fail {
		t.Errorf("got %v, want %v", err, x.fail)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	x.fail = nil
	if err := measure(ctx, x, m); err == nil || err.Error() != "interrupted" {
		t.Errorf("got %v, want that it was interrupted", err)
	}
}

// TestKept checks that a stored model is read back unchanged, that a damaged or incomplete model is
// refused, and that looking for a model does not create a cache.
func TestKept(t *testing.T) {
	root := t.TempDir()
	if m, err := LoadModel(root); m != nil || err != nil {
		t.Errorf("an empty cache: got %v, %v", m, err)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("a look at an empty cache left %v, %v", left, err)
	}
	m := blank(2)
	if err := measure(t.Context(), newMachine(m, 3), m); err != nil {
		t.Fatal(err)
	}
	m.Compile, m.Files = 0.5, Files{Load: 1e9, Parse: 1e8, Store: 5e8}
	m.Put(Message{BetweenThreads, 1e-6, 1e9})
	if err := Keep(root, m); err != nil {
		t.Fatal(err)
	}
	got, err := LoadModel(root)
	if err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, m)
	}
	if list, err := cc.List(root); err != nil || len(list) != 1 || list[0].Meta.Label != label {
		t.Errorf("the cache lists %+v, %v", list, err)
	}
	part := *m
	part.Branch = 0
	if err := Keep(root, &part); err != nil {
		t.Fatal(err)
	}
	if got, err := LoadModel(root); got != nil || err == nil ||
		!strings.Contains(err.Error(), "incomplete") {
		t.Errorf("a model without a figure for branches: got %v, %v", got, err)
	}
	part = *m
	part.MultiplyAdds64.All = 0.4 * part.MultiplyAdds64.One
	if err := Keep(root, &part); err != nil {
		t.Fatal(err)
	}
	if got, err := LoadModel(root); got != nil || err == nil ||
		!strings.Contains(err.Error(),
			"impossible value: values of float64 are multiplied by 2 threads at 0.4 times") {
		t.Errorf("a model with an impossible figure: got %v, %v", got, err)
	}
	if err := Keep(root, &Model{Threads: 2}); err != nil {
		t.Fatal(err)
	}
	if got, err := LoadModel(root); got != nil || err == nil ||
		!strings.Contains(err.Error(), "the machine model in the cache lacks cache levels, indexed reads or threads") {
		t.Errorf("a model without levels: got %v, %v", got, err)
	}
	path := filepath.Join(root, folder, name())
	if err := os.WriteFile(path, []byte("no object"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := LoadModel(root); got != nil || err == nil {
		t.Errorf("a damaged file: got %v, %v", got, err)
	}
	if _, _, err := cc.Clear(root); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a cache that was cleared has a model: %v", err)
	}
	if err := Keep("", m); err == nil {
		t.Error("a model was kept in no cache")
	}
}

// TestLeast compares Least with figures computed by hand.
func TestLeast(t *testing.T) {
	m := &Model{Threads: 4, Levels: []Level{
		{Name: "L1", Bytes: 1000, Shared: 1, Read: Pair{100, 400}, Write: Pair{50, 200}},
		{Name: "L2", Bytes: 4000, Shared: 2, Read: Pair{40, 90}, Write: Pair{20, 80}},
		{Name: "memory", Read: Pair{10, 15}, Write: Pair{5, 4}},
	}, MultiplyAdds64: Pair{8, 32}, MultiplyAdds32: Pair{16, 64}}
	for _, c := range []struct {
		work    Work
		threads int
		want    float64
	}{
		{Work{Read: 400, Written: 100}, 1, 4 + 2},
		// two of L1
		{Work{Read: 500, Written: 500}, 2, 2.5 + 5},
		// as large as both L2 caches; more threads do not read faster
		{Work{Read: 6000, Written: 2000}, 3, 6000*(0.75/90+0.25/15) + 2000*(0.75/60+0.25/5)},
		// twice L1
		{Work{Read: 1000, Written: 1000}, 1, 1000*(0.25/100+0.75/40) + 1000*(0.25/50+0.75/20)},
		// as large as both L1 caches
		{Work{Read: 1000, Written: 1000}, 2, 1000*(0.75/200+0.25/80) + 1000*(0.75/100+0.25/40)},
		// three quarters of L2; L1 serves nothing
		{Work{Read: 2500, Written: 500}, 1, 2500*(0.875/40+0.125/10) + 500*(0.875/20+0.125/5)},
		// three levels serve a part each
		{Work{Read: 1000, Written: 1000 + 400}, 1,
			1000*(0.05/100+0.9/40+0.05/10) + 1400*(0.05/50+0.9/20+0.05/5)},
		// twice L2
		{Work{Read: 6000, Written: 2000}, 1, 6000*(0.25/40+0.75/10) + 2000*(0.25/20+0.75/5)},
		{Work{Read: 6000, Written: 4000}, 1, 600 + 800},
		// writing by all threads is not slower than by one
		{Work{Read: 30000, Written: 5000}, 4, 2000 + 1000},
		{Work{Read: 500, Flops: 1600}, 1, 100},
		{Work{Read: 500, Flops: 1600, Single: true}, 1, 50},
		{Work{Read: 500, Flops: 1600}, 4, 25},
		{Work{}, 1, 0},
	} {
		if got := m.Least(c.work, c.threads); math.Abs(got-c.want) > 1e-9*c.want {
			t.Errorf("%+v at %d threads: got %v, want %v", c.work, c.threads, got, c.want)
		}
	}
	if m.Between(BetweenThreads) != nil {
		t.Error("messages that were not measured")
	}
	m.Put(Message{BetweenThreads, 1, 10})
	m.Put(Message{BetweenMachines, 5, 10})
	m.Put(Message{BetweenThreads, 2, 20})
	if len(m.Messages) != 2 || m.Between(BetweenThreads).Seconds(100) != 7 {
		t.Errorf("got %+v", m.Messages)
	}
}
