// Package heal puts a dead path unit back on its feet. A web app that may write the spool can kill the unit
// that watches it, and nothing in systemd revives one: not a good run, not daemon-reload, not the timer (F1,
// F4, F12). So every activation of an adopted service looks, and acts only on what nobody can want: a unit
// that is enabled and failed (F13). What an operator disabled or stopped stays as it is.
//
// The package is part of trueup-gate, so it imports little, and speaks D-Bus to systemd itself: no dbus-daemon is
// needed, nor waited for (F20).
package heal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	systemd "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"
)

// jobWait bounds the wait for the started path. Starting one is a matter of milliseconds, except while the
// service has a stop job: the path is ordered before it, so that job would wait for us and we for it.
const jobWait = 500 * time.Millisecond

// Action is what Heal did.
type Action int

// The actions. Left is the ordinary one.
const (
	Left   Action = iota // alive, or as its operator wants it: nothing was done
	Healed               // it was dead, and watches again
	Dead                 // it was dead, was started, and died again: the cause is still there
)

// Outcome is what Heal found and did.
type Outcome struct {
	Action Action
	Result string // how the path unit had died, in systemd's words: unit-start-limit-hit, resources
	Told   bool   // trueup-check.service has looked since it died, and so has raised the alarm
}

// Heal revives the path unit of that name, and the service beside it, if it is enabled and failed; after a run that
// failed, the path alone. It asks the system's manager, or with user the caller's own, and nothing in the environment
// has a say in which: Heal runs as root, and the unit's environment may be another's to write.
func Heal(ctx context.Context, user bool, path string, runFailed bool) (Outcome, error) {
	conn, err := Dial(ctx, user)
	if err != nil {
		return Outcome{}, fmt.Errorf("connecting to systemd: %w", err)
	}
	defer conn.Close()
	outcome, err := manager{conn}.heal(ctx, path, runFailed)
	if err != nil {
		return outcome, fmt.Errorf("healing %s: %w", path, err)
	}
	return outcome, nil
}

// Socket is where systemd itself answers, for root or for the user whose manager it is.
func Socket(user bool) string {
	if !user {
		return "/run/systemd/private"
	}
	return filepath.Join(runtimeDir(), "systemd/private")
}

func runtimeDir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		return dir
	}
	return "/run/user/" + strconv.Itoa(os.Getuid()) // su and cron leave it unset
}

// Dial opens one connection to systemd, as go-systemd's NewConnection wants it: to its own socket, or else over
// the bus. Only root and the user may use that socket; and `systemd-analyze --user verify` of 247 takes it away
// from the manager for good.
func Dial(ctx context.Context, user bool) (*dbus.Conn, error) {
	conn, err := dial(ctx, Socket(user))
	if err == nil {
		return conn, nil
	}
	bus := "/run/dbus/system_bus_socket"
	if user {
		bus = filepath.Join(runtimeDir(), "bus")
	}
	conn, busErr := dial(ctx, bus)
	if busErr != nil {
		return nil, err
	}
	if busErr := conn.Hello(); busErr != nil { // which only a bus understands
		conn.Close()
		return nil, busErr
	}
	return conn, nil
}

func dial(ctx context.Context, socket string) (*dbus.Conn, error) {
	conn, err := dbus.Dial("unix:path="+dbus.EscapeBusAddressValue(socket), dbus.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	// The number, not the name: looking a name up needs a libc.
	if err := conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Getuid()))}); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

type manager struct{ conn *dbus.Conn }

func (m manager) heal(ctx context.Context, path string, runFailed bool) (Outcome, error) {
	const unit, pathUnit = "org.freedesktop.systemd1.Unit", "org.freedesktop.systemd1.Path"
	active, err := m.property(ctx, path, unit, "ActiveState")
	if err != nil || active != "failed" {
		return Outcome{}, err
	}
	enabled, err := m.property(ctx, path, unit, "UnitFileState")
	if err != nil || (enabled != "enabled" && enabled != "enabled-runtime") {
		return Outcome{}, err
	}
	outcome := Outcome{Action: Dead}
	if outcome.Result, err = m.property(ctx, path, pathUnit, "Result"); err != nil {
		return outcome, err
	}
	outcome.Told = m.told(ctx, path)
	// Both: a service that hit its start limit would fail the path again at once (F1). But not under a run that has
	// just failed, which would then count as good; that it was started shows that it is within its limit.
	reset := []string{path, strings.TrimSuffix(path, ".path") + ".service"}
	if runFailed {
		reset = reset[:1]
	}
	for _, unit := range reset {
		if err := m.call(ctx, "ResetFailedUnit", unit); err != nil {
			return outcome, err
		}
	}
	if err := m.start(ctx, path); err != nil {
		return outcome, err
	}
	if active, err = m.property(ctx, path, unit, "ActiveState"); err == nil && active != "failed" {
		outcome.Action = Healed
	}
	return outcome, err
}

// longLook is longer than a look for alarms takes until it has found what there is.
const longLook = 5 * time.Second

// told tells whether the last look for alarms began after the path unit had died, and ended well. One that is on is waited
// for: the path is dead until then, so it finds that. What cannot be found out is not told: rather twice than never.
func (m manager) told(ctx context.Context, path string) bool {
	const unit, service, check = "org.freedesktop.systemd1.Unit", "org.freedesktop.systemd1.Service", "trueup-check.service"
	died, err := get[uint64](ctx, m, path, unit, "StateChangeTimestamp")
	if err != nil {
		return false
	}
	late, again := time.After(longLook), time.NewTicker(100*time.Millisecond)
	defer again.Stop()
	for {
		began, err := get[uint64](ctx, m, check, service, "ExecMainStartTimestamp")
		if err != nil || began <= died {
			return false
		}
		ended, err := get[uint64](ctx, m, check, unit, "InactiveEnterTimestamp")
		if err == nil && ended >= began {
			result, err := m.property(ctx, check, service, "Result")
			return err == nil && result == "success"
		}
		select {
		case <-again.C:
		case <-late:
			return false
		}
	}
}

// start starts the unit and waits for the job, within bounds.
func (m manager) start(ctx context.Context, path string) error {
	signals := make(chan *dbus.Signal, 16)
	m.conn.Signal(signals)
	defer m.conn.RemoveSignal(signals)
	var job dbus.ObjectPath
	if err := m.manager().CallWithContext(ctx, "org.freedesktop.systemd1.Manager.StartUnit", 0, path, "replace").Store(&job); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, jobWait)
	defer cancel()
	for {
		select {
		case s := <-signals:
			if s.Name == "org.freedesktop.systemd1.Manager.JobRemoved" && len(s.Body) > 1 && s.Body[1] == job {
				return nil
			}
		case <-ctx.Done():
			return nil // queued behind a stop job; it will run
		}
	}
}

// property reads one property. Asking for a unit that is not loaded loads it.
func (m manager) property(ctx context.Context, unit, face, name string) (string, error) {
	return get[string](ctx, m, unit, face, name)
}

func get[T any](ctx context.Context, m manager, unit, face, name string) (value T, err error) {
	object := dbus.ObjectPath("/org/freedesktop/systemd1/unit/" + systemd.PathBusEscape(unit))
	err = m.conn.Object("org.freedesktop.systemd1", object).
		CallWithContext(ctx, "org.freedesktop.DBus.Properties.Get", 0, face, name).Store(&value)
	if err != nil {
		return value, fmt.Errorf("reading %s of %s: %w", name, unit, err)
	}
	return value, nil
}

func (m manager) call(ctx context.Context, method, unit string) error {
	err := m.manager().CallWithContext(ctx, "org.freedesktop.systemd1.Manager."+method, 0, unit).Err
	if err != nil {
		return fmt.Errorf("calling %s for %s: %w", method, unit, err)
	}
	return nil
}

func (m manager) manager() dbus.BusObject {
	return m.conn.Object("org.freedesktop.systemd1", "/org/freedesktop/systemd1")
}
