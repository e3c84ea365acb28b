package runbook

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"trueup/units/nspawn"
)

const (
	readme  = "README.md"
	runbook = "docs/runbook.md"
	version = "1.0.0"         // of the package
	sources = "/root/sources" // where it is typed, in the machine
)

// A section is how one part of a page is played.
type section struct {
	page, heading string
	play          func(*stage)
}

// A track is sections that are played one after the other, on one machine.
type track struct {
	name     string
	words    map[string]string
	options  []nspawn.Option
	sections []section
}

func tracks() []track {
	return []track{
		{"readme", readmeWords(), []nspawn.Option{nspawn.Nspawn("--private-users=identity")}, readmeSections()},
		{"trigger", runbookWords(), nil, slices.Concat(beginSections(), triggerSections(), endSections())},
		{"targets", runbookWords(), nil, slices.Concat(ownSections(), targetSections(), ledgerSections(), peopleSections())},
	}
}

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil { // they wait more than they work
		panic(err)
	}
	flag.Parse()
	os.Exit(m.Run())
}

// TestPages plays both pages, on one version unless all are asked for.
func TestPages(t *testing.T) {
	versions := []nspawn.Version{nspawn.V257}
	if os.Getenv("TRUEUP_PROVE") == "1" {
		var err error
		if versions, err = nspawn.Versions(); err != nil {
			t.Fatal(err)
		}
	}
	gone, err := nspawn.EnsureRoots(versions...)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	packed := sync.OnceValue(func() error { return pack(dir) })
	for _, v := range versions {
		for _, tr := range tracks() {
			if slices.Contains(gone, v) {
				t.Logf("systemd %v: LEFT OUT: Debian's archive no longer has it", v)
				continue
			}
			t.Run(fmt.Sprintf("%s-%v", tr.name, v), func(t *testing.T) {
				t.Parallel()
				m := nspawn.Boot(t, v, tr.options...)
				if err := packed(); err != nil {
					t.Fatal(err)
				}
				tr.play(t, m, dir, map[string]bool{})
			})
		}
	}
}

// pack builds the package, and takes the programs out of it.
func pack(dir string) error {
	cmd := exec.Command("units/packages/build", dir, "amd64")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "VERSION=v"+version, "SOURCE_DATE_EPOCH=1764417600", "MAINTAINER=Nobody <nobody@example.org>")
	out, err := cmd.CombinedOutput()
	if err == nil {
		out, err = exec.Command("dpkg-deb", "-x", deb(dir), filepath.Join(dir, "packed")).CombinedOutput()
	}
	if err != nil {
		return fmt.Errorf("building the package: %w\n%s", err, out)
	}
	return nil
}

func deb(dir string) string { return filepath.Join(dir, "trueup_"+version+"_amd64.deb") }

// play plays a track on a machine; without one it is rehearsed.
func (tr track) play(t *testing.T, m *nspawn.Machine, dir string, mentions map[string]bool) {
	for _, sec := range tr.sections {
		ok := t.Run(sec.heading, func(t *testing.T) {
			s := &stage{t: t, m: m, page: sec.page, part: find(t, sec), mentions: mentions, words: tr.words, user: "root", built: filepath.Join(dir, "packed/usr/bin"), deb: deb(dir)}
			sec.play(s)
			for _, c := range s.part.commands[s.next:] {
				t.Errorf("no section plays %s", c.text)
			}
		})
		if !ok && m != nil {
			return // what follows counts on it
		}
	}
}

func find(t *testing.T, sec section) part {
	t.Helper()
	for _, p := range readPage(t, sec.page) {
		if p.heading == sec.heading {
			return p
		}
	}
	t.Fatalf("%s has no heading %q", sec.page, sec.heading)
	return part{}
}

// TestEveryCommandIsPlayed rehearses all sections, and wants each command of the pages in one of them; of those that are only
// mentioned in the text, that they are the beginning of one that is, or are run by themselves.
func TestEveryCommandIsPlayed(t *testing.T) {
	played, mentions := map[[2]string]bool{}, map[string]bool{}
	for _, tr := range tracks() {
		t.Run(tr.name, func(t *testing.T) { tr.play(t, nil, "", mentions) })
		for _, sec := range tr.sections {
			played[[2]string{sec.page, sec.heading}] = true
		}
	}
	var commands []string
	for _, page := range []string{readme, runbook} {
		for _, p := range readPage(t, page) {
			if len(p.commands) > 0 && !played[[2]string{page, p.heading}] {
				t.Errorf("%s: nothing plays %q: add it to a track", page, p.heading)
			}
			for _, c := range p.commands {
				commands = append(commands, strings.TrimPrefix(c.text, "sudo "))
			}
		}
	}
	used := map[string]bool{}
	for _, page := range []string{readme, runbook} {
		for _, span := range mentionsOf(t, page) {
			begins := func(text string) bool { return strings.HasPrefix(text, strings.TrimPrefix(span, "sudo ")) }
			known := slices.ContainsFunc(commands, begins) || mentions[span]
			if used[span] = true; !known && notRun()[span] == "" {
				t.Errorf("%s mentions %q, and no section runs it", page, span)
			}
		}
	}
	for span := range notRun() {
		if !used[span] {
			t.Errorf("%q is an exception, and no page mentions it", span)
		}
	}
}

// mentionsOf are the commands in a page's text. With … in it, or without arguments, it is talk.
func mentionsOf(t *testing.T, page string) (found []string) {
	t.Helper()
	for _, span := range spans(t, page) {
		first, _, isCommand := strings.Cut(span, " ")
		if isCommand && slices.Contains(strings.Fields(programs), first) && !strings.Contains(span, "…") {
			found = append(found, span)
		}
	}
	return found
}

// programs are what a command in running text begins with.
const programs = "apt-get chattr chcon chmod chown findmnt fuser journalctl ls make podman restorecon rm setfacl sqlite3 sudo sysctl systemctl " +
	"systemd-analyze trueup umount"

// notRun are commands in the pages' text that no section runs, each with the reason.
func notRun() map[string]string {
	const talk = "named as a thing, not as a step"
	return map[string]string{
		"trueup watch":                          talk,
		"trueup work review":                    talk,
		"systemctl edit":                        talk,
		"make packages":                         "units/packages runs it",
		"make install":                          "the README's first step",
		"sudo /usr/local/bin/trueup":            talk,
		"systemctl edit trueup.service":         "opens an editor",
		"chown root":                            talk,
		"chmod go-w":                            talk,
		"podman unshare cat /proc/self/uid_map": "there is no podman in the machine",
		"fuser LEDGER":                          "Debian's minimum has none",
		"trueup touch command:web --wait":       "the scripts of cmd/trueup",
		"trueup unadopt --user --all":           "units/packages runs it for each user",
		"trueup dump forgejo:NAME":              "the scripts of cmd/trueup; there is no such server in the machine",
		"trueup node enrol":                     "the scripts of cmd/trueup, on a real PostgreSQL; there is no server in the machine",
		"trueup node drain":                     "likewise",
		"trueup ledger move":                    "likewise",
		"trueup status --watch":                 "needs a terminal: cmd/trueup has one",
		"journalctl TRUEUP_ALARM=stale":         "played for the alarm failing",
		"trueup work checkpoint disk --fence \"$TRUEUP_FENCE\"": "played with the fence that it stands for",
		"trueup work unblock ITEM":                              "played for the item disk",
		"trueup work done ITEM":                                 "played for the item disk",
	}
}
