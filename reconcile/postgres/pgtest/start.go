package pgtest

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// serve is the script that starts a server and ends it once nobody uses it.
//
//go:embed serve
var serve string

// linger is for how many seconds the shared server outlives its last user: the next package's tests find it there.
const linger = 15

// shared finds or starts the shared server, and keeps it for as long as the test lasts.
func shared(t testing.TB) *Server {
	t.Helper()
	dir := filepath.Join("/tmp", fmt.Sprintf("trueup-postgres-%d-%s", os.Getuid(), Major()))
	if err := ownFolder(dir); err != nil {
		t.Fatal(err)
	}
	lock, err := flock(filepath.Join(dir, "lock"), syscall.LOCK_EX)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	use(t, dir)
	port, _ := os.ReadFile(filepath.Join(dir, "port"))
	s := &Server{dir: dir, port: string(port)}
	if s.answers() {
		return s
	}
	if s.port, err = freePort(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(s.Socket()); err != nil {
		t.Fatal(err)
	}
	s.serve(t, linger)
	if err := os.WriteFile(filepath.Join(dir, "port"), []byte(s.port), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// ownFolder makes a folder below /tmp that nobody else can have put there.
func ownFolder(dir string) error {
	if err := os.Mkdir(dir, 0o711); err == nil {
		return os.Chmod(dir, 0o711)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if stat := info.Sys().(*syscall.Stat_t); !info.IsDir() || int(stat.Uid) != os.Getuid() {
		return fmt.Errorf("%s is somebody else's: remove it", dir)
	}
	return nil
}

// use keeps the server of a folder for as long as the test lasts.
func use(t testing.TB, dir string) {
	users, err := flock(filepath.Join(dir, "users"), syscall.LOCK_SH)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { users.Close() })
}

// serve starts the script, and returns once the server answers.
func (s *Server) serve(t testing.TB, linger int, settings ...string) {
	t.Helper()
	bin := filepath.Join("/usr/lib/postgresql", Major(), "bin")
	if _, err := os.Stat(filepath.Join(bin, "initdb")); err != nil {
		t.Fatalf("PostgreSQL %s is missing (%v): apt-get install --no-install-recommends postgresql-%[1]s", Major(), err)
	}
	said, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd := exec.Command("bash", append([]string{"-c", serve, "serve", s.dir, bin, s.port, strconv.Itoa(linger)}, settings...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // an interrupt from the terminal is for the test
	cmd.Stdout = to
	err = cmd.Start()
	to.Close()
	if err != nil {
		t.Fatal(err)
	}
	go cmd.Wait()
	first, err := bufio.NewReader(said).ReadString('\n')
	if strings.TrimSpace(first) != "ready" {
		rest, _ := io.ReadAll(said)
		t.Fatalf("starting PostgreSQL: %v: %s%s", err, first, rest)
	}
}

// freePort is one that nobody listened on a moment ago.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// Start starts a server that is this test's alone. Settings are as in postgresql.conf: "listen_addresses=*".
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "trueup-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	use(t, dir)
	s := &Server{dir: dir}
	if s.port, err = freePort(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Kill(t) })
	s.serve(t, 0, settings...)
	return s
}

// Again starts a server anew that was stopped or killed, with what it holds, at the same address.
func (s *Server) Again(t testing.TB, settings ...string) {
	t.Helper()
	s.serve(t, 0, settings...)
}

// Stop shuts the server down: it rolls back what is open and closes every connection.
func (s *Server) Stop(t testing.TB) { t.Helper(); s.end(t, syscall.SIGINT) }

// Kill ends the server as a crash does: what was committed is there after Again, and nothing is told to anybody.
func (s *Server) Kill(t testing.TB) { t.Helper(); s.end(t, syscall.SIGQUIT) }

func (s *Server) end(t testing.TB, how syscall.Signal) {
	t.Helper()
	data := filepath.Join(s.Socket(), "data")
	text, err := os.ReadFile(filepath.Join(s.Socket(), "pid"))
	if err != nil {
		return // it never answered
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	cwd := filepath.Join("/proc", strconv.Itoa(pid), "cwd")
	lives := func() bool { at, err := os.Readlink(cwd); return err == nil && at == data }
	for n := 0; lives(); n++ {
		if n == 0 {
			err = syscall.Kill(pid, how)
		}
		if err != nil || n > 12000 {
			t.Fatalf("ending PostgreSQL: %v", err)
		}
		<-time.After(10 * time.Millisecond)
	}
}
