package nspawn

import "testing"

// BenchmarkBoot is a power cut and a boot on the same files.
func BenchmarkBoot(b *testing.B) {
	for v := range suites {
		b.Run("systemd-"+v.String(), func(b *testing.B) {
			m := Boot(b, v)
			for b.Loop() {
				m.PowerCut(b)
				m.Boot(b)
			}
		})
	}
}

// BenchmarkExec is what it costs to run a program inside, and systemctl.
func BenchmarkExec(b *testing.B) {
	m := Boot(b, V252)
	for _, argv := range [][]string{{"true"}, {"systemctl", "is-active", "--quiet", "default.target"}} {
		b.Run(argv[0], func(b *testing.B) {
			for b.Loop() {
				m.MustExec(b, argv...)
			}
		})
	}
}
