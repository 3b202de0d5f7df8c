package tune

import (
	"distaff/codegen/strategy"
	"distaff/kernels/cc"
)

// shipped are the forms that were measured to be fastest on models of CPU (cc.CPUModel), and at
// least 1.05 times as fast as the plain form: rows in each of 11 measurements by this package,
// entries in each of 10 beside other work (1.13 to 1.23 times), and in each of 8 of SpMV in
// processor time, of 10M entries in rows of about 10 and of 5M in Zipf rows.
var shipped = map[string]strategy.Forms{
	// Zen 4, 32 MiB of L3: rows that are fetched ahead are 1.25 to 4 times as fast as others, entries
	// 1.1 times, sums of sparse matrices that are merged in windows 3 to 6 times.
	"AuthenticAMD 25 17": {strategy.FarRows: 64, strategy.Streams: 128, strategy.Merges: 1},
	// Zen 5, 32 MiB of L3, in each of 11 measurements by this package: rows 2.3 to 2.6 times, entries
	// 1.25 to 1.4 times, sums of sparse matrices 1.8 to 2.4 times; rows out of L3 into the nearest
	// cache alone, in SpMM and SDDMM of 6 to 15 MiB of rows of 32 columns, one thread, 1.07 to 1.25
	// times.
	"AuthenticAMD 26 2": {strategy.FarRows: 64, strategy.LastLevelRows: 48, strategy.Streams: 128,
		strategy.Merges: 1},
}

// Shipped are the forms for this CPU that need no measuring; none where its model was not measured.
func Shipped() strategy.Forms { return shipped[cc.CPUModel()].Known() }
