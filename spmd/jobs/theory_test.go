package jobs_test

import "math"

// figures are the params of a job file by name, and ranks the number of ranks.
type figures map[string]float64

// volume is what the theory of an algorithm says of its communication, in words: the elements of
// tensors, of 8 bytes each here. A word that a rank has from the beginning is not received, a word
// of a broadcast is sent once, by its root, and the sum of q blocks receives q-1 of them, whatever
// its tree.
type volume struct {
	received float64 // by a rank, in the mean; NaN where nothing is said of it
	even     bool    // each rank receives as many
	sent     float64 // by a rank, in the mean; NaN where nothing is said of it
	// that a rank sends, in the mean, a broadcast being one; NaN where nothing is said of them
	messages float64
}

// theory is the volume of an algorithm on several ranks. One rank sends nothing, whatever the
// algorithm.
type theory func(figures) volume

// of is the volume for some params.
func (f theory) of(v figures) volume {
	if v["ranks"] == 1 {
		return nothing(v)
	}
	return f(v)
}

// one is 1 where a dimension of the machine has several points, along which something is broadcast,
// and else 0.
func one(points float64) float64 {
	if points > 1 {
		return 1
	}
	return 0
}

// nothing is the volume of an algorithm whose tensors lie where it wants them.
func nothing(figures) volume { return volume{even: true} }

// square is what each rank of a square grid receives of two matrices in tiles whose products it
// sums: a row of tiles of one and a column of the other, less those that it has.
func square(v figures) float64 {
	n, root := v["n"], v["g"]
	return 2 * n * n / root * (1 - 1/root)
}

// alike tells whether all tiles of a square grid have one size.
func alike(v figures) bool { return math.Mod(v["n"], v["g"]) == 0 }

// summa broadcasts every tile once, in chunks. Chunks that lie in two tiles are cut between them.
func summa(v figures) volume {
	chunks := v["n"] / v["g"] / v["chunk"]
	if chunks != math.Trunc(chunks) {
		chunks = math.NaN()
	}
	return volume{square(v), alike(v), 2 * v["n"] * v["n"] / v["ranks"], 2 * chunks}
}

// pumma broadcasts every tile of one matrix once; those of the other go from neighbour to
// neighbour.
func pumma(v figures) volume {
	return volume{square(v), alike(v), v["n"] * v["n"] / v["g"], v["g"]}
}

// cannon broadcasts nothing: what is received is sent.
func cannon(v figures) volume { return volume{square(v), alike(v), square(v), 2 * (v["g"] - 1)} }

// johnson has tiles of n²/p^(2/3) words on three faces of a cube. Along its dimension, each tile of
// the operands goes to p^(1/3) - 1 other ranks, and as many partial tiles are summed to one of the
// result.
func johnson(v figures) volume {
	n, q, p := v["n"], v["g"], v["ranks"]
	return volume{received: 3 * n * n / (q * q) * (1 - 1/q), sent: (2*n*n + n*n*(q-1)) / p,
		messages: (2*q*q + q*q*(q-1)) / p}
}

// solomonik has c layers of a square grid, and all tiles on the first of them. Each rank takes
// 1/√(pc) of both operands, of which those of the first layer have some, and c-1 partial results
// are summed to each tile.
func solomonik(v figures) volume {
	n, c, p := v["n"], v["c"], v["ranks"]
	return volume{received: 2*n*n/math.Sqrt(p*c) - 2*n*n/(p*c) + n*n*(c-1)/p, sent: math.NaN(),
		messages: math.NaN()}
}

// cosma has tiles on three faces of a grid, like johnson, and broadcasts those of operands in
// steps. Ranks beyond the points of the grid receive nothing.
func cosma(v figures) volume {
	m, n, k := v["rows"], v["columns"], v["inner"]
	x, y, z, p := v["gx"], v["gy"], v["gz"], v["ranks"]
	words := m*k*(y-1) + k*n*(x-1) + m*n*(z-1)
	sent := m*k*one(y) + k*n*one(x) + m*n*(z-1)
	messages := v["steps"]*(x*z*one(y)+y*z*one(x)) + x*y*(z-1)
	return volume{received: words / p, sent: sent / p, messages: messages / p}
}

// halo has a band whose sides are narrower than the parts of the vector: from each neighbour comes
// one side.
func halo(v figures) volume {
	sides := 2 * (v["ranks"] - 1) / v["ranks"]
	words := v["width"] * sides
	return volume{received: words, sent: words, messages: sides * min(v["width"], 1)}
}

// innerprod sums a scalar of each rank.
func innerprod(v figures) volume {
	words := (v["ranks"] - 1) / v["ranks"]
	return volume{received: words, sent: words, messages: words}
}

// mttkrp has p^(1/3) pieces of each factor on an edge of a cube. A piece goes to p^(2/3) - 1 other
// ranks, and as many partial pieces are summed to one of the result.
func mttkrp(v figures) volume {
	n, r, q := v["n"], v["r"], v["g"]
	return volume{received: 3 * n * r / q * (1 - 1/(q*q)), sent: (2*n*r + n*r*(q*q-1)) / v["ranks"],
		messages: (2*q + q*(q*q-1)) / v["ranks"]}
}

// rounds brings all rows of a dense matrix, in columns of one tile, to each rank, but for those of
// its tile.
func rounds(v figures) volume {
	words := v["n"] * v["r"] / v["gy"] * (1 - 1/v["gx"])
	return volume{words, true, v["n"] * v["r"] / v["ranks"], v["rounds"] / v["gx"]}
}

// cutRows has chunks of entries, at the beginning of each of which but the first a row may be cut:
// of that the rank sends what it has to the one before, a number for each column of the result.
func cutRows(v figures) volume {
	cuts := (v["ranks"] - 1) / v["ranks"]
	words := cuts * max(v["r"], 1)
	return volume{received: words, sent: words, messages: cuts}
}

// cutFibers has a result of entries, of which each rank but one sends one at most, with its
// coordinates.
func cutFibers(figures) volume {
	return volume{received: math.NaN(), sent: math.NaN(), messages: math.NaN()}
}
