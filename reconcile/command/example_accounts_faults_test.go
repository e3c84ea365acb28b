package command

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"trueup/reconcile"
)

// ACT-01: the locks of another tool are waited for.
func TestAccountsLocked(t *testing.T) {
	t.Parallel()
	a := newAccounts(t)
	a.sql(t, "delete from accounts where login <> 'ada'")
	for _, file := range []string{"etc/passwd.lock", "etc/group.lock"} {
		a.write(t, file, strconv.Itoa(os.Getpid())) // as vipw does: the number of a process that lives
	}
	// The other tool lets go of one file while the script waits, and of the other while it waits again.
	a.write(t, "etc/trueup/bin/sleep", "#!/bin/sh\nrm /etc/group.lock 2>/dev/null || rm /etc/passwd.lock\n")
	a.Kind.settings.Env = map[string]string{"PATH": "/etc/trueup/bin:" + os.Getenv("PATH")}
	in, log := a.input(t), &printed{text: map[string]string{}}
	in.Log = log.log
	if _, err := converge(t, a.Kind, in); err != nil {
		t.Fatal(err)
	}
	settled(t, a.Kind, in)
	for _, file := range []string{"group", "passwd"} {
		if said := log.text["apply account:ada"]; !strings.Contains(said, "cannot lock /etc/"+file+"; try again later") {
			t.Errorf("%s was not locked: %s", file, said)
		}
	}
}

// ACT-07: whoever reads the keys during updates finds all of the old or all of the new.
func TestAccountsKeysAreReplacedWhole(t *testing.T) {
	t.Parallel()
	a := newAccounts(t)
	a.sql(t, "delete from accounts where login <> 'ada'")
	a.become(t, "+ account ada (uid 20001)")
	stop, path := make(chan struct{}), a.path("etc/ssh/authorized_keys.d/ada")
	var reader sync.WaitGroup
	reads := 0
	reader.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != key1+"\n"+key2+"\n" && string(got) != key2+"\n" {
				t.Errorf("read %q, %v", got, err)
				return
			}
			reads++
		}
	})
	for _, change := range []string{"delete from keys where key = '" + key1 + "'", "delete from keys; insert into keys values ('ada', '" + key1 + "'), ('ada', '" + key2 + "')"} {
		a.sql(t, change)
		seen, in := a.observe(t)
		for range 10 { // the same again replaces the file again
			if err := a.Apply(t.Context(), in, seen, seen.Changes[0]); err != nil {
				t.Fatal(err)
			}
		}
	}
	close(stop)
	reader.Wait()
	if reads == 0 {
		t.Error("nothing was read")
	}
}

// ACT-09: on a full disk the old keys stay, and a file that is right is not written again.
func TestAccountsFullDisk(t *testing.T) {
	t.Parallel()
	a := newAccounts(t)
	a.sql(t, "delete from accounts where login <> 'ada'")
	a.become(t, "+ account ada (uid 20001)")
	path := a.path("etc/ssh/authorized_keys.d/ada")
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	a.become(t)
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) || before.ModTime() != after.ModTime() {
		t.Errorf("the file was written again: %v", err)
	}
	a.sql(t, "delete from keys where key = '"+key1+"'")
	full := *a.Kind
	full.settings.Env = map[string]string{"KEYS_FULL": "1"}
	in, log := a.input(t), &printed{text: map[string]string{}}
	in.Log = log.log
	seen, err := a.Observe(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	err = full.Apply(t.Context(), in, seen, seen.Changes[0])
	said := log.text["apply account:ada"]
	if err == nil || !strings.Contains(said, "No space left on device") || !strings.Contains(said, key1+"\n"+key2+"\n") {
		t.Errorf("%v; the folder then had %s", err, said)
	}
}

// ACT-05: whenever the script and its tools are killed, the next run completes what they began.
func TestAccountsKilledAnywhere(t *testing.T) {
	t.Parallel()
	rounds := 8
	if os.Getenv("TRUEUP_PROVE") == "1" {
		rounds = 300
	}
	a := newAccounts(t)
	a.sql(t, "delete from accounts where login <> 'ada'")
	in := a.input(t)
	for n := range rounds {
		began := time.Now()
		if _, err := converge(t, a.Kind, in); err != nil {
			t.Fatalf("round %d: %v", n, err)
		}
		settled(t, a.Kind, in)
		took := time.Since(began)
		undo := exec.Command("sh", "-ec", "sed -i '/^ada:/d' etc/passwd etc/shadow etc/group etc/gshadow; rm -rf home/ada etc/ssh/authorized_keys.d")
		undo.Dir = string(a.scratch)
		if out, err := undo.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		kill := time.AfterFunc(rand.N(took/2), func() { cancel(reconcile.ErrLeaseLost) }) // apply is about a half of it
		_ = a.Apply(ctx, in, Seen{}, reconcile.Change{ID: "account:ada", Op: reconcile.Create, Text: "account ada"})
		kill.Stop()
	}
	if _, err := converge(t, a.Kind, in); err != nil {
		t.Fatal(err)
	}
	settled(t, a.Kind, in)
}
