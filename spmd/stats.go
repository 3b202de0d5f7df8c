package spmd

import (
	"runtime/debug"

	"distaff/spmd/stats"
)

// version is set by the linker in make build.
var version = ""

// Version returns the version that make build set. If it is not set, Version returns the first 12
// characters of the commit that the go command recorded, or "unknown".
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

// Stats holds the statistics that --stats writes. The other types are its parts: see package stats.
type (
	Stats      = stats.Stats
	InputStats = stats.Input
	Phases     = stats.Phases
	Comm       = stats.Comm
	Balance    = stats.Balance
	Work       = stats.Work
)

// scheduleText returns the job's schedule as the flags of the command line, or "default" if there
// are none.
func (o *Options) scheduleText() string {
	one := func(name, value string) stats.Flag {
		return stats.Flag{Name: name,
			Values: []string{value}}
	}
	return stats.Schedule(stats.Flag{Name: "-s", Values: o.Schedule}, one("-m", o.Machine),
		stats.Flag{Name: "-p", Values: o.Placements},
		stats.Flag{Name: "--split", Values: o.Splits}, one("--order", o.BlockOrder),
		stats.Flag{Name: "--extend", Values: o.Extend}, one("--map", o.Map), one("--network",
			o.Network),
		stats.NumberFlag("--intermediate-order", o.IntermediateOrder))
}
