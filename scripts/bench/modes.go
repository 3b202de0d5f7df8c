package main

import (
	"fmt"
	"strings"
)

// modes is the section of products of a tensor in every mode, from the copy stored in the order of
// its modes, against that of mode 0, whose result is written in that order.
func modes(b *bench) error {
	b.printf("%-22s %8s %12s %12s %7s %6s\n", "kernel", "threads", "distaff ms", "mode 0 ms", "ratio", "limit")
	for _, t := range []string{"c", "d", "e", "f"} {
		for mode := 1; mode < len(inputs[t].dims); mode++ {
			name := fmt.Sprintf("MTTKRP 32 mode %d %s", mode, t)
			if !b.wants(name) {
				continue
			}
			for _, n := range b.threads {
				if err := b.mode(name, n, mttkrp(t, mode), mttkrp(t, 0)); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
	}
	return nil
}

// modeLimit is what a mode takes at most, as a multiple of mode 0: its result's rows are read
// and written once an entry, where mode 0 keeps them in registers.
const modeLimit = 1.5

// mode times a kernel and that of mode 0 in turn, and prints its line.
func (b *bench) mode(name string, threads int, k, first kernel) error {
	var ours, theirs []float64
	for range b.rounds {
		for _, x := range []struct {
			k     kernel
			times *[]float64
		}{{k, &ours}, {first, &theirs}} {
			times, result, err := b.ours(x.k, threads)
			if err != nil {
				return err
			}
			result.Close()
			*x.times = append(*x.times, times...)
		}
	}
	ratio := median(ours) / median(theirs)
	b.printf("%-22s %8d %12.2f %12.2f %7.2f %6.2f%s\n", name, threads, 1e3*median(ours), 1e3*median(theirs), ratio, modeLimit, b.over(ratio > modeLimit))
	return nil
}

// letters are the variables of a tensor's modes.
var letters = []string{"i", "j", "k", "m", "n"}

// mttkrp is the product of a tensor with a factor for each of its modes but one, from the copy
// stored in the order of its modes.
func mttkrp(tensor string, mode int) kernel {
	vars := letters[:len(inputs[tensor].dims)]
	k := kernel{name: fmt.Sprintf("MTTKRP 32 mode %d %s, one copy", mode, tensor), inputs: map[string]string{"A": tensor},
		args: []string{"A"}, function: fmt.Sprintf("onecopy%d", mode), limit: 1.05, peer: 1}
	k.stmt = fmt.Sprintf("Y(%s,l) = A(%s)", vars[mode], strings.Join(vars, ","))
	for m, v := range vars {
		if m != mode {
			factor := string(rune('B' + m))
			k.stmt += fmt.Sprintf("*%s(%s,l)", factor, v)
			k.inputs[factor] = fmt.Sprintf("mat:%s:%d", tensor, m)
			k.args = append(k.args, factor)
		}
	}
	return k
}
