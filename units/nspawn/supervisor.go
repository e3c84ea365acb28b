package nspawn

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A supervisor is a running systemd-nspawn.
type supervisor struct {
	pid  int
	done chan struct{}
}

// supervise starts systemd-nspawn in a new cgroup of the machine's own and
// calls over when it has ended.
func supervise(name string, args []string, log string, over func()) (*supervisor, error) {
	dir := filepath.Join(hierarchy(), name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	cgroup, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer cgroup.Close()
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command("systemd-nspawn", args...)
	cmd.Env = append(os.Environ(), "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1")
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, UseCgroupFD: true, CgroupFD: int(cgroup.Fd())}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting systemd-nspawn: %w", err)
	}
	s := &supervisor{pid: cmd.Process.Pid, done: make(chan struct{})}
	go func() {
		cmd.Wait()
		over()
		close(s.done)
	}()
	return s, nil
}

func (s *supervisor) wait() { <-s.done }

func (s *supervisor) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// hierarchy is where the host's cgroup2 is mounted.
func hierarchy() string {
	const hybrid = "/sys/fs/cgroup/unified"
	if exists(hybrid) {
		return hybrid
	}
	return "/sys/fs/cgroup"
}

// isInit tells whether a process is systemd and PID 1 of a namespace of its
// own. systemd-nspawn's child is neither for a moment.
func isInit(pid int) bool {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	var name string
	var pids []string
	for line := range strings.Lines(string(status)) {
		switch key, value, _ := strings.Cut(line, ":"); key {
		case "Name":
			name = strings.TrimSpace(value)
		case "NSpid":
			pids = strings.Fields(value)
		}
	}
	return name == "systemd" && len(pids) > 1 && pids[len(pids)-1] == "1"
}

// children returns the children of a process.
func children(pid int) []int {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	var pids []int
	for _, task := range tasks {
		list, _ := os.ReadFile(task)
		for field := range strings.FieldsSeq(string(list)) {
			if child, err := strconv.Atoi(field); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
