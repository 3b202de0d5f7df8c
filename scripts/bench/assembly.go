package main

import (
	_ "embed"
	"fmt"

	"distaff/io/tcs"
	"distaff/kernels/cc"
)

//go:embed hand/compute.c
var handCompute string

// computeLimits maps the function of a kernel to the largest accepted ratio of two times: the time
// of our leaf that assembles its result, divided by the time of a handwritten function that
// computes only values.
var computeLimits = map[string]float64{"sddmm": 1.2, "ttv": 1.2, "ttm": 1.2, "spadd": 1.3,
	"spadd3": 1.3, "spgemm": 2.5}

// assembly prints the section of leaves that assemble their results. It compares them with
// handwritten kernels, and with our own leaves that only compute values into a known pattern.
func assembly(b *bench) error {
	object, err := b.object(hand + handCompute)
	if err != nil {
		return err
	}
	b.printf("%-22s %8s %12s %12s %7s %12s %7s %6s %15s\n", "kernel", "threads", "distaff ms",
		"values ms", "ratio", "by hand ms", "ratio", "limit", "values by hand")
	for _, k := range table() {
		limit, ok := computeLimits[k.function]
		if !ok || !b.wants(k.name) {
			continue
		}
		k.limit = limit
		if limit > 1.2 {
			k.function = "values_" + k.function
		}
		for _, n := range b.threads {
			if err := b.values(k, n, object); err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
		}
	}
	return nil
}

// values times one kernel in three ways: by the leaf that assembles its result, by our leaf that
// computes only values, and by the handwritten kernel. Its line has the ratios of the first to the
// second, the first to the third, and the second to the third.
func (b *bench) values(k kernel, threads int, object *cc.Object) error {
	var whole, alone, byHand []float64
	for range b.rounds {
		x, result, err := b.ours(k, threads)
		if err != nil {
			return err
		}
		sum := total(result)
		y, err := b.into(k, threads, result)
		if err != nil {
			return err
		}
		if err := sameSum(sum, total(result), "of values alone"); err != nil {
			return err
		}
		z, hand, err := b.byHand(k, threads, result, object)
		if err != nil {
			return err
		}
		if err := sameSum(sum, hand, "by hand"); err != nil {
			return err
		}
		result.Close()
		whole, alone, byHand = append(whole, x...), append(alone, y...), append(byHand, z...)
	}
	x, y, z := median(whole), median(alone), median(byHand)
	b.printf("%-22s %8d %12.2f %12.2f %7.2f %12.2f %7.2f %6.2f %15.2f%s\n", k.name, threads, 1e3*x,
		1e3*y, x/y, 1e3*z, x/z, k.limit, y/z, b.over(x/z > k.limit))
	return nil
}

// into measures the leaf that computes only values and stores them in result, which already has the
// pattern. It returns the times in seconds.
func (b *bench) into(k kernel, threads int, result *tcs.Tensor) ([]float64, error) {
	j, err := b.job(k, threads)
	if err != nil {
		return nil, err
	}
	j.FixedPattern, j.Keep = result, false
	report, err := j.Run(b.ctx)
	if err != nil {
		return nil, err
	}
	return report.Stats.Phases.Compute, nil
}
