package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/plan"
	"trueup/reconcile/trigger"
)

// siteFacts is what is known of the targets behind a trigger.
type siteFacts struct {
	which     which
	flags     string // that name the installation on the command line
	standings []reconcile.Standing
	leases    []reconcile.Lease
	items     []reconcile.Item // work items that hold scopes
	reserved  map[reconcile.Key]reconcile.Item
	holds     map[reconcile.Key]plan.Hold // what waits for approval
	folders   trigger.Folders             // as the configuration has them
	err       error                       // the configuration or the ledger cannot be read
}

// lookAtSite reads what is known of the targets.
func lookAtSite(ctx context.Context, w which, flags string) *siteFacts {
	f := &siteFacts{which: w, flags: flags}
	s, err := w.look(ctx)
	if err != nil {
		if s == nil || !errors.Is(err, fs.ErrNotExist) {
			f.err = err
			return f
		}
		err = nil // nothing was swept yet
	}
	defer s.close()
	f.folders = s.folders()
	known, err := s.known(ctx)
	if err == nil && s.ledger != nil {
		if f.leases, err = s.ledger.Leases(ctx); err == nil {
			f.items, err = s.ledger.Items(ctx)
		}
	}
	if err == nil {
		f.holds, err = s.holds(ctx)
	}
	f.reserved = reservedBy(s.engine.Targets, f.items)
	f.err = err
	for _, t := range s.engine.Targets {
		standing := known[t.Key]
		standing.Target = t.Key
		f.standings = append(f.standings, standing)
	}
	return f
}

// siteOf finds the reconciler behind a trigger: trueup install has noted its configuration in the service.
func siteOf(ctx context.Context, p place) *siteFacts {
	if p.config != nil {
		return lookAtSite(ctx, *p.config, " -c "+quoted(p.config.config))
	}
	name, ours := strings.CutPrefix(strings.TrimSuffix(p.unit, ".service"), "trueup")
	if !ours || name != "" && !strings.HasPrefix(name, "-") {
		return nil
	}
	name = strings.TrimPrefix(name, "-")
	m, err := manager(ctx, p.user)
	if err != nil {
		return nil // who looks at the trigger has met the same
	}
	defer m.Close()
	file, err := m.InstalledConfig(name)
	if err != nil || file == "" {
		return nil
	}
	flags := ""
	if name != "" {
		flags += " --name " + name
	}
	if p.user {
		flags += " --user"
	}
	if file != usualConfig(name, p.user) {
		flags = " -c " + quoted(file) + flags
	}
	return lookAtSite(ctx, which{config: file, name: name, user: p.user}, flags)
}

// needs is what a person has to deal with among the targets of the trigger with these folders.
func (f *siteFacts) needs(installed trigger.Folders) []finding {
	if f == nil {
		return nil
	}
	if f.err != nil {
		return []finding{{"broken: " + oneLine(f.err), "trueup check" + f.flags}}
	}
	return slices.Concat(f.moved(installed), f.troubled(), f.unattended())
}

// moved tells that the trigger's folders are no longer those of the configuration.
func (f *siteFacts) moved(installed trigger.Folders) []finding {
	if f.folders == installed {
		return nil
	}
	return []finding{{"moved: the configuration names other folders than the service was installed with", "trueup install" + f.flags}}
}

// troubled are the targets that wait for a person.
func (f *siteFacts) troubled() (found []finding) {
	for _, s := range f.standings {
		r := s.Report
		do := fmt.Sprintf("trueup show%s %s", f.flags, r.Run)
		if h, waits := f.holds[s.Target]; waits {
			found = append(found, finding{fmt.Sprintf("held: %s: %s", s.Target, oneLineOf(h.Why)),
				fmt.Sprintf("trueup show%s %s · trueup approve%s %s", f.flags, h.Run, f.flags, h.Run)})
		}
		if (r.State == reconcile.Failing || r.State == reconcile.Uncertain) && s.Failures >= manyFailures {
			found = append(found, finding{fmt.Sprintf("%s: %s: %s (%d times)", r.State, s.Target, oneLineOf(r.Note), s.Failures), do})
		}
	}
	return found
}

// table is the targets, with who holds one now.
func (f *siteFacts) table(now time.Time) []string {
	if f == nil || len(f.standings) == 0 {
		return nil
	}
	lines := append([]string{""}, targetsText(f.seen(now), f.leases, now)...)
	if len(f.items) > 0 {
		lines = append(append(lines, ""), itemsText(f.items, now)...)
	}
	return lines
}

// ofConfig is the trigger that a configuration names: the adopted unit with those folders, or the folders by themselves.
func (w *which) ofConfig(ctx context.Context) (place, error) {
	c, err := w.load()
	if err != nil {
		return place{}, err
	}
	p := place{config: w, folders: (&site{Config: c}).folders()}
	all, err := adopted(ctx, w.user)
	if err != nil && w.user {
		return p, err
	}
	for _, a := range all { // without systemd there are none
		if a.folders.State == p.folders.State {
			a.config = w
			return a, nil
		}
	}
	return p, nil
}
