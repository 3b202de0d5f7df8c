package jobs_test

import "math"

// figures maps the params of a job file to their values, and "ranks" to the number of ranks.
type figures map[string]float64

// volume is the communication that the theory of an algorithm predicts. Words are elements of
// tensors, of 8 bytes each here. Three rules define what is counted. A word that a rank has from
// the beginning is not received. A broadcast sends each word once, from its root. A sum of q blocks
// receives q-1 blocks, whatever its tree. NaN means that the theory predicts nothing.
type volume struct {
	received float64 // mean number of words that a rank receives
	even     bool    // all ranks receive the same number of words
	sent     float64 // mean number of words that a rank sends
	messages float64 // mean number of messages that a rank sends; a broadcast is one message
}

// theory returns the volume of an algorithm on several ranks.
type theory func(figures) volume

// of returns the volume for given params. A single rank sends nothing.
func (f theory) of(v figures) volume {
	if v["ranks"] == 1 {
		return nothing(v)
	}
	return f(v)
}

// one returns 1 if a dimension of the machine has several points, so that a broadcast along it
// sends something. Otherwise it returns 0.
func one(points float64) float64 {
	if points > 1 {
		return 1
	}
	return 0
}

// nothing is the volume of an algorithm whose tensors are already where it needs them.
func nothing(figures) volume { return volume{even: true} }

// square returns the words that each rank of a square grid receives if it multiplies a row of tiles
// of one matrix with a column of tiles of another, without its own tiles.
func square(v figures) float64 {
	n, root := v["n"], v["g"]
	return 2 * n * n / root * (1 - 1/root)
}

// alike reports whether all tiles of a square grid have the same size.
func alike(v figures) bool { return math.Mod(v["n"], v["g"]) == 0 }

// summa broadcasts every tile once, in chunks. A chunk that would be in two tiles is divided.
func summa(v figures) volume {
	chunks := v["n"] / v["g"] / v["chunk"]
	if chunks != math.Trunc(chunks) {
		chunks = math.NaN()
	}
	return volume{square(v), alike(v), 2 * v["n"] * v["n"] / v["ranks"], 2 * chunks}
}

// pumma broadcasts every tile of one matrix once. Tiles of the other matrix move from neighbour to
// neighbour.
func pumma(v figures) volume {
	return volume{square(v), alike(v), v["n"] * v["n"] / v["g"], v["g"]}
}

// cannon broadcasts nothing, so every word that is received was sent.
func cannon(v figures) volume { return volume{square(v), alike(v), square(v), 2 * (v["g"] - 1)} }

// johnson has tiles of n²/p^(2/3) words on three faces of a cube. Each tile of an operand goes to
// p^(1/3) - 1 other ranks along one dimension. For each tile of the result, p^(1/3) - 1 partial
// tiles are received and added.
func johnson(v figures) volume {
	n, q, p := v["n"], v["g"], v["ranks"]
	return volume{received: 3 * n * n / (q * q) * (1 - 1/q), sent: (2*n*n + n*n*(q-1)) / p,
		messages: (2*q*q + q*q*(q-1)) / p}
}

// solomonik has c layers of a square grid, with all tiles on the first layer. Each rank needs
// 1/√(pc) of both operands, and ranks of the first layer already have some of it. For each tile of
// the result, c-1 partial tiles are received and added.
func solomonik(v figures) volume {
	n, c, p := v["n"], v["c"], v["ranks"]
	return volume{received: 2*n*n/math.Sqrt(p*c) - 2*n*n/(p*c) + n*n*(c-1)/p, sent: math.NaN(),
		messages: math.NaN()}
}

// cosma has tiles on three faces of a grid, like johnson, and broadcasts tiles of operands in
// steps. Ranks without a point of the grid receive nothing.
func cosma(v figures) volume {
	m, n, k := v["rows"], v["columns"], v["inner"]
	x, y, z, p := v["gx"], v["gy"], v["gz"], v["ranks"]
	words := m*k*(y-1) + k*n*(x-1) + m*n*(z-1)
	sent := m*k*one(y) + k*n*one(x) + m*n*(z-1)
	messages := v["steps"]*(x*z*one(y)+y*z*one(x)) + x*y*(z-1)
	return volume{received: words / p, sent: sent / p, messages: messages / p}
}

// halo has a band matrix whose half-width is less than a rank's part of the vector. Each neighbour
// sends width elements.
func halo(v figures) volume {
	sides := 2 * (v["ranks"] - 1) / v["ranks"]
	words := v["width"] * sides
	return volume{received: words, sent: words, messages: sides * min(v["width"], 1)}
}

// innerprod adds one scalar of each rank.
func innerprod(v figures) volume {
	words := (v["ranks"] - 1) / v["ranks"]
	return volume{received: words, sent: words, messages: words}
}

// mttkrp has p^(1/3) pieces of each factor on an edge of a cube. Each piece goes to p^(2/3) - 1
// other ranks. For each piece of the result, p^(2/3) - 1 partial pieces are received and added.
func mttkrp(v figures) volume {
	n, r, q := v["n"], v["r"], v["g"]
	return volume{received: 3 * n * r / q * (1 - 1/(q*q)), sent: (2*n*r + n*r*(q*q-1)) / v["ranks"],
		messages: (2*q + q*(q*q-1)) / v["ranks"]}
}

// rounds sends each rank all rows of a dense matrix, in the columns of its own tile, except the
// rows of that tile.
func rounds(v figures) volume {
	words := v["n"] * v["r"] / v["gy"] * (1 - 1/v["gx"])
	return volume{words, true, v["n"] * v["r"] / v["ranks"], v["rounds"] / v["gx"]}
}

// cutRows has chunks of entries. A row may be cut at the beginning of each chunk except the first.
// The rank then sends its part of the row, one number for each column of the result, to the rank
// before.
func cutRows(v figures) volume {
	cuts := (v["ranks"] - 1) / v["ranks"]
	words := cuts * max(v["r"], 1)
	return volume{received: words, sent: words, messages: cuts}
}

// cutFibers has a sparse result. Each rank except one sends at most one entry with its coordinates,
// so nothing exact is predicted.
func cutFibers(figures) volume {
	return volume{received: math.NaN(), sent: math.NaN(), messages: math.NaN()}
}
