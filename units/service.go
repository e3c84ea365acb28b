package units

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed files/trueup.service
var serviceText string

// The profiles that Hardening does not know: no sandbox at all, and what is taken when nothing is said.
const (
	noHardening      = "none"
	defaultHardening = "host"
)

// installedUnit is the service of an instance.
func installedUnit(name string) (string, error) {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	if strings.Trim(name, allowed) != "" || strings.HasPrefix(name, ".") {
		return "", &UsageError{Reason: fmt.Sprintf("%q is no name for an instance", name), Hint: "take letters, digits, - _ and ."}
	}
	if name == checkName {
		return "", &UsageError{Reason: fmt.Sprintf("%q is no name for an instance: %s raises alarms", name, checkService)}
	}
	if name == "" {
		return "trueup.service", nil
	}
	return unitName("trueup-" + name + ".service")
}

// installed is what the head of our service file says about how it came to be.
type installed struct {
	Unit, Config, Hardening string
	Ledger, Report          string
	Made                    []string // folders of units that we made, and that go when they are empty
}

// header writes it as comment lines.
func (i installed) header() string {
	var b strings.Builder
	line := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s%s=%s\n", recordMark, key, value)
		}
	}
	line("unit", i.Unit)
	line("config", i.Config)
	line("hardening", i.Hardening)
	line("ledger", i.Ledger)
	line("report", i.Report)
	for _, dir := range i.Made {
		line("made", dir)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// parseInstalled reads a header back; ok is false for a file that Install has not written.
func parseInstalled(text string) (i installed, ok bool) {
	texts := map[string]*string{"unit": &i.Unit, "config": &i.Config, "hardening": &i.Hardening, "ledger": &i.Ledger, "report": &i.Report}
	for line := range strings.Lines(text) {
		rest, ours := strings.CutPrefix(strings.TrimSuffix(line, "\n"), recordMark)
		key, value, _ := strings.Cut(rest, "=")
		if to := texts[key]; ours && to != nil {
			*to = value
		} else if ours && key == "made" {
			i.Made = append(i.Made, value)
		}
	}
	return i, i.Unit != "" && i.Config != ""
}

// renderService writes our service file.
func renderService(i Installation, made []string, user bool) string {
	head := installed{i.Unit, i.Config, i.Hardening, i.Ledger, i.Report, made}
	which := ""
	if i.Name != "" {
		which += " --name " + i.Name
	}
	if user {
		which += " --user"
	}
	flags := "-c " + argument(i.Config) + which
	if i.Folders.State != "" {
		flags += " --state " + argument(i.Folders.State)
	}
	profile, src := sandbox(i.Hardening, user)
	if profile != "" {
		profile = "# As trueup hardening " + i.Hardening + " prints it.\n" + profile
	} else {
		profile = "# No hardening: it was declined."
	}
	return fill(serviceText, map[string]string{
		"UNDO": "trueup uninstall" + which, "RECORD": head.header(), "UNIT": i.Unit, "CONFIGTEXT": specifier(i.Config),
		"PROGRAM": argument(i.Program), "FLAGS": flags, "ACCESS": i.sweepAccess(src), "PROFILE": profile,
	})
}

// sandbox gives the lines of a profile, and the same as a unit's source.
func sandbox(hardening string, user bool) (string, source) {
	_, lines, _ := strings.Cut(Hardening(user, hardening), "[Service]\n")
	return strings.TrimSuffix(lines, "\n"), source{user: user, before: parseUnit("", "[Service]\n"+lines)}
}

// plannedUnit is a unit as it will be once its file has this text: for a dry run.
func plannedUnit(file, text string, p properties, s source) (properties, source) {
	if p.LoadState != "loaded" {
		p.LoadState, p.Fragment, p.Type, p.Transient, p.TimeoutStart = "loaded", file, "oneshot", false, 0
	}
	elsewhere := slices.DeleteFunc(s.before, func(l assignment) bool { return l.file == file })
	s.before = append(parseUnit(file, text), elsewhere...)
	return p, s
}

// sweepAccess opens the sandbox for what the sweep needs beside the trigger's folders, as access does for those.
func (i Installation) sweepAccess(src source) string {
	var writes, hidden, read []string
	for _, dir := range []string{i.Ledger, i.Report} {
		if dir != "" {
			writes = append(writes, dir)
		}
		if dir != "" && src.hides(dir) {
			hidden = append(hidden, dir)
		}
	}
	for _, path := range []string{i.Program, filepath.Dir(i.Config)} { // policies lie beside the configuration
		if src.hides(path) {
			read = append(read, path)
		}
	}
	var lines []string
	for _, l := range []struct {
		key   string
		paths []string
	}{{"ReadWritePaths", writes}, {"BindPaths", hidden}, {"BindReadOnlyPaths", read}} {
		if len(l.paths) > 0 && src.closes() {
			lines = append(lines, l.key+"="+minus(l.paths))
		}
	}
	return strings.Join(lines, "\n")
}

// check refuses what cannot be written down, and what root should not run.
func (j *installing) check() error {
	if j.Hardening != noHardening && Hardening(j.m.user, j.Hardening) == "" {
		return &UsageError{Reason: fmt.Sprintf("unknown hardening %q", j.Hardening), Hint: "api, host and none are known"}
	}
	_, src := sandbox(j.Hardening, j.m.user)
	for _, p := range []namedFolder{{"program", j.Program}, {"configuration", j.Config}, {"ledger", j.Ledger}, {"report", j.Report}} {
		if p.path == "" && (p.role == "ledger" || p.role == "report") {
			continue
		}
		if err := checkPath(p.role, p.path); err != nil || !filepath.IsAbs(p.path) {
			return &UsageError{Reason: fmt.Sprintf("the %s %q is no absolute path that fits into a unit file", p.role, p.path)}
		}
		if src.hides(p.path) && !j.m.user {
			return &Refusal{Unit: j.Unit, Reason: fmt.Sprintf("hardening %s hides the %s %s", j.Hardening, p.role, p.path),
				Hint: "keep it outside the homes, or choose --hardening host"}
		}
	}
	if _, err := os.Stat(j.Config); err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	return j.checkPrograms()
}

// checkPrograms refuses what systemd could not start, and for root what another could change.
func (j *installing) checkPrograms() error {
	if info, err := os.Stat(j.Program); err != nil || info.IsDir() || info.Mode()&0o111 == 0 || strings.Contains(j.Program, "$") {
		return &Refusal{Unit: j.Unit, Reason: fmt.Sprintf("%q is no program that systemd could start", j.Program)}
	}
	if j.m.user {
		return nil // runs as the user, whoever wrote it
	}
	for _, path := range []string{j.Program, j.Config} {
		if place, why := untrusted(path); why != "" {
			reason := fmt.Sprintf("root would do what %s says, and %s %s", path, place, why)
			return &Refusal{Unit: j.Unit, Reason: reason,
				Hint: "keep it where only root can write: programs in /usr/local/bin, the configuration in /etc/trueup"}
		}
	}
	return nil
}
