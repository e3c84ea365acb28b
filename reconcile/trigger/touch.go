package trigger

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"golang.org/x/sys/unix"
)

// Touch asks for a run: for everything, or for the named requests alone. It is what a web app does after its
// commit, and after it has read its ticket.
//
// A temporary file is renamed into place, so that a link planted in the spool is replaced and never followed.
func Touch(spool string, requests ...string) error {
	for _, name := range requests {
		if !ValidRequest(name) {
			return fmt.Errorf("request %q: a name has 1 to 200 letters, digits or any of . _ : @ - and begins with a letter or digit", name)
		}
	}
	d, err := openDir(spool)
	if err != nil {
		return err
	}
	defer d.close()
	if len(requests) == 0 {
		return d.ask(d, sentinelName)
	}
	folder, err := d.sub(requestsName)
	if err != nil {
		return err
	}
	defer folder.close()
	for _, name := range requests {
		if err := d.ask(folder, name); err != nil {
			return err
		}
	}
	return nil
}

// touchPrefix marks a file that is about to be renamed, which takes a moment. One that stays is a killed toucher's.
const touchPrefix = ".touch-"

// ask makes a file in the spool and renames it into the given folder: a temporary file in requests/ would
// itself be taken for a stray. Where that is refused and something stands under the name, that asks as well.
func (d dir) ask(folder dir, name string) error {
	err := d.renameInto(folder, name)
	if err != nil {
		if _, statErr := folder.stat(name); statErr == nil {
			return nil
		}
	}
	return folder.err("touching", name, err)
}

func (d dir) renameInto(folder dir, name string) error {
	temp := touchPrefix + strconv.FormatUint(rand.Uint64(), 36)
	fd, err := unix.Openat(d.fd(), temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	unix.Close(fd)
	if err = unix.Renameat(d.fd(), temp, folder.fd(), name); err != nil {
		_ = unix.Unlinkat(d.fd(), temp, 0)
	}
	return err
}

// Request reads the ticket and then touches: the two in the one order that keeps a ticket sound. The caller has
// committed what it wants to see live.
func Request(f Folders, requests ...string) (Ticket, error) {
	shown, err := ReadStatus(f.Outbox)
	if err != nil {
		return Ticket{}, fmt.Errorf("reading the ticket: %w", err)
	}
	return shown.Ticket(), Touch(f.Spool, requests...)
}
