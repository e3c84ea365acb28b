package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"trueup/reconcile/plan"
	"trueup/reconcile/policy"
)

// accounts is the example on a host of its own, with its database.
type accounts struct {
	scratch
	example
	*Kind
	db string
}

const key1, key2 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAdaLaptop ada@laptop", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAdaPhone ada@phone"

func newAccounts(t *testing.T) *accounts {
	t.Helper()
	root := newScratch(t, map[string]string{
		"etc/passwd":        "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1::/:/bin/sh\nlocal:x:1000:1000::/home/local:/bin/sh\n",
		"etc/shadow":        "root:*:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\nlocal:!:19000:0:99999:7:::\n",
		"etc/group":         "root:x:0:\ndaemon:x:1:\nlocal:x:1000:\n",
		"etc/gshadow":       "root:*::\ndaemon:*::\nlocal:!::\n",
		"etc/nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\n",
		"etc/skel/.profile": "umask 027\n",
	})
	root.install(t, "accounts/accounts", "etc/trueup/accounts/accounts")
	e := exampleOf(t, "accounts")
	a := &accounts{scratch: root, example: e, Kind: root.kind(t, e), db: filepath.Join(t.TempDir(), "app.db")}
	a.sql(t, `create table accounts (login text primary key, uid integer unique, name text, active integer default 1);
		create table keys (login text, key text);
		insert into accounts (login, uid, name) values ('ada', 20001, 'Ada Lovelace'), ('bob', 20002, 'Bob'), ('eve', 20003, 'Eve');
		insert into keys values ('ada', '`+key1+`'), ('ada', '`+key2+`'), ('bob', '`+key1+`'), ('eve', '`+key1+`');`)
	return a
}

func (a *accounts) sql(t *testing.T, text string) {
	t.Helper()
	if out, err := exec.Command("sqlite3", a.db, text).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// source is the example's own, on the test's database.
func (a *accounts) source() policy.Source {
	s := a.example.Policy
	s.Command = slices.Clone(s.Command)
	for i := range s.Command {
		s.Command[i] = strings.ReplaceAll(s.Command[i], "/srv/app/app.db", a.db)
	}
	return s
}

// input has the policy as a tick reads it.
func (a *accounts) input(t *testing.T) plan.Input {
	t.Helper()
	in, _ := input()
	var err error
	if in.Policy, err = policy.NewReader(t.Context(), nil).Read(t.Context(), a.source(), policy.Moment{}); err != nil {
		t.Fatal(err)
	}
	return in
}

// become tells that everything is made so, and stays so.
func (a *accounts) become(t *testing.T, changes ...string) {
	t.Helper()
	p, err := converge(t, a.Kind, a.input(t))
	if err != nil {
		t.Fatal(err)
	}
	want(t, p, changes...)
	settled(t, a.Kind, a.input(t))
}

func (a *accounts) observe(t *testing.T) (Seen, plan.Input) {
	t.Helper()
	in := a.input(t)
	seen, err := a.Observe(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return seen, in
}

// field is a field of a login's line in a file of /etc, from 0.
func (a *accounts) field(t *testing.T, file, login string, n int) string {
	t.Helper()
	for line := range strings.Lines(readFile(t, a.path("etc/"+file))) {
		if fields := strings.Split(strings.TrimSpace(line), ":"); fields[0] == login {
			return fields[n]
		}
	}
	return ""
}

func owner(t *testing.T, path string) uint32 {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Uid
}
