package oracle

import (
	"context"
	"fmt"
	"math"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// addsShare says how often adding is tested: one of addsShare cases with a dense result also
// compiles and tests a leaf that adds to its result.
const addsShare = 4

// readd runs the leaf that adds to a dense result twice. The first run starts from zeros and must
// give the result of the statement. The second run starts from the result of the first run and
// must give twice its values.
func (c *compiled) readd(call func(args []*tcs.Tensor, bounds [][2]int64) error) error {
	want, err := c.p.Expect(context.Background())
	if err != nil {
		return err
	}
	t, err := c.result()
	if err != nil {
		return err
	}
	defer t.Close()
	clear(t.Vals.Bytes())
	run := func() (*Output, error) {
		if err := call(append([]*tcs.Tensor{t}, c.args[1:]...), c.bounds); err != nil {
			return nil, fmt.Errorf("adding to a dense result: %w", err)
		}
		return output(t), nil
	}
	once, err := run()
	if err != nil {
		return err
	}
	if err := want.Compare(once, nil); err != nil {
		return fmt.Errorf("adding to zeros: %w", err)
	}
	twice, err := run()
	if err != nil {
		return err
	}
	slack := map[string]float64{}
	for k, at := range want.Coords {
		slack[fmt.Sprint(at)] = want.Points[k].Tolerance()
	}
	for k, e := range once.Entries {
		if got := twice.Entries[k].Value; !c.isDouble(e.Value, got, slack[fmt.Sprint(e.Coord)]) {
			return fmt.Errorf("adding again at %v: got %v, want twice %v", e.Coord, got, e.Value)
		}
	}
	return nil
}

// isDouble reports whether y equals 2x. Integers must be equal in the arithmetic of their type.
// Other values may differ by the rounding errors of the sums, which are at most three times slack,
// the tolerance of one sum. Infinite values and NaN are not compared.
func (c *compiled) isDouble(x, y tensor.Value, slack float64) bool {
	if t := c.p.Result; t.HoldsInts() {
		return t.Wrap(2*x.I) == y.I
	}
	near := func(x, y float64) bool { return math.Abs(2*x-y) <= 3*slack+1e-6*math.Abs(x) }
	if isInfinite(tensor.Value{C: 2 * x.C}) || math.IsNaN(slack) {
		return true
	}
	return near(real(x.C), real(y.C)) && near(imag(x.C), imag(y.C))
}
