package main

import "distaff/io/picture"

// tree draws the contraction tree of TTMc, and the loops that compute it with a small intermediate.
func tree() *picture.Picture {
	p := &picture.Picture{W: 1000, H: 330, Title: "A contraction tree and its loops",
		About: "A(i,l,m) = B(i,j,k) * C(j,l) * D(k,m): " +
			"the intermediate w exists inside the loops over i and j."}
	write := func(x, y, size, anchor float64, bold bool, text string) {
		p.Write(picture.Text{X: x, Y: y, Size: size, Anchor: anchor, Bold: bold, Text: text})
	}
	write(30, 30, 15, 0, true, "A(i,l,m) = B(i,j,k) * C(j,l) * D(k,m)")
	line := func(x1, y1, x2, y2 float64) {
		p.Path(picture.Faint, 1.5, nil, picture.Point{X: x1, Y: y1}, picture.Point{X: x2, Y: y2})
	}
	line(250, 106, 160, 170)
	line(250, 106, 340, 170)
	line(160, 206, 90, 262)
	line(160, 206, 230, 262)
	node := func(x, y float64, name, about string) {
		fill := files
		if about != "" {
			fill = compiler
		}
		p.Rect(x-62, y, 124, 36, fill)
		p.Frame(x-62, y, 124, 36)
		if about == "" {
			write(x, y+23, 13, .5, true, name)
			return
		}
		write(x, y+15, 13, .5, true, name)
		write(x, y+30, 10, .5, false, about)
	}
	node(250, 70, "A(i,l,m)", "sum over j of w * C")
	node(160, 170, "w(i,j,m)", "sum over k of B * D")
	node(340, 170, "C(j,l)", "")
	node(90, 262, "B(i,j,k)", "")
	node(230, 262, "D(k,m)", "")
	write(500, 58, 12, 0, false,
		"Both contractions share the loops over i and j, so w has one place for each m.")
	block := func(x, y, w, h float64, text string) {
		p.Rect(x, y, w, h, runtime)
		p.Frame(x, y, w, h)
		write(x+10, y+20, 13, 0, true, text)
	}
	block(500, 74, 470, 230, "for i")
	block(530, 104, 425, 186, "for j")
	block(560, 134, 190, 140, "for k")
	block(585, 164, 150, 95, "for m")
	write(597, 220, 12, 0, false, "w(m) += B * D")
	block(765, 134, 175, 140, "for l")
	block(785, 164, 140, 95, "for m")
	write(793, 220, 12, 0, false, "A += w(m) * C")
	return p
}
