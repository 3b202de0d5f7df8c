package notation

// NameOld gives the left tensor's accesses on the right side, which stand for its old value, a
// tensor's name of their own, which it returns: "" where there are none. Their places in the
// text stay.
func NameOld(s *Stmt) (old string) {
	taken := map[string]bool{}
	var list []*Access
	for _, v := range s.LHS.Vars {
		taken[v] = true
	}
	Walk(s.RHS, func(e Expr) bool {
		switch e := e.(type) {
		case *Access:
			taken[e.Name] = true
			for _, v := range e.Vars {
				taken[v] = true
			}
			if e.Name == s.LHS.Name {
				list = append(list, e)
			}
		case *Sum:
			for _, v := range e.Vars {
				taken[v] = true
			}
		}
		return true
	})
	if len(list) == 0 {
		return ""
	}
	for old = s.LHS.Name + "_old"; taken[old]; {
		old += "_"
	}
	for _, a := range list {
		a.Name = old
	}
	return old
}
