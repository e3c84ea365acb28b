package command

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"trueup/reconcile/policy"
)

func TestAccounts(t *testing.T) {
	t.Parallel()
	a := newAccounts(t)
	if len(a.Scopes) != 1 || a.Scopes[0] != "host:passwd" {
		t.Errorf("the target's scopes are %q; ACT-02 needs it to take its turn", a.Scopes)
	}
	a.become(t, "+ account ada (uid 20001)", "+ account bob (uid 20002)", "+ account eve (uid 20003)")
	if got := a.field(t, "passwd", "ada", 2) + a.field(t, "passwd", "ada", 4) + a.field(t, "shadow", "ada", 1); got != "20001Ada Lovelace!" {
		t.Errorf("ada is %q", got)
	}
	if home := a.path("home/ada"); owner(t, home) != 20001 || owner(t, home+"/.profile") != 20001 {
		t.Errorf("%s is not ada's", home)
	}
	if got := readFile(t, a.path("etc/ssh/authorized_keys.d/ada")); got != key1+"\n"+key2+"\n" {
		t.Errorf("keys of ada: %q", got)
	}
	a.sql(t, "delete from keys where key = '"+key2+"'")
	a.become(t, "~ account ada: these keys")
	if got := readFile(t, a.path("etc/ssh/authorized_keys.d/ada")); got != key1+"\n" {
		t.Errorf("keys of ada: %q", got)
	}
}

// REC-06: removal disables, keeps everything, and is undone by the row's return. What is not ours is never touched.
func TestAccountsRemovalDisables(t *testing.T) {
	t.Parallel()
	a := newAccounts(t)
	a.become(t, "+ account ada (uid 20001)", "+ account bob (uid 20002)", "+ account eve (uid 20003)")
	a.sql(t, "update accounts set active = 0 where login = 'bob'")
	seen, err := a.Observe(t.Context(), a.input(t))
	if err != nil || seen.Size != 3 {
		t.Errorf("the breaker's fraction is of %d, %v; want 3", seen.Size, err)
	}
	a.become(t, "- account bob is disabled; its home and keys stay")
	if got := a.field(t, "shadow", "bob", 7); got != "1" {
		t.Errorf("bob expires on day %q", got)
	}
	if owner(t, a.path("home/bob")) != 20002 || readFile(t, a.path("etc/ssh/authorized_keys.d/bob")) != key1+"\n" {
		t.Error("bob's home or keys are gone")
	}
	a.sql(t, "update accounts set active = 1 where login = 'bob'")
	a.become(t, "~ account bob: leave to log in")
	if got := a.field(t, "shadow", "bob", 7) + a.field(t, "shadow", "local", 7); got != "" {
		t.Errorf("bob or local expire on day %q", got)
	}
}

// ACT-02, ACT-05: what another tool left half made is completed.
func TestAccountsHalfMade(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, spoil, planned string }{
		{"group only", "echo ada:x:20001: >>etc/group", "+ account ada (uid 20001)"},
		{"left-over file of a killed run", "mkdir -p home/.new-ada etc/ssh/authorized_keys.d; echo half >etc/ssh/authorized_keys.d/.new-ada", "+ account ada (uid 20001)"},
		{"no group", "echo ada:x:20001:20001::/home/ada:/bin/bash >>etc/passwd", "~ account ada: account,group,home"},
		{"no shadow entry, no home", "echo ada:x:20001: >>etc/group; echo ada:x:20001:20001::/home/ada:/bin/bash >>etc/passwd", ""},
		{"home is root's", "mkdir -p home/ada/.config; echo ada:x:20001: >>etc/group", "+ account ada (uid 20001)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := newAccounts(t)
			a.sql(t, "delete from accounts where login <> 'ada'")
			spoil := exec.Command("sh", "-ec", c.spoil)
			spoil.Dir = string(a.scratch)
			if out, err := spoil.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if p, err := converge(t, a.Kind, a.input(t)); err != nil || len(p) != 1 {
				t.Fatalf("%q, %v", lines(p), err)
			}
			settled(t, a.Kind, a.input(t))
			for file, n := range map[string]int{"passwd": 2, "group": 2, "shadow": 1} {
				if a.field(t, file, "ada", n) == "" {
					t.Errorf("ada is not in %s", file)
				}
			}
			if owner(t, a.path("home/ada")) != 20001 {
				t.Error("the home is not ada's")
			}
		})
	}
}

// ACT-04, ACT-02: what cannot be made so fails alone, with the reason, and touches nothing of others. The list is the web
// app's, and the script is root.
func TestAccountsHostileRows(t *testing.T) {
	t.Parallel()
	a := newAccounts(t)
	if err := os.MkdirAll(a.path("home/eve"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(a.path("home/eve"), 1000, 1000); err != nil {
		t.Fatal(err)
	}
	a.sql(t, `insert into accounts (login, uid, name) values ('root', 0, ''), ('local', 20010, ''), ('../etc', 20011, ''),
		('a'||char(10)||'b', 20012, ''), ('mal', 20013, 'x:0:0'), ('liz', 20014, ''), ('-x', 20015, ''), ('toor', 20016.5, ''), (null, 20017, '');
		insert into keys values ('liz', 'ssh-ed25519 AAAA'||char(10)||'ssh-ed25519 BBBB');
		update accounts set uid = 1 where login = 'bob';`)
	before := readFile(t, a.path("etc/passwd"))
	p, err := converge(t, a.Kind, a.input(t))
	if err == nil {
		t.Fatal("nothing failed")
	}
	for _, reason := range []string{"account eve: /home/eve belongs to uid 1000", "account local: the login has uid 1000 here", "login is not one",
		"uid is not in 20000-29999", "name is not fit for /etc/passwd", "a key is not one"} {
		if !strings.Contains(err.Error(), reason) {
			t.Errorf("%v: does not say %q", err, reason)
		}
	}
	if len(p) != 12 {
		t.Errorf("planned %q", lines(p))
	}
	passwd := readFile(t, a.path("etc/passwd"))
	if after, _ := strings.CutPrefix(passwd, before); after != "ada:x:20001:20001:Ada Lovelace:/home/ada:/bin/bash\n" {
		t.Errorf("/etc/passwd has become\n%s", passwd)
	}
	if owner(t, a.path("home/eve")) != 1000 {
		t.Error("the home of another was taken")
	}
}

// ACT-10: the end of the list is no list, and no key is no reason to lock everybody out.
func TestAccountsEmptySource(t *testing.T) {
	t.Parallel()
	a := newAccounts(t)
	a.become(t, "+ account ada (uid 20001)", "+ account bob (uid 20002)", "+ account eve (uid 20003)")
	in := a.input(t)
	for _, text := range []string{"", "[]", "{}", "null", "[{\"login\":\"ada\"", strings.Repeat(string(in.Policy.Data), 2)} {
		in.Policy.Data = []byte(text)
		seen, err := a.Observe(t.Context(), in)
		unknown(t, err, "plan exited with ")
		if len(seen.Changes) > 0 {
			t.Errorf("%q: planned %q", text, lines(seen.Changes))
		}
	}
	a.sql(t, "delete from keys; update accounts set active = 0")
	_, err := policy.NewReader(t.Context(), nil).Read(t.Context(), a.source(), policy.Moment{})
	unknown(t, err, "empty")
	a.sql(t, "update accounts set active = 1")
	seen, err := a.Observe(t.Context(), a.input(t))
	if err != nil {
		t.Fatal(err)
	}
	want(t, seen.Changes, "- every key of ada", "- every key of bob", "- every key of eve") // the breaker's
	a.sql(t, "insert into keys values ('ada', '"+key1+"'), ('bob', '"+key1+"')")
	a.become(t, "~ account ada: these keys", "- every key of eve")
}

// SEC-07: a row's key is a key, and no second line, option or end of one. What is written is root's alone to write and in place
// at once; whoever opened it to others, or laid a link there, has not done so for long.
func TestAccountsKeysAreOnlyKeys(t *testing.T) {
	t.Parallel()
	a := newAccounts(t)
	a.become(t, "+ account ada (uid 20001)", "+ account bob (uid 20002)", "+ account eve (uid 20003)")
	path := a.path("etc/ssh/authorized_keys.d/ada")
	for _, spoil := range []string{"chmod 666 " + path, "chown 1000 " + path, "mv " + path + " " + path + "2; ln -s ada2 " + path} {
		if out, err := exec.Command("sh", "-ec", spoil).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		a.become(t, "~ account ada: these keys")
		if info, err := os.Lstat(path); err != nil || info.Mode() != 0o644 || owner(t, path) != 0 || readFile(t, path) != key1+"\n"+key2+"\n" {
			t.Errorf("after %s: %v, %v", spoil, info, err)
		}
	}
	for _, text := range []string{"command=\"/bin/sh\" " + key1, "no-pty,restrict " + key1, "cert-authority " + key1, "*@example.org " + key1,
		"# " + key1, " " + key1, key1 + "'||char(10)||'" + key2, key1 + "'||char(13)||'" + key2, key1 + "'||char(10)||'", "ssh-dss AAAA", "ssh-ed25519", ""} {
		a.sql(t, "delete from keys where login = 'ada'; insert into keys values ('ada', '"+text+"')")
		if _, err := converge(t, a.Kind, a.input(t)); err == nil || !strings.Contains(err.Error(), "a key is not one") {
			t.Errorf("%q: %v", text, err)
		}
		if got := readFile(t, path); got != key1+"\n"+key2+"\n" {
			t.Errorf("%q: the keys have become %q", text, got)
		}
	}
}
