// Package stats holds what a job counts and measures: at one rank (Rank), and in total (Stats).
package stats

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"distaff/spmd/comm"
)

// Stats is the content of the file that --stats writes. Times are in seconds. Phases.Store and
// Phases.Total are times of rank 0. The other times in Phases are times of the slowest rank.
type Stats struct {
	Version   string   `json:"version"`
	Argv      []string `json:"argv"`
	Statement string   `json:"statement"`
	Schedule  string   `json:"schedule"`
	Ranks     int      `json:"ranks"`
	Threads   int      `json:"threads"`
	// Target names the target of the leaves. TargetReason says why it was chosen. It is "" if Target is
	// the value of --target.
	Target       string           `json:"target"`
	TargetReason string           `json:"target_reason,omitempty"`
	Hosts        []string         `json:"hosts"`
	Compiler     string           `json:"compiler"`
	Inputs       map[string]Input `json:"inputs"`
	Phases       Phases           `json:"phases"`
	Comm         Comm             `json:"comm"`
	Balance      Balance          `json:"balance"`
	Work         *Work            `json:"work,omitempty"` // nil if a job file ran
	PeakRSS      []int64          `json:"peak_rss_bytes"`
}

// Input is a file that was read, and the checksum of its content.
type Input struct {
	File     string `json:"file"`
	Checksum string `json:"checksum"`
}

// Phases holds the times of a job's phases in seconds.
type Phases struct {
	Load    float64   `json:"load"`
	Compile float64   `json:"compile"`
	Compute []float64 `json:"compute"` // every repeat after the warm-up
	Store   float64   `json:"store"`
	Total   float64   `json:"total"`
}

// Comm counts the payload of the last repeat, by rank.
type Comm struct {
	BytesSent     []int64 `json:"bytes_sent"`
	BytesReceived []int64 `json:"bytes_received"`
	MessagesSent  []int64 `json:"messages_sent"`
}

// Add appends the counts of one more rank.
func (c *Comm) Add(n comm.Counters) {
	c.BytesSent = append(c.BytesSent, n.BytesSent)
	c.BytesReceived = append(c.BytesReceived, n.BytesReceived)
	c.MessagesSent = append(c.MessagesSent, n.MessagesSent)
}

// Balance shows how the entries of the largest operand are divided among the ranks. Nonzeros holds,
// for each rank, the number of stored entries in the blocks that the rank's steps read. Each block
// counts once, even if another rank owns it.
type Balance struct {
	Nonzeros []int64 `json:"nonzeros"`
}

// AddRanks adds the statistics of all ranks to s. ranks must be in order of rank.
func (s *Stats) AddRanks(ranks []Rank) {
	for _, x := range ranks {
		if !slices.Contains(s.Hosts, x.Host) {
			s.Hosts = append(s.Hosts, x.Host)
		}
		s.Comm.Add(comm.Counters{BytesSent: x.Sent, BytesReceived: x.Received,
			MessagesSent: x.Messages})
		s.Balance.Nonzeros = append(s.Balance.Nonzeros, x.Nonzeros)
		s.PeakRSS = append(s.PeakRSS, x.PeakRSS)
		s.Phases.Load, s.Phases.Compile = max(s.Phases.Load, x.Load), max(s.Phases.Compile, x.Compile)
	}
}

// JSON returns the text that --stats writes.
func (s *Stats) JSON() []byte {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic("BUG: stats: statistics do not marshal: " + err.Error())
	}
	return append(b, '\n')
}

// Flag is a flag with its values. The value "" means that the flag is not given.
type Flag struct {
	Name   string
	Values []string
}

// NumberFlag returns a flag with a number, or without a value if the number is 0.
func NumberFlag(name string, n int) Flag {
	if n == 0 {
		return Flag{Name: name}
	}
	return Flag{Name: name, Values: []string{strconv.Itoa(n)}}
}

// Schedule returns a schedule as flags of the command line, or "default" if there are none.
func Schedule(flags ...Flag) string {
	var parts []string
	for _, f := range flags {
		for _, v := range f.Values {
			if v != "" {
				parts = append(parts, f.Name+"="+v)
			}
		}
	}
	if len(parts) == 0 {
		return "default"
	}
	return strings.Join(parts, " ")
}
