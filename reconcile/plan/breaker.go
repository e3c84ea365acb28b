package plan

import "fmt"

// A Breaker bounds the removals of one plan: more than either of its bounds wait for approval. The zero Breaker lets no
// removal pass.
type Breaker struct {
	Removals int     // how many
	Fraction float64 // how many of the things that are there now, 0 to 1; it bounds nothing where their number is not known
}

// DefaultBreaker is the breaker where nothing else is said.
func DefaultBreaker() Breaker { return Breaker{Removals: 5, Fraction: 0.25} }

// tolerance is more than binary fractions are off by: 57 of 100 are not more than 0.57.
const tolerance = 1e-6

// over says why so many removals have to wait, or nothing. A size of zero is not known.
func (b Breaker) over(removals, size int, first bool) string {
	what := counted(removals, "removal")
	switch {
	case removals == 0:
		return ""
	case first:
		return what + ", and the target has never been true before"
	case size > 0 && float64(removals) > b.Fraction*float64(size)+tolerance:
		return fmt.Sprintf("%s of %d, more than %.4g %%", what, size, b.Fraction*100)
	case removals > b.Removals:
		return fmt.Sprintf("%s, more than %d", what, b.Removals)
	}
	return ""
}

// counted is a number of things: "1 removal", "3 removals".
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
