package sqlite

import (
	"errors"
	"fmt"
	"strings"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"trueup/reconcile"
)

// unwritable marks an error as one after which nothing is written.
func unwritable(err error) error {
	if err == nil || errors.Is(err, reconcile.ErrUnwritable) {
		return err
	}
	return fmt.Errorf("%w: %w", reconcile.ErrUnwritable, err)
}

// explain says what an error of SQLite's means for the operator, in front of what SQLite says.
func explain(err error) error {
	refused, is := errors.AsType[*driver.Error](err)
	if !is {
		return err
	}
	if refused.Code() == codes.SQLITE_CONSTRAINT_TRIGGER { // see Leave: these are its words
		_, words, _ := strings.Cut(refused.Error(), ": ")
		return errors.New(strings.TrimSuffix(words, fmt.Sprintf(" (%d)", refused.Code())))
	}
	if what := meaning(refused.Code()); what != "" {
		return fmt.Errorf("%s: %w", what, err)
	}
	return err
}

func meaning(code int) string {
	switch code & 0xff {
	case codes.SQLITE_FULL:
		return "the disk is full: free space and run again"
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
		return "another program keeps it locked: close what has it open in a transaction"
	case codes.SQLITE_READONLY:
		return "it is read-only: the file, its folder and its file system must be writable"
	case codes.SQLITE_CANTOPEN:
		return "it or its -wal and -shm files cannot be opened: look at their owner, their mode and the free space"
	case codes.SQLITE_PERM, codes.SQLITE_AUTH:
		return "access is denied: look at its owner and mode"
	case codes.SQLITE_CORRUPT:
		return "it is damaged: restore a backup, see docs/ledger.md"
	case codes.SQLITE_NOTADB:
		return "it is no database: move it away, or restore a backup, see docs/ledger.md"
	case codes.SQLITE_IOERR:
		return "the disk does not work: look at the kernel's log and the free space"
	}
	return ""
}
