// Package signup holds no code, only the tests of docs/examples/signup: the page's commands are typed into a machine with real
// systemd and real containers, rootful and rootless; Chromium drives the app; and a hostile program takes the app's place.
package signup
