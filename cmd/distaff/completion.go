package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"distaff/cmd/argv"
	"distaff/codegen"
)

func completionCommand() *command {
	return &command{
		name: "completion", args: "bash|zsh|fish",
		short: "prints a script that completes command lines",
		long: `Prints a script for the shell that completes distaff's commands, flags, and the
values of flags that have some words to choose from:

  bash   source <(distaff completion bash)
  zsh    distaff completion zsh > "${fpath[1]}/_distaff"
  fish   distaff completion fish > ~/.config/fish/completions/distaff.fish`,
		examples: []string{"distaff completion bash"},
		flags:    talkFlags(),
		words:    []string{"bash", "zsh", "fish"},
		action: func(x *invocation) error {
			shells := map[string]func(io.Writer, []*command) error{"bash": bashCompletion,
				"zsh": zshCompletion, "fish": fishCompletion}
			print := shells[x.flags.Args().First()]
			if x.flags.Args().Len() != 1 || print == nil {
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

// spellings returns all names of the flags that help shows.
func spellings(flags []cli.Flag) []string {
	out := []string{"--help"}
	for _, f := range flags {
		for _, n := range f.Names() {
			out = append(out, dashes(n))
		}
	}
	return out
}

// values returns the words that a flag accepts, or nil if it accepts other values.
func values(f cli.Flag) []string {
	out := argv.Values(f)
	if strings.Contains(f.(cli.DocGenerationFlag).GetUsage(), "|after:PASS`") {
		for _, pass := range codegen.PassNames() {
			out = append(out, "after:"+pass)
		}
	}
	return out
}

// settings returns each flag that accepts words with each of its words: --cpu=native.
func settings(flags []cli.Flag) []string {
	var out []string
	for _, f := range flags {
		for _, v := range values(f) {
			for _, n := range f.Names() {
				out = append(out, dashes(n)+"="+v)
			}
		}
	}
	return out
}

// bashCompletion writes a script that completes the text from the last space to the cursor. If
// COMP_WORDBREAKS contains = and :, Bash splits the text at these characters, and replaces only
// the part after the last one.
func bashCompletion(w io.Writer, commands []*command) error {
	var names []string
	var cases strings.Builder
	for _, c := range commands {
		names = append(names, c.name)
		fmt.Fprintf(&cases, "        %s) flags=%q; settings=%q; words=%q ;;\n", c.name,
			strings.Join(spellings(c.flags), " "), strings.Join(settings(c.flags), " "),
			strings.Join(c.words, " "))
	}
	_, err := fmt.Fprintf(w, `_distaff() {
    local word=${COMP_LINE:0:COMP_POINT} before=${COMP_WORDS[COMP_CWORD-1]} breaks=${COMP_WORDBREAKS//[^=:]/}
    local flags= settings= words= kept= file all k
    word=${word##*[[:space:]]}
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W %q -- "$word"))
        return
    fi
    case ${COMP_WORDS[1]} in
%s        help) words=%q ;;
    esac
    [ -n "$breaks" ] && kept=${word%%"${word##*[$breaks]}"}
    all=
    for k in $settings; do
        case $k in
            "$before"=*) [ "$word" = "${word#*[=:]}" ] && all="$all ${k#*=}" ;;
        esac
    done
    if [ -n "$all" ]; then
        COMPREPLY=($(compgen -W "$all" -- "$word"))
        return
    fi
    case $word in
        -*=*) COMPREPLY=($(compgen -W "$settings" -- "$word")) ;;
        -*) COMPREPLY=($(compgen -W "$flags" -- "$word")) ;;
        *) [ -n "$words" ] && COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
    esac
    if [ ${#COMPREPLY[@]} -eq 0 ] && [ -z "$words" ]; then
        file=${word##*[=:]}
        COMPREPLY=($(compgen -f -P "${word%%"$file"}" -- "$file"))
    fi
    for k in "${!COMPREPLY[@]}"; do
        COMPREPLY[k]=${COMPREPLY[k]#"$kept"}
    done
}
complete -o default -F _distaff distaff
`, strings.Join(append(names, "help"), " "), cases.String(), strings.Join(names, " "))
	return err
}

func zshCompletion(w io.Writer, commands []*command) error {
	var b strings.Builder
	b.WriteString("#compdef distaff\n_distaff() {\n    local -a commands flags settings rest " +
		"chosen\n    commands=(\n")
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	var names []string
	for _, c := range commands {
		names = append(names, c.name)
		fmt.Fprintf(&b, "        %s\n", quote(c.name+":"+c.short))
	}
	b.WriteString("        'help:prints what a command does'\n    )\n    if (( CURRENT == 2 )); " +
		"then\n        _describe command commands\n        return\n    fi\n    case $words[2] in\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "        %s) flags=(%s); settings=(%s); rest=(%s) ;;\n", c.name,
			strings.Join(spellings(c.flags), " "), strings.Join(settings(c.flags), " "),
			strings.Join(c.words, " "))
	}
	fmt.Fprintf(&b, "        help) rest=(%s) ;;\n    esac\n", strings.Join(names, " "))
	b.WriteString(`    chosen=(${(M)settings:#${words[CURRENT-1]}=*})
    if (( $#chosen )); then
        compadd -- ${chosen#*=}
    elif [[ $PREFIX == -*=* ]]; then
        chosen=(${(M)settings:#${PREFIX%%=*}=*})
        if (( $#chosen )); then
            compadd -- $chosen
        else
            compset -P '*[=:]'
            _files
        fi
    elif [[ $PREFIX == -* ]]; then
        compadd -- $flags
    elif (( $#rest )); then
        compadd -- $rest
    else
        _files
    fi
}
_distaff "$@"
`)
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
		fmt.Fprintf(&b, "complete -c distaff -n __fish_use_subcommand -f -a %s -d %s\n", c.name,
			quote(c.short))
		seen := "'__fish_seen_subcommand_from " + c.name + "'"
		if len(c.words) > 0 {
			fmt.Fprintf(&b, "complete -c distaff -n %s -f -a %s\n", seen,
				quote(strings.Join(c.words, " ")))
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
			_, isBool := f.(*cli.BoolFlag)
			if words := values(f); len(words) > 0 {
				line += " -x -a " + quote(strings.Join(words, " "))
			} else if !isBool {
				line += " -r"
			}
			fmt.Fprintf(&b, "%s -d %s\n", line, quote(usage))
		}
	}
	fmt.Fprintf(&b,
		"complete -c distaff -n __fish_use_subcommand -f -a help -d 'prints what a command "+
			"does'\ncomplete -c distaff -n '__fish_seen_subcommand_from help' -f -a %s\n",
		quote(strings.Join(names, " ")))
	_, err := io.WriteString(w, b.String())
	return err
}
