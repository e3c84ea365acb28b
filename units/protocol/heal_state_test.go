package protocol

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"trueup/reconcile/trigger"
	"trueup/units/nspawn"
)

// Whatever the state folder refuses, there is at most one run a floor, it is said aloud, and a touch that was made
// meanwhile is covered once the folder is mended (A5, I3; CTR-22, CTR-24, LCK-03).
func stateFolder(t *testing.T, m *nspawn.Machine) {
	together(t, gates[:2], func(t *testing.T, g gateOf) { breakState(t, m, g) })
}

// A breakage is one way in which the state folder refuses.
type breakage struct {
	name        string
	breaks      func(t *testing.T, m *nspawn.Machine, state string)
	mend        func(t *testing.T, m *nspawn.Machine, state string)
	onlyForUser bool // root may write it all the same
}

var breakages = []breakage{
	{name: "full", breaks: fill, mend: func(t *testing.T, m *nspawn.Machine, state string) {
		check(t, os.Remove(m.Live(state)+"/filler"))
	}},
	{name: "read-only", breaks: func(t *testing.T, m *nspawn.Machine, state string) {
		m.MustExec(t, "mount", "-o", "remount,ro", state)
	}, mend: func(t *testing.T, m *nspawn.Machine, state string) {
		m.MustExec(t, "mount", "-o", "remount,rw", state)
	}},
	{name: "not owned", onlyForUser: true, breaks: func(t *testing.T, m *nspawn.Machine, state string) {
		check(t, os.Chown(m.Live(state), 0, 0))
	}, mend: func(t *testing.T, m *nspawn.Machine, state string) {
		check(t, os.Chown(m.Live(state), 900, 900))
	}},
}

// fill leaves no byte.
func fill(t *testing.T, m *nspawn.Machine, state string) {
	t.Helper()
	f, err := os.OpenFile(m.Live(state)+"/filler", os.O_CREATE|os.O_WRONLY, 0o600)
	check(t, err)
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !strings.Contains(err.Error(), unix.ENOSPC.Error()) {
		t.Fatal(err)
	}
}

// breakState adopts a counter whose state folder is a small file system of its own.
func breakState(t *testing.T, m *nspawn.Machine, g gateOf) {
	name := "state-" + g.name
	state := "/var/lib/trueup/" + name + "/state"
	owner := "mode=0700"
	if g.service != "" {
		owner += ",uid=900,gid=900"
	}
	m.Sh(t, "mkdir -p "+state+" && mount -t tmpfs -o size=256k,"+owner+" tmpfs "+state)
	v := victimise(t, g.place(m), options{name: name, service: g.service})
	mendSpool(t, v)
	v.folders.State = m.Live(state)
	for _, b := range breakages {
		if b.onlyForUser && !unprivileged(v) {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			v.settlesDown(t)
			since := uptime()
			b.breaks(t, m, state)
			ticket := v.runsUnrecorded(t)
			v.isLoud(t, since)
			b.mend(t, m, state)
			v.eventually(t, v.patience(), "the touch is covered", func() bool { return v.status(t).Covers(ticket) })
			v.settlesDown(t)
			v.keptFloor(t, since)
			v.recovers(t)
			v.pageIsWell(t)
		})
	}
}

// runsUnrecorded touches while no claim can be recorded: the number is copied by one run a floor, and the ticket is
// not covered, since nobody could know it after a crash.
func (v *victim) runsUnrecorded(t *testing.T) trigger.Ticket {
	t.Helper()
	v.number++
	ticket := v.write(t, v.number)
	v.awaitCopied(t, v.number, v.patience())
	v.awaitAttempts(t, len(v.attempts(t)), 3, v.patience())
	if v.status(t).Covers(ticket) {
		t.Error("covered without a record")
	}
	if err := v.alive(t); err != nil {
		t.Error(err)
	}
	return ticket
}

// isLoud shows that journal and status say that the state folder refuses.
func (v *victim) isLoud(t *testing.T, since time.Duration) {
	t.Helper()
	var said []nspawn.Entry
	v.eventually(t, v.patience(), "the journal says that the state folder refuses", func() bool {
		said = append(v.entries(t, since, "MESSAGE_ID="+trigger.MsgUnrecorded, "TRUEUP_UNIT="+v.name+".service"),
			v.entries(t, since, "MESSAGE_ID="+trigger.MsgDamaged, "TRUEUP_UNIT="+v.name+".service")...)
		return len(said) > 0
	})
	if t.Logf("%s", said[0]["MESSAGE"]); said[0]["PRIORITY"] > "3" {
		t.Errorf("the journal is not loud: %v", said)
	}
	v.pageSays(t)
}

// The folders deleted under a running trigger: no fast loop into the start limit, no 226/NAMESPACE, and all is well
// once they are back (CTR-22, CTR-23).
func foldersDeleted(t *testing.T, m *nspawn.Machine) {
	together(t, gates[:2], func(t *testing.T, g gateOf) {
		v := victimise(t, g.place(m), options{name: "gone-" + g.name, service: g.service + "\nProtectSystem=strict\nReadWritePaths=/srv"})
		mendSpool(t, v)
		for _, folder := range []string{v.folders.Spool, v.folders.State, v.folders.Outbox} {
			t.Run(filepath.Base(folder), func(t *testing.T) { v.losesFolder(t, folder) })
		}
	})
}

func (v *victim) losesFolder(t *testing.T, folder string) {
	v.settlesDown(t)
	v.number++
	v.commit(t, v.number)
	since := uptime()
	check(t, os.Rename(folder, folder+".away"))
	_ = trigger.Touch(v.folders.Spool) // the spool itself may be what is gone
	v.awaitCopied(t, v.number, v.patience())
	v.sweeps(t, 2)
	v.pageSays(t)
	if failed := v.entries(t, since, "EXIT_STATUS=226"); len(failed) > 0 {
		t.Errorf("226/NAMESPACE: %v", failed)
	}
	if err := os.Remove(folder); err == nil || os.IsNotExist(err) {
		check(t, os.Rename(folder+".away", folder))
	} else { // the gate has made it anew
		check(t, os.RemoveAll(folder+".away"))
	}
	v.recovers(t)
	v.settlesDown(t)
	v.keptFloor(t, since)
	v.pageIsWell(t)
}
