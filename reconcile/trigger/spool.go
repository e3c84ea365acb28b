package trigger

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	sentinelName = "sentinel"
	requestsName = "requests"

	maxRequests  = 1024  // more entries than this ask for everything
	removeBudget = 20000 // entries that one activation removes at most
)

// ValidRequest tells whether a name may stand in requests/: 1 to 200 letters, digits or any of . _ : @ - that
// begin with a letter or digit. Whether it names a target is the run's question. (A regular expression for this
// costs a third of the gate's start.)
func ValidRequest(name string) bool {
	if len(name) == 0 || len(name) > 200 || !alphanumeric(name[0]) {
		return false
	}
	for _, b := range []byte(name) {
		if !alphanumeric(b) && !strings.ContainsRune("._:@-", rune(b)) {
			return false
		}
	}
	return true
}

func alphanumeric(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
}

// spool is the folder that the web app may write, and anything in it may be hostile. Contents are never read
// and names are never paths.
type spool struct {
	dir
	opened error // why the folder could not be opened
}

func openSpool(path string) spool {
	d, err := openDir(path)
	return spool{dir: d, opened: err}
}

func (s spool) close() {
	if s.opened == nil {
		s.dir.close()
	}
}

// present is what the spool asked for at one moment.
type present struct {
	sentinel   bool
	odd        string   // what the sentinel is, when it is no file
	names      []string // valid names in requests/, sorted
	strays     []string // its other entries
	unreadable error    // what could not be read; then everything is asked for
	tooMany    bool     // more entries than maxRequests; then everything is asked for
}

// asks tells whether the path unit would fire.
func (p present) asks() bool {
	return p.sentinel || p.tooMany || p.unreadable != nil || len(p.names) > 0
}

// everything tells whether the names do not say it all.
func (p present) everything() bool { return p.sentinel || p.tooMany || p.unreadable != nil }

// identity is the folder's path, and what tells it from one made anew there, also with the same inode number.
func (s spool) identity() string {
	var st unix.Statx_t
	if err := unix.Statx(s.fd(), "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %d.%09d", s.f.Name(), st.Ino, st.Btime.Sec, st.Btime.Nsec)
}

// read looks at what is asked for and changes nothing.
func (s spool) read() present {
	if s.opened != nil {
		return present{unreadable: s.opened}
	}
	var p present
	switch st, err := s.stat(sentinelName); {
	case err == nil:
		p.sentinel, p.odd = true, oddity(st.Mode)
	case !missing(err):
		p.unreadable = err
	}
	requests, err := s.sub(requestsName)
	if missing(err) {
		return p
	}
	if err != nil {
		p.unreadable = err
		return p
	}
	defer requests.close()
	entries, err := requests.names(maxRequests + 1)
	if err != nil {
		p.unreadable = err
	}
	p.tooMany = len(entries) > maxRequests
	for _, name := range entries {
		if ValidRequest(name) {
			p.names = append(p.names, name)
		} else {
			p.strays = append(p.strays, name)
		}
	}
	slices.Sort(p.names)
	return p
}

// oddity names what is no regular file.
func oddity(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return ""
	case unix.S_IFDIR:
		return "a folder"
	case unix.S_IFLNK:
		return "a symbolic link"
	case unix.S_IFIFO:
		return "a FIFO"
	case unix.S_IFSOCK:
		return "a socket"
	}
	return "a device"
}

// taken is what became of the spool's entries when a claim was taken from it.
type taken struct {
	odd    string   // what the sentinel was, when it was no file
	strays int      // entries that are no requests and were removed
	sample []string // some of their names, quoted
	mended string   // why requests/ had to be made anew
	stuck  []error  // what could not be removed, and asks on
}

// take unlinks what an attempt takes up: the sentinel only with everything, and otherwise only names that were read before
// the claim was written. A sentinel that came after the reading stays when everything is only owed from before: a run that
// takes up what is fresh would not heed it. It also removes what does not belong in requests/, and what was left in the
// spool before now.
func (s spool) take(p present, all bool, now time.Time) taken {
	var t taken
	if s.opened != nil {
		t.stuck = append(t.stuck, s.opened)
		return t
	}
	budget := removeBudget
	if all {
		err := s.remove(sentinelName, &budget)
		t.keep(err)
		if err == nil {
			t.odd = p.odd
		}
	}
	s.takeRequests(&t, p, all, &budget)
	s.clearLeft(now, &budget)
	return t
}

func (s spool) takeRequests(t *taken, p present, all bool, budget *int) {
	requests, err := s.sub(requestsName)
	if err != nil {
		if !all && !missing(err) { // swapped since it was read: the next look claims everything for it
			t.keep(err)
			return
		}
		s.mendRequests(t, err, budget)
		return
	}
	defer requests.close()
	before := len(t.stuck)
	t.keep(s.empty(requests, t, p, all, budget))
	if len(t.stuck) > before && all { // a folder that the web app made, closed to us: away with the whole of it
		why := errors.Join(t.stuck[before:]...)
		t.stuck = t.stuck[:before]
		s.mendRequests(t, why, budget)
	}
}

// empty removes the requests that were read, and what does not belong among them. An error says that the folder is
// full of what cannot be removed, behind which nothing can be seen.
func (s spool) empty(requests dir, t *taken, p present, all bool, budget *int) error {
	for _, name := range p.names {
		t.keep(requests.remove(name, budget))
	}
	for _, name := range p.strays {
		t.removeStray(requests, name, budget)
	}
	// Under a claim for everything whatever else arrived is covered as well: the run has not read yet.
	for all && p.tooMany && *budget > 0 && len(t.stuck) == 0 {
		entries, err := requests.names(min(*budget, maxRequests))
		if err != nil || len(entries) == 0 {
			return err
		}
		left := len(entries)
		for _, name := range entries {
			*budget--
			if ValidRequest(name) {
				t.keep(requests.remove(name, budget))
			} else if !strings.HasPrefix(name, asidePrefix) {
				t.removeStray(requests, name, budget)
			} else {
				left--
			}
		}
		if left == 0 && len(entries) < maxRequests {
			return nil // only what was put aside is left
		}
		if left == 0 {
			return fmt.Errorf("%s is full of folders that cannot be removed", requests.f.Name())
		}
	}
	return nil
}

// mendRequests puts a folder where requests/ is missing or is something else. It is called under a claim for
// everything unless nothing stood there, so no request is lost with what is taken away.
func (s spool) mendRequests(t *taken, why error, budget *int) {
	if !missing(why) {
		if err := s.remove(requestsName, budget); err != nil {
			t.keep(err)
			return
		}
		t.mended = oneLine(why)
	}
	var st unix.Stat_t
	if err := unix.Fstat(s.fd(), &st); err != nil {
		t.keep(s.err("looking at", requestsName, err))
		return
	}
	mode := st.Mode & 0o2777 // who may write the spool may write requests/
	if err := unix.Mkdirat(s.fd(), requestsName, mode); err != nil && err != unix.EEXIST {
		t.keep(s.err("creating", requestsName, err))
		return
	}
	made, err := s.sub(requestsName)
	if err != nil {
		t.keep(err)
		return
	}
	defer made.close()
	t.keep(made.err("setting the mode of", "", unix.Fchmod(made.fd(), mode)))
}

// clearLeft goes on removing what an earlier activation had to leave, and removes what a toucher that was killed has
// left. It lists no more than a few names of a folder that may hold a million.
func (s spool) clearLeft(now time.Time, budget *int) {
	names, err := s.names(maxRequests)
	if err != nil {
		return
	}
	for _, name := range names {
		if strings.HasPrefix(name, asidePrefix) || strings.HasPrefix(name, touchPrefix) && s.isOlder(name, now.Add(-time.Hour)) {
			_ = s.remove(name, budget)
		}
	}
}

func (s spool) isOlder(name string, than time.Time) bool {
	st, err := s.stat(name)
	return err == nil && time.Unix(st.Mtim.Unix()).Before(than)
}

const sampleSize = 10

func (t *taken) keep(err error) {
	if err != nil && len(t.stuck) < sampleSize {
		t.stuck = append(t.stuck, err)
	}
}

func (t *taken) removeStray(requests dir, name string, budget *int) {
	aside := strings.HasPrefix(name, asidePrefix)
	if err := requests.remove(name, budget); err != nil {
		t.keep(err)
		return
	}
	if aside {
		return // counted when it was put aside
	}
	t.strays++
	if len(t.sample) < sampleSize {
		t.sample = append(t.sample, strconv.Quote(name))
	}
}
