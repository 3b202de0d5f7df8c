//go:build libdistaff

package main

import (
	"context"
	"io"

	"distaff/cmd/front"
	"distaff/cmd/libdistaff"
)

// The shared library has the commands too.
func init() {
	libdistaff.Command = func(args []string, stdout, stderr io.Writer) int {
		out, words := front.NewTerminal(stdout), front.NewTerminal(stderr)
		defer out.Flush()
		defer words.Flush()
		return front.Report("distaff", dispatch(context.Background(), args, out, words), words)
	}
}
