// Package role holds the tests of the Ansible role: the collection as it is built, played by real ansible-core
// against booted machines of the Debian releases that the role is for.
//
// A [controller] has the collection installed and reaches one machine with Ansible's own ssh connection, through
// testdata/ssh in place of ssh. A play is a run of one of the collection's playbooks, and its recap what the
// tests judge; what the machine is like afterwards they look at themselves.
//
// Each release plays one flavour of the story. TRUEUP_PROVE=1 plays both in both, and the cases that a host meets more
// seldom.
package role
