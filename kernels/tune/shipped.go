package tune

import (
	"distaff/codegen/forms"
	"distaff/kernels/cc"
)

// shipped lists the fastest forms by CPU model (cc.CPUModel). Each form was measured to be at least
// 1.05 times as fast as the other form of its choice.
var shipped = map[string]forms.Set{
	// Zen 4, 32 MiB of L3. Prefetched rows are 1.25 to 4 times as fast, prefetched entries 1.1
	// times. Sums of sparse matrices that are merged in windows are 3 to 6 times as fast.
	"AuthenticAMD 25 17": {forms.FarRows: 64, forms.Streams: 128, forms.Merges: 1},
	// Zen 5, 32 MiB of L3, in each of 11 measurements by this package. Prefetched rows are 2.3 to
	// 2.6 times as fast, prefetched entries 1.25 to 1.4 times, sums of sparse matrices 1.8 to 2.4
	// times. Rows that are prefetched from L3 into the nearest cache only are 1.07 to 1.25 times as
	// fast, in SpMM and SDDMM by one thread with 6 to 15 MiB of rows of 32 columns.
	"AuthenticAMD 26 2": {forms.FarRows: 64, forms.LastLevelRows: 48, forms.Streams: 128,
		forms.Merges: 1},
}

// Shipped returns the code forms that are known to be fastest on this CPU, without a measurement.
// It returns none if this model of CPU is not among those that were measured in advance.
func Shipped() forms.Set { return shipped[cc.CPUModel()].Known() }
