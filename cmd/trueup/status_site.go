package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/trigger"
)

// siteFacts is what is known of the targets behind a trigger.
type siteFacts struct {
	flags     string // that name the installation on the command line
	standings []reconcile.Standing
	leases    []reconcile.Lease
	folders   trigger.Folders // as the configuration has them
	err       error           // the configuration or the ledger cannot be read
}

// lookAtSite reads what is known of the targets.
func lookAtSite(ctx context.Context, w which, flags string) *siteFacts {
	f := &siteFacts{flags: flags}
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
		f.leases, err = s.ledger.Leases(ctx)
	}
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
func (f *siteFacts) needs(installed trigger.Folders) (found []finding) {
	if f == nil {
		return nil
	}
	if f.err != nil {
		return []finding{{"broken: " + oneLine(f.err), "trueup check" + f.flags}}
	}
	if f.folders != installed {
		found = append(found, finding{"moved: the configuration names other folders than the service was installed with", "trueup install" + f.flags})
	}
	for _, s := range f.standings {
		r := s.Report
		do := fmt.Sprintf("trueup show%s %s", f.flags, r.Run)
		switch {
		case r.State == reconcile.Held:
			found = append(found, finding{fmt.Sprintf("held: %s: %s", s.Target, oneLineOf(r.Note)),
				fmt.Sprintf("%s · trueup approve%s %s", do, f.flags, r.Run)})
		case (r.State == reconcile.Failing || r.State == reconcile.Uncertain) && s.Failures >= manyFailures:
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
	return append([]string{""}, targetsText(f.standings, f.leases, now)...)
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
