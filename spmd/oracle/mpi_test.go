package oracle

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"distaff/kernels"
	_ "distaff/kernels/verified"
	"distaff/spmd"
	"distaff/spmd/comm"
	"distaff/spmd/comm/commtest"
	"distaff/spmd/comm/local"
	"distaff/spmd/comm/mpi"
	"distaff/spmd/comm/mpi/mpitest"
	"distaff/spmd/exec"
)

// rankVar is an environment variable that makes this test binary a rank. Its value contains the
// kind of cases, the seed, the first case and the number of cases.
const rankVar = "DISTAFF_ORACLE_RANK"

// dirVar is an environment variable with the folder of the rank's files.
const dirVar = "DISTAFF_ORACLE_DIR"

// mpiBudget is the longest time of one launch of the cases on an idle machine with two cores. A
// launch that takes more than five times this time fails.
const mpiBudget = 15 * time.Second

func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // there is much garbage, and only a few megabytes are live
	}
	kernels.Poisoned.Store(true)
	// Ranks share one array for larger sets of gathered rows, and have their own for smaller ones.
	exec.MinCommon.Store(40)
	if what := os.Getenv(rankVar); what != "" {
		os.Exit(oracleRank(what))
	}
	flag.Parse()
	// The user's cache may contain measurements of this machine, which would change the forms of
	// leaves.
	cache, err := os.MkdirTemp("", "oracle")
	if err == nil {
		err = os.Setenv("DISTAFF_CACHE", cache)
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(cache)
	os.Exit(code)
}

// oracleRank is the main function of one rank. It returns the exit code.
func oracleRank(what string) int {
	err := func() error {
		var kind string
		var seed, first, n uint64
		if _, err := fmt.Sscan(what, &kind, &seed, &first, &n); err != nil {
			return fmt.Errorf("%s=%q: %w", rankVar, what, err)
		}
		l, ok, err := mpi.Launched(os.Getenv)
		if err != nil || !ok {
			return errors.Join(err, errors.New("not launched"))
		}
		j, err := mpi.Prepare(context.Background(), l, mpi.Options{})
		if err != nil {
			return err
		}
		return j.Run(context.Background(), func(c comm.Comm, _ mpi.Info) error {
			seen, err := mpiCases(c, mpiKinds[kind], fmt.Sprintf("%s/.*/%d", mpiKinds[kind].test, c.Size()),
				seed, first, n)
			if err == nil && c.Rank() == 0 {
				fmt.Println(seen)
			}
			return err
		})
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return comm.ExitCode(err)
}

// launchable prepares a case and computes its expected result. It returns two nil values if the job
// must or may end with an error, because an error at one rank would end the launch before the
// remaining cases run.
func launchable(ctx context.Context, c *Case) (*Prepared, *Want, error) {
	p, err := c.Prepare()
	if err != nil {
		return nil, nil, err
	}
	w, err := p.Expect(ctx)
	if err != nil || w.Err != nil || w.Overflow || w.MayDivide {
		return nil, nil, err
	}
	return p, w, nil
}

// mpiKind is a kind of cases on ranks.
type mpiKind struct {
	test    string // the name of the test
	options Options
	engine  func(ranks int) mpiEngine
	cut     string // a text in the flags of cases with a schedule
}

// mpiEngine is an engine that can run a case as one rank of a communicator.
type mpiEngine interface {
	RunOn(c comm.Comm, p *Prepared) (*Output, error)
	Flags(p *Prepared) string
}

var mpiKinds = map[string]mpiKind{
	"blocks": {"OracleMPI", Options{Follow: 0.25, Long: 0.2}, func(ranks int) mpiEngine {
		return Jobs{Ranks: ranks, Blocks: true, Target: spmd.Interpreter, Dir: os.Getenv(dirVar)}
	}, "--split"},
	"distributed": {"OracleDistributedMPI", distributedOptions, func(ranks int) mpiEngine {
		return distributed{target: spmd.Interpreter, ranks: ranks}
	}, "distribute("},
}

// mpiCases runs n cases as jobs of c for the given test, and compares the results at rank 0. It
// skips cases that are not launchable. It returns a summary at rank 0.
func mpiCases(c comm.Comm, kind mpiKind, test string, seed, first, n uint64) (seen string,
	err error) {
	e := kind.engine(c.Size())
	cut, stored := 0, 0
	k := first
	for done := uint64(0); done < n; k++ {
		p, w, err := launchable(c.Context(), Generate(Rand(seed, k), kind.options))
		if err != nil {
			return "", err
		}
		if p == nil {
			continue
		}
		done++
		flags := e.Flags(p)
		out, err := e.RunOn(c, p)
		if err == nil && c.Rank() == 0 {
			err = w.Compare(out, nil)
			stored += len(out.Entries)
		}
		if err != nil {
			return "",
				fmt.Errorf(
					"%w\nreproduce with\n    go test ./spmd/oracle -run '%s' -oracle.seed=%d -oracle.first=%d -oracle.n=1\ncase file:\n%s\ncommand line, under mpirun -n %d:\n%s",
					err, test, seed, k, indent(p.Case.Text()), c.Size(),
					indent(strings.TrimSuffix(p.Case.Script(), "\n")+strings.Replace(flags,
						fmt.Sprintf(" --ranks=%d", c.Size()), "", 1)))
		}
		if strings.Contains(flags, kind.cut) {
			cut++
		}
	}
	return fmt.Sprintf("seed %d, cases %d to %d: %d right, %d by such schedules, %d entries", seed,
		first, k-1, n, cut, stored), nil
}

// TestLaunchable checks that launchable rejects cases whose job is refused because of its data, on
// any number of ranks.
func TestLaunchable(t *testing.T) {
	ctx := context.Background()
	for _, tc := range []struct{ b, op, c, refusal string }{
		{"4", "*", "-3", ""},
		{"9223372036854775807", "*", "9223372036854775807", ""}, // 1, modulo 2^64
		{"2147483647", "*", "-7",
			"got the value -15032385529 for A, which must fit into int32 at i = 0"},
		{"3", "/", "0", "division by zero"},
	} {
		c,
			err := ParseCase(fmt.Sprintf(
			"A(i) = B(i)%sC(i)\nresult A s int32 2\ntensor B s int64 2\n0 %s\ntensor C s int64 2\n0 %s\n",
			tc.op, tc.b, tc.c))
		if err != nil {
			t.Fatal(err)
		}
		p, w, err := launchable(ctx, c)
		if err != nil || (p != nil) != (tc.refusal == "") || (w != nil) != (p != nil) {
			t.Errorf("%+v: launchable %v, with what is right %v, %v", tc, p != nil, w != nil, err)
		}
		if p, err = c.Prepare(); err != nil {
			t.Fatal(err)
		}
		for ranks := 1; ranks <= 4; ranks++ {
			_, err := Jobs{Ranks: ranks, Blocks: true, Target: spmd.Interpreter}.Run(ctx, p)
			if tc.refusal == "" && err != nil ||
				tc.refusal != "" && (err == nil || exitCode(err) != 3 ||
					!strings.Contains(err.Error(), tc.refusal)) {
				t.Errorf("%+v on %d ranks: %v", tc, ranks, err)
			}
		}
	}
}

// TestOracleMPI runs 30 random jobs with random block schedules under each MPI on 2, 3 and 4 ranks,
// in one launch each.
func TestOracleMPI(t *testing.T) { underMPI(t, "blocks", 30) }

// TestOracleDistributedMPI runs 12 random jobs with random distributed schedules in the same way.
func TestOracleDistributedMPI(t *testing.T) { underMPI(t, "distributed", 12) }

// underMPI runs count cases of a kind under each MPI on 2, 3 and 4 ranks.
func underMPI(t *testing.T, kind string, count uint64) {
	for _, l := range mpitest.Launchers(t) {
		for _, ranks := range []int{2, 3, 4} {
			t.Run(fmt.Sprintf("%s/%d", l.Name, ranks), func(t *testing.T) {
				n, first := count, *firstFlag
				if *nFlag > 0 {
					n = *nFlag
				}
				if first == 0 {
					first = uint64(10000 * ranks)
				}
				what := fmt.Sprintf("%s=%s %d %d %d", rankVar, kind, *seedFlag, first, n)
				r := mpitest.Run(t, mpitest.Command{Argv: l.Argv(ranks, os.Args[0]),
					Env:   []string{what, dirVar + "=" + t.TempDir()},
					Limit: 5*mpiBudget*time.Duration(n+99)/100 + time.Minute})
				if r.Code != 0 || !strings.Contains(r.Out, fmt.Sprintf(": %d right", n)) {
					t.Fatalf("exit code %d\n%s%s", r.Code, r.Out, r.Err)
				}
				if budget := 5 * mpiBudget * time.Duration(n+99) / 100; r.Took > budget {
					t.Errorf("took %v, at most %v wanted", r.Took, budget)
				}
				t.Logf("%v: %s", r.Took.Round(time.Millisecond), r.Out)
			})
		}
	}
}

// TestOracleApart runs random jobs with block schedules and with distributed schedules on ranks of
// this process that share no memory, like ranks under MPI.
func TestOracleApart(t *testing.T) {
	for kind, k := range mpiKinds {
		for ranks := 2; ranks <= 6; ranks++ {
			t.Run(fmt.Sprintf("%s/%d", kind, ranks), func(t *testing.T) {
				t.Parallel()
				n := uint64(30)
				if *nFlag > 0 {
					n = *nFlag
				}
				first := *firstFlag
				if first == 0 {
					first = uint64(10000 * ranks)
				}
				err := local.Run(t.Context(), ranks, func(c comm.Comm) error {
					seen, err := mpiCases(commtest.Apart(c), k, strings.TrimPrefix(t.Name(), "Test"), *seedFlag,
						first, n)
					if err == nil && c.Rank() == 0 {
						t.Log(seen)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
}
