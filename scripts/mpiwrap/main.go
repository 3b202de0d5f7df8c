// Command mpiwrap DIR builds the MPI wrapper of every MPI whose mpicc is found
// and puts them into DIR: PREFIX/lib/distaff, for binaries in PREFIX/bin.
package main

import (
	"context"
	"fmt"
	"os"

	"distaff/spmd/comm/mpi"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: mpiwrap DIR")
		os.Exit(2)
	}
	ws, err := mpi.Install(context.Background(), os.Args[1], os.Getenv, func(s string) { fmt.Fprintln(os.Stderr, "mpiwrap:", s) })
	for _, w := range ws {
		fmt.Printf("mpiwrap: %s %s, from %s\n", w.Family, w.Version, w.From)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mpiwrap:", err)
		os.Exit(1)
	}
	if len(ws) == 0 {
		fmt.Println("mpiwrap: no MPI found: wrappers are built when a launcher starts the binary, where there is an mpicc")
	}
}
