"""Speaks the tests' protocol for the adapter: VERB SPOOL OUTBOX ARGS on a line in, "ok VALUE" or "error MESSAGE" on a line out. "-" as the
spool leaves the folders to the environment."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from trueup import Trueup, TrueupError

for line in sys.stdin:
    verb, spool, outbox, *args = line.rstrip("\n").split("\t")
    host = Trueup() if spool == "-" else Trueup(spool, outbox)
    try:
        if verb == "wait":
            answer = host.wait(*args[1:], timeout=float(args[0]))
        else:
            answer = getattr(host, verb)(*args)
        print("ok", str(answer).lower() if isinstance(answer, bool) else answer, flush=True)
    except (TrueupError, ValueError) as e:
        print("error", str(e).replace("\n", " "), flush=True)
