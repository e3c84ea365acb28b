// Package units gives a oneshot service that already exists a prompt, safe trigger, and takes it away again.
//
// Adopt leaves the service file and its timer as they are. It adds a path unit that watches the spool and the
// claim, one drop-in that puts the gate before the service's own lines and settle after them, the folders, and a
// five-minute timer only when none triggers the service. What cannot work is refused before anything is
// written, with the reason and the way out; the gate's access to its folders is proved in the service's own
// sandbox before anything is enabled.
//
// Install writes a service of trueup's own, which sweeps what a configuration declares, and adopts that one like any
// other; Uninstall takes both away. Its file says how it came to be, is the first that Install writes and the last that
// Uninstall removes.
//
// Two things keep it repairable. The drop-in's header records all that adopt made, so Unadopt needs nothing
// else, and it is the last file that Unadopt removes. And each step first looks whether it is done: after a
// kill at any point, running adopt or unadopt again completes it.
//
// Nothing here enables what an operator disabled, except Adopt itself, which was asked to.
package units
