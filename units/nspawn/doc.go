// Package nspawn boots real systemd, as PID 1 of a container, for tests.
//
//	func TestTouch(t *testing.T) {
//		nspawn.Each(t, func(t *testing.T, m *nspawn.Machine) {
//			for _, mgr := range m.Managers() { // system, then user
//				mgr.WriteUnit(t, "hello.service", "[Service]\nExecStart=true\n")
//				mgr.MustSystemctl(t, "start", "hello.service")
//			}
//		})
//	}
//
// A [Machine] runs on an overlay of a root file system that [Root] builds
// once for each [Version] of systemd, so every boot starts from the same clean
// Debian and takes about a second. In it live an unprivileged user op (uid
// 1000) whose user manager lingers, and a user web (uid 2000). A machine can
// lose power, be booted again on the same files, and leaves nothing behind: a
// reaper process outlives the test process and clears up after a panic, a
// timeout or a kill -9 as well.
//
// It needs root and Debian's systemd-container and debootstrap, which the
// roots script installs when it may. There is nothing to skip: what is missing
// fails the test and says what to do.
//
// # Traps
//
//   - Every machine gets a cgroup of its own. Two that are started with
//     --keep-unit from one cgroup share its payload and kill each other's
//     services with 219/CGROUP, which looks like a lost touch.
//   - The kernel's limits on inotify are counted by uid over all machines and
//     the host. Boot raises fs.inotify.max_user_instances to 1024, and leaves
//     it there. Exhausting root's breaks every machine: a test that does so
//     boots with [Alone]; better, it exhausts a user of its own.
//   - CLOCK_BOOTTIME, CLOCK_MONOTONIC and the wall clock are the host's. The
//     boot id is new at every boot, the uptime is not.
//   - A container's absolute symlink, followed from the host, leads into the
//     host. [Machine.Path] resolves the folders before the last element inside
//     the machine; anything beyond is the test's care.
//   - A command that enters the machine by [Session] is in its namespaces but
//     outside its cgroups: systemd does not count it to any unit.
//   - ProtectKernelLogs= fails with 226/NAMESPACE in a user unit here, and on
//     247 ProtectKernelTunables=, ProtectControlGroups= and ProcSubset= too. On
//     a host with real systemd they work.
//   - On 247 and 252 a user unit's sandbox is silently ignored unless it sets
//     PrivateUsers=yes.
//   - The journal often cannot tell which user unit a process belonged to that
//     ended within milliseconds of its last line: _SYSTEMD_USER_UNIT is
//     missing, and --user -u does not find the line. What the manager itself
//     says of the unit is found always.
//   - Copy static programs in: the host's libraries are not those inside.
//   - A power cut kills every process at once, but the host's page cache
//     survives: a missing fsync does not show. Use strace for that.
//   - MemoryMax=, TasksMax= and the like act only where the host's cgroups are
//     unified.
package nspawn
