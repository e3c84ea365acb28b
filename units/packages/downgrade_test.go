package packages_test

import (
	"strings"
	"testing"

	"trueup/units/nspawn"
)

// TestDowngrade goes back to an older version where that can read the ledger. Where it cannot, the package refuses before
// anything is unpacked, and the program before anything is written.
func TestDowngrade(t *testing.T) {
	m := boot(t, nspawn.V257)
	const ledger = "/var/lib/trueup/trueup/state/ledger.db"
	m.WriteFile(t, "/etc/trueup/trueup.yaml", hello, 0o644)
	m.Sh(t, "dpkg -i /root/"+newer+".deb && trueup install && trueup touch --unit trueup.service --wait --timeout 1m")
	m.Sh(t, "mkfifo /var/lib/trueup/trueup/state/a.db && ln -s / /var/lib/trueup/trueup/state/b.db") // what its user may put there
	m.Sh(t, "timeout 300 dpkg -i /root/"+older+".deb")
	m.WriteFile(t, "/etc/trueup/trueup.yaml", hello+"lease: {ttl: 1ms}\n", 0o644) // which an earlier version took
	if said := m.Sh(t, "dpkg -i /root/"+newer+".deb 2>&1"); !strings.Contains(said, "trueup.service cannot sweep: /etc/trueup/trueup.yaml:") || !strings.Contains(said, "trueup check") {
		t.Errorf("upgraded beside a configuration that is refused, it says\n%s", said)
	}
	m.WriteFile(t, "/etc/trueup/trueup.yaml", hello, 0o644)
	m.Sh(t, "dpkg -i /root/"+older+".deb")
	if history := m.Sh(t, "trueup version; trueup history"); !strings.Contains(history, "v"+older) || !strings.Contains(history, "command:hello") {
		t.Errorf("after the downgrade it says\n%s", history)
	}

	// A later trueup has been here.
	m.Sh(t, `dpkg -i /root/`+newer+`.deb
		systemctl stop trueup.path trueup.timer trueup.service trueup-check.timer
		test ! -s `+ledger+`-wal
		printf '\0\0\0\143' | dd of=`+ledger+` bs=1 seek=60 conv=notrunc status=none`)
	content := "tail -c +101 " + ledger + " | sha256sum" // in the head SQLite counts who has opened it to write
	before := m.Sh(t, content)
	out, err := m.Exec(t.Context(), "sh", "-c", "dpkg -i /root/"+older+".deb 2>&1")
	if err == nil || !strings.Contains(out, ledger+" was written by a newer trueup") || !strings.Contains(out, "hint: ") {
		t.Errorf("the downgrade ends with %v:\n%s", err, out)
	}
	if state := m.Sh(t, "dpkg-query -W -f '${Version} ${Status}' trueup; trueup version"); !strings.Contains(state, newer+" install ok installed") || !strings.Contains(state, "v"+newer) {
		t.Errorf("after the refusal it is %s", state)
	}
	m.Sh(t, "dpkg -i /root/"+newer+".deb") // which is no step back, whatever lies there
	out, err = m.Exec(t.Context(), "sh", "-c", "trueup sweep 2>&1")
	if err == nil || !strings.Contains(out, "schema 99 is newer") {
		t.Errorf("a sweep of a later schema ends with %v:\n%s", err, out)
	}
	if after := m.Sh(t, content); after != before {
		t.Errorf("the refusals have changed the ledger: %s, before %s", after, before)
	}
	out, err = m.Exec(t.Context(), "sh", "-c", "dpkg -r trueup >/dev/null && dpkg -i /root/"+older+".deb 2>&1")
	if err == nil || !strings.Contains(out, ledger+" was written by a newer trueup") {
		t.Errorf("an installation after the removal of the newer ends with %v:\n%s", err, out)
	}
}
