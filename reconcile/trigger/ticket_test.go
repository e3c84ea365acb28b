package trigger

import "testing"

// A ticket reads as it was written, and nothing else does: under an epoch that never was, any success would cover it.
func TestParseTicket(t *testing.T) {
	for range 100 {
		want := Ticket{newEpoch(), 7}
		if got, err := ParseTicket(want.String()); err != nil || got != want {
			t.Fatalf("%s reads as %v, %v", want, got, err)
		}
	}
	for _, s := range []string{"", ":", "7", ":7", "EPOCHEPOCH", "EPOCHEPOCH:", "EPOCHEPOCH:x", "EPOCHEPOCH:-1", "EPOCHEPOCH:7 ", "epochepoch:7",
		"EPOCH:7", "EPOCHEPOCHE:7", "EPOCHEPOC1:7", "EPOCHEPOCH:18446744073709551616", " EPOCHEPOCH:7"} {
		if got, err := ParseTicket(s); err == nil {
			t.Errorf("%q reads as %v", s, got)
		}
	}
}
