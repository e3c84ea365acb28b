package nspawn

// An Option changes what Boot makes.
type Option func(*options)

type options struct {
	alone   bool
	prepare []func(dir string) error
	nspawn  []string
}

// Alone waits until no other machine runs on this host, and keeps others from
// booting until this one ends. It is for tests that exhaust what all machines
// share, such as root's inotify instances.
func Alone() Option { return func(o *options) { o.alone = true } }

// Prepare has f change the root file system, found at dir, before the first
// boot.
func Prepare(f func(dir string) error) Option {
	return func(o *options) { o.prepare = append(o.prepare, f) }
}

// Nspawn adds arguments for systemd-nspawn, such as --bind=/a:/b.
func Nspawn(args ...string) Option {
	return func(o *options) { o.nspawn = append(o.nspawn, args...) }
}
