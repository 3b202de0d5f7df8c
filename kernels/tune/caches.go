package tune

import (
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// levels returns the data caches that the kernel reports, innermost first, and then the memory.
// root is the root of the file system. If the kernel reports no caches, the memory is the only
// level.
func levels(root fs.FS) []Level {
	var list []Level
	dirs, _ := fs.Glob(root, "sys/devices/system/cpu/cpu0/cache/index*")
	for _, dir := range dirs {
		number := func(name string) int64 { return size(word(root, dir+"/"+name)) }
		l := Level{Name: fmt.Sprintf("L%d", number("level")), Bytes: number("size"),
			Shared: cpus(word(root, dir+"/shared_cpu_list"))}
		if word(root, dir+"/type") != "Instruction" && l.Bytes > 0 {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b Level) int { return strings.Compare(a.Name, b.Name) })
	return append(list, Level{Name: "memory"})
}

// word returns the content of a file that holds one word, or "" if the file cannot be read.
func word(root fs.FS, path string) string {
	b, err := fs.ReadFile(root, path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// size parses a number that may end in K, M or G. It returns 0 if s is not a number.
func size(s string) int64 {
	shift := 0
	for k, unit := range []string{"K", "M", "G"} {
		if rest, ok := strings.CutSuffix(s, unit); ok {
			s, shift = rest, 10*(k+1)
		}
	}
	n, err := strconv.ParseInt(s, 10, 40)
	if err != nil || n < 0 {
		return 0
	}
	return n << shift
}

// cpus returns the number of CPUs in a list in the kernel's notation, like 0-3,8. It returns at
// least 1.
func cpus(list string) int {
	n := 0
	for _, part := range strings.Split(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(from)
		if err != nil {
			continue
		}
		b := a
		if isRange {
			if b, err = strconv.Atoi(to); err != nil || b < a {
				continue
			}
		}
		n += b - a + 1
	}
	return max(n, 1)
}

// cpuName returns the processor's name as the kernel reports it, or the architecture if it does
// not.
func cpuName(root fs.FS) string {
	info, err := fs.ReadFile(root, "proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(info)) {
		key, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
