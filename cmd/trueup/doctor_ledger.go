package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/config"
	"trueup/reconcile/postgres"
	"trueup/reconcile/sqlite"
)

// checkTime bounds the look into a ledger, which reads all of it.
const checkTime = 10 * time.Second

// ledgerFacts is what can be seen of the reconciler behind a trigger, on top of what status sees.
type ledgerFacts struct {
	config    *config.Config
	configErr error
	path      string
	shared    bool       // it is a database that several hosts share, and nothing of this host
	server    string     // the version of that database's server
	files     []dirFacts // the ledger's folder first
	none      bool       // there is no ledger yet
	err       error
	health    sqlite.Health
	flaws     []reconcile.Flaw
	hurried   bool // there was no time to look for all of them
	markers   []reconcile.Record
	programs  []missing
	rivals    []rival
	hindered  []finding // what keeps it from being written
}

// lookAtLedger reads the configuration and looks at the ledger that it names.
func lookAtLedger(ctx context.Context, f *siteFacts) *ledgerFacts {
	l := &ledgerFacts{}
	if l.config, l.configErr = f.which.load(ctx); l.configErr != nil {
		return l
	}
	l.path, l.shared = l.config.Database(), l.config.Shared()
	l.programs = missingPrograms(l.config.Targets)
	l.rivals = rivals(ctx, f.which, l.config)
	if !l.shared {
		l.lookAtFiles(ctx)
	}
	s, err := f.which.look(ctx)
	if l.none = errors.Is(err, fs.ErrNotExist); err != nil {
		l.err = err
		return l
	}
	defer s.close()
	l.err = l.read(ctx, s.ledger)
	return l
}

// lookAtFiles looks at the files of a ledger of this host.
func (l *ledgerFacts) lookAtFiles(ctx context.Context) {
	folder := filepath.Dir(l.path)
	for _, path := range []string{folder, l.path, l.path + "-wal", l.path + "-shm", l.path + ".lock", l.path + ".fence"} {
		l.files = append(l.files, dirFacts{role: "ledger", path: path}.look(nil))
	}
	l.hindered = hindrances(ctx, l.path, lockedFor)
}

func (l *ledgerFacts) read(ctx context.Context, s store) (err error) {
	switch s := s.(type) {
	case *sqlite.Store:
		l.health, err = s.Health(ctx)
	case *postgres.Store:
		var h postgres.Health
		h, err = s.Health(ctx)
		l.server, l.health.Lapsed = h.Server, h.Lapsed
	}
	if err != nil {
		return err
	}
	if l.markers, err = s.Records(ctx, "marker", ""); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	l.flaws, err = s.Inspect(bounded)
	if l.hurried = err != nil && bounded.Err() != nil && ctx.Err() == nil; l.hurried {
		return nil
	}
	return err
}

// checkSite judges the reconciler, where there is one.
func (a patient) checkSite(c *checks) {
	l := a.ledger
	if l == nil {
		return
	}
	a.checkConfig(c)
	if l.config == nil {
		return
	}
	if l.shared {
		l.checkWay(c)
		l.checkLocal(c)
	} else {
		a.checkFiles(c)
		c.findings("ledger.write", l.hindered, "nothing keeps it from being written")
	}
	if a.readable(c) {
		if !l.shared {
			l.checkHealth(c, a.site)
		}
		l.checkContent(c, a.site)
		l.checkLapsed(c, a.site)
		if l.shared {
			a.site.checkNodes(c)
		} else {
			l.checkSessions(c, a.site)
		}
		a.checkTargets(c)
	}
	l.checkPrograms(c)
	a.checkRivals(c)
}

// checkConfig judges the configuration, and whether the service was installed for it.
func (a patient) checkConfig(c *checks) {
	const id = "targets.config"
	err := a.ledger.configErr
	faults, several := errors.AsType[config.Faults](err)
	for _, fault := range faults {
		c.add(isWrong, id, cmp.Or(fault.Hint, "trueup check"+a.site.flags), "%s", fault.Error())
	}
	switch {
	case several:
	case err != nil:
		c.add(isWrong, id, "trueup check"+a.site.flags, "%s", oneLine(err))
	default:
		c.ok(id, "the configuration is well formed: %s", counted(len(a.ledger.config.Targets), "target"))
		c.findings("targets.folders", a.site.moved(a.folders), "the trigger has the folders that the configuration names")
	}
}

// readable judges whether the ledger can be read.
func (a patient) readable(c *checks) bool {
	l, id := a.ledger, "ledger.open"
	switch {
	case l.none:
		c.add(isNote, id, "trueup sweep"+a.site.flags, "there is no ledger yet; the first sweep makes %s", l.path)
	case l.err != nil:
		c.add(isWrong, id, "trueup ledger check"+a.site.flags+" # and docs/ledger.md#when-it-cannot-be-written", "%s", oneLine(l.err))
	case l.shared:
		c.ok(id, "%s answers: PostgreSQL %s", l.path, l.server)
		return true
	default:
		c.ok(id, "%s has schema %d, on a local disk", l.path, l.health.Schema)
		return true
	}
	return false
}

// checkFiles judges room and owners of the ledger's files.
func (a patient) checkFiles(c *checks) {
	well := true
	for i, d := range a.ledger.files {
		want := uint16(mayRead | mayWrite)
		if i == 0 {
			want = mayAll
		}
		switch who := a.host.runsAs; {
		case d.err != nil: // a log and its index come and go
		case who != nil && !d.acl.lets(*who, want):
			well = false
			c.add(isWrong, "ledger.access", "chown "+quoted(who.name)+" "+quoted(d.path), "the service runs as %s, who may not write %s (%s)", who.name, d.path, d.acl)
		case i > 0 && d.acl.anybody() != 0:
			well = false
			c.add(isWarning, "ledger.access", "chmod o= "+quoted(d.path), "everybody on this host may read %s (%s), and with it what commands printed", d.path, d.acl)
		}
	}
	if folder := a.ledger.files[0]; folder.err == nil {
		folder.checkSpace(c, "ledger.space")
	}
	if well && a.host.runsAs != nil {
		c.ok("ledger.access", "the service's user can write its files, and not everybody can read them")
	}
}

// checkHealth judges the database itself.
func (l *ledgerFacts) checkHealth(c *checks, site *siteFacts) {
	h := l.health
	if h.Journal == "wal" {
		c.ok("ledger.journal", "its journal mode is wal")
	} else {
		c.add(isWrong, "ledger.journal", "sqlite3 "+quoted(l.path)+" 'pragma journal_mode=wal'", "its journal mode is %s and not wal: readers and writers stop one another", h.Journal)
	}
	if h.Free > 0 {
		c.add(isNote, "ledger.space", "trueup ledger prune"+site.flags, "%s of it are free and not given back: it has to be written anew for that, and is too large for sweeps to keep others waiting", sized(h.Free))
	}
}

// A begun is what a marker says, as docs/ledger.md promises it.
type begun struct {
	Run    reconcile.RunID  `json:"run"`
	Change reconcile.Change `json:"change"`
	Done   bool             `json:"done"`
}

// checkMarkers judges changes that were begun and of which nobody knows whether they were done.
func (a patient) checkMarkers(c *checks) {
	open := false
	for _, r := range a.ledger.markers {
		var m begun
		if err := json.Unmarshal(r.Value, &m); err != nil || m.Done || a.ticking(m.Run) {
			continue
		}
		open = true
		c.add(isWarning, "targets.markers", "trueup show"+a.site.flags+" "+string(m.Run),
			"%s began %q, and nobody knows whether it was done: the next tick asks the outside", m.Run, oneLineOf(m.Change.Text))
	}
	if !open {
		c.ok("targets.markers", "no change was begun without an end")
	}
}

// ticking tells whether a run is going on.
func (a patient) ticking(run reconcile.RunID) bool {
	for _, l := range a.site.leases {
		if l.Run == run {
			return true
		}
	}
	return false
}
