// Package forecast tells what a planned statement would do and take, on each rank, without
// running it: what `distaff plan` prints.
package forecast
