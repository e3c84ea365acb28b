package units

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"trueup/reconcile/trigger"
)

// An Adoption is the wish to give a unit a trigger, and what is known afterwards about one that has it. A field that is
// left zero was not given: it stays as the unit's record has it, or gets its default where there is none yet.
type Adoption struct {
	Unit     string // UNIT.service; .service may be left out
	Folders  trigger.Folders
	Policy   trigger.Policy
	WebGroup string // group that may write the spool
	Gate     string // trueup-gate; empty: beside this program, as of one build with it, or on the path

	NoTimer  bool // add no timer even if none triggers the unit
	AddTimer bool // take back an earlier NoTimer
	Replace  bool // put a UNIT.path that is not ours aside, for Unadopt to restore
	NoStart  bool // write everything, enable and start nothing
	DryRun   bool // change nothing, only say what would change
}

// Path is the name of the path unit that triggers the adopted one.
func (a Adoption) Path() string { return a.stem() + ".path" }

// Timer is the name of the timer that Adopt adds when none triggers the unit.
func (a Adoption) Timer() string { return a.stem() + ".timer" }

// stem names the adoption: the unit without .service.
func (a Adoption) stem() string { return strings.TrimSuffix(a.Unit, ".service") }

// keeping fills in what was left out from what the unit's record says. The limits that follow the floor still do.
func (a Adoption) keeping(had Adoption) Adoption {
	setDefault(&a.Folders.Spool, had.Folders.Spool)
	setDefault(&a.Folders.State, had.Folders.State)
	setDefault(&a.Folders.Outbox, had.Folders.Outbox)
	setDefault(&a.WebGroup, had.WebGroup)
	setDefault(&a.Policy.Floor, had.Policy.Floor)
	if had.Policy.RetryMax > 0 {
		setDefault(&a.Policy.RetryMax, max(had.Policy.RetryMax, a.Policy.Floor))
	}
	if had.Policy.Sweep > 0 {
		setDefault(&a.Policy.Sweep, max(had.Policy.Sweep, a.Policy.Floor))
	}
	a.NoTimer = a.NoTimer || (had.NoTimer && !a.AddTimer)
	return a
}

// complete fills in what was left out and refuses what cannot be written down.
func (a Adoption) complete(home string) (Adoption, error) {
	a = a.placed(home)
	usual := trigger.DefaultPolicy()
	setDefault(&a.Policy.Floor, usual.Floor)
	setDefault(&a.Policy.RetryMax, max(usual.RetryMax, a.Policy.Floor))
	setDefault(&a.Policy.Sweep, max(usual.Sweep, a.Policy.Floor))
	if a.Gate == "" {
		a.Gate = findGate()
	}
	for _, p := range []*string{&a.Folders.Spool, &a.Folders.State, &a.Folders.Outbox} {
		*p = filepath.Clean(*p)
	}
	return a, a.check()
}

// placed fills in the default folders.
func (a Adoption) placed(home string) Adoption {
	base := filepath.Join(home, a.stem())
	setDefault(&a.Folders.Spool, filepath.Join(base, "spool"))
	setDefault(&a.Folders.State, filepath.Join(base, "state"))
	setDefault(&a.Folders.Outbox, filepath.Join(base, "outbox"))
	return a
}

func (a Adoption) check() error {
	if err := errors.Join(a.Folders.Validate(), a.Policy.Validate()); err != nil {
		return &UsageError{Reason: err.Error()}
	}
	if a.NoTimer && a.AddTimer {
		return &UsageError{Reason: "a timer is both asked for and declined"}
	}
	for role, path := range map[string]string{
		"spool": a.Folders.Spool, "state": a.Folders.State, "outbox": a.Folders.Outbox, "gate": a.Gate,
	} {
		if err := checkPath(role, path); err != nil {
			return &UsageError{Reason: err.Error(), Hint: "give another path"}
		}
	}
	return a.checkGate()
}

// checkGate refuses a gate that could not be started.
func (a Adoption) checkGate() error {
	if info, err := os.Stat(a.Gate); !filepath.IsAbs(a.Gate) || strings.Contains(a.Gate, "$") || err != nil || info.Mode()&0o111 == 0 {
		return &Refusal{Unit: a.Unit, Reason: fmt.Sprintf("the gate %q is no program that systemd could start", a.Gate),
			Hint: "install trueup-gate beside trueup, or name it by its absolute path"}
	}
	return nil
}

// burst is the start limit for half a minute: four times what the floor lets through, and room for a gate that is
// killed a few times (F27). Half a minute, since starts that fail at once take a while each on a slow host, where 60 in
// ten seconds were never reached and the unit spun for ever. Not more, since the limit also keeps the timer out.
func (a Adoption) burst() int {
	const usual = 20
	return max(usual, int(4*30*time.Second/a.Policy.Floor))
}

// findGate looks beside this program first, so that the two come from one build.
func findGate() string {
	const name = "trueup-gate"
	var places []string
	if self, err := os.Executable(); err == nil {
		places = append(places, filepath.Join(filepath.Dir(self), name))
	}
	for _, place := range append(places, "/usr/local/bin/"+name, "/usr/bin/"+name) {
		if info, err := os.Stat(place); err == nil && info.Mode().IsRegular() {
			return place
		}
	}
	return name
}

// setDefault gives what was left zero a value.
func setDefault[T comparable](to *T, value T) {
	var zero T
	if *to == zero {
		*to = value
	}
}

// unitName completes a name as systemctl does, and refuses what is no service.
func unitName(name string) (string, error) {
	if filepath.Ext(name) != ".service" {
		if ext := filepath.Ext(name); ext == ".path" || ext == ".timer" || ext == ".socket" || ext == ".target" {
			return "", &Refusal{Unit: name, Reason: "it is not a service", Hint: "name the service that it starts"}
		}
		name += ".service"
	}
	stem := strings.TrimSuffix(name, ".service")
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.\\@"
	if stem == "" || strings.Trim(stem, allowed) != "" || strings.HasPrefix(stem, "@") || len(name) > 255-len("trueup-probe-") {
		return "", &Refusal{Unit: name, Reason: "it is not a unit name"}
	}
	if strings.HasSuffix(stem, "@") {
		return "", &Refusal{Unit: name, Reason: "it is a template", Hint: "adopt its instances, as in " + stem + "NAME.service"}
	}
	return name, nil
}
