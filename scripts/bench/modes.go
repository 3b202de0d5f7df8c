package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// modes prints the section of products along every mode of a tensor. All products read the same
// copy of the tensor, which is stored in the order of its modes. There are two comparisons:
//
//   - MTTKRP in each mode is compared with MTTKRP in mode 0, whose result is written in storage
//     order.
//   - A product that sums one mode, and whose result has compressed levels, is compared with a
//     product that reads a copy. The copy stores this mode last, and the time of making it is
//     added.
func modes(b *bench) error {
	b.printf("%-22s %8s %12s %12s %7s %6s\n", "kernel", "threads", "distaff ms", "own order",
		"ratio", "limit")
	for _, t := range []string{"c", "d", "e", "f"} {
		order := len(inputs[t].dims)
		for mode := 1; mode < order; mode++ {
			if err := b.mode(fmt.Sprintf("MTTKRP 32 mode %d %s", mode, t), mttkrp(t, mode),
				mttkrp(t, 0), nil); err != nil {
				return err
			}
		}
		for _, columns := range []string{"", ",l"} {
			for mode := range order - 1 {
				own := fmt.Sprintf("%s last %d", t, mode)
				name, k := summed(t, t, mode, columns)
				_, last := summed(t, own, mode, columns)
				if err := b.mode(name, k, last,
					func() (float64, error) {
						return b.copying(t,
							strconv.Itoa(mode))
					}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// modeLimit is the largest accepted time of MTTKRP in any mode, as a multiple of the time in mode
// 0. Other modes are slower, because they read and write a row of the result for each entry,
// whereas mode 0 keeps rows in registers.
//
// copyLimit is the largest accepted time of a product that sums one mode, as a multiple of another
// time: the time of making a copy with this mode last, plus the time of the product from the copy.
const modeLimit, copyLimit = 1.5, 1

// mode measures kernel k and the kernel reference alternately, and prints a line for each number of
// threads. If the reference reads a copy of the operand, the function copying measures the time of
// making this copy. mode then adds this time to the time of the reference. Otherwise copying is
// nil.
func (b *bench) mode(name string, k, reference kernel, copying func() (float64, error)) error {
	if !b.wants(name) {
		return nil
	}
	for _, n := range b.threads {
		if err := b.modeLine(name, n, k, reference, copying); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (b *bench) modeLine(name string, threads int, k, reference kernel,
	copying func() (float64, error)) error {
	var ours, theirs, copies []float64
	for range b.rounds {
		for _, x := range []struct {
			k     kernel
			times *[]float64
		}{{k, &ours}, {reference, &theirs}} {
			times, result, err := b.ours(x.k, threads)
			if err != nil {
				return err
			}
			result.Close()
			*x.times = append(*x.times, times...)
		}
		if copying != nil {
			took, err := copying()
			if err != nil {
				return err
			}
			copies = append(copies, took)
		}
	}
	other, limit := median(theirs), modeLimit
	if copying != nil {
		other, limit = other+median(copies), copyLimit
	}
	ratio := median(ours) / other
	b.printf("%-22s %8d %12.2f %12.2f %7.2f %6.2f%s\n", name, threads, 1e3*median(ours), 1e3*other,
		ratio, limit, b.over(ratio > limit))
	return nil
}

// copying returns the time, in seconds, of copying a tensor into a mode order whose last mode is
// the given mode.
func (b *bench) copying(tensor, mode string) (seconds float64, err error) {
	t, err := b.input(tensor)
	if err != nil {
		return 0, err
	}
	j := lastMode(t, mode)
	j.Keep = true
	at := time.Now()
	report, err := j.Run(b.ctx)
	if err != nil {
		return 0, err
	}
	return time.Since(at).Seconds(), report.Result.Close()
}

// summed returns the product of a tensor with a vector (TTV) or, if column names a variable, with a
// matrix (TTM), summed over one mode. The result has the levels of the other modes in order. The
// kernel is named after the generated input called tensor and has its sizes. The kernel reads the
// input called input, which may be a copy of that tensor in another mode order.
func summed(tensor, input string, mode int, column string) (name string, k kernel) {
	vars := letters[:len(inputs[tensor].dims)]
	rest := slices.Delete(slices.Clone(vars), mode, mode+1)
	format := strings.Repeat("s", len(rest))
	name, factor := "TTV", "vec"
	if column != "" {
		name, factor, format = "TTM 32", "mat", format+"d"
	}
	return fmt.Sprintf("%s mode %d %s", name, mode, tensor), kernel{
		stmt: fmt.Sprintf("Y(%s%s) = A(%s)*X(%s%s)", strings.Join(rest, ","), column,
			strings.Join(vars, ","), vars[mode], column),
		formats: map[string]string{"Y": format},
		inputs:  map[string]string{"A": input, "X": fmt.Sprintf("%s:%s:%d", factor, tensor, mode)},
	}
}

// letters are the variables of a tensor's modes.
var letters = []string{"i", "j", "k", "m", "n"}

// mttkrp returns the kernel that multiplies a tensor with one factor for each mode except the given
// one. The kernel reads the copy of the tensor that is stored in the order of its modes.
func mttkrp(tensor string, mode int) kernel {
	vars := letters[:len(inputs[tensor].dims)]
	k := kernel{name: fmt.Sprintf("MTTKRP 32 mode %d %s, one copy", mode, tensor),
		inputs: map[string]string{"A": tensor},
		args:   []string{"A"}, function: fmt.Sprintf("onecopy%d", mode), limit: 1.05, peer: 1}
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
