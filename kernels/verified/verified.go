// Package verified has backends verify the C of every leaf that they compile. Tests import it for
// this effect alone.
package verified

import "distaff/kernels"

func init() { kernels.VerifyAll = true }
