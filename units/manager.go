package units

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	systemd "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"

	"trueup/units/heal"
)

// jobTimeout bounds the wait for a job of a path, a timer or a probe. None of them takes long.
const jobTimeout = time.Minute

// A Manager is the system's systemd, or the one of the calling user.
type Manager struct {
	conn    *systemd.Conn
	user    bool
	config  string // where administrators keep unit files
	runtime string // where unit files live until the next boot
	home    string // where the default folders go
	version int
}

// System connects to the system's manager. Everybody may look; only root may touch.
func System(ctx context.Context) (*Manager, error) {
	return connect(ctx, &Manager{config: "/etc/systemd/system", runtime: "/run/systemd/system", home: "/var/lib/trueup"})
}

// User connects to the calling user's manager.
func User(ctx context.Context) (*Manager, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("finding the home folder: %w", err)
	}
	runtime := filepath.Join(filepath.Dir(heal.Socket(true)), "user")
	m, err := connect(ctx, &Manager{user: true, config: filepath.Join(home, ".config/systemd/user"),
		runtime: runtime, home: filepath.Join(home, ".local/state/trueup")})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; is there a user manager? loginctl enable-linger starts one at boot", err)
	}
	return m, err
}

// connect opens the connection and learns what only systemd can tell.
func connect(ctx context.Context, m *Manager) (*Manager, error) {
	var err error
	m.conn, err = systemd.NewConnection(func() (*dbus.Conn, error) { return heal.Dial(ctx, m.user) })
	if err != nil {
		return nil, fmt.Errorf("connecting to systemd: %w", denied(err))
	}
	if err := m.learn(); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func (m *Manager) learn() error {
	version, err := m.conn.GetManagerProperty("Version")
	if err != nil {
		return fmt.Errorf("asking systemd for its version: %w", denied(err))
	}
	m.version = leadingNumber(strings.Trim(version, `"`))
	if !m.user {
		return nil
	}
	paths, err := m.conn.GetManagerProperty("UnitPath")
	if err != nil {
		return fmt.Errorf("asking systemd for its unit folders: %w", denied(err))
	}
	if dir := userConfig(paths); dir != "" {
		m.config = dir
	}
	return nil
}

// userConfig finds the user's unit folder in the manager's own search path, which knows its XDG_CONFIG_HOME: it
// is the neighbour of the first, persistent "user.control".
func userConfig(paths string) string {
	for _, quoted := range strings.Split(strings.Trim(paths, "[]"), ",") {
		dir, err := strconv.Unquote(strings.TrimSpace(quoted))
		if control, found := strings.CutSuffix(dir, ".control"); err == nil && found && !within(dir, "/run") {
			return control
		}
	}
	return ""
}

// Close ends the connection.
func (m *Manager) Close() { m.conn.Close() }

func leadingNumber(s string) int {
	digits := strings.TrimLeft(s, "v")
	if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		digits = digits[:end]
	}
	n, _ := strconv.Atoi(digits)
	return n
}

type job func(ctx context.Context, name, mode string, done chan<- string) (int, error)

// run waits for a job to end and gives its result: done, failed, dependency, timeout.
func run(ctx context.Context, job job, unit string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, jobTimeout)
	defer cancel()
	done := make(chan string, 1)
	if _, err := job(ctx, unit, "replace", done); err != nil {
		return "", denied(err)
	}
	select {
	case result := <-done:
		return result, nil
	case <-ctx.Done():
		return "", fmt.Errorf("waiting for systemd: %w", ctx.Err())
	}
}

// start starts a path or a timer. Its own start limit, which a few adopts in a row would hit, is not what keeps it
// from running wild: that is the service's.
func (m *Manager) start(ctx context.Context, unit string) error {
	if err := m.resetFailed(ctx, unit); err != nil {
		return err
	}
	return m.must(ctx, m.conn.StartUnitContext, "starting", unit)
}

// stop stops a unit. One that systemd does not have is stopped.
func (m *Manager) stop(ctx context.Context, unit string) error {
	err := m.must(ctx, m.conn.StopUnitContext, "stopping", unit)
	if missingUnit(err) {
		return nil
	}
	return err
}

func (m *Manager) restart(ctx context.Context, unit string) error {
	if err := m.resetFailed(ctx, unit); err != nil {
		return err
	}
	return m.must(ctx, m.conn.RestartUnitContext, "restarting", unit)
}

func (m *Manager) must(ctx context.Context, job job, doing, unit string) error {
	result, err := run(ctx, job, unit)
	if err != nil {
		return fmt.Errorf("%s %s: %w", doing, unit, err)
	}
	if result != "done" && result != "skipped" {
		return fmt.Errorf("%s %s: the job ended as %q; systemctl status %s says why", doing, unit, result, unit)
	}
	return nil
}

func (m *Manager) reload(ctx context.Context) error {
	if err := m.conn.ReloadContext(ctx); err != nil {
		return fmt.Errorf("reloading systemd: %w", denied(err))
	}
	return nil
}

// missingUnit tells whether systemd has no such unit loaded.
func missingUnit(err error) bool {
	refused, ok := errors.AsType[dbus.Error](err)
	return ok && refused.Name == "org.freedesktop.systemd1.NoSuchUnit"
}

// denied makes D-Bus's refusals look like the file system's, so that a caller tests for one kind only.
func denied(err error) error {
	if refused, ok := errors.AsType[dbus.Error](err); ok && (refused.Name == "org.freedesktop.DBus.Error.AccessDenied" ||
		refused.Name == "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired") {
		return fmt.Errorf("%w: %w", fs.ErrPermission, err)
	}
	return err
}

// startNoWait queues a start. The job of a oneshot ends only with its run.
func (m *Manager) startNoWait(ctx context.Context, unit string) error {
	if _, err := m.conn.StartUnitContext(ctx, unit, "replace", nil); err != nil {
		return fmt.Errorf("starting %s: %w", unit, denied(err))
	}
	return nil
}

func (m *Manager) resetFailed(ctx context.Context, units ...string) error {
	for _, unit := range units {
		if err := m.conn.ResetFailedUnitContext(ctx, unit); err != nil && !missingUnit(err) {
			return fmt.Errorf("resetting %s: %w", unit, denied(err))
		}
	}
	return nil
}
