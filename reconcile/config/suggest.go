package config

import (
	"fmt"
	"strings"
)

// nearest is the known word that was probably meant by one that is not; nothing where none is near.
func nearest(word string, known []string) string {
	best, least := "", len(word)/3+2 // a slip for each three letters
	for _, k := range known {
		if d := distance(strings.ToLower(word), k); d < least {
			best, least = k, d
		}
	}
	return best
}

// didYouMean is the hint for the word that was probably meant.
func didYouMean(near string) string {
	if near == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", near)
}

// distance counts the letters to insert, drop, replace or swap with their neighbour that lead from a to b.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64 // no key is so long
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
		for j := 1; j <= len(b); j++ {
			if i == 0 {
				rows[i][j] = j
				continue
			}
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			rows[i][j] = min(replace, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
