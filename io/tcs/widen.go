package tcs

// Widen makes the elements of the level arrays wider, for a kernel that was compiled for wider
// arrays. In level l, the elements of pos get at least pos[l] bytes and the elements of crd get at
// least crd[l] bytes. A width of 0 leaves the array as it is. A widened array is a copy that
// belongs to t and is counted by limit. The owner of the old array keeps the old array.
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
