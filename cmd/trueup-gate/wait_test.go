package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A waiting gate tells the service manager until when and why, and extends its start timeout over the whole wait
// (F15); it is small (A10); and told to stop, it goes at once without claiming.
func TestWaitingGate(t *testing.T) {
	binary := gate(t)
	root, flags := folders(t)
	notify := listen(t, root)
	start := func() *exec.Cmd {
		cmd := exec.Command(binary, append([]string{"claim", "--floor", "1h", "--retry-max", "1h", "--sweep", "1h"}, flags...)...)
		cmd.Env = append(os.Environ(), "INVOCATION_ID=one", "NOTIFY_SOCKET="+notify.LocalAddr().String())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		return cmd
	}
	if err := start().Wait(); err != nil {
		t.Fatalf("the first claim: %v", err)
	}
	waiting := start() // the run has not settled: a backoff of an hour
	said := hear(t, notify)
	if !strings.Contains(said, "STATUS=waiting until ") || !strings.Contains(said, "backoff after failure 1") {
		t.Errorf("the gate says %q, want until when and why", said)
	}
	extend := regexp.MustCompile(`EXTEND_TIMEOUT_USEC=(\d+)`).FindStringSubmatch(said)
	if extend == nil {
		t.Fatalf("%q does not extend the start timeout", said)
	}
	if usec, _ := strconv.ParseInt(extend[1], 10, 64); time.Duration(usec)*time.Microsecond <= time.Hour-time.Minute {
		t.Errorf("the start timeout is extended by %s µs, less than the wait", extend[1])
	}
	if kb := residentKB(t, waiting.Process.Pid); kb > 8<<10 {
		t.Errorf("a waiting gate holds %d kB of memory, more than 8 MB", kb)
	}
	if err := waiting.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = waiting.Wait()
	if status, _ := waiting.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGTERM {
		t.Errorf("told to stop, the gate ends with %s, want by the signal: a good end would let the run start without a claim", waiting.ProcessState)
	}
}

// A claim that is refused for its flags lasts a floor, or the path unit would spin and die; it says so, and a stop ends it.
func TestRefusedGateWaits(t *testing.T) {
	root := t.TempDir()
	notify := listen(t, root)
	refused := exec.Command(gate(t), "claim", "--spool", "/s", "--state", "/s/state")
	refused.Env = append(os.Environ(), "INVOCATION_ID=one", "NOTIFY_SOCKET="+notify.LocalAddr().String())
	started := time.Now()
	if err := refused.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = refused.Process.Kill() })
	if said := hear(t, notify); !strings.Contains(said, "STATUS=refused") || !strings.Contains(said, "none in another") ||
		!strings.Contains(said, "EXTEND_TIMEOUT_USEC=60000000") {
		t.Errorf("the gate says %q, want why, and to be given a floor", said)
	}
	stop := time.AfterFunc(time.Second, func() { _ = refused.Process.Signal(syscall.SIGTERM) })
	defer stop.Stop()
	_ = refused.Wait()
	status, _ := refused.ProcessState.Sys().(syscall.WaitStatus)
	if took := time.Since(started); took < time.Second || status.Signal() != syscall.SIGTERM {
		t.Errorf("the gate ended after %s by itself (%s), want that only the stop ended it", took, refused.ProcessState)
	}
}

func listen(t *testing.T, dir string) *net.UnixConn {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func hear(t *testing.T, conn *net.UnixConn) string {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	buffer := make([]byte, 4096)
	n, err := conn.Read(buffer)
	if err != nil {
		t.Fatalf("the gate tells the service manager nothing: %v", err)
	}
	return string(buffer[:n])
}

func residentKB(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		t.Fatalf("no VmRSS in %s", status)
	}
	kb, _ := strconv.Atoi(string(m[1]))
	return kb
}
