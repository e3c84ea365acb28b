package units

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// What the probe leaves out of the unit's own text: what it would run, what would act on the real unit's
// folders (a RuntimeDirectory= is removed at the stop of whoever has it) or on its user's other processes
// (RemoveIPC=), and what is not about access. Everything else is sandbox, known or yet to be invented.
var (
	probeDrops = []string{"ExecCondition", "ExecStartPre", "ExecStart", "ExecStartPost", "ExecReload", "ExecReloadPost", "ExecStop",
		"ExecStopPost", "Type", "RemainAfterExit", "PIDFile", "BusName", "Sockets", "NotifyAccess", "SuccessExitStatus",
		"OOMPolicy", "OOMScoreAdjust", "WatchdogSec", "RuntimeMaxSec", "GuessMainPID", "RemoveIPC", "OpenFile",
		"SyslogIdentifier", "PassEnvironment", "UnsetEnvironment", "CoredumpReceive", "ExitType", "SurviveFinalKillSignal"}
	probeDropPrefixes = []string{"Restart", "RuntimeDirectory", "StateDirectory", "CacheDirectory", "LogsDirectory",
		"ConfigurationDirectory", "Timeout", "Standard", "TTY", "Environment", "LoadCredential", "SetCredential",
		"ImportCredential", "FileDescriptorStore", "USBFunction", "Utmp", "Log", "StartLimit", "Reload"}
)

func probeName(unit string) string { return "trueup-probe-" + strings.ReplaceAll(unit, "@", "_") }

// probeFiles are the probe's unit, and the folder for what it says; only root and the user may write where they are.
func (m *Manager) probeFiles(unit string) (file, dir string) {
	name := probeName(unit)
	return filepath.Join(m.runtime, name), filepath.Join(filepath.Dir(filepath.Dir(m.runtime)), strings.TrimSuffix(name, ".service"))
}

// probe runs the gate's own check in the unit's sandbox, as the unit's user, with the access that the drop-in
// will give it. Nothing is enabled before it has passed.
func (j *adopting) probe(ctx context.Context) (err error) {
	unit := probeName(j.rec.Unit)
	file, dir := j.m.probeFiles(j.rec.Unit)
	reason := filepath.Join(dir, "reason")
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
		return fmt.Errorf("probing the gate's access: %w", err)
	}
	defer os.RemoveAll(dir)
	made := missingDirs(j.m.runtime)
	if err := makeDirs(j.m.runtime); err != nil {
		return fmt.Errorf("probing the gate's access: %w", err)
	}
	defer func() { err = errors.Join(err, removeProbe(file, made)) }()
	if err := writeFile(file, j.probeText(reason)); err != nil {
		return fmt.Errorf("probing the gate's access: %w", err)
	}
	// systemd reads a unit that it does not have yet without a reload. One of this name may be left from a kill.
	if state, err := j.m.unit(ctx, unit); err == nil && (state.needReload || state.Active == "failed") {
		if err := errors.Join(j.m.resetFailed(ctx, unit), j.m.reload(ctx)); err != nil {
			return err
		}
	}
	result, err := run(ctx, j.m.conn.StartUnitContext, unit)
	if err != nil {
		return fmt.Errorf("probing the gate's access: %w", err)
	}
	if result == "done" {
		return nil
	}
	verdict := j.verdict(ctx, unit, reason)
	return errors.Join(verdict, j.m.resetFailed(ctx, unit))
}

func removeProbe(file string, made []string) error {
	err := removeFile(file)
	for i := range made {
		os.Remove(made[len(made)-1-i])
	}
	return err
}

// probeText composes the unit.
func (j *adopting) probeText(reason string) string {
	var b strings.Builder
	b.WriteString("# Made by trueup adopt, for a moment.\n[Unit]\nDescription=Access check for " + specifier(j.rec.Unit) + "\n\n[Service]\n")
	names := specifiers(j.rec.Unit)
	for _, l := range j.src.all() {
		if l.section == "Service" && !probeDropped(l.key) {
			fmt.Fprintf(&b, "%s=%s\n", l.key, names.Replace(l.value))
		}
	}
	fmt.Fprintf(&b, "%s\nType=oneshot\nTimeoutStartSec=30\nNotifyAccess=all\n", access(j.rec.Adoption, j.src))
	fmt.Fprintf(&b, "StandardInput=null\nStandardOutput=journal\nStandardError=file:%s\n", specifier(reason))
	fmt.Fprintf(&b, "ExecStart=%s claim --check %s\n", argument(j.rec.Gate), gateFlags(j.rec))
	return b.String()
}

func probeDropped(key string) bool {
	for _, k := range probeDrops {
		if key == k {
			return true
		}
	}
	for _, prefix := range probeDropPrefixes {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// specifiers replaces those that tell the probe's name from the unit's.
func specifiers(unit string) *strings.Replacer {
	stem := strings.TrimSuffix(unit, ".service")
	prefix, instance, _ := strings.Cut(stem, "@")
	last := prefix[strings.LastIndex(prefix, "-")+1:]
	pairs := []string{"%%", "%%"} // first: it is no specifier
	for name, value := range map[string]string{
		"n": unit, "N": stem, "p": prefix, "P": unescape(prefix), "i": instance, "I": unescape(instance),
		"j": last, "J": unescape(last),
	} {
		pairs = append(pairs, "%"+name, specifier(value))
	}
	return strings.NewReplacer(pairs...)
}

// unescape undoes systemd-escape.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		var c byte
		switch {
		case s[i] == '-':
			b.WriteByte('/')
		case strings.HasPrefix(s[i:], `\x`) && i+4 <= len(s):
			if _, err := fmt.Sscanf(s[i+2:i+4], "%02x", &c); err == nil {
				b.WriteByte(c)
				i += 3
			}
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// verdict turns a failed probe into words.
func (j *adopting) verdict(ctx context.Context, unit, reason string) error {
	all, err := j.m.conn.GetAllPropertiesContext(ctx, unit)
	if err != nil {
		return fmt.Errorf("asking why the probe failed: %w", denied(err))
	}
	b := bag(all)
	said, _, _ := readText(reason)
	journal := "journalctl "
	if j.m.user {
		journal += "--user "
	}
	return explain(j.rec.Adoption, journal+"-n 50 -u "+unit, b.text("Result"), int(b.number("ExecMainCode")), int(b.number("ExecMainStatus")), said)
}

const (
	exited        = 1 // CLD_EXITED
	exitChdir     = 200
	exitExec      = 203
	exitUser      = 217
	exitNamespace = 226
)

// explain gives the reason why the gate could not do its work in the unit's sandbox, and the way out; the journal is the
// command that shows what systemd said of it.
func explain(a Adoption, journal, result string, code, status int, said string) error {
	refusal := func(reason, hint string) error { return &Refusal{Unit: a.Unit, Reason: reason, Hint: hint} }
	switch {
	case code == exited && status == exitNamespace:
		return refusal("its sandbox cannot be set up (226/NAMESPACE): a path in ReadWritePaths=, ReadOnlyPaths= or BindPaths= is missing",
			`make the path, or put "-" before it; which one it is, or another setting, says `+journal)
	case code == exited && status == exitExec:
		return refusal(fmt.Sprintf("its sandbox does not let it start %s (203/EXEC)", a.Gate),
			"install trueup-gate where the sandbox shows it and lets it run, as in /usr/local/bin")
	case code == exited && (status == exitChdir || status == exitUser):
		return refusal(fmt.Sprintf("it cannot start: its WorkingDirectory=, User= or Group= is not there (exit status %d)", status),
			"systemctl status "+a.Unit+" says which")
	case code != exited && status == int(unix.SIGSYS):
		return refusal("its SystemCallFilter= does not let the gate run", "add @system-service to it")
	case said != "":
		reason := strings.TrimPrefix(strings.TrimSpace(said), "error: ")
		return &FolderError{Path: folderIn(a, reason), Err: errors.New("in the sandbox of " + a.Unit + ": " + reason),
			Hint: "see who owns it, and which of the unit's sandbox settings hide it"}
	}
	return refusal(fmt.Sprintf("the gate did not come to an end in its sandbox (%s, status %d)", result, status), journal+" says more")
}

// folderIn names the folder that the gate's words are about.
func folderIn(a Adoption, reason string) string {
	for _, f := range a.named() {
		if strings.Contains(reason, f.path) || strings.Contains(reason, f.role) {
			return f.path
		}
	}
	return a.Folders.State
}
