// Package command is the kind whose targets are kept true by programs: check says whether all is as it should be, apply
// makes it so. A program that can say what it would do prints it (plan), and apply is then run once for each change, so
// that the breaker, approvals and `trueup plan` serve scripts too. docs/targets/command.md is the page for users.
//
// What holds of every program that it runs:
//
//   - No shell reads its arguments, unless the settings ask for one.
//   - It knows the run it is part of (TRUEUP_RUN), the target and the fence, and finds the policy in a private file.
//   - It leads a process group of its own. When the tick ends early the group is asked to stop, and is killed after a
//     grace; when the lease is lost it is killed at once. Whatever of the group outlives the program is killed and named.
//   - When trueup itself is killed, the kernel kills the program with it.
//   - What it prints is kept, a beginning and an end of bounded size, without the secrets that trueup knows of.
//
// What is not promised: a process that leaves the group (setsid) is out of reach, and so are the program's own children
// after a kill -9 of trueup outside a service; inside one, systemd ends the whole control group. A program that gains
// privileges by setuid (sudo) is not killed with trueup. What is no longer in step with the lease has to be refused at the
// other end, by its TRUEUP_FENCE.
package command
