// Package verified makes backends verify the C code of every leaf that they compile. Tests import
// it only for this effect.
package verified

import "distaff/kernels"

func init() { kernels.VerifyAll = true }
