// Command tns2tcs converts a .tns file to a .tcs file in bounded memory, like distaff convert.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"distaff/cmd/argv"
	"distaff/cmd/conv"
	"distaff/cmd/front"
	_ "distaff/cmd/limits"
	"distaff/io/convert"
	"distaff/io/tensor"

	"github.com/urfave/cli/v2"
)

func main() { os.Exit(mainExit(os.Args, os.Stdout, os.Stderr)) }

func mainExit(args []string, stdout, stderr io.Writer) int {
	out, words := front.NewTerminal(stdout), front.NewTerminal(stderr)
	defer out.Flush()
	defer words.Flush()
	stdout, stderr = out, words
	return front.Main("tns2tcs", stderr, func(ctx context.Context) error {
		if front.Idle("tns2tcs", stderr) {
			return nil
		}
		return run(ctx, args, stdout, stderr)
	})
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := conv.ProgramFlags()
	arranged, err := argv.NewTable(flags).Arrange(args[1:])
	if err != nil {
		return err
	}
	if slices.Contains(arranged.Flags, "--help") {
		return help(stdout, flags)
	}
	app := &cli.App{
		Name: "tns2tcs", Writer: stdout, ErrWriter: stderr, HideHelp: true, HideVersion: true,
		HideHelpCommand:           true,
		DisableSliceFlagSeparator: true, Flags: flags,
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError: func(_ *cli.Context, err error, _ bool) error {
			return argv.Errorf("%v", err)
		},
		Action: func(x *cli.Context) error {
			if x.Args().Len() != 2 {
				return argv.Errorf("tns2tcs takes two files, IN.tns and OUT.tcs; got %s",
					tensor.Count(x.Args().Len(), "argument"))
			}
			in, out := x.Args().Get(0), x.Args().Get(1)
			if ext := convert.Ext(in); ext != ".tns" {
				return argv.Errorf(
					"%s: got the ending %q, want .tns (distaff convert accepts others)",
					in, ext)
			}
			if ext := convert.Ext(out); ext != ".tcs" {
				return argv.Errorf(
					"%s: got the ending %q, want .tcs (distaff convert accepts others)",
					out, ext)
			}
			return conv.Run(x, in, out, stderr, x.Bool("q"))
		},
	}
	return app.RunContext(ctx, append([]string{"tns2tcs"}, arranged.List()...))
}

func help(w io.Writer, flags []cli.Flag) error {
	var b strings.Builder
	b.WriteString("tns2tcs: converts a .tns file to a .tcs file, in bounded memory\n\nUsage: " +
		"tns2tcs IN.tns OUT.tcs [FLAGS]\n\nFlags:\n")
	for _, f := range flags {
		b.WriteString(argv.Help(f))
	}
	b.WriteString("\nExample: tns2tcs b.tns.gz b.tcs -f=sss\n")
	_, err := fmt.Fprint(w, b.String())
	return err
}
