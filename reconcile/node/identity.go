package node

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Folder is where a host keeps its identity: the trigger's state folder.
type Folder string

// The files of it.
const (
	identityFile = "node.json" // 0600: it has the private key
	orderFile    = "node.lock" // orders the processes that read and write that
	liveFile     = "node.live" // locked, shared, by every process that is in a session
)

// An identity is what makes a host that node and no other.
type identity struct {
	Version int    `json:"version"`
	Name    string `json:"name"`
	Seed    []byte `json:"seed"`    // of the private key
	Session mark   `json:"session"` // the last that the ledger is known to have
	Next    mark   `json:"next"`    // one that it has unless a kill came first
}

// newIdentity makes a key pair.
func newIdentity(name string) identity {
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed) // never fails
	return identity{Version: 1, Name: name, Seed: seed}
}

func (i identity) key() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(i.Seed) }

// owns tells whether the node's record is that of this identity.
func (i identity) owns(n Node) bool {
	return i.key().Public().(ed25519.PublicKey).Equal(ed25519.PublicKey(n.Key))
}

// Name is the name under which the host is enrolled; ErrNotEnrolled when it is not.
func (f Folder) Name() (string, error) {
	i, err := f.read()
	return i.Name, err
}

// Incarnation is the node as its leases have it: its name, and what tells this very folder, and this machine since it was booted,
// from every copy. What another incarnation holds nobody can see here to be over. ErrNotEnrolled when the host is no node.
func (f Folder) Incarnation() (string, error) {
	name, err := f.Name()
	if err != nil {
		return "", err
	}
	var info unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, string(f), 0, unix.STATX_INO|unix.STATX_BTIME, &info); err != nil {
		return "", fmt.Errorf("looking at %s: %w", f, err)
	}
	machine, _ := os.ReadFile("/etc/machine-id")
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // where a sandbox hides it the machine's own has to do
	whole := fmt.Sprintf("%s %s %d %d %d", machine, boot, info.Ino, info.Btime.Sec, info.Btime.Nsec)
	return fmt.Sprintf("%s %x", name, sha256.Sum256([]byte(whole)))[:len(name)+17], nil
}

func (f Folder) path(name string) string { return filepath.Join(string(f), name) }

func (f Folder) read() (identity, error) {
	var i identity
	text, err := os.ReadFile(f.path(identityFile))
	if errors.Is(err, fs.ErrNotExist) {
		return i, ErrNotEnrolled
	}
	if err != nil {
		return i, fmt.Errorf("reading the host's identity: %w", err)
	}
	if err := json.Unmarshal(text, &i); err != nil || i.Version != 1 || len(i.Seed) != ed25519.SeedSize || !isName(i.Name) {
		return i, fmt.Errorf("reading the host's identity: %s is damaged, or a newer trueup's: %w", f.path(identityFile), errors.Join(err, ErrNotEnrolled))
	}
	return i, nil
}

// write replaces the identity, so that a power cut leaves the old or the new.
func (f Folder) write(i identity) error {
	text, _ := json.Marshal(i) // texts and numbers
	temp, err := os.CreateTemp(string(f), "."+identityFile+".*.part")
	if err != nil {
		return fmt.Errorf("writing the host's identity: %w", err)
	}
	defer os.Remove(temp.Name()) // gone once it has been renamed
	_, err = temp.Write(append(text, '\n'))
	if err == nil {
		err = f.give(temp)
	}
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), f.path(identityFile))
	}
	if err == nil {
		err = f.sync()
	}
	if err != nil {
		return fmt.Errorf("writing the host's identity: %w", err)
	}
	return nil
}

// give lets a file that root makes belong to whom the folder belongs to: the service.
func (f Folder) give(file *os.File) error {
	info, err := os.Stat(string(f))
	if err != nil || os.Geteuid() != 0 {
		return err
	}
	owner := info.Sys().(*syscall.Stat_t)
	return file.Chown(int(owner.Uid), int(owner.Gid))
}

func (f Folder) sync() error {
	dir, err := os.Open(string(f))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// open opens a file that is locked and never read.
func (f Folder) open(name string) (*os.File, error) {
	file, err := os.OpenFile(f.path(name), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the host's identity: %w", err)
	}
	if err := f.give(file); err != nil {
		return nil, errors.Join(fmt.Errorf("locking the host's identity: %w", err), file.Close())
	}
	return file, nil
}

// again is how often a lock that another process holds is tried.
const again = 20 * time.Millisecond

// order waits for its turn among the processes of the host, and returns what ends it.
func (f Folder) order(ctx context.Context) (done func(), err error) {
	file, err := f.open(orderFile)
	if err != nil {
		return nil, err
	}
	for {
		err := lock(file, syscall.LOCK_EX)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("locking the host's identity: %w", err), file.Close())
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, fmt.Errorf("waiting for another process of this node: %w", context.Cause(ctx))
		case <-time.After(again):
		}
	}
}

// lock locks a file without waiting.
func lock(file *os.File, how int) error {
	for {
		if err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
