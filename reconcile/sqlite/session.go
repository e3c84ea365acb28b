package sqlite

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// A session is what tells other processes that this one lives: a file that it keeps locked. The kernel frees the lock when
// the process ends, however it ends, and a file that is unlocked or gone is a session that is over.
type session struct {
	dir  string
	boot string

	mu   sync.Mutex
	name string
	file *os.File // nil until the first lease
}

// begin makes the session's file, once, and anew when somebody has removed it: was is then the name it had. It is called
// by who is inside the gate, so nobody takes the file for a dead one's before it is locked.
func (s *session) begin() (name, was string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil && s.stands() {
		return s.name, "", nil
	}
	was = s.name
	if err := s.make(); err != nil {
		return "", "", fmt.Errorf("making the session's file: %w", err)
	}
	s.sweep()
	return s.name, was, nil
}

// stands tells whether the file under the session's name is the one that is locked.
func (s *session) stands() bool {
	mine, err := s.file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(filepath.Join(s.dir, s.name))
	return err == nil && os.SameFile(mine, there)
}

func (s *session) make() error {
	if err := s.folder(); err != nil {
		return err
	}
	name := rand.Text()
	f, err := os.OpenFile(filepath.Join(s.dir, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := flock(f, unix.LOCK_EX); err != nil {
		return errors.Join(err, f.Close())
	}
	if s.file != nil {
		s.file.Close()
	}
	s.file, s.name = f, name
	return nil
}

// folder makes the sessions' folder, once.
func (s *session) folder() error {
	if err := os.Mkdir(s.dir, 0o700); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// sweep removes the files of sessions that are over.
func (s *session) sweep() {
	entries, _ := os.ReadDir(s.dir) // a rest that stays does no harm
	for _, e := range entries {
		if e.Name() != s.name && !lives(filepath.Join(s.dir, e.Name())) {
			s.bury(e.Name())
		}
	}
}

// bury removes the file of a session that is over, if it can.
func (s *session) bury(name string) { _ = os.Remove(filepath.Join(s.dir, name)) }

// own is the name of this process's session, if it has one.
func (s *session) own() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.name
}

// alive tells whether the process behind a lease lives. When in doubt it does, and its lease lapses by time.
func (s *session) alive(name, boot string) bool {
	over := boot != s.boot && boot != "" && s.boot != ""
	return name == s.own() || !over && lives(filepath.Join(s.dir, name))
}

// lives tells whether somebody holds the lock of the file. It asks for a shared lock, so that two who ask at once do not
// take each other for the holder.
func lives(path string) bool {
	// Whoever the folder belongs to may have planted something: nothing is followed, and nothing waits. In doubt it lives.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return true
	}
	return flock(f, unix.LOCK_SH|unix.LOCK_NB) != nil
}

// end gives the session up, and with it every lease that it still has.
func (s *session) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	_ = os.Remove(filepath.Join(s.dir, s.name)) // it may be gone; the lock is what counts
	err := s.file.Close()
	s.file, s.name = nil, ""
	return err
}

// bootID tells this boot of the host from every other; empty where a sandbox hides it.
func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
}
