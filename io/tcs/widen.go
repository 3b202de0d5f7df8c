package tcs

// Widen converts the pos and crd arrays of level l to at least pos[l] and crd[l] bytes an
// element; 0 means any width. It is for a kernel that was compiled for wider arrays before the
// tensor was made. Converted copies are counted by limit and belong to t. The owner of the old
// arrays keeps them.
func (t *Tensor) Widen(pos, crd []uint8, limit *Limit) error {
	for l := range t.Levels {
		lev := &t.Levels[l]
		for _, x := range []struct {
			a    *Array
			want uint8
		}{{&lev.Pos, pos[l]}, {&lev.Crd, crd[l]}} {
			if x.a.Width == 0 || x.a.Width >= x.want {
				continue
			}
			mem, err := Alloc(limit, x.a.Len*int64(x.want), "wider level arrays")
			if err != nil {
				return err
			}
			wide := mem.Array(0, x.a.Len, x.want)
			for i := range x.a.Len {
				wide.SetInt(i, x.a.Int(i))
			}
			wide.First = x.a.First
			*x.a = wide
			t.Own(mem)
		}
	}
	return nil
}
