package cin

// The nodes of a loop over the positions of a level of an operand. Together they replace nested
// foralls over the variables of that level and the levels above. An example with the levels i and j
// of B, in chunks for threads:
//
//	span(p, i j, B(i,j,k), chunks(p, 4, positions(p, coord(j, p, at(p, forall(k, ...))))))
type (
	// Span declares Pos, a position of a level of Access. The range of Pos has the positions that
	// the leaf visits: the positions below the range of the level-0 variable. Levels has the
	// variables of the levels, from level 0 to the level of Pos.
	Span struct {
		Pos    string
		Levels []string
		Access *Access
		Body   Stmt
	}
	// Chunks cuts the range of Pos into chunks of about equal work, PerThread for each CPU thread,
	// and runs Body for each chunk on a thread. In Body, the range of Pos is the chunk.
	Chunks struct {
		Pos       string
		PerThread int64
		Body      Stmt
	}
	// Positions runs Body for every position in the range of Pos.
	Positions struct {
		Pos  string
		Body Stmt
	}
	// Coord loads Var, the variable of the level of Pos, from the level's coordinates.
	Coord struct {
		Var, Pos string
		Body     Stmt
	}
	// At moves the access of Pos and the target of Body to Pos. The target must have the same
	// pattern as the access, down to the level of Pos.
	At struct {
		Pos  string
		Body Stmt
	}
)

func (*Span) stmt()      {}
func (*Chunks) stmt()    {}
func (*Positions) stmt() {}
func (*Coord) stmt()     {}
func (*At) stmt()        {}

// Inner returns the only statement directly inside s, or nil if s contains none or several.
func Inner(s Stmt) Stmt {
	switch s := s.(type) {
	case *SuchThat:
		return s.Body
	case *Forall:
		return s.Body
	case *Span:
		return s.Body
	case *Chunks:
		return s.Body
	case *Positions:
		return s.Body
	case *Coord:
		return s.Body
	case *At:
		return s.Body
	}
	return nil
}

// withInner returns a copy of s whose only statement is body. Inner(s) must not be nil.
func withInner(s, body Stmt) Stmt {
	switch s := s.(type) {
	case *SuchThat:
		return &SuchThat{Body: body, Relations: s.Relations, Insert: s.Insert}
	case *Forall:
		f := *s
		f.Body = body
		return &f
	case *Span:
		return &Span{Pos: s.Pos, Levels: s.Levels, Access: s.Access, Body: body}
	case *Chunks:
		return &Chunks{Pos: s.Pos, PerThread: s.PerThread, Body: body}
	case *Positions:
		return &Positions{Pos: s.Pos, Body: body}
	case *Coord:
		return &Coord{Var: s.Var, Pos: s.Pos, Body: body}
	case *At:
		return &At{Pos: s.Pos, Body: body}
	}
	panic("BUG: cin: no statement inside")
}

// OnThreads reports whether s runs the statement inside it on CPU threads.
func OnThreads(s Stmt) bool {
	if _, chunks := s.(*Chunks); chunks {
		return true
	}
	f, ok := s.(*Forall)
	return ok && f.Unit == CPUThread
}
