package main

import (
	"fmt"
	"os"

	"distaff/cmd/argv"
	"distaff/io/tcs"
	"distaff/kernels/cc"
	"distaff/spmd"
)

func cacheCommand() *command {
	return &command{
		name: "cache", args: "path|list|clear", short: "shows or empties the cache of compiled leaves",
		long: `path prints the cache's folder, list what it holds, clear removes all of it. The
folder is DISTAFF_CACHE, else distaff in XDG_CACHE_HOME, else ~/.cache/distaff.`,
		examples: []string{"distaff cache list", "distaff cache clear"},
		flags:    talkFlags(),
		words:    []string{"path", "list", "clear"},
		action:   cache,
	}
}

func cache(x *invocation) error {
	verb := x.Args().First()
	if x.Args().Len() != 1 || verb != "path" && verb != "list" && verb != "clear" {
		return argv.Errorf("cache wants one of path, list and clear")
	}
	root, err := cc.DefaultRoot(os.Getenv)
	if err != nil {
		return err
	}
	switch verb {
	case "path":
		_, err = fmt.Fprintln(x.stdout, tcs.Printable(root))
	case "list":
		err = listCache(x, root)
	case "clear":
		files, size, cerr := cc.Clear(root)
		fmt.Fprintf(x.stdout, "removed %s, %s\n", tcs.Count(files, "file"), spmd.FormatSize(size))
		err = cerr
	}
	return err
}

// leaves counts leaves.
func leaves(n int) string {
	if n == 1 {
		return "1 leaf"
	}
	return fmt.Sprintf("%d leaves", n)
}

func listCache(x *invocation, root string) error {
	entries, err := cc.List(root)
	if err != nil {
		return err
	}
	total := int64(0)
	for _, e := range entries {
		total += e.Size
		state := e.Meta.Label
		if e.Err != nil {
			state = "damaged: " + e.Err.Error()
		}
		fmt.Fprintf(x.stdout, "%-24s %10s  %-12s %s\n", e.Name[:min(len(e.Name), 24)], spmd.FormatSize(e.Size), e.Meta.CPU, state)
	}
	_, err = fmt.Fprintf(x.stdout, "%s, %s\n", leaves(len(entries)), spmd.FormatSize(total))
	return err
}
