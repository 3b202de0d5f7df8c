package jobs

// Alike returns Statement.alike of each statement.
func Alike(list []Statement) (keys []string) {
	for _, s := range list {
		keys = append(keys, s.alike())
	}
	return keys
}
