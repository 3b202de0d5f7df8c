package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"distaff/cmd/argv"
	"distaff/io/tensor"
	"distaff/kernels/cc"
	"distaff/spmd"
)

func cacheCommand() *command {
	return &command{
		name: "cache", args: "path|list|clear",
		short: "shows or empties the cache of compiled leaves",
		long: `cache path prints the folder of the cache, cache list prints its contents, and
cache clear removes its contents. The cache folder is DISTAFF_CACHE, or distaff
in XDG_CACHE_HOME, or ~/.cache/distaff. The list has one line for each leaf, the
last used first. A line has the beginning of the key, the size, the times of
making and last use, the CPU, the statement, and the format and type of each
tensor. The use of a leaf is not recorded if you may not write to the cache.`,
		examples: []string{"distaff cache list", "distaff cache list --json",
			"distaff cache clear"},
		flags:  join([]cliFlag{on("json", nil, "", "prints the list as JSON")}, talkFlags()),
		words:  []string{"path", "list", "clear"},
		action: cache,
	}
}

func cache(x *invocation) error {
	verb := x.flags.Args().First()
	if x.flags.Args().Len() != 1 || verb != "path" && verb != "list" && verb != "clear" {
		return argv.Errorf("cache: got %q, want one of path, list and clear",
			strings.Join(x.flags.Args().Slice(), " "))
	}
	root, err := cc.DefaultRoot(os.Getenv)
	if err != nil {
		return err
	}
	switch verb {
	case "path":
		_, err = fmt.Fprintln(x.stdout, tensor.Printable(root))
	case "list":
		err = listCache(x, root)
	case "clear":
		files, size, cerr := cc.Clear(root)
		fmt.Fprintf(x.stdout, "removed %s, %s\n", tensor.Count(files, "file"), spmd.FormatSize(size))
		err = cerr
	}
	return err
}

// leaves formats a number of leaves.
func leaves(n int) string {
	if n == 1 {
		return "1 leaf"
	}
	return fmt.Sprintf("%d leaves", n)
}

// listedKey is the number of characters of a leaf's key in the list.
const listedKey = 12

type cacheList struct {
	Folder string       `json:"folder"`
	Leaves []cachedLeaf `json:"leaves"`
	Bytes  int64        `json:"bytes"`
}

type cachedLeaf struct {
	File      string      `json:"file"` // relative to the folder
	Bytes     int64       `json:"bytes"`
	Made      *time.Time  `json:"made,omitempty"`
	Used      time.Time   `json:"last_used"`
	CPU       string      `json:"cpu,omitempty"`
	Compiler  string      `json:"compiler,omitempty"`
	Statement string      `json:"statement,omitempty"` // or a description of another object
	Tensors   []cc.Tensor `json:"tensors,omitempty"`
	Damaged   string      `json:"damaged,omitempty"` // the reason why it can't be used
}

// listed returns the contents of the cache in folder root, the last used leaf first.
func listed(root string) (*cacheList, error) {
	entries, err := cc.List(root)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(entries, func(a, b cc.Entry) int { return b.Used.Compare(a.Used) })
	list := &cacheList{Folder: root, Leaves: []cachedLeaf{}}
	for _, e := range entries {
		list.Bytes += e.Size
		l := cachedLeaf{File: filepath.Join(e.Kind, e.Name), Bytes: e.Size,
			Used: e.Used.UTC().Truncate(time.Second)}
		if e.Err != nil {
			l.Damaged = e.Err.Error()
		} else {
			l.Made, l.CPU, l.Compiler, l.Statement, l.Tensors = &e.Meta.Made, e.Meta.CPU,
				e.Meta.Compiler, e.Meta.Label, e.Meta.Tensors
		}
		list.Leaves = append(list.Leaves, l)
	}
	return list, nil
}

func listCache(x *invocation, root string) error {
	list, err := listed(root)
	if err != nil {
		return err
	}
	if x.flags.Bool("json") {
		b, err := json.MarshalIndent(list, "", "  ")
		if err != nil {
			panic("BUG: distaff: the list of the cache does not marshal: " + err.Error())
		}
		_, err = fmt.Fprintf(x.stdout, "%s\n", b)
		return err
	}
	w := tabwriter.NewWriter(x.stdout, 0, 8, 2, ' ', 0)
	if len(list.Leaves) > 0 {
		fmt.Fprintln(w, "key\tsize\tmade\tlast used\tcpu\tstatement\tformats")
	}
	day := func(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }
	for _, l := range list.Leaves {
		made, formats := "", formatsOf(l.Tensors)
		if l.Made != nil {
			made = day(*l.Made)
		}
		if l.Damaged != "" {
			formats = "damaged: " + l.Damaged
		}
		key := filepath.Base(l.File)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", key[:min(len(key), listedKey)],
			spmd.FormatSize(l.Bytes), made, day(l.Used), l.CPU, l.Statement, formats)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(x.stdout, "%s, %s\n", leaves(len(list.Leaves)),
		spmd.FormatSize(list.Bytes))
	return err
}

// formatsOf lists tensors' formats in the syntax of -f, with their types. If all have the same
// type, it is printed once, at the end.
func formatsOf(tensors []cc.Tensor) string {
	one := !slices.ContainsFunc(tensors, func(t cc.Tensor) bool {
		return t.Type != tensors[0].Type
	})
	var list []string
	for _, t := range tensors {
		s := strings.TrimSuffix(t.Name+":"+t.Format, ":")
		if !one {
			s += " " + t.Type
		}
		list = append(list, s)
	}
	if one && len(tensors) > 0 {
		return strings.Join(list, " ") + " " + tensors[0].Type
	}
	return strings.Join(list, ", ")
}
