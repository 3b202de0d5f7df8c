package spmd

import (
	"encoding/json"
	"runtime/debug"
	"strings"
	"time"
)

// version is set by the linker (make build).
var version = ""

// Version is this build's version: what make build found, else the commit that
// the go command noted, else "unknown".
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value[:min(len(s.Value), 12)]
		}
	}
	return "unknown"
}

// Stats is what --stats writes. Times are in seconds, of the slowest rank.
type Stats struct {
	Version   string                `json:"version"`
	Argv      []string              `json:"argv"`
	Statement string                `json:"statement"`
	Schedule  string                `json:"schedule"`
	Ranks     int                   `json:"ranks"`
	Threads   int                   `json:"threads"`
	Target    string                `json:"target"`
	Hosts     []string              `json:"hosts"`
	Compiler  string                `json:"compiler"`
	Inputs    map[string]InputStats `json:"inputs"`
	Phases    Phases                `json:"phases"`
	Comm      Comm                  `json:"comm"`
	Balance   Balance               `json:"balance"`
	PeakRSS   []int64               `json:"peak_rss_bytes"`
}

// InputStats names a file that was read, and its content's checksum.
type InputStats struct {
	File     string `json:"file"`
	Checksum string `json:"checksum"`
}

// Phases are the times of a job's phases.
type Phases struct {
	Load    float64   `json:"load"`
	Compile float64   `json:"compile"`
	Compute []float64 `json:"compute"` // every repeat after the warm-up
	Store   float64   `json:"store"`
	Total   float64   `json:"total"`
}

// Comm counts the payload of the last repeat, a rank.
type Comm struct {
	BytesSent     []int64 `json:"bytes_sent"`
	BytesReceived []int64 `json:"bytes_received"`
	MessagesSent  []int64 `json:"messages_sent"`
}

// Balance counts the stored entries of the largest operand that each rank
// computes with.
type Balance struct {
	Nonzeros []int64 `json:"nonzeros"`
}

// scheduleText is the job's schedule as flags say it, "default" without any.
func (o *Options) scheduleText() string {
	var parts []string
	add := func(flag string, values ...string) {
		for _, v := range values {
			if v != "" {
				parts = append(parts, flag+"="+v)
			}
		}
	}
	add("-s", o.Schedule...)
	add("-m", o.Machine)
	add("-p", o.Placements...)
	add("--split", o.Splits...)
	add("--order", o.BlockOrder)
	add("--extend", o.Extend...)
	add("--map", o.Map)
	add("--network", o.Network)
	if len(parts) == 0 {
		return "default"
	}
	return strings.Join(parts, " ")
}

// JSON is the text that --stats writes.
func (s *Stats) JSON() []byte {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic("BUG: spmd: statistics do not marshal: " + err.Error())
	}
	return append(b, '\n')
}

// seconds is the time since start.
func seconds(start time.Time) float64 { return time.Since(start).Seconds() }
