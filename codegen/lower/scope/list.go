package scope

// List has the values that are known at a place in the nest of loops, by name. A value of an inner
// place hides the value of an outer place with the same name. A list is immutable, and nil is the
// empty list.
type List[V any] struct {
	name  string
	value V
	outer *List[V]
}

// With returns s with a further value.
func (s *List[V]) With(name string, v V) *List[V] { return &List[V]{name, v, s} }

// Without returns s without the values of the given name.
func (s *List[V]) Without(name string) *List[V] {
	switch {
	case s == nil:
		return nil
	case s.name == name:
		return s.outer.Without(name)
	}
	return &List[V]{s.name, s.value, s.outer.Without(name)}
}

// Get returns the value of the given name. ok is false if there is none.
func (s *List[V]) Get(name string) (v V, ok bool) {
	for ; s != nil; s = s.outer {
		if s.name == name {
			return s.value, true
		}
	}
	return v, false
}

// At returns the value of the given name, or V's zero value.
func (s *List[V]) At(name string) V {
	v, _ := s.Get(name)
	return v
}

// Names returns the names of all values.
func (s *List[V]) Names() (list []string) {
	for ; s != nil; s = s.outer {
		list = append(list, s.name)
	}
	return list
}
