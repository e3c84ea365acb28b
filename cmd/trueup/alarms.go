package main

import (
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"trueup/reconcile/publish"
)

func alarmsVerb(u *ui) *cobra.Command {
	var user, list, asJSON bool
	c := &cobra.Command{
		Use:   "alarms [flags]",
		Short: "look once at every unit, raise what is newly wrong, clear what is over, write the metrics",
		Long: `look once at every adopted unit and every service of trueup's own, raise what is newly wrong, clear
what is over, tell the command of /etc/trueup/alarms.yaml, and write the metrics that it names

It is what trueup-check.service runs every minute; trueup alarms enable makes that. It exits 0 also while
alarms stand. The alarms: trigger-dead, stale, held, failing, disk, reserved. Each is raised once and
cleared once, in the journal (journalctl TRUEUP_ALARM=stale) and by the command; docs/runbook.md says what
to do about it.`,
		Example: "  trueup alarms --list",
		Args:    knownVerb,
	}
	c.Flags().BoolVar(&list, "list", false, "do not look, only say what stands, and since when")
	c.Flags().BoolVar(&user, "user", false, "the units of your own systemd --user")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, _ []string) error {
		folders, err := alarmsFolders(user)
		if err != nil {
			return err
		}
		if list {
			memory, err := folders.Read()
			if err != nil {
				return err
			}
			return sayAlarms(u, memory, asJSON)
		}
		watch := watchman{ui: u, user: user, folders: folders}
		memory, err := watch.look(c.Context())
		if quiet := os.Getenv("INVOCATION_ID") != "" && !terminal(u.out); memory != nil && (asJSON || !quiet) {
			if sayErr := sayAlarms(u, *memory, asJSON); err == nil {
				err = sayErr
			}
		}
		return err
	}
	c.AddCommand(checkUnitsVerb(u, true), checkUnitsVerb(u, false))
	return c
}

// alarmsJSON is what alarms --json prints.
type alarmsJSON struct {
	Version int         `json:"version"`
	Looked  *time.Time  `json:"looked"`
	Alarms  []alarmJSON `json:"alarms"`
	Waiting int         `json:"waiting"`         // notices that the command has not taken yet
	Fault   string      `json:"fault,omitempty"` // why the last look could not tell everything it should
}

// alarmJSON is an alarm that stands.
type alarmJSON struct {
	publish.Alarm
	Since time.Time `json:"since"`
}

func alarmDocuments(standing []publish.Standing) []alarmJSON {
	documents := []alarmJSON{} // never null
	for _, s := range standing {
		documents = append(documents, alarmJSON{s.Alarm, s.Since})
	}
	return documents
}

func sayAlarms(u *ui, m publish.Memory, asJSON bool) error {
	if asJSON {
		return sayJSON(u, alarmsJSON{1, instant(m.Looked), alarmDocuments(m.Standing()), m.Waiting(), m.Fault})
	}
	now := time.Now()
	for _, s := range m.Standing() {
		u.say("%s", printable(s.Name+" for "+span(now.Sub(s.Since))+": "+subject(s.ID)+": "+s.Text))
		if s.Do != "" {
			u.say("       %s", printable(s.Do))
		}
	}
	if m.Fault != "" {
		u.say("fault: %s", printable(m.Fault))
	}
	switch {
	case m.Looked.IsZero():
		u.say("nobody has looked yet; trueup alarms enable has somebody look every minute")
	case len(m.Standing()) == 0:
		u.say("no alarm stands; looked %s", ago(m.Looked, now))
	}
	return nil
}

// subject is what an alarm is about, for people.
func subject(id publish.ID) string {
	if id.Target == "" {
		return id.Unit
	}
	return id.Unit + " " + id.Target
}

// standing are the alarms of a unit, as far as they are known here, and when somebody last looked for them.
func standing(p place) (own []publish.Standing, looked time.Time) {
	if p.unit == "" {
		return nil, looked
	}
	folders, err := alarmsFolders(p.user)
	if err != nil {
		return nil, looked
	}
	memory, err := folders.Read()
	if err != nil {
		return nil, looked // whoever may not read it is told nothing, and damage is the next look's to mend
	}
	for _, s := range memory.Standing() {
		if s.Unit == p.unit && !memory.Looked.IsZero() {
			own = append(own, s)
		}
	}
	return own, memory.Looked
}

// alarmLines are the alarms that stand about a trigger.
func (f facts) alarmLines() (lines []string) {
	for _, a := range f.alarms {
		line := "alarm    " + a.Name + " for " + span(f.now.Sub(a.Since))
		if a.Target != "" {
			line += ": " + a.Target
		}
		lines = append(lines, line)
	}
	return lines
}

// needsOfAlarms is what alarms know and the facts do not: a folder that is filling up.
func (f facts) needsOfAlarms(found []finding) (more []finding) {
	for _, a := range f.alarms {
		told := slices.ContainsFunc(found, func(n finding) bool { return n.What == a.Text })
		if a.Name == publish.Disk && !told {
			more = append(more, finding{"disk: " + a.Text, a.Do})
		}
	}
	return more
}

// unlooked says since when nobody has looked for alarms, where somebody is meant to; else nothing.
func (f facts) unlooked() string {
	const late = 5 * time.Minute
	switch age := f.now.Sub(f.looked); {
	case f.looked.IsZero():
		return ""
	case age > late:
		return "nobody has looked for alarms for " + span(age)
	case age < -late: // each look would have noted its own time
		return "nobody has looked for alarms since the clock was set back: the last look is " + span(-age) + " ahead of it"
	}
	return ""
}
