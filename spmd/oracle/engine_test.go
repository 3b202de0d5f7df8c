package oracle

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"distaff/codegen/reference"
	"distaff/io/tensor"
	"distaff/kernels"
)

// Engine runs cases. Run must succeed for every case that Prepare accepts, with two exceptions. A
// division of an integer by zero is an error whose ExitCode() is 3. If a value does not fit the
// integer type of the result, Run may return a *kernels.NarrowError, and must do so if
// Output.Narrowed is true for this engine. Several goroutines may call Run concurrently.
type Engine interface {
	Name() string
	Run(ctx context.Context, p *Prepared) (*Output, error)
}

// Output is an engine's result.
type Output struct {
	// Entries are the stored entries in any order, each coordinate once. They include the zeros
	// that dense levels store.
	Entries []Entry
	// Dense is true if the result was written as a full array. Entries may then contain zeros at
	// coordinates that must be absent.
	Dense bool
	// Narrowed is true if the engine fails when an integer does not fit the result's type.
	Narrowed bool
	// Converted lists the operands with sparse levels that were converted to another order of
	// modes.
	Converted []string
	// How describes what ran, for the message of a failure.
	How string
}

// points returns the expected point of each present coordinate. The key is coordKey of the
// coordinate.
func (w *Want) points() map[string]reference.Point {
	points := map[string]reference.Point{}
	for k, c := range w.Coords {
		points[coordKey(c)] = w.Points[k]
	}
	return points
}

// Compare returns an error that describes the first difference between out and the expected
// result, or nil. err is the error that the engine returned.
func (w *Want) Compare(out *Output, err error) error {
	if w.Err != nil {
		switch {
		case err == nil:
			return fmt.Errorf("no error, want %w", w.Err)
		case exitCode(err) != 3:
			return fmt.Errorf("got error %w\nwant exit code 3: %v", err, w.Err)
		}
		return nil
	}
	if narrow := (*kernels.NarrowError)(nil); w.Overflow && errors.As(err, &narrow) {
		return nil
	}
	if w.Overflow && err == nil && out.Narrowed {
		return fmt.Errorf("no error, want one of a value that %v does not hold", w.Type)
	}
	if err != nil {
		if w.MayDivide && exitCode(err) == 3 {
			return nil
		}
		return fmt.Errorf("refused or failed (exit code %d): %w", exitCode(err), err)
	}
	points := w.points()
	got := map[string]tensor.Value{}
	for _, e := range out.Entries {
		key := coordKey(e.Coord)
		if _, twice := got[key]; twice {
			return fmt.Errorf("coordinate %v is stored twice", e.Coord)
		}
		got[key] = e.Value
		p, present := points[key]
		if present && !p.Agrees(e.Value) {
			return fmt.Errorf("at %v got %s, want %s (tolerance %g)", e.Coord, formatValue(w.Type, e.Value),
				formatValue(w.Type, p.Value), p.Tolerance())
		}
		if !present && !e.Value.IsZero() {
			return fmt.Errorf("at %v got %s, want it absent", e.Coord, formatValue(w.Type, e.Value))
		}
	}
	places := storedCoords(w.Format, w.Dims, w.Coords)
	for _, c := range places {
		if _, ok := got[coordKey(c)]; !ok {
			want := "0, which a dense level stores"
			if p, ok := points[coordKey(c)]; ok {
				want = formatValue(w.Type, p.Value)
			}
			return fmt.Errorf("nothing is stored at %v, want %s", c, want)
		}
	}
	if len(got) == len(places) || out.Dense {
		return nil
	}
	for _, e := range out.Entries {
		if _, ok := slices.BinarySearchFunc(places, e.Coord, slices.Compare); !ok {
			return fmt.Errorf("%v is stored (as %s), want it absent", e.Coord, formatValue(w.Type, e.Value))
		}
	}
	panic("BUG: oracle: stored coordinates were miscounted")
}

func exitCode(err error) int {
	var e interface{ ExitCode() int }
	if errors.As(err, &e) {
		return e.ExitCode()
	}
	return 1
}
