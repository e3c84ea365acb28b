// Package runbook runs README.md and docs/runbook.md: every command of their code blocks, as it stands there, on booted
// systemd, with the symptom really made before it.
//
// A page is read into sections, by its headings, and the commands of each. For each section [sections] has a function
// that plays it: it makes the symptom, has the page's next command run, looks at what that says, and wants the symptom gone at
// the end. Where the page shows what a command prints, times, numbers and names may differ, and nothing else. Words in capitals,
// such as NAME, stand for what the section is played with; the runbook says at its beginning what they mean.
//
// A command that cannot be run here is passed over by name, with the reason. A command that no section runs fails
// TestEveryCommandIsPlayed, which plays all sections without a machine: then nothing is run, and the pages alone are walked through.
package runbook
