package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"distaff/cmd/argv"
)

func completionCommand() *command {
	return &command{
		name: "completion", args: "bash|zsh|fish", short: "prints a script that completes command lines",
		long: `Prints a script for the shell that completes distaff's commands and flags:

  bash   source <(distaff completion bash)
  zsh    distaff completion zsh > "${fpath[1]}/_distaff"
  fish   distaff completion fish > ~/.config/fish/completions/distaff.fish`,
		examples: []string{"distaff completion bash"},
		flags:    talkFlags(),
		words:    []string{"bash", "zsh", "fish"},
		action: func(x *invocation) error {
			shells := map[string]func(io.Writer, []*command) error{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
			print := shells[x.Args().First()]
			if x.Args().Len() != 1 || print == nil {
				return argv.Errorf("completion wants one of bash, zsh and fish")
			}
			return print(x.stdout, visible())
		},
	}
}

func visible() []*command {
	var out []*command
	for _, c := range commands() {
		if !c.hidden {
			out = append(out, c)
		}
	}
	return out
}

func dashes(n string) string {
	if len(n) == 1 {
		return "-" + n
	}
	return "--" + n
}

func spellings(flags []cli.Flag) []string {
	out := []string{"--help"}
	for _, f := range flags {
		for _, n := range f.Names() {
			out = append(out, dashes(n))
		}
	}
	return out
}

func bashCompletion(w io.Writer, commands []*command) error {
	var names []string
	var cases strings.Builder
	for _, c := range commands {
		names = append(names, c.name)
		fmt.Fprintf(&cases, "        %s) flags=%q; words=%q ;;\n", c.name, strings.Join(spellings(c.flags), " "), strings.Join(c.words, " "))
	}
	_, err := fmt.Fprintf(w, `_distaff() {
    local cur=${COMP_WORDS[COMP_CWORD]} flags= words=
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W %q -- "$cur"))
        return
    fi
    case ${COMP_WORDS[1]} in
%s        help) words=%q ;;
    esac
    case $cur in
        -*) COMPREPLY=($(compgen -W "$flags" -- "$cur")) ;;
        *) if [ -n "$words" ]; then COMPREPLY=($(compgen -W "$words" -- "$cur"))
           else COMPREPLY=($(compgen -f -- "${cur#*:}")); fi ;;
    esac
}
complete -o default -F _distaff distaff
`, strings.Join(append(names, "help"), " "), cases.String(), strings.Join(names, " "))
	return err
}

func zshCompletion(w io.Writer, commands []*command) error {
	var b strings.Builder
	b.WriteString("#compdef distaff\n_distaff() {\n    local -a commands\n    commands=(\n")
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	var names []string
	for _, c := range commands {
		names = append(names, c.name)
		fmt.Fprintf(&b, "        %s\n", quote(c.name+":"+c.short))
	}
	b.WriteString("        'help:prints what a command does'\n    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        return\n    fi\n    case $words[2] in\n")
	for _, c := range commands {
		rest := "_files"
		if len(c.words) > 0 {
			rest = "compadd " + strings.Join(c.words, " ")
		}
		fmt.Fprintf(&b, "        %s) if [[ $PREFIX == -* ]]; then compadd -- %s; else %s; fi ;;\n", c.name, strings.Join(spellings(c.flags), " "), rest)
	}
	fmt.Fprintf(&b, "        help) compadd %s ;;\n", strings.Join(names, " "))
	b.WriteString("    esac\n}\n_distaff \"$@\"\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func fishCompletion(w io.Writer, commands []*command) error {
	var b strings.Builder
	quote := func(s string) string {
		return "'" + strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), "'", `\'`) + "'"
	}
	var names []string
	for _, c := range commands {
		names = append(names, c.name)
		fmt.Fprintf(&b, "complete -c distaff -n __fish_use_subcommand -f -a %s -d %s\n", c.name, quote(c.short))
		seen := "'__fish_seen_subcommand_from " + c.name + "'"
		if len(c.words) > 0 {
			fmt.Fprintf(&b, "complete -c distaff -n %s -f -a %s\n", seen, quote(strings.Join(c.words, " ")))
		}
		for _, f := range c.flags {
			_, usage := argv.Describe(f)
			line := "complete -c distaff -n " + seen
			for _, n := range f.Names() {
				if len(n) == 1 {
					line += " -s " + n
				} else {
					line += " -l " + n
				}
			}
			if _, isBool := f.(*cli.BoolFlag); !isBool {
				line += " -r"
			}
			fmt.Fprintf(&b, "%s -d %s\n", line, quote(usage))
		}
	}
	fmt.Fprintf(&b, "complete -c distaff -n __fish_use_subcommand -f -a help -d 'prints what a command does'\ncomplete -c distaff -n '__fish_seen_subcommand_from help' -f -a %s\n", quote(strings.Join(names, " ")))
	_, err := io.WriteString(w, b.String())
	return err
}
