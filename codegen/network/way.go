package network

import "slices"

// CheckWay refuses what is no way to contract a product as flags and job files say it: auto (also
// ""), direct, pairwise or a tree.
func CheckWay(text string) error {
	if slices.Contains([]string{"", Auto.String(), Direct.String(), Pairwise.String()}, text) {
		return nil
	}
	_, err := ParseTree(text)
	return err
}
