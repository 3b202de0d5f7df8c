package tune

import (
	"distaff/codegen/strategy"
	"distaff/kernels/cc"
)

// shipped are the forms that were measured to be fastest on models of CPU (cc.CPUModel): each was found in five of five
// measurements, and is at least 1.05 times as fast as the plain form.
var shipped = map[string]strategy.Forms{
	// Zen 4, 32 MiB of L3: rows that are fetched ahead are 1.25 to 4 times as fast as others, entries 1.06 times.
	"AuthenticAMD 25 17": {strategy.FarRows: 64, strategy.Streams: 128},
}

// Shipped are the forms for this CPU that need no measuring; none where its model was not measured.
func Shipped() strategy.Forms { return shipped[cc.CPUModel()].Known() }
