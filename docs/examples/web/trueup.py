"""Asks the host for a run, and tells when what was committed before is live.

To use it copy this one file; it needs Python 3.8 or newer and nothing else. docs/web-adapter.md says when to call what, and why
in this order.
"""

import json
import os
import re
import time

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}")
TICKET = re.compile(r"([A-Z2-7]{10}):([0-9]{1,15})")


class TrueupError(Exception):
    """The host cannot be asked, or its answer not read. Nothing is lost: its next sweep reads the commit too."""


class Trueup:
    """How the host is reached: the folder that it watches, and the one in which it answers."""

    def __init__(self, spool=None, outbox=None):
        self.spool = spool or os.environ.get("TRUEUP_SPOOL") or "/spool"
        self.outbox = outbox or os.environ.get("TRUEUP_OUTBOX") or "/outbox"

    def request(self, *targets):
        """Ask for a run, for everything or for the named targets alone, and return the ticket. Call it after the commit."""
        for name in targets:
            if not NAME.fullmatch(name):
                raise ValueError(
                    f"target {name!r}: a name has 1 to 200 letters, digits or any of . _ : @ - and begins with a letter or digit"
                )
        # Before the touch: a number read after it can be that of the very run it asked for, and only a later one would cover it.
        status = self._read()
        try:
            self._touch(self.spool, targets)
        except OSError as e:
            raise TrueupError(f"touching in the spool {self.spool}, which is to be mounted writable: {e}") from e
        return f"{status['epoch']}:{status['claims']}"

    @staticmethod
    def _touch(spool, targets):
        flags = os.O_RDONLY | os.O_DIRECTORY
        folder = os.open(os.path.join(spool, "requests"), flags | os.O_NOFOLLOW) if targets else os.open(spool, flags)
        try:
            for name in targets or ["sentinel"]:
                try:
                    # O_EXCL follows no link.
                    os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=folder))
                except FileExistsError:
                    pass  # it asks as well, whoever made it
        finally:
            os.close(folder)

    def covered(self, ticket, *targets):
        """Tell whether everything that was committed before the request is live: everywhere, or at least in the named targets."""
        return self.state(ticket, *targets) == "live"

    def state(self, ticket, *targets):
        """Return the word to show the user: asked, waiting (for the time between two runs to be over), running, failing (it is
        tried again) or live."""
        parts = TICKET.fullmatch(ticket)
        if not parts:  # any other epoch would count as an older one, which every success covers
            raise ValueError(f"ticket {ticket!r}: want EPOCH:N, as request returns it")
        status = self._read()
        # Under another epoch the host's numbers began anew: any success since covers what was asked before.
        number = int(parts[2]) if parts[1] == status["epoch"] else 0
        # A target that is not shown has settled nothing.
        own = [status["targets"].get(name, 0) for name in targets]
        if status["settled"] > number or own and min(own) > number:
            return "live"
        return "asked" if status["state"] == "idle" else status["state"]

    def wait(self, ticket, *targets, timeout=60):
        """Return True once the ticket is covered, and False after so many seconds."""
        end = time.monotonic() + timeout
        while not self.covered(ticket, *targets):
            if time.monotonic() >= end:
                return False
            time.sleep(1)
        return True

    def _read(self):
        path = os.path.join(self.outbox, "status.json")
        try:
            with open(path, encoding="utf-8") as f:  # it is replaced, never written to, so that it is always whole
                status = json.load(f)
            if status["version"] == 1:
                for key, kind in (("epoch", str), ("claims", int), ("settled", int), ("state", str)):
                    if type(status[key]) is not kind:
                        raise ValueError(f"{key} is {status[key]!r}")
                targets = {name: int(target["settled"]) for name, target in (status.get("targets") or {}).items()}
                return {**status, "targets": targets}
        except OSError as e:
            raise TrueupError(f"reading the outbox, which is to be mounted from the host: {e}") from e
        except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError) as e:
            raise TrueupError(f"reading {path}: {e!r}") from e
        raise TrueupError(
            f"reading {path}: it is of version {status['version']}, and 1 is known here; take the adapter of the host's trueup"
        )
