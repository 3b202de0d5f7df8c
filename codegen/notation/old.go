package notation

// NameOld renames the left tensor in its accesses on the right side, because these accesses read
// the tensor's old value. It changes s in place and returns the new name. It returns "" if the
// right side does not read the left tensor. The spans in the source text stay the same.
func NameOld(s *Stmt) (old string) {
	taken := map[string]bool{}
	var list []*Access
	for _, v := range append(s.LeftVars(), FreeVars(s.RHS)...) {
		taken[v] = true
	}
	for _, a := range s.Accesses() {
		taken[a.Name] = true
		if a.Name == s.LHS.Name {
			list = append(list, a)
		}
	}
	Walk(s.RHS, func(e Expr) bool {
		if e, ok := e.(*Sum); ok {
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
