package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/plan"
	"trueup/reconcile/publish"
	"trueup/reconcile/trigger"
	"trueup/units"
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
	nodes     *nodeFacts                  // the hosts that share the ledger; nil where it is this one's alone
	closed    string                      // where the ledger has moved to; empty while it is open
	declared  bool                        // the configuration could be read
	folders   trigger.Folders             // as it has them
	written   []string                    // folders that sweeps write beside those
	report    string                      // the one of them that has the page; empty: there is none
	err       error                       // the configuration or the ledger cannot be read
}

// lookAtSite reads what is known of the targets.
func lookAtSite(ctx context.Context, w which) *siteFacts {
	f := &siteFacts{which: w, flags: w.named()}
	s, err := w.look(ctx)
	if s == nil {
		f.err = err
		return f
	}
	defer s.close()
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // where there is none, nothing was swept yet
		f.err = err
	}
	s.tell(ctx, f, nil)
	return f
}

// tell puts what is known of the site's targets into the facts. The standings are those that were read already, if they were.
func (s *site) tell(ctx context.Context, f *siteFacts, known map[reconcile.Key]reconcile.Standing) {
	f.declared, f.folders, f.report = true, s.folders(), s.Report
	if !s.Shared() {
		f.written = append(f.written, filepath.Dir(s.Database()))
	}
	if s.Report != "" {
		f.written = append(f.written, s.Report)
	}
	if f.err != nil {
		return
	}
	var err error
	if known == nil {
		known, err = s.known(ctx)
	}
	if err == nil && s.ledger != nil {
		if f.leases, err = s.ledger.Leases(ctx); err == nil {
			f.items, err = s.ledger.Items(ctx)
		}
	}
	if err == nil {
		f.holds, err = s.holds(ctx)
	}
	if err == nil {
		f.nodes, err = s.nodesOf(ctx)
	}
	if err == nil && s.ledger != nil {
		f.closed, err = s.ledger.Closed(ctx)
	}
	f.reserved = reservedBy(s.engine.Targets, f.items)
	f.err = err
	for _, t := range s.engine.Targets {
		standing := known[t.Key]
		standing.Target = t.Key
		f.standings = append(f.standings, standing)
	}
}

// siteOf finds the reconciler behind a trigger: trueup install has noted its configuration in the service.
func siteOf(ctx context.Context, p place) *siteFacts {
	if p.site != nil {
		return p.site
	}
	if p.config != nil {
		return lookAtSite(ctx, *p.config)
	}
	m, err := manager(ctx, p.user)
	if err != nil {
		return nil // who looks at the trigger has met the same
	}
	defer m.Close()
	if w, ours := installedAs(m, p.unit, p.user); ours {
		return lookAtSite(ctx, w)
	}
	return nil
}

// installedAs is the installation whose service trueup install made.
func installedAs(m *units.Manager, unit string, user bool) (w which, ours bool) {
	name, ours := instanceOf(unit)
	if !ours {
		return w, false
	}
	file, err := m.InstalledConfig(name)
	if err != nil || file == "" {
		return w, false
	}
	w = which{name: name, user: user}
	if file != usualConfig(name, user) {
		w.config = file
	}
	return w, true
}

// instanceOf is the name of the instance whose service that is, by the unit's name alone.
func instanceOf(unit string) (name string, ours bool) {
	name, ours = strings.CutPrefix(strings.TrimSuffix(unit, ".service"), "trueup")
	return strings.TrimPrefix(name, "-"), ours && (name == "" || strings.HasPrefix(name, "-"))
}

// needs is what a person has to deal with among the targets of the trigger with these folders.
func (f *siteFacts) needs(installed trigger.Folders) []finding {
	if f == nil {
		return nil
	}
	if f.err != nil {
		return []finding{{"broken: " + oneLine(f.err), f.look()}}
	}
	if f.closed != "" {
		return nil // what is in it is no more than history
	}
	return slices.Concat(f.moved(installed), f.troubled(), f.unattended(), f.nodes.needs(f.flags))
}

// left tells that the ledger has moved, which explains whatever else is wrong.
func (f *siteFacts) left() []finding {
	if f == nil || f.closed == "" {
		return nil
	}
	return []finding{{"closed: the ledger has moved to " + f.closed, "# name that in state: of the configuration, then trueup check" + f.flags}}
}

// look is the command that says all that is wrong where something cannot be read.
func (f *siteFacts) look() string {
	if f.declared {
		return "trueup ledger check" + f.flags
	}
	return "trueup check" + f.flags
}

// moved tells that the trigger's folders are no longer those of the configuration.
func (f *siteFacts) moved(installed trigger.Folders) []finding {
	if f.folders == installed {
		return nil
	}
	return []finding{{"moved: the configuration names other folders than the service was installed with", "trueup install" + f.flags}}
}

// troubled are the targets that wait for a person.
func (f *siteFacts) troubled() []finding { return findingsOf(f.snags()) }

// A snag is a finding about a target or a work item, and the name of the alarm that it raises.
type snag struct {
	alarm, about string
	finding
}

func findingsOf(snags []snag) (found []finding) {
	for _, t := range snags {
		found = append(found, t.finding)
	}
	return found
}

func (f *siteFacts) snags() (found []snag) {
	for _, s := range f.standings {
		r := s.Report
		do := fmt.Sprintf("trueup show%s %s", f.flags, r.Run)
		if h, waits := f.holds[s.Target]; waits {
			found = append(found, snag{publish.Held, string(s.Target), finding{fmt.Sprintf("held: %s: %s", s.Target, oneLineOf(h.Why)),
				fmt.Sprintf("trueup show%s %s · trueup approve%s %s", f.flags, h.Run, f.flags, h.Run)}})
		}
		if (r.State == reconcile.Failing || r.State == reconcile.Uncertain) && s.Failures >= manyFailures {
			found = append(found, snag{publish.Failing, string(s.Target),
				finding{fmt.Sprintf("%s: %s: %s (%d times)", r.State, s.Target, oneLineOf(r.Note), s.Failures), do}})
		}
	}
	return found
}

// table is the targets, with who holds one now.
func (f *siteFacts) table(next schedule, now time.Time) []string {
	if f == nil || len(f.standings) == 0 {
		return nil
	}
	lines := append([]string{""}, f.targetsText(next, now)...)
	if len(f.items) > 0 {
		lines = append(append(lines, ""), itemsText(f.items, now)...)
	}
	return lines
}

// ofConfig is the trigger that a configuration names: the adopted unit with those folders, or the folders by themselves.
func (w *which) ofConfig(ctx context.Context) (place, error) {
	c, err := w.load(ctx)
	if err != nil {
		return place{}, err
	}
	once := *w
	once.loaded = c // ten thousand targets take half a second to read
	return once.placed(ctx, (&site{Config: c}).folders())
}

// placed is the adopted unit with those folders, or the folders by themselves.
func (w *which) placed(ctx context.Context, folders trigger.Folders) (place, error) {
	p := place{config: w, folders: folders}
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
