// Speaks the tests' protocol for the adapter: VERB SPOOL OUTBOX ARGS on a line in, "ok VALUE" or "error MESSAGE" on a line out. "-" as the
// spool leaves the folders to the environment.
import { createInterface } from 'node:readline';
import { Trueup, TrueupError } from '../trueup.mjs';

for await (const line of createInterface({ input: process.stdin })) {
  const [verb, spool, outbox, ...args] = line.split('\t');
  const host = spool === '-' ? new Trueup() : new Trueup({ spool, outbox });
  try {
    const answer = verb === 'wait' ? await host.wait(args[1], args.slice(2), Number(args[0])) : await host[verb](...args);
    console.log(`ok ${answer}`);
  } catch (e) {
    if (!(e instanceof TrueupError || e instanceof RangeError)) throw e;
    console.log(`error ${e.message.replaceAll('\n', ' ')}`);
  }
}
