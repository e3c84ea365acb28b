package units

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
)

// An Installation is the wish to have trueup's own service: a oneshot that sweeps the targets of a configuration file,
// behind a trigger like any other's. A field that is left zero was not given: it stays as it was installed, or gets its
// default where nothing is yet.
type Installation struct {
	Adoption         // of the service; its Unit follows from Name
	Name      string // tells the instances of one manager apart; empty: trueup.service
	Program   string // trueup; empty: this program
	Config    string // the configuration file, absolute
	Hardening string // api, host or none; by default host
	Ledger    string // the folder of the ledger's file; empty: the sweep writes none
	Report    string // the report folder; empty: the sweep writes none
}

// Install makes trueup a service: it writes the service file and adopts it. It may be called again at any time, and
// changes only what differs. After an error whatever it wrote before the adoption is as it was; after a kill, calling
// it again or calling Uninstall sets things right.
//
// Errors are those of Adopt. A service of that name that is not trueup's is a *Refusal, as is a program or a
// configuration file that another than root could change and root would run; a configuration file that is not there
// matches fs.ErrNotExist.
func (m *Manager) Install(ctx context.Context, i Installation) (Changes, error) {
	none := Changes{User: m.user, Adoption: i.Adoption}
	if !i.DryRun {
		unlock, err := m.lock(ctx)
		if err != nil {
			return none, err
		}
		defer unlock()
	}
	j, err := m.planService(ctx, i)
	if err != nil {
		none.Adoption = j.Adoption
		return none, err
	}
	dropin, _, err := readText(m.dropin(j.Unit))
	if err == nil {
		err = j.write(ctx)
	}
	changes := none
	if err == nil {
		planned := ""
		if i.DryRun {
			planned = j.text
		}
		changes, err = m.adopt(ctx, j.Adoption, planned)
	}
	if now, _, _ := readText(m.dropin(j.Unit)); err != nil && !i.DryRun && now == dropin {
		return changes, errors.Join(err, j.takeBack(context.WithoutCancel(ctx)))
	}
	changes.Done = append(j.changes.Done, changes.Done...)
	return changes, err
}

// An installing is one call of Install: what the service file is and will be.
type installing struct {
	recorder
	Installation
	m    *Manager
	file string
	was  string // the text that is there; empty: none
	text string // and that will be
	had  installed
	made []string // folders that were made for the sweep to write
}

// planService finds out what is to be written, and refuses.
func (m *Manager) planService(ctx context.Context, i Installation) (*installing, error) {
	j := &installing{recorder: recorder{&Changes{User: m.user}, i.DryRun}, Installation: i, m: m}
	var err error
	if j.Unit, err = installedUnit(i.Name); err != nil {
		return j, err
	}
	j.file = m.file(j.Unit)
	if err := j.readInstalled(ctx); err != nil {
		return j, err
	}
	setDefault(&j.Config, j.had.Config)
	setDefault(&j.Hardening, j.had.Hardening)
	setDefault(&j.Hardening, defaultHardening)
	if j.Program == "" {
		if j.Program, err = os.Executable(); err != nil {
			return j, err
		}
	}
	if err := j.check(); err != nil {
		return j, err
	}
	if j.inTrigger(j.Ledger) {
		j.Ledger = "" // made, opened and purged with the trigger's own
	}
	if j.Folders.State == "" {
		adopted, _, err := readText(m.dropin(j.Unit))
		if err != nil {
			return j, err
		}
		before, _ := parseRecord(adopted)
		setDefault(&j.Folders.State, before.Folders.State)
		setDefault(&j.Folders.State, j.placed(m.home).Folders.State)
	}
	beside := slices.DeleteFunc(m.madeByAll(), func(dir string) bool { return !within(j.file, dir) })
	made := slices.Concat(j.had.Made, missingDirs(filepath.Dir(j.file)), beside)
	slices.Sort(made) // outermost first
	j.text = renderService(j.Installation, slices.Compact(made), m.user)
	return j, nil
}

// inTrigger tells whether a folder is one of the trigger's, or in one.
func (j *installing) inTrigger(dir string) bool {
	return slices.ContainsFunc(j.placed(j.m.home).named(), func(f namedFolder) bool { return within(filepath.Clean(dir), f.path) })
}

// readInstalled reads what an earlier Install wrote, and refuses a service that is somebody else's.
func (j *installing) readInstalled(ctx context.Context) error {
	state, err := j.m.unit(ctx, j.Unit)
	if err != nil {
		return err
	}
	if j.was, _, err = readText(j.file); err != nil {
		return err
	}
	var ok bool
	j.had, ok = parseInstalled(j.was)
	foreign := ""
	switch _, err := os.Lstat(j.file); {
	case err == nil && (!ok || isLink(j.file)): // systemctl mask makes a link
		foreign = j.file
	case err != nil && state.Load == "loaded" && state.fragment != j.file:
		foreign = state.fragment
	}
	if foreign != "" {
		return &Refusal{Unit: j.Unit, Reason: foreign + " is not ours", Hint: "move it away, or install beside it with --name"}
	}
	return nil
}

// write writes the service file and makes systemd read it, now or before a kill, and makes the folders.
func (j *installing) write(ctx context.Context) error {
	if err := j.writeText(j.file, j.text); err != nil {
		return err
	}
	if !j.dry {
		state, err := j.m.unit(ctx, j.Unit)
		if err != nil {
			return err
		}
		if j.text != j.was || state.Load == "not-found" || state.needReload {
			if err := j.m.reload(ctx); err != nil {
				return err
			}
		}
	}
	return j.makeFolders(ctx)
}

// makeFolders makes what the sweep writes beside the trigger's folders, for the service's user.
func (j *installing) makeFolders(ctx context.Context) error {
	p, err := j.m.properties(ctx, j.Unit)
	if err != nil {
		return err
	}
	own, err := ownerOf(p)
	if err != nil {
		return &Refusal{Unit: j.Unit, Reason: err.Error(), Hint: "create the user that the unit runs as"}
	}
	for _, f := range []folder{{path: j.Ledger, mode: 0o700, owner: own}, {path: j.Report, mode: 0o755, owner: own}} {
		if f.path == "" {
			continue
		}
		op, err := f.wants()
		if err != nil {
			return err
		}
		if op != Create {
			continue
		}
		j.made = append(j.made, missingDirs(f.path)...)
		if err := j.do(op, f.path, func() error { return f.make(op) }); err != nil {
			return err
		}
	}
	return nil
}

// takeBack undoes write: nothing starts a service that was not adopted, but it would lie there.
func (j *installing) takeBack(ctx context.Context) error {
	for _, dir := range slices.Backward(j.made) {
		os.Remove(dir) // fails, as it should, where others have put something
	}
	if j.was == j.text {
		return nil
	}
	if j.was != "" {
		return errors.Join(writeFile(j.file, j.was), j.m.reload(ctx))
	}
	had, _ := parseInstalled(j.text)
	return j.m.removeService(ctx, j.Unit, had.Made)
}
