// Asks the host for a run, and tells when what was committed before is live. To use it copy this one file; it needs Node 18 or
// newer and nothing else. docs/web-adapter.md says when to call what, and why in this order.
import { constants, lstat, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}$/;
const TICKET = /^([A-Z2-7]{10}):([0-9]{1,15})$/;

/** The host cannot be asked, or its answer not read. Nothing is lost: its next sweep reads the commit too. */
export class TrueupError extends Error {}

/** How the host is reached: the folder that it watches, and the one in which it answers. */
export class Trueup {
  constructor({ spool, outbox } = {}) {
    this.spool = spool || process.env.TRUEUP_SPOOL || '/spool';
    this.outbox = outbox || process.env.TRUEUP_OUTBOX || '/outbox';
  }

  /** Asks for a run, for everything or for the named targets alone, and gives the ticket. Call it after the commit. */
  async request(...targets) {
    const wrong = targets.find((name) => !NAME.test(name));
    if (wrong !== undefined) {
      const rule = 'a name has 1 to 200 letters, digits or any of . _ : @ - and begins with a letter or digit';
      throw new RangeError(`target ${JSON.stringify(wrong)}: ${rule}`);
    }
    // Before the touch: a number read after it can be that of the very run it asked for, and only a later one would cover it.
    const status = await this.#read();
    try {
      await this.#touch(targets);
    } catch (e) {
      throw new TrueupError(`touching in the spool ${this.spool}, which is to be mounted writable: ${e.message}`, { cause: e });
    }
    return `${status.epoch}:${status.claims}`;
  }

  async #touch(targets) {
    const requests = join(this.spool, 'requests');
    const paths = targets.length > 0 ? targets.map((name) => join(requests, name)) : [join(this.spool, 'sentinel')];
    if (targets.length > 0 && !(await lstat(requests)).isDirectory()) throw new Error(`${requests} is no folder`);
    for (const path of paths) {
      try { // O_EXCL follows no link
        await (await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o644)).close();
      } catch (e) {
        if (e.code !== 'EEXIST') throw e; // one that is there asks as well, whoever made it
      }
    }
  }

  /** Tells whether everything that was committed before the request is live: everywhere, or at least in the named targets. */
  async covered(ticket, ...targets) {
    return (await this.state(ticket, ...targets)) === 'live';
  }

  /** The word to show the user: asked, waiting (for the time between two runs to be over), running, failing (it is tried again)
   * or live. */
  async state(ticket, ...targets) {
    const [, epoch, number] = TICKET.exec(ticket) ?? [];
    // Any other epoch would count as an older one, which every success covers.
    if (epoch === undefined) throw new RangeError(`ticket ${JSON.stringify(ticket)}: want EPOCH:N, as request gives it`);
    const status = await this.#read();
    // Under another epoch the host's numbers began anew: any success since covers what was asked before.
    const least = status.epoch === epoch ? Number(number) : 0;
    const own = targets.map((name) => status.targets?.[name]?.settled) // one that is not shown has settled nothing
      .map((settled) => (Number.isSafeInteger(settled) ? settled : 0));
    if (status.settled > least || (own.length > 0 && Math.min(...own) > least)) return 'live';
    return status.state === 'idle' ? 'asked' : status.state;
  }

  /** Gives true once the ticket is covered, and false after so many seconds. */
  async wait(ticket, targets = [], seconds = 60) {
    const end = performance.now() + seconds * 1000;
    while (!(await this.covered(ticket, ...targets))) {
      if (performance.now() >= end) return false;
      await setTimeout(1000);
    }
    return true;
  }

  async #read() {
    const path = join(this.outbox, 'status.json');
    let status;
    try { // the file is replaced, never written to, so that it is always whole
      status = JSON.parse(await readFile(path, 'utf8'));
    } catch (e) {
      throw new TrueupError(`reading the outbox ${path}, which is to be mounted from the host: ${e.message}`, { cause: e });
    }
    if (status?.version > 1) {
      const hint = "1 is known here; take the adapter of the host's trueup";
      throw new TrueupError(`reading ${path}: it is of version ${status.version}, and ${hint}`);
    }
    const numbers = Number.isSafeInteger(status?.claims) && Number.isSafeInteger(status?.settled);
    const words = typeof status?.epoch === 'string' && typeof status?.state === 'string';
    if (status?.version !== 1 || !words || !numbers) {
      throw new TrueupError(`reading ${path}: version, epoch, claims, settled or state is missing`);
    }
    return status;
  }
}
