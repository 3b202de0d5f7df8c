package tune

import (
	"distaff/codegen/strategy"
	"distaff/kernels/cc"
)

// shipped are the forms that were measured to be fastest on models of CPU (cc.CPUModel), and at least 1.05 times as fast as the
// plain form: rows in each of 11 measurements by this package, entries in each of 4 of SpMV by scripts/bench, of 3M entries and
// a vector of 2.4 MB, and in 4 of 11 by this package beside other work.
var shipped = map[string]strategy.Forms{
	// Zen 4, 32 MiB of L3: rows that are fetched ahead are 1.25 to 4 times as fast as others, entries 1.06 times,
	// sums of sparse matrices that are merged by counting 1.3 to 1.8 times.
	"AuthenticAMD 25 17": {strategy.FarRows: 64, strategy.Streams: 128, strategy.Merges: 1},
}

// Shipped are the forms for this CPU that need no measuring; none where its model was not measured.
func Shipped() strategy.Forms { return shipped[cc.CPUModel()].Known() }
