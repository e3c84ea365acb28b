package config

import "strings"

// The forms of numbers are told by hand: an expression with counts is costly to compile, and each start of the program would.

// digits counts the digits that a text begins with.
func digits(s string) (n int) {
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// wholeNumber tells whether a text is a whole number as people write it, of at most so many digits: -12, not 012 or -0.
func wholeNumber(s string, most int) bool {
	positive := strings.TrimPrefix(s, "-")
	return s == "0" || positive != "" && positive[0] != '0' && digits(positive) == len(positive) && len(positive) <= most
}

// sameNumber tells whether a text is a number that every reader gives back as it was written, so that it may stand for text.
func sameNumber(s string) bool { return wholeNumber(s, 15) }

// partNumber tells whether a text is a number with or without a part, such as 0.25.
func partNumber(s string) bool {
	whole, part, cut := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	return wholeNumber(whole, 9) && whole[0] != '-' && (!cut || part != "" && digits(part) == len(part) && len(part) <= 9)
}

// durationForm is the one form of a duration, for the schema: whole numbers with their units, the longest first.
const durationForm = `^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?([0-9]{1,6}ms)?$`

// isDuration tells whether a text has the form of a duration.
func isDuration(s string) bool {
	for _, unit := range []string{"h", "m", "s", "ms"} {
		n := digits(s)
		rest, is := strings.CutPrefix(s[n:], unit)
		if is && n >= 1 && n <= 6 && !(unit == "m" && strings.HasPrefix(rest, "s")) {
			s = rest
		}
	}
	return s == ""
}
