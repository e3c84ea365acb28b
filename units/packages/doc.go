// Package packages is how trueup is packed: the scripts that make the .deb, the .rpm and the archive of the sources, what
// the package managers run on a host, and the tests of all that. make packages and make dist are the way in.
package packages
