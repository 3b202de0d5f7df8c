package main

import (
	"fmt"
	"io"
	"runtime"

	"distaff/cmd/argv"
	"distaff/spmd"
)

func versionCommand() *command {
	return &command{
		name: "version", short: "prints the version",
		long:     "Prints the version of this program, and what it was built with.",
		examples: []string{"distaff version"},
		flags:    talkFlags(),
		action: func(x *invocation) error {
			if x.flags.Args().Len() > 0 {
				return argv.Errorf("version takes no arguments, got %q", x.flags.Args().First())
			}
			return printVersion(x.stdout)
		},
	}
}

func printVersion(w io.Writer) error {
	_, err := fmt.Fprintf(w, "distaff %s %s %s/%s\n", spmd.Version(), runtime.Version(),
		runtime.GOOS, runtime.GOARCH)
	return err
}
