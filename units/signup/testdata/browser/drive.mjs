// Drives the sign-up app in Chromium. Reads one JSON object a line, {do, ...}, and answers each with one, {...} or {error}.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const [, , modules, base] = process.argv;
const { chromium } = createRequire(modules + '/')('playwright-core');

const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync'],
});
const view = { viewport: { width: 640, height: 600 }, baseURL: base, reducedMotion: 'reduce' };
const page = await (await browser.newContext(view)).newPage();
const plain = await (await browser.newContext({ ...view, javaScriptEnabled: false })).newPage();
const complaints = [];
for (const p of [page, plain]) {
  p.setDefaultTimeout(120_000);
  p.on('pageerror', (e) => complaints.push(String(e)));
  p.on('console', (m) => { if (/Content.Security|Refused/.test(m.text())) complaints.push(m.text()); });
}

const pick = (plainly) => (plainly ? plain : page);

async function shows(p) {
  const text = (sel) => p.locator(sel).textContent();
  return { path: new URL(p.url()).pathname, title: await p.title(), login: await text('h1'), state: await text('#state'), says: await text('#says') };
}

const verbs = {
  async signup({ name, key, plainly, shot }) { // as a person does it
    const p = pick(plainly);
    await p.goto('/');
    await p.getByLabel('Name').fill(name);
    await p.getByLabel('SSH public key').fill(key);
    if (shot) await p.locator('body').screenshot({ path: shot });
    await p.getByRole('button', { name: 'Sign up' }).click();
    const fault = p.getByRole('alert');
    await p.locator('#state').or(fault).waitFor();
    return (await fault.count()) ? { fault: await fault.textContent() } : shows(p);
  },
  async shows({ plainly }) { return shows(pick(plainly)); },
  async until({ state, plainly, shot }) { // by the page's own doing, nobody reloads it
    const p = pick(plainly);
    await p.locator('#state', { hasText: new RegExp(`^${state}$`) }).waitFor();
    if (shot) await p.locator('body').screenshot({ path: shot });
    return shows(p);
  },
  async burst({ names, key }) { // all at once
    await page.goto('/');
    const paths = await page.evaluate(([names, key]) => Promise.all(names.map(async (name) => {
      const answer = await fetch('/sign-up', { method: 'POST', body: new URLSearchParams({ name, key }) });
      return new URL(answer.url).pathname;
    })), [names, key]);
    return { paths };
  },
  async states({ paths }) {
    const states = await page.evaluate((paths) => Promise.all(paths.map(async (path) => {
      const answer = await fetch(path + '/state', { cache: 'no-store' });
      return answer.ok ? (await answer.json()).state : String(answer.status);
    })), paths);
    return { states };
  },
  async complaints() { return { complaints }; },
};

for await (const line of createInterface({ input: process.stdin })) {
  const ask = JSON.parse(line);
  let answer;
  try {
    answer = await verbs[ask.do](ask);
  } catch (e) {
    answer = { error: String(e) };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
}
await browser.close();
