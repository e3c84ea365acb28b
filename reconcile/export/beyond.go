package export

import (
	"math/rand/v2"
	"time"
)

// Leap is how far the numbers of a ledger that came from elsewhere go ahead at least where the clock does not lead further.
const Leap = 1 << 20

// Beyond is where the numbers of a ledger go on that came from elsewhere: at the milliseconds since the beginning of 2026, or
// beyond the greatest that is known. So whoever restores the same backup again goes on further up, with nothing to tell what
// was drawn meanwhile. A clock that is behind cannot tell either; then chance has to keep two such ledgers apart.
func Beyond(known int64, now time.Time) int64 {
	if at := now.Sub(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)).Milliseconds(); at > known {
		return at
	}
	return known + Leap + rand.Int64N(1<<40)
}
