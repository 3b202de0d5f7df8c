package main

import "distaff/cmd/argv"

func planCommand() *command {
	return &command{
		name: "plan", args: "STATEMENT", short: "prints what every rank would do, without running it",
		long: `Prints what every rank owns, fetches, computes and sends, step by step. It runs
nothing and reads headers only.`,
		examples: []string{`distaff plan "y(i) = A(i,j) * x(j)" -i=A:matrix.tcs -g=x:dense --ranks=64`},
		flags: join(dataFlags(), placeFlags(), machineFlags(), talkFlags(),
			[]cliFlag{on("json", nil, catOutput, "prints JSON"), text("html", nil, catOutput, "`FILE` writes a page")}),
		action: func(x *invocation) error {
			if _, err := x.statement(); err != nil {
				return err
			}
			return argv.Errorf("plan is not built yet: jobs run on one rank")
		},
	}
}
