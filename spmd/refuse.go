package spmd

import "distaff/codegen/schedule"

// refuse says which part of what is asked for is not built: a job must not
// silently run as another one.
func (o *Options) refuse() error {
	no := func(flag, why string) error {
		return commandErrorf("%s: %s", flag, why)
	}
	const noGrid = "machine grids and placements are not built in this version; --ranks, --split, --order, --extend and --map distribute a job"
	if len(o.Schedule) > 0 {
		if _, err := schedule.Parse(o.Schedule); err != nil {
			return err
		}
	}
	switch {
	case o.Target == "cuda":
		return no("--target=cuda", "leaves run on the CPU in this version; no GPU code is built")
	case o.Machine != "":
		return no("-m="+o.Machine, noGrid)
	case len(o.Placements) > 0:
		return no("-p="+o.Placements[0], noGrid)
	case o.Network != "" && o.Network != "auto" && o.Network != "direct":
		return no("--network="+o.Network, "contraction sequences are not built in this version; a product runs as one loop nest (direct)")
	}
	return nil
}
