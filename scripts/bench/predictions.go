package main

import (
	"fmt"
	"math"
	"slices"

	"distaff/spmd"
)

// Limits of how many times a prediction may be off: in the median, and at worst.
const medianOff, worstOff = 1.3, 2

// predictions holds what plans predict of the leaves of section leaves to what these take at best.
func predictions(b *bench) error {
	machine, err := spmd.MeasuredMachine()
	if err != nil {
		return err
	}
	if machine == nil {
		b.printf("this machine was not measured: distaff doctor --tune\n")
		return nil
	}
	b.printf("%-28s %8s %13s %13s %7s %6s\n", "kernel", "threads", "predicted ms", "measured ms", "off by", "limit")
	var all []float64
	for _, k := range table() {
		if !b.wants(k.name) {
			continue
		}
		for _, n := range b.threads {
			off, err := b.prediction(k, n)
			if err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
			all = append(all, off)
		}
	}
	if len(all) == 0 {
		return nil
	}
	off := median(all)
	b.printf("\nthe median is off by %.2f times, of %.2f at most%s\n", off, medianOff, b.over(off > medianOff))
	return nil
}

// prediction prints a line of the table, and returns how many times the prediction is off.
func (b *bench) prediction(k kernel, threads int) (float64, error) {
	j, err := b.job(k, threads)
	if err != nil {
		return 0, err
	}
	p, err := j.Plan(b.ctx, 0)
	if err != nil {
		return 0, err
	}
	var took []float64
	for range b.rounds {
		x, result, err := b.ours(k, threads)
		if err != nil {
			return 0, err
		}
		if err := result.Close(); err != nil {
			return 0, err
		}
		took = append(took, x...)
	}
	predicted, best := *p.Time.Compute, slices.Min(took)
	off := math.Max(predicted/best, best/predicted)
	b.printf("%-28s %8d %13.2f %13.2f %7.2f %6.2f%s\n", k.name, threads, 1e3*predicted, 1e3*best, off, float64(worstOff), b.over(off > worstOff))
	return off, nil
}
