package units

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"trueup/reconcile/trigger"
)

// TestForeignRecords reads what a user has adopted, and neither waits at nor follows what a user may plant there.
func TestForeignRecords(t *testing.T) {
	dir, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	mine := record{Adoption: Adoption{Unit: "web.service", Folders: trigger.Folders{Spool: "/h/spool", State: "/h/state", Outbox: "/h/outbox"}}}
	dropin := func(unit string) string {
		d := filepath.Join(dir, unit+".d")
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(d, dropinName)
	}
	if err := errors.Join(
		os.WriteFile(dropin("web.service"), []byte(mine.header()), 0o644),
		os.WriteFile(secret, []byte(mine.header()), 0o600),
		os.Symlink(secret, dropin("link.service")),
		syscall.Mkfifo(dropin("fifo.service"), 0o644),
		os.Symlink("/dev/zero", dropin("zero.service")),
		os.Mkdir(dropin("folder.service"), 0o755),
		os.WriteFile(dropin("own.service"), []byte("[Service]\n"), 0o644),
	); err != nil {
		t.Fatal(err)
	}
	found := foreignRecords(dir)
	if len(found) != 1 || found[0].Unit != "web.service" || found[0].Folders != mine.Folders {
		t.Errorf("found %+v, want web.service alone", found)
	}
	if found := foreignRecords(dir + "/nothing"); len(found) > 0 {
		t.Errorf("found %+v where nothing is", found)
	}
}
