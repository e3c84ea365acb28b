package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkColdStart starts the gate and an empty Go program in turn and reports the ratio of the medians, which
// holds better than the times on a noisy machine. Above 1.4 it fails (A10).
func BenchmarkColdStart(b *testing.B) {
	binary, hello := built(b, "."), helloWorld(b)
	compare(b, 1.4, exec.Command(binary, "--version"), exec.Command(hello))
}

// BenchmarkClaim is a whole claim of a touched sentinel on a clear floor against the empty program. The folders
// are on a tmpfs, so its fsyncs cost nothing here. Above 2 it fails (A10).
func BenchmarkClaim(b *testing.B) { benchmarkClaim(b, 2, "/dev/shm") }

// BenchmarkClaimOnDisk is the same with the folders on the disk, fsyncs included; what those cost is the disk's affair.
func BenchmarkClaimOnDisk(b *testing.B) { benchmarkClaim(b, 0, "") }

func benchmarkClaim(b *testing.B, bound float64, where string) {
	binary, hello := built(b, "."), helloWorld(b)
	root, err := os.MkdirTemp(where, "trueup-bench-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(root) })
	args := []string{"claim"}
	for _, name := range []string{"spool", "state", "outbox"} {
		args = append(args, "--"+name, filepath.Join(root, name))
		if err := os.MkdirAll(filepath.Join(root, name, "requests"), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	claim := exec.Command(binary, args...)
	claim.Env = append(os.Environ(), "INVOCATION_ID=", "NOTIFY_SOCKET=")
	compare(b, bound, claim, exec.Command(hello), func() {
		_ = os.Remove(filepath.Join(root, "state/claim"))
		_ = os.Remove(filepath.Join(root, "state/settled"))
		if err := os.WriteFile(filepath.Join(root, "spool/sentinel"), nil, 0o644); err != nil {
			b.Fatal(err)
		}
	})
}

// enough runs make a median that one slow start does not move.
const enough = 50

// compare runs both commands in turn, reports their medians and the ratio, and fails when the ratio is above the
// bound, if one is given and there were enough runs.
func compare(b *testing.B, bound float64, command, baseline *exec.Cmd, before ...func()) {
	var took, base []time.Duration
	for b.Loop() {
		for _, f := range before {
			f()
		}
		took = append(took, once(b, command))
		base = append(base, once(b, baseline))
	}
	median := func(d []time.Duration) float64 {
		slices.Sort(d)
		return float64(d[len(d)/2])
	}
	b.ReportMetric(median(took)/1e6, "ms/run")
	b.ReportMetric(median(base)/1e6, "ms/hello")
	ratio := median(took) / median(base)
	b.ReportMetric(ratio, "ratio")
	if bound > 0 && len(took) >= enough && ratio > bound {
		b.Errorf("%.2f times an empty program over %d runs, want %.1f at most (measure on an idle machine)", ratio, len(took), bound)
	}
}

func once(b *testing.B, like *exec.Cmd) time.Duration {
	cmd := exec.Command(like.Path, like.Args[1:]...)
	cmd.Env = like.Env
	start := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s: %v", cmd, err)
	}
	return time.Since(start)
}

func helloWorld(b *testing.B) string {
	source := filepath.Join(b.TempDir(), "hello.go")
	program := "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\") }\n"
	if err := os.WriteFile(source, []byte(program), 0o644); err != nil {
		b.Fatal(err)
	}
	return built(b, source)
}
