package main

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"

	"distaff/io/picture"
)

// point is a measured job in the roofline model. intensity is the number of operations per byte of
// memory traffic, at the least possible traffic. operations is the number of operations per second.
type point struct {
	name                  string
	intensity, operations float64
}

// roof holds the limits of a machine, and jobs that ran on the machine. bandwidth is the number of
// bytes that the machine reads per second. operations is the number of operations that it performs
// per second.
type roof struct {
	bandwidth, operations float64
	points                []point
}

var (
	limitRow = regexp.MustCompile(
		`(?m)^\| (reads from memory|multiply-adds) \| ([\d.]+) G(?:B|flop)/s \|$`)
	pointRow = regexp.MustCompile(`(?m)^\| ([^|]+) \| ([\d.]+) \| ([\d.]+) \|$`)
)

// roofOf reads the two tables of the roofline in docs/machine.md. The first table has the limits of
// the machine, in GB/s and Gflop/s. The second table has a row for each job, with flop/byte and
// Gflop/s. A page without limits or without jobs is an error.
func roofOf(text string) (r roof, err error) {
	number := func(text string) float64 {
		v, parseErr := strconv.ParseFloat(text, 64)
		err = errors.Join(err, parseErr)
		return v
	}
	for _, m := range limitRow.FindAllStringSubmatch(text, -1) {
		if m[1] == "reads from memory" {
			r.bandwidth = 1e9 * number(m[2])
		} else {
			r.operations = 1e9 * number(m[2])
		}
	}
	for _, m := range pointRow.FindAllStringSubmatch(text, -1) {
		r.points = append(r.points, point{m[1], number(m[2]), 1e9 * number(m[3])})
	}
	if err == nil && (r.bandwidth == 0 || r.operations == 0 || len(r.points) == 0) {
		err = errors.New("docs/machine.md has no table for the roofline")
	}
	return r, err
}

// draw draws the roofline model (S. Williams, A. Waterman and D. Patterson, 2009). Both scales are
// logarithmic.
func (r roof) draw() *picture.Picture {
	const left, top, width, height = 80.0, 50.0, 640.0, 320.0
	minX, maxX, minY, maxY := 1.0/16, 1024.0, 1e9, math.Pow(10, math.Ceil(math.Log10(r.operations)))
	p := &picture.Picture{W: 1000, H: 440, Title: "How close jobs come to the limits of the machine",
		About: "Operations in a second against operations for each byte of memory traffic."}
	at := func(x, y float64) picture.Point {
		return picture.Point{X: left + width*math.Log(x/minX)/math.Log(maxX/minX),
			Y: top + height*math.Log(maxY/y)/math.Log(maxY/minY)}
	}
	write := func(x, y, size, anchor float64, text string) {
		p.Write(picture.Text{X: x, Y: y, Size: size, Anchor: anchor, Text: text})
	}
	for x := minX; x <= maxX; x *= 4 {
		q := at(x, minY)
		p.Path(compiler, 1, nil, q, at(x, maxY))
		write(q.X, q.Y+18, 11, .5, strconv.FormatFloat(x, 'g', 4, 64))
	}
	for y := minY; y <= maxY; y *= 10 {
		q := at(minX, y)
		p.Path(compiler, 1, nil, q, at(maxX, y))
		write(q.X-8, q.Y+4, 11, 1, fmt.Sprint(y/1e9))
	}
	p.Frame(left, top, width, height)
	write(left, 30, 13, 0, "Gflop/s")
	write(left+width/2, top+height+42, 13, .5, "operations for each byte of the least memory traffic")
	p.Path(picture.Ink, 2, nil, at(minX, minX*r.bandwidth), at(r.operations/r.bandwidth, r.operations),
		at(maxX, r.operations))
	for k, q := range r.points {
		to, c := at(q.intensity, q.operations), picture.Viridis(float64(k)/float64(len(r.points)))
		p.Rect(to.X-5, to.Y-5, 10, 10, c)
		p.Rect(left+width+24, top+30*float64(k), 10, 10, c)
		write(left+width+42, top+9+30*float64(k), 12, 0, q.name)
	}
	return p
}
