package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"trueup/reconcile"
)

// unwritable marks an error as one after which nothing is written.
func unwritable(err error) error {
	if err == nil || errors.Is(err, reconcile.ErrUnwritable) {
		return err
	}
	return fmt.Errorf("%w: %w", reconcile.ErrUnwritable, err)
}

// isVerdict tells what the ledger says from what the database could not do.
func isVerdict(err error) bool {
	for _, known := range []error{reconcile.ErrLeaseLost, reconcile.ErrConflict, reconcile.ErrNoRun, reconcile.ErrUndecidable,
		reconcile.ErrNoItem, reconcile.ErrFenceNeeded, reconcile.ErrUnreadable} {
		if errors.Is(err, known) {
			return true
		}
	}
	_, reserved := errors.AsType[*reconcile.ReservedError](err)
	_, unfit := errors.AsType[*reconcile.UnfitError](err)
	return reserved || unfit
}

// passing tells whether an error may be gone when the same is tried again: the server is away or coming back, or it chose
// between this transaction and another one.
func passing(err error) bool {
	if _, is := errors.AsType[final](err); is {
		return false
	}
	if errors.Is(err, errLost) {
		return true
	}
	if refused, is := errors.AsType[*pgconn.PgError](err); is {
		switch refused.Code {
		case "40001", "40P01", "23505", // another transaction was quicker
			"57P01", "57P02", "57P03", "25P03", "53300": // it shuts down, starts, gave up on us, or has no connection left
			return true
		}
		return strings.HasPrefix(refused.Code, "08")
	}
	if unreached(err) {
		_, unknown := errors.AsType[*net.DNSError](err)
		return !unknown
	}
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgconn.ErrConnClosed) || pgconn.SafeToRetry(err)
}

// A final error is not waited for to pass.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// unreached tells whether no server was reached that could have said anything.
func unreached(err error) bool {
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, said := errors.AsType[*pgconn.PgError](err)
	return connecting && !said
}

// explain says what an error means for the operator, in front of what the server or the network says.
func explain(err error) error {
	if err == nil {
		return nil
	}
	if closed, is := errors.AsType[*pgconn.PgError](err); is && closed.Code == closedCode {
		return errors.New(closed.Message)
	}
	what := meaning(err)
	if _, connecting := errors.AsType[*pgconn.ConnectError](err); connecting {
		err = flat{err}
	}
	if errors.Is(err, fs.ErrNotExist) { // a socket that is not there is not a ledger that is not there
		return fmt.Errorf("%s: %v", what, err)
	}
	if what != "" {
		return fmt.Errorf("%s: %w", what, err)
	}
	return err
}

// A flat error says in one line, and each thing once, what was tried line by line: each address, with TLS and without.
type flat struct{ error }

func (f flat) Unwrap() error { return f.error }

func (f flat) Error() string {
	var said []string
	for line := range strings.Lines(f.error.Error()) {
		if line = strings.TrimSpace(line); !slices.Contains(said, line) {
			said = append(said, line)
		}
	}
	if len(said) < 2 {
		return strings.Join(said, "")
	}
	return said[0] + " " + strings.Join(said[1:], "; ")
}

func meaning(err error) string {
	refused, is := errors.AsType[*pgconn.PgError](err)
	switch _, connecting := errors.AsType[*pgconn.ConnectError](err); {
	case is:
		return said(refused.Code)
	case connecting:
		return "its server cannot be reached: look at whether it runs, at the address, and at the network between"
	case errors.Is(err, pgx.ErrNoRows):
		return "its tables do not have the rows that they were made with: restore a backup, see docs/ledger.md"
	case errors.Is(err, context.DeadlineExceeded):
		return "its server does not answer in time: look at whether it runs, and at the network between"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, pgconn.ErrConnClosed), errors.Is(err, errLost):
		return "the connection to its server was lost: look at whether it runs, and at the network between"
	}
	return ""
}

// said is what the code of an error of the server's means.
func said(code string) string {
	switch code {
	case "28P01", "28000":
		return "its server refuses the user or the password: look at PGPASSFILE or PGPASSWORD, and at pg_hba.conf"
	case "3D000":
		return "its database does not exist: CREATE DATABASE … ENCODING 'UTF8' OWNER the user that trueup connects as"
	case "3F000":
		return "its schema does not exist: CREATE SCHEMA … AUTHORIZATION the user that trueup connects as"
	case "42501":
		return "its user may not do that: the schema and all in it must belong to the user that trueup connects as"
	case "42P01", "42703":
		return "its tables are not as they were made: restore a backup, see docs/ledger.md"
	case "25006", "0A000": // the latter to who begins to write on a standby
		return "its server is read-only, as a standby is: name the primary, or all hosts with target_session_attrs=read-write"
	case "53100":
		return "the disk of its server is full: free space there and run again"
	case "53300":
		return "its server has no connection left: raise max_connections, or put a pooler before it"
	case "55P03":
		return "another transaction keeps it locked: look for it in pg_stat_activity and pg_locks"
	case "57014":
		return "its server ended the statement, which took too long: look at its load, and at statement_timeout"
	case "57P01", "57P02", "57P03":
		return "its server is shutting down or starting: wait, and look at its log"
	case "58030", "XX001", "XX002":
		return "the disk of its server does not work or what is on it is damaged: look at its log, and restore a backup"
	}
	if strings.HasPrefix(code, "08") {
		return "the connection to its server was lost or refused: look at whether it and the pooler run"
	}
	return ""
}
