// Package forecast tells what a planned statement would do and take, on each rank, without
// running it: what `distaff plan` prints, and what a run is refused by before it allocates.
//
//	forecast.go  what loading, computing and storing take, as each of them says
//	planned.go   the plan as it is printed
//	time.go      what the phases take, by the machine's model
//	inserts.go   what workspaces take that are filled in any order
//	gpu.go       the memory of GPUs
//	gather.go    what is gathered of operands
//	placed.go    what moves to and from placements that the steps do not go by
//	least.go     what is certain of the memory, and who has no room for it
//	device.go    the same of a GPU's
package forecast
