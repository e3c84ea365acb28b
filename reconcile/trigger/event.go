package trigger

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/journal"
	"golang.org/x/sys/unix"
)

// MESSAGE_IDs of the journal entries: journalctl MESSAGE_ID=… finds every entry of a kind.
const (
	MsgWaiting    = "1c2a47b3d8e04a5f9d1f5a0b6f3c7e10" // a gate waits out the floor or a backoff
	MsgClaimed    = "5f0d9a6c3b7e4c1e8a2d4b9c0e6f1a21" // requests were claimed
	MsgSettled    = "9b3e6d1f7a504e8c8c5d2f0a1b4e7c32" // a run succeeded; its claim is settled
	MsgFailed     = "0b5d7f9a1c3e4a6d8e2f4b6c8d0a2e51" // a run failed under trueup watch; systemd has entries of its own
	MsgUnsettled  = "d4a8c2e0f61b4b7d93e5a7c9d0b2f443" // a run ended whose claim is not its own
	MsgCleaned    = "27f5b8d3c9e14d0aa6b1c3e5f7092854" // the spool held what does not belong there
	MsgStuck      = "e81c4f7a2b9d4563b0d6e8f1a3c5d765" // something in the spool cannot be removed
	MsgMoved      = "8c2e5a7d9f1b4360a4c6e8d0b2f49517" // the spool is another folder than before
	MsgUnrecorded = "3a9d7e5c1f8b4206c4e2a0d8b6f4e976" // the state folder refuses a claim
	MsgDamaged    = "b6e0f2d4c8a14719851f3d5b7c9e0a87" // a file in the state folder cannot be read
	MsgOutbox     = "70c3a5e7d9b14f2b9e8d6c4a2f0e1b98" // the outbox cannot be written
	MsgHealed     = "c90b7e25d4f14a6c8a3d1e6f5b2c7894" // the path unit had failed, and the alarm was raised before
	MsgDead       = "f2d8b4a6e0c24c3da7f1e3d5c9b80da9" // alarm trigger-dead: the path unit had failed
)

// Priority is a syslog priority, as in sd-daemon(3).
type Priority = journal.Priority

// Event is one journal entry: a sentence for people and fields for programs.
type Event struct {
	ID       string // one of the Msg constants
	Priority Priority
	Message  string
	Fields   map[string]string // upper-case names that begin with TRUEUP_
}

// Journal sends an event to the systemd journal. On a terminal, outside systemd or where no journal takes it, it
// prints it to stderr. (JOURNAL_STREAM would not tell: a unit may send its own output elsewhere.)
func Journal(e Event) {
	_, noTerminal := unix.IoctlGetTermios(int(os.Stderr.Fd()), unix.TCGETS)
	if noTerminal == nil || os.Getenv("INVOCATION_ID") == "" {
		Print(e)
		return
	}
	fields := map[string]string{"MESSAGE_ID": e.ID, "SYSLOG_IDENTIFIER": filepath.Base(os.Args[0])}
	maps.Copy(fields, e.Fields)
	if journal.Send(e.Message, e.Priority, fields) != nil {
		Print(e)
	}
}

// Print writes an event to stderr as one line, with its fields when it is a warning or worse.
func Print(e Event) {
	var line strings.Builder
	switch {
	case e.Priority <= journal.PriErr:
		line.WriteString("error: ")
	case e.Priority == journal.PriWarning:
		line.WriteString("warning: ")
	}
	line.WriteString(e.Message)
	if e.Priority <= journal.PriWarning {
		for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
			fmt.Fprintf(&line, " %s=%q", name, e.Fields[name])
		}
	}
	fmt.Fprintln(os.Stderr, line.String())
}
