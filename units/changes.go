package units

import "strings"

// Op is what was done, or with DryRun would be done.
type Op int

// The operations.
const (
	None    Op = iota
	Create     // a file or folder is new
	Update     // it was there, and differed
	Remove     // it is gone
	Restore    // what --replace had put aside is back
	Enable     // a unit starts at boot
	Disable    // it does no more
	Start      // a unit was started, or started anew
	Stop       // a unit was stopped
)

var opNames = [...]string{"none", "create", "update", "remove", "restore", "enable", "disable", "start", "stop"}

// String is the operation's name, as in create.
func (op Op) String() string { return opNames[op] }

// MarshalText writes the name.
func (op Op) MarshalText() ([]byte, error) { return []byte(op.String()), nil }

// A Change is one thing that was done.
type Change struct {
	Op   Op     `json:"op"`
	What string `json:"what"` // the path of a file or folder, or the name of a unit
}

// Changes says what Adopt or Unadopt did, in the order in which it did it.
type Changes struct {
	Adoption Adoption // with everything that was left out filled in
	User     bool     // of a user's manager
	Done     []Change
	Timers   []string // what starts the unit regularly; empty: nothing does
	OwnTimer bool     // and we added it
	Warnings []string
}

// None tells whether everything was as it should be already.
func (c Changes) None() bool { return len(c.Done) == 0 }

// BackOut is the command that switches the trigger off and leaves everything in place. It stops the service as
// well: a gate that waits at that moment would still run once.
func (c Changes) BackOut() string {
	systemctl := "systemctl "
	if c.User {
		systemctl += "--user "
	}
	quote := func(unit string) string {
		if strings.Contains(unit, `\`) {
			return "'" + unit + "'"
		}
		return unit
	}
	return systemctl + "disable --now " + quote(c.Adoption.Path()) + " && " + systemctl + "stop " + quote(c.Adoption.Unit)
}

// A recorder does steps and notes them, or only notes them.
type recorder struct {
	changes *Changes
	dry     bool
}

func (r recorder) do(op Op, what string, step func() error) error {
	if !r.dry {
		if err := step(); err != nil {
			return err
		}
	}
	r.changes.Done = append(r.changes.Done, Change{op, what})
	return nil
}
