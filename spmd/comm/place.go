package comm

import (
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"

	"golang.org/x/sys/unix"
)

// Place is the machine, process and cores of a rank.
type Place struct {
	Host  string
	Node  string // the machine's boot number, the same for all its ranks; Host if it is unknown
	Space string // the process namespace that PID belongs to
	PID   int
	CPUs  []int // cores that the process may run on, by its affinity
}

// CurrentPlace returns the place of the calling process.
func CurrentPlace() Place {
	p := Place{PID: os.Getpid()}
	p.Host, _ = os.Hostname()
	p.Node = p.Host
	if id, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		p.Node = strings.TrimSpace(string(id))
	}
	p.Space, _ = os.Readlink("/proc/self/ns/pid")
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) == nil {
		for i := range len(set) * 64 {
			if set.IsSet(i) {
				p.CPUs = append(p.CPUs, i)
			}
		}
	}
	return p
}

// Places returns the place of every rank, in order of rank. Every rank must call it.
func Places(c Comm) ([]Place, error) { return AllgatherValue(c, CurrentPlace()) }

// Local returns the number of rank among the ranks of its node, and the number of ranks on that
// node.
func Local(places []Place, rank int) (local, size int) {
	for r, p := range places {
		if p.Node == places[rank].Node {
			if r < rank {
				local++
			}
			size++
		}
	}
	return local, size
}

// Sharing counts the ranks that compete with the given rank for cores. A rank is counted if it is
// on the same node and may run on a core that the given rank may also use. The given rank itself is
// counted.
func Sharing(places []Place, rank int) int {
	n := 0
	for _, p := range places {
		if p.Node == places[rank].Node &&
			slices.ContainsFunc(p.CPUs, func(c int) bool {
				return slices.Contains(places[rank].CPUs,
					c)
			}) {
			n++
		}
	}
	return max(n, 1)
}

// PlaceNotes returns notes about places that slow the job down: ranks that are bound to fewer cores
// than they have threads, and nodes whose ranks together may use fewer cores than they have
// threads. threads is the number of threads of each rank.
func PlaceNotes(places []Place, threads int) []string {
	var notes []string
	tight := map[int][]int{} // ranks, by the number of cores that they are bound to
	type node struct {
		host  string
		ranks int
		cpus  map[int]bool
	}
	nodes := map[string]*node{}
	var order []string
	for r, p := range places {
		if n := len(p.CPUs); n > 0 && n < threads {
			tight[n] = append(tight[n], r)
		}
		n := nodes[p.Node]
		if n == nil {
			n = &node{host: p.Host, cpus: map[int]bool{}}
			nodes[p.Node] = n
			order = append(order, p.Node)
		}
		n.ranks++
		for _, c := range p.CPUs {
			n.cpus[c] = true
		}
	}
	var counts []int
	for n := range tight {
		counts = append(counts, n)
	}
	sort.Ints(counts)
	for _, n := range counts {
		notes = append(notes, fmt.Sprintf(
			"%s bound to %s but should run %d threads each; either give each rank %d cores "+
				"(mpirun --map-by slot:PE=%d or --bind-to none; srun --cpus-per-task=%d) or "+
				"use fewer --threads",
			rankList(tight[n]), plural(n, "core"), threads, threads, threads, threads))
	}
	for _, k := range order {
		n := nodes[k]
		if want := n.ranks * threads; len(n.cpus) > 0 && want > len(n.cpus) {
			notes = append(notes, fmt.Sprintf(
				"%s: %s of %s share %s and slow each other down", n.host,
				plural(n.ranks, "rank"), plural(threads, "thread"), plural(len(n.cpus), "core")))
		}
	}
	return notes
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// rankList returns "rank 3 is" or "ranks 0-2, 5 are".
func rankList(ranks []int) string {
	if len(ranks) == 1 {
		return fmt.Sprintf("rank %d is", ranks[0])
	}
	var parts []string
	for i := 0; i < len(ranks); {
		j := i
		for j+1 < len(ranks) && ranks[j+1] == ranks[j]+1 {
			j++
		}
		if j > i {
			parts = append(parts, fmt.Sprintf("%d-%d", ranks[i], ranks[j]))
		} else {
			parts = append(parts, fmt.Sprint(ranks[i]))
		}
		i = j + 1
	}
	return "ranks " + strings.Join(parts, ", ") + " are"
}
