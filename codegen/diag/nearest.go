package diag

import "strings"

// DidYouMean returns the end of a message that refuses a word: "; did you mean split?". words are
// the words that would be right. DidYouMean returns "" if typed is not close to one of them.
func DidYouMean(typed string, words []string) string {
	for _, w := range words {
		if strings.EqualFold(w, typed) {
			return "; did you mean " + w + "?"
		}
	}
	if n := Nearest(typed, words); n != "" {
		return "; did you mean " + n + "?"
	}
	return ""
}

// Either returns words as a message lists them: "a, b or c".
func Either(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Nearest returns the name that is closest to typed by edit distance, or "" if no name is close.
// The edit distance ignores case. If a name starts with typed and typed has at least 3 bytes, their
// distance counts as at most 1. A word of one byte is not close to any other. Ties go to the first
// in alphabetical order.
func Nearest(typed string, names []string) string {
	best, bestDist := "", 1+len(typed)/4
	if len(typed) == 1 {
		return ""
	}
	for _, n := range names {
		if len(n) == 1 {
			continue
		}
		d := distance(strings.ToLower(typed), strings.ToLower(n))
		// The start of a long name is also a likely mistake: --mem for --memory-limit.
		if len(typed) >= 3 && strings.HasPrefix(n, typed) {
			d = min(d, 1)
		}
		if d < bestDist || d == bestDist && (best == "" || n < best) {
			best, bestDist = n, d
		}
	}
	return best
}

// distance returns the Levenshtein distance, with a swap of neighbours as one step.
func distance(a, b string) int {
	prev2, prev := []int(nil), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur := make([]int, len(b)+1)
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev = prev, cur
	}
	return prev[len(b)]
}
