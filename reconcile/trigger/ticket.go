package trigger

import (
	"fmt"
	"strconv"
	"strings"
)

// Ticket is what a web app keeps of a request, to ask later whether it is live: the epoch and the claim
// number that it read after its commit and before its touch.
type Ticket struct {
	Epoch string
	N     uint64
}

// String is the form that ParseTicket reads: EPOCH:N.
func (t Ticket) String() string { return t.Epoch + ":" + strconv.FormatUint(t.N, 10) }

// ParseTicket reads a ticket as String writes it.
func ParseTicket(s string) (Ticket, error) {
	epoch, number, _ := strings.Cut(s, ":")
	n, err := strconv.ParseUint(number, 10, 64)
	if !validEpoch(epoch) || err != nil { // any other epoch would count as an older one, which every success covers
		return Ticket{}, fmt.Errorf("ticket %q: want EPOCH:N, as trueup touch prints it: %d letters and digits, a colon and a number", s, epochLength)
	}
	return Ticket{Epoch: epoch, N: n}, nil
}

// validEpoch tells whether newEpoch could have made it.
func validEpoch(epoch string) bool {
	const base32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	return len(epoch) == epochLength && strings.Trim(epoch, base32) == ""
}

// Ticket is the ticket of a request whose touch follows this reading.
func (s Status) Ticket() Ticket { return Ticket{Epoch: s.Epoch, N: s.Claims} }

// Covers tells whether a successful run has read everything that was committed before the ticket was read.
// Under an epoch that the ticket does not know (the state folder was lost), any success does: its claim was
// numbered after the old epoch ended.
func (s Status) Covers(t Ticket) bool {
	if s.Epoch != t.Epoch {
		return s.Settled > 0
	}
	return s.Settled > t.N
}
