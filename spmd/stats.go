package spmd

import (
	"runtime/debug"
	"strings"
	"time"

	"distaff/spmd/stats"
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

// Stats is what --stats writes, and its parts: see package stats.
type (
	Stats      = stats.Stats
	InputStats = stats.Input
	Phases     = stats.Phases
	Comm       = stats.Comm
	Balance    = stats.Balance
)

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

// seconds is the time since start.
func seconds(start time.Time) float64 { return time.Since(start).Seconds() }
