package jobs

// Alike returns Statement.renamed of each statement.
func Alike(list []Statement) (keys []string) {
	for _, s := range list {
		keys = append(keys, s.renamed())
	}
	return keys
}
