package main

import (
	"distaff/cmd/argv"
	"distaff/cmd/conv"
	"distaff/io/tensor"
)

func convertCommand() *command {
	return &command{
		name: "convert", args: "IN OUT", short: "converts a file of tensors to another format",
		long: `Converts files by the endings of their names, in bounded memory. Inputs larger
than memory are sorted on disk. "distaff help files" lists the endings. Files may
be compressed. The name "-" with an ending (-.tns) is standard input or output.
The file OUT appears complete or not at all.`,
		examples: []string{
			"distaff convert b.tns.gz b.tcs -f=sss",
			"distaff convert matrix.mtx matrix.tcs -f=ds:1,0 -t=float32",
			"distaff convert -.tns out.mtx < in.tns",
		},
		flags: join(conv.Flags(), talkFlags()),
		action: func(x *invocation) error {
			if x.flags.Args().Len() != 2 {
				return argv.Errorf("convert wants two files, IN and OUT, got %s",
					tensor.Count(x.flags.Args().Len(), "argument"))
			}
			return conv.Run(x.flags, x.flags.Args().Get(0), x.flags.Args().Get(1), x.stderr,
				x.flags.Bool("q"))
		},
	}
}
