/*
 * The trigger protocol, small enough to try out every interleaving of it.
 *
 *     a web app     commits a write, reads its ticket, touches a file
 *     a path unit   starts the service while there is something to do
 *     the gate      takes what is asked for, and leaves a claim in its place
 *     the run       reads the world
 *     settle        turns the claim into a number that covers tickets
 *
 * and, between any two of these steps: a kill, a power cut, a failing run, a
 * full disk, a timer. `./check` has spin try all of it and expects no error.
 * Each `#ifdef` below is one plausible mistake (the table is in README.md);
 * `./check` expects an error with each of them, so every rule that is kept
 * here is kept for a reason that the checker can show.
 *
 * Read it top to bottom: the state, what can go wrong, the promises, then the
 * actors. One `atomic` is one step that cannot be cut in two; everything else
 * can happen between two of them.
 */

/* How much may go wrong in one history. Larger numbers only cost time. */
#ifndef CRASHES
#define CRASHES  1      /* kills, power cuts, settles that systemd gives up on */
#endif
#ifndef TROUBLES
#define TROUBLES 1      /* a run fails, a claim, an unlink or the outbox is refused */
#endif
#ifndef TIMERS
#define TIMERS   1      /* timer starts at any moment (besides those at the end) */
#endif

byte crashes  = CRASHES;
byte troubles = TROUBLES;
byte timers   = TIMERS;

/* ---- The state ---------------------------------------------------------- */

/*
 * Two writes, of two targets. Write A is asked for with the sentinel; write B
 * with the sentinel too, or with a request by name: `named` says which, and is
 * settled at the start. Sets of writes, and of their targets, are bits. A run for
 * all reads both writes. A run for names reads only what was asked for by name.
 */
#define A 1
#define B 2
#define BOTH 3

byte named;             /* 0, or B when B is asked for by name */
byte world;             /* committed; the database keeps it whatever happens */
byte read;              /* read by a run that then succeeded */

/*
 * The spool. Empty (0) or there. While it is there, the bits say whose touch
 * nobody has claimed yet: they are the ones a power cut may take back, for
 * nobody syncs a touch. OLD: the file is there, and no promise hangs on it
 * (a claim has taken it over, or a power cut has undone an unlink).
 */
#define OLD 4
byte sentinel;
byte request;

/*
 * The state folder: written with fsync, rename, fsync of the folder, so a power
 * cut takes nothing back. `n` is the number of the last claim, and only grows.
 * (The product keeps it in the claim, and in the settled file once there is no
 * claim. Settle writes that first: a claim that it says is settled owes nothing,
 * though it still starts the service.)
 */
mtype = { everything, names };
byte n;
bool claim;             /* a run owes a success ... */
bool claim_all;         /* ... for everything, or for names only */
bool claim_settled;     /* ... or no longer does */
byte covered;           /* what the outbox may show as settled */
#define OWED  (claim && !claim_settled)

/*
 * A plain service has no ledger: it reads everything each time, and answers for
 * the claim. A sweep has one, synced as well. It ticks each target by itself, so
 * a run that fails may still have read for one of them; a retry ticks what is
 * left, and everything again only if somebody has asked for everything since. A
 * run that succeeds may hold one target back for a person, and every later run
 * ticks that one too. It answers for the lowest number that a target is settled
 * up to.
 */
bool plain;             /* which of the two it is, settled at the start */
byte due;               /* targets that were asked for and are not yet ticked */
byte held;              /* targets that the last run for them held back */
byte asked_a, asked_b;  /* the last claim that asked for the target */
byte settled_a, settled_b;  /* ... and the last whose asking a tick has answered */
bool on_record;         /* the ledger has the last claim: what it owed is in `due` */
#define LOWEST  (settled_a < settled_b -> settled_a : settled_b)

/*
 * Whose claim it is. The product stores $INVOCATION_ID. All that matters is
 * whether it is the invocation that runs now, one that systemd has given up on
 * and whose settle still lives, or one that is gone.
 */
#define GONE     0
#define MINE     1
#define LEFTOVER 2
byte claim_of;

/*
 * The outbox, synced too. Whoever finds it missing gets no ticket. Adopting the
 * unit has put it there, with 0 and 0. These stand as well for an outbox of an
 * older epoch: both were read before claim 1 of this epoch was published, and
 * both tickets are covered by any success.
 */
byte out_claims;
byte out_settled;
bool out_gone;

/* The web app's side. A ticket is covered once out_settled exceeds it. */
byte touched;           /* touched, and no power cut has taken the touch back */
byte has_ticket;
byte ticket_a, ticket_b;
byte done;              /* has nothing more to do */

bool outbox_hurt;       /* not written, deleted or lost, once: tickets may wait for the timer */
bool was_held;          /* a target was held back, once: so they may when it is no longer */
byte leftover;          /* a settle that systemd gave up on, still alive */
byte sweeps;            /* timer starts after everything has come to rest */

#define COVERED(w, t)   ((has_ticket & w) && out_settled > t)

/* ---- Witnesses ---------------------------------------------------------- */

/*
 * "No error" would mean nothing if the interesting histories never happened.
 * `./check` also compiles the model with -DWITNESS=<one of these> and expects
 * spin to find a history that ends well, with every write read and every
 * ticket covered, in which that thing has happened.
 */
#define KILLED_AFTER_CLAIM   1
#define POWER_AFTER_CLAIM    2
#define RETRY_SUCCEEDED      3
#define TIMER_TOOK_SENTINEL  4
#define NAMES_SETTLED        5
#define TOUCH_LOST_BY_POWER  6
#define SETTLED_BY_GATE      7
#define LEFTOVER_SETTLED     8
#define LEFTOVER_REFUSED     9
#define NOT_RECORDED        10
#define NOT_PUBLISHED       11
#define ONE_RUN_READ_BOTH   12
#define CLAIM_WIDENED       13
#define NOT_UNLINKED        14
#define OUTBOX_DELETED      15
#define LATE_TOUCH_STAYED   16
#define REST_TICKED         17
#define RAISED_BY_NAMES     18

#ifdef WITNESS
bool seen;
#define SAW_IF(cond, what)  seen = seen || ((cond) && WITNESS == what)
#else
#define SAW_IF(cond, what)  skip
#endif
#define SAW(what)           SAW_IF(true, what)

/* ---- The promises ------------------------------------------------------- */

/*
 * All of them are plain assertions. "Eventually" needs no more than that here:
 * each start of the service either spends one of the budgets above or makes a
 * claim, and ENDS bounds the claims. So no history goes on for ever, spin
 * reports one that gets stuck, and what must hold "in the end" is asserted
 * where everything has come to rest. No fairness is assumed.
 */

bool I1 = true;         /* a touched write is read, without waiting for a timer */
bool PROMPT = true;     /* so is the ticket of a sentinel covered, if the outbox was well */
bool SOUND = true;      /* a covered ticket: its write was read */
bool LIVE = true;       /* full sweeps go on: everything is read and covered */
bool ENDS = true;       /* no run without end: a bounded number of claims */

/* Checked wherever a ticket or out_settled has changed. */
inline tickets_are_sound() {
  SOUND = (!(COVERED(A, ticket_a) && (world & A)) || (read & A)) &&
          (!(COVERED(B, ticket_b) && (world & B)) || (read & B));
  assert(SOUND)
}

#define ALL_COVERED \
  ((!(has_ticket & A) || COVERED(A, ticket_a)) && \
   (!(has_ticket & B) || COVERED(B, ticket_b)))

/* Who asked by name waits for a full sweep: only these raise the number. */
#define ASKED_COVERED \
  ((!(touched & A)         || COVERED(A, ticket_a)) && \
   (!(touched & B) || named || COVERED(B, ticket_b)))

inline remove_claim() {
  claim = false; claim_all = false; claim_settled = false; claim_of = GONE
}

/* ---- What can go wrong -------------------------------------------------- */

/*
 * A power cut ends every process and takes back what was not synced: a touch
 * (its write then waits for the timer; `touched` forgets it), an unlink. The web app's own death needs no step: see `App`.
 */
inline power_cut() {
  if
  :: true
  :: sentinel & BOTH ->
       printf("        the touch of the sentinel was not on disk yet\n");
       SAW(TOUCH_LOST_BY_POWER);
       touched = touched & ~sentinel; sentinel = 0
  :: sentinel == 0 ->
       sentinel = OLD
  fi;
  if
  :: true
  :: request & BOTH ->
       printf("        the request by name was not on disk yet\n");
       SAW(TOUCH_LOST_BY_POWER);
       touched = touched & ~request; request = 0
  :: request == 0 && named ->
       request = OLD
  fi;
#ifdef OUTBOX_NOT_SYNCED
  if
  :: true
  :: out_claims > 0 ->
       printf("        the outbox is an older one again\n");
       out_claims = 0; out_settled = 0; outbox_hurt = true
  fi;
#endif
#ifdef CLAIM_NOT_SYNCED
  if
  :: true
  :: claim_of == MINE ->
       printf("        the claim was not on disk yet\n");
       n--; remove_claim()
  fi;
#endif
  leftover = 0
}

/* Each step of the service begins with this: it may be where it ends. */
inline crash() {
  if
  :: true
  :: crashes > 0 ->
       crashes--;
       printf("  ***   killed\n");
       SAW_IF(claim_of == MINE, KILLED_AFTER_CLAIM);
       goto gone
  :: crashes > 0 ->
       crashes--;
       printf("  ***   power cut\n");
       SAW_IF(claim_of == MINE, POWER_AFTER_CLAIM);
       power_cut();
       goto gone
  fi
}

/* ---- The web app -------------------------------------------------------- */

inline commit() {
  printf("app %c:  commits its write\n", 64 + w);
  world = world | w
}

inline take_ticket() {
  if
#ifdef MISSING_AS_ZERO
  :: out_gone  -> printf("app %c:  finds no outbox and takes ticket 0\n", 64 + w);
                  has_ticket = has_ticket | w       /* ticket_a, ticket_b are 0 */
#else
  :: out_gone  -> printf("app %c:  finds no outbox, and has no ticket\n", 64 + w)
#endif
  :: !out_gone -> printf("app %c:  reads ticket %d\n", 64 + w, out_claims);
                  if
                  :: w == A -> ticket_a = out_claims
                  :: else   -> ticket_b = out_claims
                  fi;
                  has_ticket = has_ticket | w
  fi;
  tickets_are_sound()
}

inline touch() {
  if
  :: w & named -> printf("app %c:  requests by name\n", 64 + w);    request  = request  | w
  :: else      -> printf("app %c:  touches the sentinel\n", 64 + w); sentinel = sentinel | w
  fi;
  touched = touched | w
}

/*
 * The order is the whole of the app's part. An app may also die on the way, or
 * never come: it has promised nothing, and its write is left to the timer.
 */
proctype App(byte w) {
#if defined(TOUCH_BEFORE_WRITE)
  if :: atomic { touch() } :: goto over fi;
  atomic { commit() };
  atomic { take_ticket() };
#elif defined(TICKET_BEFORE_COMMIT)
  if :: atomic { take_ticket() } :: goto over fi;
  atomic { commit() };
  atomic { touch() };
#else
  if :: atomic { commit() } :: goto over fi;
  atomic { take_ticket() };
  if
  :: atomic { touch() }
  :: printf("app %c:  dies before its touch\n", 64 + w)
  fi;
#endif
over:
  atomic { done = done | w }
}

/* ---- The outbox and settle ---------------------------------------------- */

/*
 * Everybody publishes the number of the last claim and what the state folder
 * says is covered. It may fail (full, read-only); the run goes on all the same.
 */
inline publish() {
  if
  :: printf("outbox: claims = %d, settled = %d\n", n, covered);
     out_gone = false; out_claims = n; out_settled = covered;
     tickets_are_sound()
  :: troubles > 0 -> troubles--;
     printf("outbox: cannot be written (claims = %d, settled = %d)\n", n, covered);
     SAW(NOT_PUBLISHED);
     outbox_hurt = true
  fi
}

/*
 * STATE/settled: when the run ended (for the floor), the number, and what it
 * covers. Two rules. A ticket does not say which target it waits for, so it is
 * covered when all are: by a claim for all, or by one for names that ticks what
 * such a claim has left. And only if the outbox has shown the claim's number
 * since before the run: otherwise an app may have committed after the run's
 * reads and yet hold a ticket below n. (Settle may look at the outbox now: only
 * this run's own gate can have put n there. See `waits`.)
 */
#if defined(PUBLISH_FAILURE_IGNORED)
#define SHOWN  true
#elif defined(EPOCH_BLIND)
#define SHOWN  (!out_gone && (out_claims == 0 || out_claims >= n)) /* an older epoch's numbers are large */
#else
#define SHOWN  (!out_gone && out_claims >= n)
#endif

/* Nobody will look at it: the next run asks for everything, or for names. */
inline forget_what_is_not_on_record() {
  if :: !on_record -> due = 0 :: else fi
}

#ifdef COVERS_ITS_NUMBER
#define ANSWERED(of_all)  (of_all -> n : (plain -> 0 : LOWEST))
#else
#define ANSWERED(of_all)  (!plain -> LOWEST : (of_all -> n : 0))
#endif

inline write_settled(of_all) {
  if
#ifdef SETTLED_BY_NAMES
  :: SHOWN  -> printf("settle: records the success of claim %d\n", n);
               covered = n
#else
  :: SHOWN  -> printf("settle: records the success of claim %d: all before claim %d is read\n", n, ANSWERED(of_all));
               SAW_IF(!of_all, NAMES_SETTLED);
               SAW_IF(!of_all && ANSWERED(of_all) > covered, RAISED_BY_NAMES);
               if :: ANSWERED(of_all) > covered -> covered = ANSWERED(of_all) :: else fi
#endif
  :: !SHOWN -> printf("settle: records the success of claim %d, never shown: it covers nobody\n", n)
  fi;
  claim_settled = true; on_record = false; forget_what_is_not_on_record()
}

/* ---- The path unit and the service -------------------------------------- */

/* PathExists=SPOOL/sentinel, DirectoryNotEmpty=SPOOL/requests, PathExists=STATE/claim */
#ifdef CLAIM_UNWATCHED
#define PATH_FIRES  (sentinel || request)
#else
#define PATH_FIRES  (sentinel || request || claim)
#endif

#ifdef NO_INVOCATION_CHECK
#define OWN(whose)  (OWED)
#else
#define OWN(whose)  (OWED && claim_of == whose)
#endif

/* Each attempt has a number of its own: a touch that comes between two attempts
   is taken by the second, and its ticket may be the number of the first. */
#ifdef RETRY_KEEPS_NUMBER
#define NEXT_NUMBER  n = (OWED -> n : n + 1)
#else
#define NEXT_NUMBER  n++
#endif

/*
 * While it waits the gate says so in the outbox, but it must not show a number
 * that a run has already read under without its being shown: that run's settle
 * may still come (see `Leftover`), and would find it shown.
 */
#ifdef WAITING_SHOWS_CLAIM
#define MAY_SHOW  true
#else
#define MAY_SHOW  (!OWED || SHOWN)
#endif

inline waits() {
  atomic { crash();
    if
    :: true                     /* the window is clear */
    :: MAY_SHOW ->
         SAW_IF(out_settled < covered, SETTLED_BY_GATE);
         publish()
    fi }
}

/* Under a claim for all the sentinel goes, also one that came after the gate had
   looked: the run is still to read. But not when everything is only owed from
   before: that run may tick what is left of it, and would not heed the touch. */
#ifdef SENTINEL_UNDER_RETRY
#define TAKES_SENTINEL  all
#else
#define TAKES_SENTINEL  fresh
#endif

inline unlink_claimed() {
  /* Never under a claim for names: nobody would owe the sentinel anything. */
#ifdef SENTINEL_UNDER_NAMES
  atomic { crash();
    if :: sentinel -> printf("gate:   unlinks the sentinel\n"); sentinel = 0 :: else fi };
#else
  atomic { crash();
    if
    :: TAKES_SENTINEL && sentinel ->
         printf("gate:   unlinks the sentinel\n");
         SAW_IF(timer && !saw_sentinel, TIMER_TOOK_SENTINEL);
         sentinel = 0
    :: TAKES_SENTINEL && sentinel && troubles > 0 -> troubles--;
         printf("gate:   cannot unlink the sentinel, nor rename it aside\n");
         SAW(NOT_UNLINKED)
    :: else ->
         SAW_IF(all && sentinel, LATE_TOUCH_STAYED)
    fi };
#endif
  /* Only names that were read. */
  atomic { crash();
    if :: saw_request -> printf("gate:   unlinks the request\n"); request = 0 :: else fi }
}

/* Only a number that was shown before the run reads is one to answer for. */
inline asks(targets) {
  if :: !plain && recorded && SHOWN && ((targets) & A) -> asked_a = n :: else fi;
  if :: !plain && recorded && SHOWN && ((targets) & B) -> asked_b = n :: else fi
}

inline ticked(targets) {
  read = read | (snapshot & (targets));
  if :: due & (targets) & A -> settled_a = asked_a :: else fi;
  if :: due & (targets) & B -> settled_b = asked_b :: else fi;
  held = held & ~(due & (targets));
  due = due & ~(targets)
}

/* Before it reads, a run puts on record what it was asked for: once for each
   claim, and only if the outbox shows its number. */
inline reads_world() {
  if
  :: resumes && SHOWN ->
       printf("run:    reads the world for what is left\n");
       if :: saw_request -> due = due | named; asks(named) :: else fi
  :: all && !(resumes && SHOWN) ->
       printf("run:    reads the world\n");
       due = BOTH;
       asks(BOTH)
  :: !all ->
       printf("run:    reads the world for names\n");
       due = named;
       asks(named)
  fi;
  due = due | held;
  on_record = on_record || (recorded && all && SHOWN && !plain);
  snapshot = world & due
}

/*
 * One process: systemd runs one start of a unit at a time, and these commands
 * one after the other. Its local variables are what dies with a process.
 */
proctype Service() {
  bool all, fresh, saw_sentinel, saw_request, recorded, resumes, old, timer;
  byte snapshot;

idle:
  if
  /* The path unit looks at what is there, not at what has changed: also at the
     moment the service ends. */
  :: atomic { PATH_FIRES ->
       printf("path:   starts the service\n") }

  :: atomic { timers > 0 -> timers--; timer = true;
       printf("timer:  starts the service\n") }

  :: atomic { crashes > 0 -> crashes--;
       printf("  ***   power cut\n");
       power_cut();
       goto gone }

  /* Everything has come to rest: the path unit has nothing to start the service
     for, and the apps are done. Only now and then the timer. */
  :: atomic { !PATH_FIRES && done == BOTH ->
       I1 = (world & touched & ~read & ~held) == 0;   /* what is held waits for a person */
       assert(I1);
       PROMPT = outbox_hurt || was_held || sweeps || ASKED_COVERED;
       assert(PROMPT);
       if
       :: (world & ~read) == 0 && ALL_COVERED -> goto rest
       :: else
       fi;
       /* One full sweep mends it, and one more for each one that is hit itself. */
       LIVE = sweeps < 1 + CRASHES + TROUBLES;
       assert(LIVE);
       sweeps++;
       printf("timer:  starts the service (sweep %d)\n", sweeps) }
  fi;

  /* -- The gate: waits (any delay is a wait), reads, claims, unlinks, tells -- */

#ifdef READS_BEFORE_GATE
  /* the unit's own ExecStartPre=, ahead of the gate; it knows of no claim */
  atomic { crash(); all = true; reads_world() };
#endif

  waits();
  atomic { crash(); saw_request = (request != 0) };
  atomic { crash();
    saw_sentinel = (sentinel != 0);
    old = OWED;
    if
    :: saw_sentinel || !(saw_request || old) ->      /* nothing: the timer */
         all = true
    :: else ->
         /* Names. But for all when the last full success is too old, or anything
            is unreadable or too much: the model lets that be so at any time. */
         if
         :: all = false
         :: all = true; SAW(CLAIM_WIDENED)
         fi
    fi;
    /* claim := old claim with what is present; all with names is all. */
#ifdef FORGETS_OLD_CLAIM
    fresh = all;
#else
    fresh = all && (saw_sentinel || !(OWED && claim_all));
    all = all || (OWED && claim_all);
    if
    :: true
    :: all && !fresh -> fresh = true    /* failing for a whole sweep interval */
    fi
#endif
  };

  /* The claim is written before anything is unlinked, and once it is on disk
     nobody can forget what was asked. */
  atomic { crash();
    if
    :: NEXT_NUMBER;
       ENDS = n <= 4 + 2 * CRASHES + 2 * TROUBLES + TIMERS;
       assert(ENDS);
#ifndef NO_CLAIM
       printf("gate:   claims %d, for %e\n", n, (all -> everything : names));
       claim = true; claim_all = all; claim_settled = false; claim_of = MINE;
       resumes = all && !fresh && on_record;
       on_record = false;
       /* What is in the spool now is owed by the claim (no longer by the touch). */
       if :: fresh && sentinel      -> sentinel = OLD :: else fi;
       if :: saw_request && request -> request = OLD :: else fi;
#endif
       recorded = true
    :: troubles > 0 -> troubles--;
       /* Nothing is unlinked and no number is told; but it does run, for what
          the standing claim asks, or for everything. */
       printf("gate:   cannot record a claim; it runs all the same\n");
       SAW(NOT_RECORDED);
       recorded = false; fresh = false;
       all = (OWED -> claim_all : true)
    fi };

  if
  :: recorded ->
#ifdef PUBLISH_BEFORE_UNLINKING
       atomic { crash(); publish() };
#endif
#ifndef UNLINK_AFTER_READING
       unlink_claimed();
#endif
#if !defined(PUBLISH_AFTER_READING) && !defined(PUBLISH_BEFORE_UNLINKING)
       /* After the last unlink, before the run: who reads a smaller number has
          committed before this run's reads, who reads this one touches after
          the unlinks, and a later claim will take it. */
       atomic { crash(); publish() };
#endif
       skip
  :: else
  fi;

  /* -- The run -- */

#ifndef READS_BEFORE_GATE
  atomic { crash(); reads_world() };
#endif
#ifdef UNLINK_AFTER_READING
  if :: recorded -> unlink_claimed() :: else fi;
#endif
  atomic { crash();
    if
    :: printf("run:    succeeds\n");
       SAW_IF(snapshot == BOTH && read == 0, ONE_RUN_READ_BOTH);
       SAW_IF(old && recorded, RETRY_SUCCEEDED);
       SAW_IF(resumes && due != BOTH, REST_TICKED);
       ticked(BOTH)
    :: troubles > 0 && !plain && due -> troubles--;
       if
       :: due & B -> printf("run:    succeeds, and holds target B back\n"); ticked(A)
       :: due & A -> printf("run:    succeeds, and holds target A back\n"); ticked(B)
       fi;
       held = due; due = 0; was_held = true
    :: troubles > 0 -> troubles--;
       if
       :: printf("run:    fails\n")
       :: on_record && (due & A) -> printf("run:    fails for target B only\n"); ticked(A)
       :: on_record && (due & B) -> printf("run:    fails for target A only\n"); ticked(B)
       fi;
       goto gone
    fi };

  /* -- Settle: only a success comes here -- */

#ifdef PUBLISH_AFTER_READING
  atomic { crash(); publish() };
#endif
  atomic { crash();
    if
    :: crashes > 0 -> crashes--;
       /* It hangs in the disk; its timeout passes, SIGKILL does nothing, and
          systemd calls the unit failed. It goes on when the disk does. */
       printf("  ***   settle hangs, and systemd gives up on it\n");
       leftover = 1;
       if :: claim_of == MINE -> claim_of = LEFTOVER :: else fi;
       goto gone
    :: true
    fi;
#ifdef NO_CLAIM
    claim_all = all
#else
    /* Not its own: the gate could not record one, and the claim that stands, if
       any, is left to the run that will be started for it. (That much is for the
       sake of PROMPT. What SOUND needs the check for is `Leftover`.) */
    if
    :: OWN(MINE)
    :: else -> goto gone
    fi
#endif
  };
  atomic { crash(); write_settled(claim_all) };
  atomic { crash(); publish() };
  /* The claim goes last: until then a kill means one run more, not one less. */
  atomic { crash(); printf("settle: removes the claim\n"); remove_claim() };

gone:
  atomic {
    if :: claim_of == MINE -> claim_of = GONE :: else fi;
    forget_what_is_not_on_record();
    all = false; fresh = false; saw_sentinel = false; saw_request = false;
    recorded = false; resumes = false; old = false; timer = false; snapshot = 0;
    goto idle
  };

rest:
#ifdef WITNESS
  assert(!(seen && read == BOTH && has_ticket == BOTH));
#endif
  skip
}

/*
 * The settle that systemd gave up on, at any later time, perhaps in the middle
 * of the next start. From its look at the claim to the claim's removal it holds
 * the lock that a gate needs to write a claim, hence one step.
 */
proctype Leftover() {
end:
  do
  :: atomic { leftover == 1 ->
       if
       :: OWN(LEFTOVER) ->
            printf("settle: (the old one) goes on\n");
            write_settled(claim_all); publish();
#ifdef NO_LOCK
            leftover = 2
#else
            leftover = 0;
            SAW(LEFTOVER_SETTLED);
            remove_claim()
#endif
       :: else ->
            printf("settle: (the old one) finds a claim of another run, or none\n");
            SAW_IF(claim, LEFTOVER_REFUSED);
            leftover = 0
       fi }
#ifdef NO_LOCK
  :: atomic { leftover == 2 ->
       printf("settle: (the old one) removes the claim\n");
       leftover = 0;
       remove_claim() }
#endif
  od
}

/* Somebody tidies up: the outbox goes missing at any moment, also during a run. */
proctype Tidy() {
end:
  do
  :: atomic { troubles > 0 && !out_gone -> troubles--;
       printf("  ***   somebody deletes the outbox\n");
       SAW(OUTBOX_DELETED);
       out_gone = true; out_claims = 0; out_settled = 0; outbox_hurt = true }
  od
}

init {
  atomic {
    if
    :: named = B
    :: named = 0
    fi;
    if
    :: plain = true
    :: plain = false
    fi;
    run App(A); run App(B); run Service(); run Leftover(); run Tidy()
  }
}
