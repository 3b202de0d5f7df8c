package lower

// scoped has the values that are known at a place in the nest, by name. The value of an inner place
// hides an outer one of the same name. A scoped list is immutable, and nil is the empty list.
type scoped[V any] struct {
	name  string
	value V
	outer *scoped[V]
}

// with returns s with a further value.
func (s *scoped[V]) with(name string, v V) *scoped[V] { return &scoped[V]{name, v, s} }

// without returns s without the values of the given name.
func (s *scoped[V]) without(name string) *scoped[V] {
	switch {
	case s == nil:
		return nil
	case s.name == name:
		return s.outer.without(name)
	}
	return &scoped[V]{s.name, s.value, s.outer.without(name)}
}

// get returns the value of the given name. ok is false if there is none.
func (s *scoped[V]) get(name string) (v V, ok bool) {
	for ; s != nil; s = s.outer {
		if s.name == name {
			return s.value, true
		}
	}
	return v, false
}

// at returns the value of the given name, or V's zero value.
func (s *scoped[V]) at(name string) V {
	v, _ := s.get(name)
	return v
}

// names returns the names of all values.
func (s *scoped[V]) names() (list []string) {
	for ; s != nil; s = s.outer {
		list = append(list, s.name)
	}
	return list
}
