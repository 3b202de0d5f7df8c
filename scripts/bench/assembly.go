package main

import (
	_ "embed"
	"fmt"
)

//go:embed hand/compute.c
var handCompute string

// computeLimits are the limits of assembly and compute over compute alone, by
// hand-written function; where its result's pattern is an operand's, the
// hand-written kernel computes alone.
var computeLimits = map[string]float64{"sddmm": 1.2, "ttv": 1.2, "ttm": 1.2, "spadd": 1.3, "spadd3": 1.3, "spgemm": 2.5}

// assembly is the section of leaves, which assemble their results, against
// kernels by hand that compute values into a pattern that is known.
func assembly(b *bench) error {
	object, err := b.object(hand + handCompute)
	if err != nil {
		return err
	}
	b.printf("%-22s %8s %12s %12s %7s %6s\n", "kernel", "threads", "distaff ms", "compute ms", "ratio", "limit")
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
			if err := b.leaf(k, n, object); err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
		}
	}
	return nil
}
