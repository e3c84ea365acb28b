package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"trueup/reconcile"
	"trueup/reconcile/command"
	"trueup/reconcile/config"
	"trueup/reconcile/plan"
	"trueup/reconcile/policy"
	"trueup/reconcile/sqlite"
	"trueup/reconcile/trigger"
	"trueup/units"
)

// fit is a patient with whom all is well; each case plants something.
func fit() patient {
	f := well()
	room := unix.Statfs_t{Bsize: 4096, Blocks: 1 << 20, Bavail: 1 << 19, Files: 1 << 20, Ffree: 1 << 19}
	own := func(mode uint32) acl {
		return acl{uid: 1001, gid: 1001, mode: mode, entries: []aclEntry{{aclOwner, uint16(mode >> 6 & 7), 0}, {aclOwnerGroup, uint16(mode >> 3 & 7), 0}, {aclOther, uint16(mode & 7), 0}}}
	}
	var dirs []dirFacts
	for _, d := range []dirFacts{{role: "spool", path: f.folders.Spool, acl: own(0o770)}, {role: "requests", path: f.folders.Spool + "/requests", acl: own(0o770)},
		{role: "state", path: f.folders.State, acl: own(0o700)}, {role: "outbox", path: f.folders.Outbox, acl: own(0o755)}} {
		d.disk = room
		dirs = append(dirs, d)
	}
	f.site = &siteFacts{folders: f.folders, standings: []reconcile.Standing{{Target: "command:web", Asked: 7, Covered: 9, AskedAt: noon.Add(-time.Minute), CoveredAt: noon.Add(-time.Hour),
		Report: reconcile.Report{State: reconcile.OK}}}}
	return patient{
		facts: f, gate: "trueup-gate " + version, dirs: dirs,
		exam: &units.Examination{Version: 252, User: "app", Timeout: 10 * time.Minute,
			Adoption: units.Adoption{Unit: "web.service", Gate: "/usr/local/bin/trueup-gate", Folders: f.folders}},
		host:    hostFacts{runsAs: &identity{"app", 1001, []uint32{1001}}},
		inotify: inotifyFacts{usage{4, 128}, usage{30, 60000}},
		ledger: &ledgerFacts{path: "/var/lib/trueup/web/state/ledger.db", health: sqlite.Health{Schema: 1, Journal: "wal"},
			config: &config.Config{Targets: []config.Target{{Kind: "command", Name: "web", Scopes: []reconcile.Scope{"host:web"}}}},
			files:  []dirFacts{{path: f.folders.State, acl: own(0o700), disk: room}, {path: "/var/lib/trueup/web/state/ledger.db", acl: own(0o640)}}},
		trip: &tripFacts{took: 31 * time.Millisecond},
	}
}

// owed makes the target wait for longer than is well.
func (a *patient) owed() { a.site.standings[0].Asked = 11 }

// reserve keeps the target from being ticked.
func (a *patient) reserve(i reconcile.Item) {
	a.site.reserved = map[reconcile.Key]reconcile.Item{"command:web": i}
}

func (a *patient) refuse(rule, reason string) {
	a.exam.Refused = append(a.exam.Refused, units.Verdict{Rule: rule, Reason: reason})
}

func (a *patient) warn(rule, reason string) {
	a.exam.Warned = append(a.exam.Warned, units.Verdict{Rule: rule, Reason: reason})
}

var doctorCases = []struct {
	name  string
	id    string
	word  word
	do    string // a part of the command that mends it
	plant func(*patient)
}{
	{"no alarms", "systemd.alarms", isWarning, "trueup alarms enable", func(a *patient) { a.warn("alarms", "nobody looks for alarms") }},
	{"old systemd", "systemd.version", isWarning, "", func(a *patient) { a.warn("version", "systemd 245 is old") }},
	{"not asked", "systemd.manager", isWrong, "", func(a *patient) { a.exam, a.examErr = nil, errors.New("no answer") }},
	{"not reloaded", "systemd.reload", isWarning, "", func(a *patient) { a.warn("reload", "web.path has changed on disk") }},
	{"no linger", "systemd.linger", isWrong, "loginctl enable-linger app", func(a *patient) {
		a.user = true
		a.exam.Warned = []units.Verdict{{Rule: "linger", Reason: "linger is off", Hint: "loginctl enable-linger app"}}
	}},
	{"no bus", "systemd.bus", isWarning, "dbus-user-session", func(a *patient) { a.user, a.busErr = true, os.ErrNotExist }},
	{"inotify gone", "systemd.inotify-instances", isWrong, "sysctl fs.inotify.max_user_instances=1024", func(a *patient) { a.inotify.instances.used = 128 }},
	{"inotify short", "systemd.inotify-instances", isWarning, "sysctl", func(a *patient) { a.inotify.instances.used = 126 }},
	{"watches short", "systemd.inotify-watches", isWarning, "sysctl fs.inotify.max_user_watches=120000", func(a *patient) { a.inotify.watches.used = 59000 }},
	{"clock of the epoch", "systemd.clock", isWrong, "timedatectl", func(a *patient) { a.now = time.Unix(0, 0) }},
	{"clock set back", "systemd.clock", isWrong, "timedatectl", func(a *patient) { a.site.standings[0].Ticked = noon.Add(time.Hour) }},
	{"clock moved", "systemd.clock-set", isNote, "", func(a *patient) { a.state.Settled.Finished.Wall = noon.Add(-time.Hour) }},
	{"no NTP", "systemd.ntp", isNote, "timedatectl", func(a *patient) { a.clock.unsynchronised = true }},

	{"masked path", "trigger.path", isWrong, "systemctl unmask web.path && trueup adopt web.service", func(a *patient) { a.systemd.Path.Load = "masked" }},
	{"failed path", "trigger.path", isWrong, "systemctl reset-failed web.path web.service && systemctl start web.path", func(a *patient) {
		a.systemd.Path.Active, a.systemd.Path.Result = "failed", "unit-start-limit-hit"
	}},
	{"failed by the spool", "trigger.path", isWrong, "systemctl start --no-block web.service", func(a *patient) {
		a.systemd.Path.Active, a.systemd.Path.Result = "failed", "resources"
	}},
	{"mounted over", "trigger.path", isWrong, "systemctl restart web.path", func(a *patient) { a.systemd.spoolUnwatched = true }},
	{"timer elapsed", "trigger.timer", isWrong, "OnActiveSec=", func(a *patient) { a.systemd.Timers[0].Sub, a.systemd.Timers[0].Next = "elapsed", time.Time{} }},
	{"timer alone", "trigger.timer-alone", isWarning, "", func(a *patient) { a.warn("timer-alone", "web.timer: OnUnitActiveSec= alone") }},
	{"drifted", "trigger.drift", isWrong, "trueup adopt web.service", func(a *patient) { a.systemd.Drifted = true }},
	{"stays", "trigger.type", isWrong, "systemctl edit web.service", func(a *patient) { a.refuse("type", "RemainAfterExit=yes") }},
	{"gate gone", "trigger.gate-file", isWrong, "", func(a *patient) { a.refuse("gate", "is no program"); a.gate = "" }},
	{"other gate", "trigger.gate-version", isWarning, "make install", func(a *patient) { a.gate = "trueup-gate v0" }},
	{"unbounded", "trigger.timeout", isWarning, "systemctl edit web.service", func(a *patient) {
		a.exam.Timeout = 0
		a.warn("timeout", "no TimeoutStartSec=")
	}},
	{"bounded below the floor", "trigger.timeout", isNote, "systemctl edit", func(a *patient) { a.exam.Timeout = 20 * time.Second }},
	{"boot waits", "trigger.boot", isWarning, "systemctl disable web.service", func(a *patient) { a.warn("boot", "it is enabled") }},
	{"failing", "trigger.runs", isWrong, "journalctl -u web.service", func(a *patient) { a.shown.State, a.state.Claim = trigger.Failing, claim(4, time.Minute) }},
	{"stuck", "trigger.gate", isWrong, "journalctl", func(a *patient) { a.trouble.Needs = []string{"the spool cannot be emptied"} }},
	{"no trip", "trigger.round-trip", isNote, "trueup doctor --unit=web.service --round-trip", func(a *patient) { a.trip = nil }},
	{"trip in vain", "trigger.round-trip", isWrong, "journalctl", func(a *patient) { a.trip = &tripFacts{err: errNotTaken} }},
	{"trip refused", "trigger.round-trip", isWrong, "", func(a *patient) { a.trip = &tripFacts{err: os.ErrPermission} }},

	{"state gone", "folders.state", isWrong, "trueup adopt web.service", func(a *patient) { a.stateErr = os.ErrNotExist }},
	{"state read-only", "folders.state", isWrong, "findmnt -T /var/lib/trueup/web/state", func(a *patient) {
		a.stateErr = &os.PathError{Op: "writing", Path: a.folders.State, Err: unix.EROFS}
	}},
	{"state full", "folders.state", isWrong, "df -h /var/lib/trueup/web/state", func(a *patient) {
		a.stateErr = errors.Join(&os.PathError{Op: "writing", Path: a.folders.State, Err: full(unix.Statfs_t{Files: 10})})
	}},
	{"state immutable", "folders.state", isWrong, "lsattr -d /var/lib/trueup/web/state", func(a *patient) {
		a.stateErr = &os.PathError{Op: "writing", Path: a.folders.State, Err: unix.EPERM}
	}},
	{"on nfs", "folders.place", isWrong, "--spool DIR", func(a *patient) { a.refuse("place", "the spool is on nfs") }},
	{"nested", "folders.nested", isWrong, "--spool DIR", func(a *patient) { a.refuse("shared", "they lie in one another") }},
	{"mode", "folders.mode", isWrong, "trueup adopt web.service", func(a *patient) { a.refuse("folders", "its mode") }},
	{"another's outbox", "folders.access", isWrong, "chown -R app /var/lib/trueup/web/outbox", func(a *patient) { a.dirs[3].acl.uid = 1002 }},
	{"another's spool", "folders.access", isWrong, "setfacl -m u:app:rwx /var/lib/trueup/web/spool", func(a *patient) { a.dirs[0].acl.uid, a.dirs[0].acl.gid = 1002, 1002 }},
	{"everybody's spool", "folders.access", isWarning, "--web-group GROUP", func(a *patient) { a.dirs[0].acl.entries[2].perm = 7 }},
	{"mask", "folders.acl", isWarning, "setfacl -m m::rwx", func(a *patient) {
		for i := range 2 {
			a.dirs[i].acl.entries = append(a.dirs[i].acl.entries, aclEntry{aclUser, 7, 100999}, aclEntry{aclMask, 5, 0})
		}
	}},
	{"half an ACL", "folders.acl", isWarning, "setfacl --set-file=- /var/lib/trueup/web/spool/requests", func(a *patient) {
		a.dirs[0].acl.entries = append(a.dirs[0].acl.entries, aclEntry{aclUser, 7, 100999}, aclEntry{aclMask, 7, 0})
	}},
	{"label", "folders.label", isWarning, "chcon -R -t container_file_t /var/lib/trueup/web/spool", func(a *patient) { a.host.selinux = true }},
	{"mount", "folders.mount", isNote, "", func(a *patient) { a.dirs[0].mounts = 1 }},
	{"full", "folders.space", isWrong, "df -h", func(a *patient) { a.dirs[3].disk.Bavail = 0 }},
	{"little room", "folders.space", isWarning, "df -h", func(a *patient) { a.dirs[3].disk.Bavail = 10 }},
	{"few inodes", "folders.space", isWarning, "df -i", func(a *patient) { a.dirs[2].disk.Ffree = 10 }},

	{"no ledger yet", "ledger.open", isNote, "trueup sweep", func(a *patient) { a.ledger.none, a.ledger.err = true, os.ErrNotExist }},
	{"ledger newer", "ledger.open", isWrong, "", func(a *patient) { a.ledger.err = errors.New("its schema 9 is newer") }},
	{"ledger root's", "ledger.access", isWrong, "chown app", func(a *patient) { a.ledger.files[1].acl.uid, a.ledger.files[1].acl.gid = 0, 0 }},
	{"ledger readable", "ledger.access", isWarning, "chmod o=", func(a *patient) { a.ledger.files[1].acl.entries[2].perm = 4 }},
	{"ledger immutable", "ledger.write", isWrong, "chattr -i", func(a *patient) {
		a.ledger.hindered = []finding{{"ledger.db has been made immutable", "chattr -i ledger.db"}}
	}},
	{"no wal", "ledger.journal", isWrong, "journal_mode=wal", func(a *patient) { a.ledger.health.Journal = "delete" }},
	{"damaged", "ledger.content", isWrong, "restore a backup", func(a *patient) {
		a.ledger.flaws = []reconcile.Flaw{{Where: "the file", What: "row 3 missing", Do: "restore a backup"}}
	}},
	{"free pages", "ledger.space", isNote, "trueup ledger prune", func(a *patient) { a.ledger.health.Free = 1 << 30 }},
	{"large", "ledger.content", isNote, "trueup ledger check", func(a *patient) { a.ledger.hurried = true }},
	{"lapsed", "ledger.lapsed", isNote, "trueup sweep", func(a *patient) { a.ledger.health.Lapsed = []reconcile.Lease{{Run: "r-00000"}} }},
	{"dead", "ledger.sessions", isNote, "", func(a *patient) { a.ledger.health.Dead = 2 }},

	{"faults", "targets.config", isWrong, `did you mean "check"?`, func(a *patient) {
		a.ledger.config, a.ledger.configErr = nil, config.Faults{{File: "a.yaml", Line: 3, Message: "unknown key", Hint: `did you mean "check"?`}}
	}},
	{"moved", "targets.folders", isWrong, "trueup install", func(a *patient) { a.site.folders.Spool = "/elsewhere" }},
	{"held", "targets.states", isWrong, "trueup approve r-00000", func(a *patient) {
		a.site.holds = map[reconcile.Key]plan.Hold{a.site.standings[0].Target: {Run: "r-00000", Why: "41 removals"}}
	}},
	{"starved by a run", "targets.starved", isWarning, "trueup show r-00000", func(a *patient) {
		a.owed()
		a.site.leases = []reconcile.Lease{{Run: "r-00000", Target: "command:other", Scopes: []reconcile.Scope{"host:web"}, Until: noon}}
	}},
	{"starved by nobody", "targets.starved", isWrong, "trueup work done repair", func(a *patient) {
		a.owed()
		a.reserve(reconcile.Item{ID: "repair", State: reconcile.Blocked})
	}},
	{"starved by a person", "targets.starved", isWarning, "trueup work done repair --fence 12", func(a *patient) {
		a.owed()
		a.reserve(reconcile.Item{ID: "repair", State: reconcile.InProgress, Session: reconcile.Session{Fence: 12, Until: noon.Add(time.Minute)}})
	}},
	{"starved by an item that cannot be read", "targets.starved", isWrong, "trueup work discard repair", func(a *patient) {
		a.owed()
		a.reserve(reconcile.Item{ID: "repair", State: reconcile.Unreadable})
	}},
	{"unreadable", "targets.unattended", isWrong, "trueup work discard repair", func(a *patient) {
		a.site.items = []reconcile.Item{{ID: "repair", State: reconcile.Unreadable, Note: "event 2: unknown", Scopes: []reconcile.Scope{"x"}}}
	}},
	{"a pause without a session", "targets.unattended", isWrong, "trueup resume command:web", func(a *patient) {
		a.site.items = []reconcile.Item{{ID: "pause:command:web", State: reconcile.Blocked}}
	}},
	{"paused", "targets.starved", isNote, "trueup resume command:web", func(a *patient) {
		a.owed()
		a.reserve(reconcile.Item{ID: "pause:command:web", State: reconcile.InProgress})
	}},
	{"begun", "targets.markers", isWarning, "trueup show r-00000", func(a *patient) {
		a.ledger.markers = []reconcile.Record{{Value: []byte(`{"run":"r-00000","change":{"id":"x","text":"invite ada"}}`)}}
	}},
	{"twice", "targets.rivals", isWarning, "trueup uninstall --name lab", func(a *patient) {
		a.ledger.rivals = []rival{{"lab", "trueup-lab.service", "/etc/trueup/trueup.yaml", "/var/lib/trueup/trueup-lab/state/ledger.db", "command:web"}}
	}},
	{"no program", "targets.programs", isWrong, "ls -l /bin/nope", func(a *patient) { a.ledger.programs = []missing{{"command:web", "check", "/bin/nope"}} }},
}

// TestDoctorFinds plants each fault and looks for the check that tells of it, and the command that mends it.
func TestDoctorFinds(t *testing.T) {
	for _, c := range doctorCases {
		t.Run(c.name, func(t *testing.T) {
			a := fit()
			c.plant(&a)
			i := slices.IndexFunc(a.checks(), func(found check) bool { return found.ID == c.id && found.Word != isOK })
			if i < 0 {
				t.Fatalf("%s is not told of", c.id)
			}
			if found := a.checks()[i]; found.Word != c.word || !strings.Contains(found.Do, c.do) || found.What == "" {
				t.Errorf("got %q %q, do %q; want %q, do %q", found.Word, found.What, found.Do, c.word, c.do)
			}
		})
	}
}

// TestEveryFindingSaysWhatToDo: whatever status or doctor finds, for an adopted unit or under trueup watch, comes with the
// command that mends it, or with a sentence.
func TestEveryFindingSaysWhatToDo(t *testing.T) {
	without := func(t *testing.T, a patient) {
		for _, c := range a.checks() {
			if c.Word != isOK && c.Do == "" || strings.Contains(c.Do, "''") || c.Word == isOK && c.Do != "" {
				t.Errorf("%s %s: %q, do %q", c.Word, c.ID, c.What, c.Do)
			}
		}
	}
	for _, c := range doctorCases {
		t.Run(c.name, func(t *testing.T) {
			a := fit()
			c.plant(&a)
			without(t, a)
		})
	}
	for _, c := range statusCases {
		for by, watched := range map[string]bool{"systemd": false, "watch": true} {
			t.Run(c.name+" by "+by, func(t *testing.T) {
				a := fit()
				site := a.site
				a.facts = well()
				c.spoil(&a.facts)
				if a.site == nil {
					a.site = site
				}
				if watched {
					a.unit, a.systemd, a.sharing = "", nil, nil // what only units have
				}
				if a.systemd == nil {
					a.exam = nil
				}
				without(t, a)
			})
		}
	}
	for _, rule := range []string{"socket", "no-timer", "path-dropin", "timer-alone", "ignored", "success", "restart", "tmpfs", "linger", "reload", "version"} {
		a := fit()
		a.user = rule == "linger"
		a.warn(rule, "planted")
		without(t, a)
	}
	for _, rule := range []string{"load", "user", "sockets", "root", "conditions", "requires", "later", "path", "owner", "gate"} {
		a := fit()
		a.refuse(rule, "planted")
		without(t, a)
	}
	for _, unseen := range []inotifyFacts{{}, {usage{0, 128}, usage{0, 128}}} {
		a := fit()
		a.inotify = unseen
		without(t, a)
	}
}

// TestDoctorWell: where nothing is planted nothing is said, and every group has something to say.
func TestDoctorWell(t *testing.T) {
	for _, c := range fit().checks() {
		if c.Word != isOK {
			t.Errorf("%s: %s: %s", c.ID, c.Word, c.What)
		}
	}
	golden(t, "doctor-well", strings.Join(doctorText([]diagnosis{{"web.service", fit().checks()}}), "\n")+"\n")
}

// TestNeverSucceeded: what has never succeeded has not done so within some time either.
func TestNeverSucceeded(t *testing.T) {
	a := fit()
	a.state.Settled, a.systemd.Path.Since = trigger.Settled{}, a.now.Add(-time.Minute)
	said := fmt.Sprint(a.checks())
	if strings.Contains(said, "it has succeeded") || !strings.Contains(said, "never succeeded") || !strings.Contains(said, "first success is not late") {
		t.Errorf("doctor says %s", said)
	}
}

// TestDoctorText: what is wrong comes first, with its command, also of several units.
func TestDoctorText(t *testing.T) {
	dead := diagnosis{"web.service", []check{
		{"systemd.version", isOK, "systemd 252", ""},
		{"trigger.path", isWrong, "dead: web.path has failed", "systemctl reset-failed web.path"},
		{"folders.acl", isWarning, "a mask\x1b[2J", "setfacl -m m::rwx /spool"},
		{"trigger.round-trip", isNote, "no request was made", ""},
	}}
	fine := diagnosis{"other.service", []check{{"systemd.version", isOK, "systemd 252", ""}, {"folders.acl", isWarning, "a mask", ""}}}
	golden(t, "doctor-one", strings.Join(doctorText([]diagnosis{dead}), "\n")+"\n")
	golden(t, "doctor-several", strings.Join(doctorText([]diagnosis{fine, dead}), "\n")+"\n")
	var out strings.Builder
	err := sayDiagnoses(&ui{out: &out}, []diagnosis{fine, dead}, true)
	if exit, ok := errors.AsType[*failure](err); !ok || exit.code != exitNeeds {
		t.Errorf("a trigger with a fault ends with %v, want exit code %d", err, exitNeeds)
	}
	golden(t, "doctor-json", out.String())
	if err := sayDiagnoses(&ui{out: &out}, []diagnosis{fine}, false); err != nil {
		t.Errorf("a warning ends with %v", err)
	}
}

// TestDoctorKnowsWhatStatusKnows: whatever status needs a person for, doctor calls wrong in the same words.
func TestDoctorKnowsWhatStatusKnows(t *testing.T) {
	for _, c := range statusCases {
		a := fit()
		site := a.site
		a.facts = well()
		c.spoil(&a.facts)
		a.site = site
		if a.systemd == nil {
			a.exam = nil
		}
		for _, need := range a.needs() {
			if !slices.ContainsFunc(a.checks(), func(found check) bool {
				return found.Word == isWrong && found.What == need.What && found.Do == need.Do
			}) {
				t.Errorf("%s: doctor does not say %q", c.name, need.What)
			}
		}
	}
}

// TestDoctorIDs: the runbook lists every check by its name.
func TestDoctorIDs(t *testing.T) {
	page, err := os.ReadFile("../../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z]+)\\.` \\|(.*)$").FindAllStringSubmatch(string(page), -1) {
		for _, name := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(row[2], -1) {
			known[row[1]+"."+name[1]] = true
		}
	}
	seen := fit().checks()
	for _, c := range doctorCases {
		a := fit()
		c.plant(&a)
		seen = append(seen, a.checks()...)
	}
	for _, c := range seen {
		if !known[c.ID] {
			t.Errorf("%s is not in docs/runbook.md", c.ID)
			known[c.ID] = true
		}
	}
}

// TestAccess is acl(5) in a table: who may work in a folder.
func TestAccess(t *testing.T) {
	list := func(entries ...aclEntry) acl { return acl{uid: 1, gid: 10, entries: entries} }
	plain := []aclEntry{{aclOwner, 7, 0}, {aclOwnerGroup, 5, 0}, {aclOther, 0, 0}}
	for _, c := range []struct {
		name string
		acl  acl
		who  identity
		want bool
	}{
		{"owner", list(plain...), identity{uid: 1}, true},
		{"root", list(plain...), identity{uid: 0}, true},
		{"group may not write", list(plain...), identity{uid: 2, gids: []uint32{10}}, false},
		{"group may", list(aclEntry{aclOwner, 0, 0}, aclEntry{aclOwnerGroup, 7, 0}), identity{uid: 2, gids: []uint32{10}}, true},
		{"owner of a folder for the group", list(aclEntry{aclOwner, 0, 0}, aclEntry{aclOwnerGroup, 7, 0}), identity{uid: 1, gids: []uint32{10}}, false},
		{"others", list(plain...), identity{uid: 3}, false},
		{"everybody", list(aclEntry{aclOther, 7, 0}), identity{uid: 3}, true},
		{"user by list", list(append(plain, aclEntry{aclUser, 7, 3}, aclEntry{aclMask, 7, 0})...), identity{uid: 3}, true},
		{"user by list, masked", list(append(plain, aclEntry{aclUser, 7, 3}, aclEntry{aclMask, 5, 0})...), identity{uid: 3}, false},
		{"group by list", list(append(plain, aclEntry{aclGroup, 7, 30}, aclEntry{aclMask, 7, 0})...), identity{uid: 3, gids: []uint32{30}}, true},
		{"a group that may not is no way to others", list(aclEntry{aclOwnerGroup, 0, 0}, aclEntry{aclOther, 7, 0}), identity{uid: 3, gids: []uint32{10}}, false},
	} {
		if got := c.acl.lets(c.who, mayAll); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestReadACL reads what the kernel keeps, on a file system that keeps it.
func TestReadACL(t *testing.T) {
	raw := []byte{2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 7, 0, 0x57, 4, 0, 0, 4, 0, 5, 0, 255, 255, 255, 255, 16, 0, 7, 0, 255, 255, 255, 255, 32, 0, 0, 0, 255, 255, 255, 255}
	dir := t.TempDir()
	if err := unix.Setxattr(dir, "system.posix_acl_access", raw, 0); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		t.Fatal(err)
	}
	got := readACL(dir, st)
	if !got.lets(identity{uid: 0x457}, mayAll) || got.lets(identity{uid: 0x458}, mayEnter) || fmt.Sprint(got.writers()) != "[user 1111]" {
		t.Errorf("read %v", got)
	}
	for _, broken := range [][]byte{nil, {2, 0}, {1, 0, 0, 0, 1, 0, 7, 0, 0, 0, 0, 0}} {
		if parseACL(broken) != nil {
			t.Errorf("%v is taken for a list", broken)
		}
	}
}

// TestMissingPrograms knows the programs that are there from those that are not, and leaves a shell's alone.
func TestMissingPrograms(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(dir+"/plain", nil, 0o644), os.WriteFile(dir+"/program", nil, 0o755)); err != nil {
		t.Fatal(err)
	}
	for program, there := range map[string]bool{"sh": true, "no-such-program": false, "/bin/sh": true, "/bin/nope": false, "./program": true, "./plain": false, dir: false} {
		s := &command.Settings{Dir: dir, Check: command.Command{Args: []string{program}}, Apply: command.Command{Shell: "nope"}}
		if found := missingPrograms([]config.Target{{Kind: "command", Name: "x", Settings: s}}); (len(found) == 0) != there {
			t.Errorf("%s: %v", program, found)
		}
	}
	for program, there := range map[string]bool{"/bin/sh": true, "/bin/nope": false, dir + "/plain": false} {
		target := config.Target{Policy: policy.Source{Command: []string{program}}} // of whatever kind
		if found := missingPrograms([]config.Target{target}); (len(found) == 0) != there || !there && found[0].key != "policy" {
			t.Errorf("a policy by %s: %v", program, found)
		}
	}
	gone := &command.Settings{Dir: dir + "/gone", Check: command.Command{Args: []string{"sh"}}}
	if found := missingPrograms([]config.Target{{Settings: gone}}); len(found) != 1 || found[0].key != "dir" {
		t.Errorf("a folder that is gone: %v", found)
	}
}

func TestUnescaped(t *testing.T) {
	for escaped, want := range map[string]string{`/a\040b`: "/a b", `/a\134`: `/a\`, "/plain": "/plain", `/end\04`: `/end\04`} {
		if got := unescaped(escaped); got != want {
			t.Errorf("%q is read as %q", escaped, got)
		}
	}
}
