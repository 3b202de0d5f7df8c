// Package forecast predicts what a planned statement does and needs on each rank, without running
// it. `distaff plan` prints these predictions. A run uses them to refuse a job before it allocates
// memory.
//
// A Forecast estimates the tensors of the statement. It then asks each phase for its own cost
// (packages load, exec and store), and adds them up. A Least is different: it counts only memory
// that the statement certainly needs.
//
//	forecast.go  Forecast: the memory of loading and computing
//	storing.go   the memory of storing
//	planned.go   Planned, the plan that is printed
//	time.go      the time of each phase, from the machine model
//	why.go       the schedules of the leaves, for a plan that explains itself
//	inserts.go   the cost of workspaces that are filled in any order
//	gpu.go       the memory of GPUs
//	gather.go    the rows that ranks read of gathered operands
//	placed.go    moves between placements and the blocks of the steps
//	least.go     Least: memory that is certainly needed, and the refusal if it exceeds the limit
//	device.go    the same for a GPU
package forecast
