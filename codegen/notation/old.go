package notation

import "distaff/codegen/diag"

// NameOld gives the left tensor's accesses on the right side, which stand for its old value, a
// tensor's name of their own, which it returns: "" where there are none. Their places in the
// text stay. Errors are *diag.Error.
func NameOld(s *Stmt) (old string, err error) {
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
			if e.Name != s.LHS.Name {
				return true
			}
			if list = append(list, e); len(e.Vars) != len(s.LHS.Vars) && err == nil {
				err = diag.At(diag.OrderMismatch, s.Src, e.At.Pos, e.At.End, "got %s with %s, want %d as where it stands first", e.Name, diag.Count(len(e.Vars), "mode"), len(s.LHS.Vars))
			}
		case *Sum:
			for _, v := range e.Vars {
				taken[v] = true
			}
		}
		return true
	})
	if err != nil || len(list) == 0 {
		return "", err
	}
	for old = s.LHS.Name + "_old"; taken[old]; {
		old += "_"
	}
	for _, a := range list {
		a.Name = old
	}
	return old, nil
}
