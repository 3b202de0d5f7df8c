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
		long: `Prints a shell script that completes the commands and flags of distaff, and the
values of flags that accept a fixed set of words:

  bash   source <(distaff completion bash)
  zsh    distaff completion zsh > "${fpath[1]}/_distaff"
  fish   distaff completion fish > ~/.config/fish/completions/distaff.fish`,
		examples: []string{"distaff completion bash"},
		flags:    talkFlags(),
		words:    []string{"bash", "zsh", "fish"},
		action: func(x *invocation) error {
			script := shells[x.flags.Args().First()]
			if x.flags.Args().Len() != 1 || script == "" {
				return argv.Errorf("want one shell after completion: bash, zsh or fish")
			}
			_, err := io.WriteString(x.stdout, strings.ReplaceAll(script, "ASK", askWords))
			return err
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

// values returns the words that a flag accepts, or nil if it accepts no fixed words.
func values(f cli.Flag) []string {
	out := argv.Values(f)
	if strings.Contains(f.(cli.DocGenerationFlag).GetUsage(), "|after:PASS`") {
		for _, pass := range codegen.PassNames() {
			out = append(out, "after:"+pass)
		}
	}
	return out
}

// askWords is the argument that asks for completions. A completion script passes it. The script
// adds askWords after the incomplete word, and the program prints the completions of this word.
// Package cli defines the argument.
var askWords = "--" + cli.BashCompletionFlag.Names()[0]

// complete prints the completions of the last word in typed, one on each line. A tab follows each
// completion, and then its description. The description of a value is empty. typed has the
// arguments of the command line, without the program's name.
func complete(typed []string, w io.Writer) error {
	last := typed[len(typed)-1]
	list := func(word, means string) {
		if strings.HasPrefix(word, last) {
			means, _, _ = strings.Cut(means, ";")
			fmt.Fprintf(w, "%s\t%s\n", word, means)
		}
	}
	if len(typed) == 1 || len(typed) == 2 && typed[0] == "help" {
		for _, c := range visible() {
			list(c.name, c.short)
		}
		if len(typed) == 2 {
			for _, t := range topics() {
				list(t.name, t.short)
			}
		}
		list("help", "prints what a command or a topic is")
		return nil
	}
	c := find(visible(), typed[0])
	if c == nil {
		return nil
	}
	before := typed[len(typed)-2]
	for _, f := range c.flags {
		for _, n := range f.Names() {
			if dashes(n) == before && len(values(f)) > 0 {
				for _, v := range values(f) {
					list(v, "")
				}
				return nil
			}
		}
	}
	if !strings.HasPrefix(last, "-") {
		for _, word := range c.words {
			list(word, "")
		}
		return nil
	}
	list("--help", "prints what the command does")
	for _, f := range c.flags {
		_, usage := argv.Describe(f)
		for _, n := range f.Names() {
			if !strings.Contains(last, "=") {
				list(dashes(n), usage)
				continue
			}
			for _, v := range values(f) {
				list(dashes(n)+"="+v, "")
			}
		}
	}
	return nil
}

// shells maps the name of each shell to its completion script. The script runs the typed command
// with the additional argument askWords, and gets the completions. The text ASK in the script is
// replaced by this argument. Without completions, the script completes the name of a file. Bash
// splits the typed word at each = and : (COMP_WORDBREAKS), and a completion replaces only the part
// after the last of these characters. The script for bash therefore removes the earlier parts of
// the word from the completions.
var shells = map[string]string{
	"bash": `_distaff() {
    local line=${COMP_LINE:0:COMP_POINT} breaks=${COMP_WORDBREAKS//[^=:]/} words word file kept= k
    read -ra words <<< "$line"
    word=${line##*[[:space:]]}
    [ -n "$word" ] || words+=("")
    mapfile -t COMPREPLY < <(command "${words[@]}" ASK 2>/dev/null)
    COMPREPLY=("${COMPREPLY[@]%%$'\t'*}")
    if [ ${#COMPREPLY[@]} -eq 0 ]; then
        file=${word##*[=:]}
        mapfile -t COMPREPLY < <(compgen -f -P "${word%"$file"}" -- "$file")
    fi
    [ -n "$breaks" ] && kept=${word%"${word##*[$breaks]}"}
    COMPREPLY=("${COMPREPLY[@]#"$kept"}")
}
complete -o default -F _distaff distaff
`,
	"zsh": `#compdef distaff
_distaff() {
    local -a found
    found=(${(f)"$(command "${(@)words[1,CURRENT-1]}" "$PREFIX" ASK 2>/dev/null)"})
    if (( $#found )); then
        compadd -- ${found%%$'\t'*}
    else
        compset -P '*[=:]'
        _files
    fi
}
_distaff "$@"
`,
	"fish": `function __distaff_words
    set -l before (commandline -opc)
    set -l word (commandline -ct)
    command $before "$word" ASK 2>/dev/null
end
complete -c distaff -n __fish_use_subcommand -f
complete -c distaff -a '(__distaff_words)'
`,
}
