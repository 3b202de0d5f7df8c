package oracle

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"distaff/spmd"
	"distaff/spmd/comm"
	"distaff/spmd/comm/mpi"
	"distaff/spmd/comm/mpi/mpitest"
)

// rankVar makes this test binary a rank: seed, first case and number of cases.
const rankVar = "DISTAFF_ORACLE_RANK"

// dirVar is the folder of its files.
const dirVar = "DISTAFF_ORACLE_DIR"

// mpiBudget is how long one launch of the cases may take on an idle machine of two cores;
// a launch that takes five times as long fails.
const mpiBudget = 15 * time.Second

func TestMain(m *testing.M) {
	if what := os.Getenv(rankVar); what != "" {
		os.Exit(oracleRank(what))
	}
	flag.Parse()
	os.Exit(m.Run())
}

// oracleRank is main of one rank.
func oracleRank(what string) int {
	err := func() error {
		var seed, first, n uint64
		if _, err := fmt.Sscan(what, &seed, &first, &n); err != nil {
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
		return j.Run(context.Background(), func(c comm.Comm, _ mpi.Info) error { return mpiCases(c, seed, first, n) })
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return comm.ExitCode(err)
}

// mpiCases runs n cases as jobs of c, and compares at rank 0. A case that divides
// integers by zero ends its job, as it must; the next takes its place.
func mpiCases(c comm.Comm, seed, first, n uint64) error {
	e := Jobs{Blocks: true, Target: spmd.Interpreter, Dir: os.Getenv(dirVar)}
	cut, stored := 0, 0
	k := first
	for done := uint64(0); done < n; k++ {
		p, err := Generate(Rand(seed, k), Options{Follow: 0.25, Long: 0.2}).Prepare()
		if err != nil {
			return err
		}
		w, err := p.Expect(c.Context())
		if err != nil {
			return err
		}
		if w.Err != nil || w.MayDivide {
			continue
		}
		done++
		e.Ranks = c.Size()
		flags := e.Flags(p)
		out, err := e.RunOn(c, p)
		if err == nil && c.Rank() == 0 {
			err = w.Compare(out, nil)
			stored += len(out.Entries)
		}
		if err != nil {
			return fmt.Errorf("%w\nreproduce with\n    go test ./spmd/oracle -run 'OracleMPI/.*/%d' -oracle.seed=%d -oracle.first=%d -oracle.n=1\ncase file:\n%s\ncommand line, under mpirun -n %d:\n%s",
				err, c.Size(), seed, k, indent(p.Text()), c.Size(), indent(strings.TrimSuffix(p.Script(), "\n")+strings.Replace(flags, fmt.Sprintf(" --ranks=%d", c.Size()), "", 1)))
		}
		if strings.Contains(flags, "--split") {
			cut++
		}
	}
	if c.Rank() == 0 {
		fmt.Printf("seed %d, cases %d to %d: %d right, %d by block schedules, %d entries\n", seed, first, k-1, n, cut, stored)
	}
	return nil
}

// TestOracleMPI runs 30 random jobs by random block schedules under each MPI at
// 2, 3 and 4 ranks, in one launch each.
func TestOracleMPI(t *testing.T) {
	for _, l := range mpitest.Launchers(t) {
		for _, ranks := range []int{2, 3, 4} {
			t.Run(fmt.Sprintf("%s/%d", l.Name, ranks), func(t *testing.T) {
				n, first := uint64(30), *firstFlag
				if *nFlag > 0 {
					n = *nFlag
				}
				if first == 0 {
					first = uint64(10000 * ranks)
				}
				what := fmt.Sprintf("%s=%d %d %d", rankVar, *seedFlag, first, n)
				r := mpitest.Run(t, mpitest.Command{Argv: l.Argv(ranks, os.Args[0]), Env: []string{what, dirVar + "=" + t.TempDir()}, Limit: 5*mpiBudget*time.Duration(n+99)/100 + time.Minute})
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
