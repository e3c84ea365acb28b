package publish

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// A Memory is what looks leave for the next one.
type Memory struct {
	Version int             `json:"version"` // 1
	Looked  time.Time       `json:"looked"`
	Watch   Watch           `json:"watch"`
	Alarms  []Standing      `json:"alarms"`
	Units   map[string]Unit `json:"units,omitempty"`
	Fault   string          `json:"fault,omitempty"` // why the last look could not tell everything it should
}

// A Watch is since when looks have come without a gap, on the boot clock.
type Watch struct {
	Boot  string        `json:"boot"`
	Since time.Duration `json:"since"` // nanoseconds
	Last  time.Duration `json:"last"`  // the last look
}

// Unit is what is remembered of a unit.
type Unit struct {
	Every time.Duration `json:"every"` // how often its timer starts it, as last seen; nanoseconds
}

// gap is how far apart looks may be. What comes later shows that the host slept, or that nobody looked.
const gap = 5 * time.Minute

// Go goes on with a watch at a reading of the boot clock, or begins a new one.
func (w Watch) Go(boot string, now time.Duration) Watch {
	if w.Boot != boot || now < w.Last || now-w.Last > gap {
		return Watch{Boot: boot, Since: now, Last: now}
	}
	w.Last = now
	return w
}

// ErrBusy means that another look is on.
var ErrBusy = errors.New("another look is on")

const memoryFile = "alarms.json"

// Hold keeps other looks away from the memory in a folder, which is made where it is missing. ErrBusy: somebody else does.
func Hold(dir string) (release func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder for alarms: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the alarms: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrBusy
		}
		return nil, fmt.Errorf("locking the alarms: %w", err)
	}
	return func() { file.Close() }, nil
}

// Read reads the memory in a folder; what is not there is empty. An error that does not match fs.ErrPermission is damage.
func Read(dir string) (Memory, error) {
	m := Memory{Version: 1}
	text, err := readPlain(filepath.Join(dir, memoryFile))
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, fmt.Errorf("reading the alarms: %w", err)
	}
	var read Memory
	if err := json.Unmarshal(text, &read); err != nil {
		return m, fmt.Errorf("reading the alarms in %s: %w", dir, err)
	}
	if read.Version != 1 {
		return m, fmt.Errorf("reading the alarms in %s: version %d is not known", dir, read.Version)
	}
	for _, s := range read.Alarms {
		if !s.whole() || slices.ContainsFunc(s.Pending, func(n Notice) bool { return !n.whole() }) {
			return m, fmt.Errorf("reading the alarms in %s: one has no name, or no unit", dir)
		}
	}
	return read, nil
}

// largest bounds what is read as a memory: thousands of alarms are smaller.
const largest = 64 << 20

// readPlain reads a file that is neither a pipe, which nobody may ever write to, nor without an end.
func readPlain(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > largest {
		return nil, fmt.Errorf("%s is no plain file of at most %d MiB", path, largest>>20)
	}
	return io.ReadAll(io.LimitReader(file, largest))
}

// Save replaces the memory in a folder. On a disk that is full, which is when alarms matter, it is written over the old one,
// which has been given room for that: what a kill leaves half written then is damage, and what stands is told again.
func (m Memory) Save(dir string) error {
	text, err := json.MarshalIndent(m, "", " ")
	path := filepath.Join(dir, memoryFile)
	if err == nil {
		room := (len(text)/roomFor + 2) * roomFor
		text = append(text, bytes.Repeat([]byte{'\n'}, room-len(text))...)
		err = Replace(path, text, 0o600)
	}
	if full := errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT); full && overwrite(path, text) == nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("noting the alarms: %w", err)
	}
	return nil
}

// roomFor is how many bytes of alarms have room beside those that stand, once or twice.
const roomFor = 8 << 10

// overwrite writes into the blocks that a file has, whose end is nothing but line ends.
func overwrite(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	text = bytes.TrimRight(text, "\n")
	if int64(len(text)) > info.Size() {
		return errors.New("the old one has no room for it")
	}
	text = append(text, bytes.Repeat([]byte{'\n'}, int(info.Size())-len(text))...)
	_, err = file.Write(text)
	return errors.Join(err, file.Sync())
}

// Standing are the alarms that stand, without those whose clearing is only to be told.
func (m Memory) Standing() (stands []Standing) {
	for _, s := range m.Alarms {
		if !s.Cleared {
			stands = append(stands, s)
		}
	}
	return stands
}

// Waiting is how many notices are still to be given to the operator's command.
func (m Memory) Waiting() (n int) {
	for _, s := range m.Alarms {
		n += len(s.Pending)
	}
	return n
}
