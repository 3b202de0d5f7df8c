package main

import (
	"fmt"

	"distaff/cmd/argv"
	"distaff/spmd"
)

// wrappersCommand returns the command that builds the MPI wrappers for later use. make install runs
// this command.
func wrappersCommand() *command {
	return &command{
		name: "wrappers", args: "DIR", short: "builds the wrapper of every MPI found into a folder",
		hidden: true,
		long: `Builds the wrapper of every MPI whose compiler is found, or of the one that
DISTAFF_MPICC names, into DIR. Jobs find them there where DIR is lib/distaff
beside the folder of the distaff binary, or through DISTAFF_MPI_WRAPPER.`,
		flags: talkFlags(),
		action: func(x *invocation) error {
			if x.flags.Args().Len() != 1 {
				return argv.Errorf("wrappers takes one folder")
			}
			lines, err := spmd.InstallWrappers(x.flags.Context, x.flags.Args().First())
			for _, l := range lines {
				fmt.Fprintln(x.stdout, l)
			}
			return err
		},
	}
}
