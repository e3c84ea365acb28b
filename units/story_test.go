package units_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/reconcile/trigger"
	"trueup/units"
	"trueup/units/nspawn"
)

// everything is the unit that sets all that could get in the gate's way. In the user manager it has no User=.
const everything = `[Service]
Type=oneshot
%s
TimeoutStartSec=5
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateUsers=yes
ExecStartPre=-/bin/sh -c 'echo own line before anything >>"$$STATE_DIRECTORY/log"'
ExecStartPre=/bin/sh -c 'echo pre %%N >>"$$STATE_DIRECTORY/log"'
ExecStart=/bin/sh -c 'echo run >>"$$STATE_DIRECTORY/log"; ls -A /home >>"$$STATE_DIRECTORY/log" 2>/dev/null || true'
ExecStartPost=/bin/sh -c 'echo post >>"$$STATE_DIRECTORY/log"'
`

// TestEverything adopts that unit with a floor of 30 s and touches it twice: its second run waits out the floor, six
// times as long as TimeoutStartSec= allows a command.
func TestEverything(t *testing.T) {
	each(t, func(t *testing.T, h host) {
		log, text := "/var/lib/full/log", fmt.Sprintf(everything, "User=op\nStateDirectory=full")
		// Its home is hidden from the run, but for what trueup bound into it.
		want := "own line before anything\npre full\nrun\npost\n"
		if h.IsUser() {
			// %S is another folder before 254; the unit's own state must not be hidden from itself (F21).
			state := h.Home() + "/full-state"
			log, text = state+"/log", fmt.Sprintf(everything, fmt.Sprintf("BindPaths=%s\nEnvironment=STATE_DIRECTORY=%[1]s", state))
			want = "own line before anything\npre full\nrun\nop\npost\n"
			h.Mkdir(t, state)
		}
		before := h.unitFolders(t)
		h.WriteUnit(t, "full.service", text)
		got := h.adopt(t, units.Adoption{Unit: "full"})
		if again := h.adopt(t, units.Adoption{Unit: "full"}); len(again.ops()) > 0 {
			t.Errorf("a second adopt did %q", again.ops())
		}
		h.touch(t, got)
		h.eventually(t, "its first run", func() bool { return strings.Contains(h.read(t, log), "post\n") })
		h.state(t, "full.service", "inactive/dead")
		since := time.Now()
		h.touch(t, got)
		h.state(t, "full.service", "activating/start-pre")
		h.eventually(t, "it says until when it waits", func() bool {
			return strings.Contains(h.Show(t, "full.service", "StatusText")["StatusText"], "until")
		})
		nspawn.Eventually(t, 60*time.Second, "its second run", func() bool { return strings.Count(h.read(t, log), "post\n") >= 2 })
		if took := time.Since(since); took < 25*time.Second {
			t.Errorf("the second run came after %v, within the floor", took)
		}
		h.state(t, "full.service", "inactive/dead")
		if got := h.read(t, log); got != want+want {
			t.Errorf("it did\n%swant twice\n%s", got, want)
		}
		h.looksAlive(t, "full")
		h.unadopt(t, "full", true)
		h.forget(t, before, "full.service")
	})
}

// TestReload reloads systemd while a gate waits for longer than TimeoutStartSec=. systemd then forgets that the gate
// was granted more time and ends it, as measured on every version; the touch is not lost, nor the trigger.
func TestReload(t *testing.T) {
	each(t, func(t *testing.T, h host) {
		const limit = 2 * time.Second
		h.WriteUnit(t, "brief.service", h.oneshot("brief", "TimeoutStartSec=2\n"))
		got := h.adopt(t, units.Adoption{Unit: "brief", Policy: trigger.Policy{Floor: 3 * limit, RetryMax: 3 * limit, Sweep: time.Hour}})
		h.touch(t, got)
		h.awaitRuns(t, "brief", 1)
		h.touch(t, got)
		h.state(t, "brief.service", "activating/start-pre")
		since := time.Now()
		h.eventually(t, "the gate has waited for longer than the limit", func() bool { return time.Since(since) > limit+limit/2 })
		h.MustSystemctl(t, "daemon-reload")
		h.awaitRuns(t, "brief", 2)
		h.looksAlive(t, "brief")
		h.eventually(t, "the journal says that the reload ended the waiting gate, as docs/systemd.md and the runbook do", func() bool {
			return slices.ContainsFunc(h.Messages(t), func(m string) bool { return strings.Contains(m, "brief.service: start-pre operation timed out") })
		})
	})
}

// A service that is adopted while it runs finishes that run as if nothing had happened, and a touch during it is
// followed by a run of its own.
func adoptMidRun(t *testing.T, h host) {
	h.MustExec(t, "mkfifo", h.Home()+"/go")
	h.WriteUnit(t, "mid.service", h.oneshot("mid", fmt.Sprintf(
		"ExecStartPre=/bin/sh -c 'echo pre >>%[1]s; read x <%[2]s/go'\nExecStartPre=/bin/sh -c 'echo second >>%[1]s'\n", h.log("mid"), h.Home())))
	release := func() { h.MustExec(t, "sh", "-c", "echo >"+h.Home()+"/go") }

	h.MustSystemctl(t, "start", "--no-block", "mid.service")
	h.eventually(t, "its first line", func() bool { return h.read(t, h.log("mid")) == "pre\n" })
	got := h.adopt(t, units.Adoption{Unit: "mid", Policy: quick})
	h.touch(t, got)
	release()
	h.eventually(t, "the run it was in, and the next", func() bool { return h.read(t, h.log("mid")) == "pre\nsecond\nrun\npre\n" })
	release()
	h.awaitRuns(t, "mid", 2)
	h.unadopt(t, "mid", true)
	h.forget(t, "", "mid.service")
}

// A gate that waits at unadopt has not begun its run. The run happens, with the unit's own lines.
func unadoptWaiting(t *testing.T, h host) {
	before := h.unitFolders(t)
	slow := trigger.Policy{Floor: time.Minute, RetryMax: time.Minute, Sweep: time.Hour}
	h.WriteUnit(t, "wait.service", h.oneshot("wait", "ExecStartPre=/bin/sh -c 'echo pre >>"+h.log("wait")+"'\n"))
	got := h.adopt(t, units.Adoption{Unit: "wait", Policy: slow})
	h.touch(t, got)
	h.awaitRuns(t, "wait", 1)
	h.touch(t, got)
	h.state(t, "wait.service", "activating/start-pre")

	// Another floor while the gate waits: it waits anew, and forgets nothing.
	slow.RetryMax = 2 * time.Minute
	h.adopt(t, units.Adoption{Unit: "wait", Policy: slow})
	h.state(t, "wait.service", "activating/start-pre")
	h.state(t, "wait.path", "active/running")
	if text := h.read(t, h.log("wait")); text != "pre\nrun\n" {
		t.Errorf("adopting anew started a run:\n%s", text)
	}
	h.unadopt(t, "wait", true)
	h.awaitRuns(t, "wait", 2)
	if text := h.read(t, h.log("wait")); text != "pre\nrun\npre\nrun\n" {
		t.Errorf("it did\n%s", text)
	}
	h.forget(t, before, "wait.service")
}

// A claim that stands does not stand in the way.
func unadoptClaim(t *testing.T, h host) {
	before := h.unitFolders(t)
	h.WriteUnit(t, "owes.service", fmt.Sprintf("[Service]\nType=oneshot\nTimeoutStartSec=60\nExecStart=/bin/sh -c 'echo run >>%s; exit 1'\n", h.log("owes")))
	got := h.adopt(t, units.Adoption{Unit: "owes", Policy: trigger.Policy{Floor: time.Minute, RetryMax: time.Minute, Sweep: time.Hour}})
	h.touch(t, got)
	claim := got.Changes.Adoption.Folders.State + "/claim"
	h.eventually(t, "its run has failed", func() bool { return h.read(t, h.log("owes")) != "" && h.read(t, claim) != "" })
	h.state(t, "owes.service", "activating/start-pre")
	done := h.unadopt(t, "owes", false)
	if h.read(t, claim) == "" {
		t.Error("the claim is gone, though nobody said purge")
	}
	if !slices.Contains(done.ops(), "stop owes.path") {
		t.Errorf("it did %q", done.ops())
	}
	h.state(t, "owes.service", "failed/failed")
	h.forget(t, before, "owes.service")
	h.MustSystemctl(t, "reset-failed")
}

// What an operator may add and take back.
func adoptOptions(t *testing.T, h host) {
	before := h.unitFolders(t)
	h.WriteUnit(t, "opt.service", h.oneshot("opt", ""))
	got := h.adopt(t, units.Adoption{Unit: "opt", Policy: quick, NoStart: true})
	if props := h.Show(t, "opt.path", "UnitFileState", "ActiveState"); props["UnitFileState"] != "disabled" || props["ActiveState"] != "inactive" {
		t.Errorf("with --no-start the path is %v", props)
	}
	h.adopt(t, units.Adoption{Unit: "opt", Policy: quick})
	h.touch(t, got)
	h.awaitRuns(t, "opt", 1)

	h.MustSystemctl(t, "disable", "--now", "opt.path") // the way back out
	h.touch(t, got)
	again := h.adopt(t, units.Adoption{Unit: "opt", Policy: quick})
	if want := []string{"enable opt.path", "start opt.path"}; !slices.Equal(again.ops(), want) {
		t.Errorf("coming back did %q, want %q", again.ops(), want)
	}
	h.awaitRuns(t, "opt", 2)

	spool := got.Changes.Adoption.Folders.Spool
	inode := h.MustExec(t, "stat", "-c%i", spool)
	group := "web"
	if h.IsUser() {
		group = "op"
	}
	h.adopt(t, units.Adoption{Unit: "opt", Policy: quick, WebGroup: group})
	if got := h.MustExec(t, "stat", "-c%i %a %G", spool, spool+"/requests"); !strings.HasPrefix(got, strings.TrimSpace(inode)+" 2770 "+group+"\n") ||
		strings.Count(got, " 2770 "+group+"\n") != 2 {
		t.Errorf("the spool is %q, was inode %s", got, inode)
	}
	if !h.IsUser() {
		h.Machine().As("web").MustExec(t, "touch", spool+"/requests/from-web")
		h.awaitRuns(t, "opt", 3)
	}
	h.unadopt(t, "opt", true)
	h.forget(t, before, "opt.service")
}
