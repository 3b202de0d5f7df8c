package spmd

import "fmt"

// refuse says which part of what is asked for is not built: a job must not
// silently run as another one.
func (o *Options) refuse() error {
	no := func(flag, why string) error {
		return commandErrorf("%s: %s", flag, why)
	}
	const oneRank = "jobs run on one rank in this version"
	switch {
	case o.Ranks > 1:
		return no(fmt.Sprintf("--ranks=%d", o.Ranks), oneRank)
	case o.Target == "cuda":
		return no("--target=cuda", "leaves run on the CPU in this version; no GPU code is built")
	case len(o.Schedule) > 0:
		return no("-s="+o.Schedule[0], "scheduling commands are not built in this version; without -s the default schedule is used")
	case o.Machine != "":
		return no("-m="+o.Machine, oneRank)
	case len(o.Placements) > 0:
		return no("-p="+o.Placements[0], oneRank)
	case len(o.Splits) > 0:
		return no("--split="+o.Splits[0], oneRank)
	case o.BlockOrder != "":
		return no("--order="+o.BlockOrder, oneRank)
	case len(o.Extend) > 0:
		return no("--extend="+o.Extend[0], oneRank)
	case o.Map != "":
		return no("--map="+o.Map, oneRank)
	case o.Network != "" && o.Network != "auto" && o.Network != "direct":
		return no("--network="+o.Network, "contraction sequences are not built in this version; a product runs as one loop nest (direct)")
	}
	return nil
}
