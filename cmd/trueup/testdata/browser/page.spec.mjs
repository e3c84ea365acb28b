import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import AxeBuilder from '@axe-core/playwright';
import { expect, test } from '@playwright/test';
import { HtmlValidate } from 'html-validate';

const pages = process.env.PAGES, shots = process.env.SHOTS;
const states = readdirSync(pages).map(file => file.replace('.html', ''));
const desk = { width: 1100, height: 800 }, phone = { width: 360, height: 740 };

// open opens a page, 12 s after it was written, and fails on whatever its browser complains of: a policy broken, a file not found.
async function open(page, state, options = {}) {
  const complaints = [];
  page.on('console', message => complaints.push(message.text()));
  page.on('pageerror', error => complaints.push(error.message));
  page.on('request', request => request.url().startsWith('file:') || complaints.push(request.url()));
  await page.clock.setFixedTime(new Date('2026-11-29T12:00:12Z'));
  await page.setViewportSize(options.size ?? desk);
  await page.emulateMedia(options.media ?? { colorScheme: 'light' });
  await page.goto('file://' + join(pages, state + '.html'));
  expect(complaints).toEqual([]);
}

// axe looks at a page by all rules, or by those alone. A few of a kind say what hundreds would, and take seconds where those take a minute.
async function axe(page, ...rules) {
  const more = 'tbody tr:nth-child(n+16), details:nth-of-type(n+16), .slots > :nth-child(n+16), .names li:nth-child(n+16)';
  await page.evaluate(more => document.querySelectorAll(more).forEach(e => e.remove()), more);
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  const builder = new AxeBuilder({ page });
  const found = await (rules.length > 0 ? builder.withRules(rules) : builder.withTags(tags)).analyze();
  expect(found.violations.map(v => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map(n => n.target + ' ' + n.failureSummary).join('; ')}`)).toEqual([]);
}

const wide = page => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

for (const state of states) {
  test(`${state}: valid, accessible, nothing beside it, and fits`, async ({ page }) => {
    const file = join(pages, state + '.html');
    const report = await new HtmlValidate({ extends: ['html-validate:recommended'] }).validateString(readFileSync(file, 'utf8'));
    expect(report.results.flatMap(r => r.messages.map(m => `${m.line}: ${m.ruleId}: ${m.message}`))).toEqual([]);
    expect(statSync(file).size).toBeLessThan(300_000);
    await open(page, state);
    await expect(page.locator('h1')).toHaveCount(1);
    for (const card of await page.locator('.card').all()) await expect(card).toBeVisible();
    expect(await page.locator('.card').count() > 0).toBe(await page.locator('h1.needs').count() === 1);
    expect((await page.title()).length).toBeLessThanOrEqual(70);
    for (const [name, size, colorScheme] of [['light', desk, 'light'], ['phone', phone, 'light'], ['dark', desk, 'dark']]) {
      if (name === 'dark' && !shots) continue; // as wide as in the light
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme });
      expect(await wide(page)).toBeLessThanOrEqual(0);
      const outside = await page.locator('.slots rect, .runs rect').evaluateAll(marks =>
        marks.filter(m => m.getBoundingClientRect().right > m.ownerSVGElement.getBoundingClientRect().right + 0.5).map(m => m.outerHTML));
      expect(outside).toEqual([]);
      if (shots) await page.screenshot({ path: join(shots, `${state}-${name}.png`), fullPage: true });
    }
    await page.setViewportSize(desk);
    await page.emulateMedia({ colorScheme: 'light' });
    await axe(page);
  });
}

const dark = { media: { colorScheme: 'dark' } }, forced = { media: { forcedColors: 'active', colorScheme: 'dark' } };
for (const [state, name, options, ...rules] of [['held', 'dark', dark, 'color-contrast'], ['failing', 'dark', dark, 'color-contrast'],
  ['waiting', 'dark', dark, 'color-contrast'], ['trigger-dead', 'forced colours', forced, 'color-contrast'], ['failing', 'on a phone', { size: phone }]]) {
  test(`${state}, ${name}: accessible`, async ({ page }) => {
    await open(page, state, options);
    await axe(page, ...rules);
  });
}

for (const [state, name, options] of [['held', 'light', { size: { width: 900, height: 880 } }],
  ['failing', 'dark', { size: { width: 900, height: 880 }, ...dark }], ['well', 'phone', { size: { width: 360, height: 880 } }]]) {
  if (shots) test(`the picture in the documentation: ${state}`, async ({ page }) => {
    await open(page, state, options);
    await page.screenshot({ path: join(shots, `status-${state}-${name}.png`) });
  });
}

test('what needs a person comes first, with the command', async ({ page }) => {
  await open(page, 'held');
  await expect(page.locator('h1')).toHaveText('1 plan is held');
  const card = page.locator('.card').first();
  await expect(card).toContainText('41 removals of 98');
  await expect(card.locator('.is-minus')).toHaveCount(24);
  await expect(card).toContainText('and 17 more');
  await expect(card.locator('pre')).toHaveText(['trueup show r-7f3k2', 'trueup approve r-7f3k2']);
  await card.locator('pre').last().click();
  expect(await page.evaluate(() => getSelection().toString())).toBe('trueup approve r-7f3k2');
  const order = await page.locator('.card, #day, #targets, #trigger, #stories').evaluateAll(all => all.map(e => e.className || e.id));
  expect(order).toEqual(['card is-held', 'day', 'targets', 'trigger', 'stories']);
  await expect(page.locator('tbody tr').first()).toContainText('command:members');
});

test('by keyboard: to the targets, along the runs, into a run\'s story', async ({ page }) => {
  await open(page, 'failing');
  await page.keyboard.press('Tab');
  await expect(page.locator('.skip')).toBeFocused();
  await expect(page.locator('.skip')).toBeInViewport();
  await page.keyboard.press('Tab');
  const run = page.locator('.runs a').first();
  await expect(run).toBeFocused();
  await expect(run.locator('.says')).toBeVisible();
  await expect(run.locator('.says')).toContainText('failed');
  await expect(page.locator('.hint')).toBeHidden();
  const places = await page.locator('a, summary').evaluateAll(all => all.map(e => e.getBoundingClientRect()).filter(r => r.width > 0).length);
  expect(places).toBe(await page.locator('a, summary').count());
  expect(await page.locator('.runs a').count()).toBeLessThanOrEqual(24);
  await page.keyboard.press('Enter');
  const story = page.locator(':target');
  await expect(story).toBeVisible();
  await expect(story).toContainText('failed');
  await expect(story).toBeInViewport();
});

test('a target leads to its history', async ({ page }) => {
  await open(page, 'failing');
  await page.locator('tbody a', { hasText: 'forgejo:git' }).click();
  await expect(page.locator(':target')).toBeVisible();
  await expect(page.locator(':target li')).toHaveCount(3);
  await expect(page.locator(':target')).toContainText('trueup show r-9c2d');
});

test('the mouse over a run names it', async ({ page }) => {
  await open(page, 'well');
  const run = page.locator('.runs a').nth(1);
  await expect(run.locator('.says')).toBeHidden();
  await run.locator('.hit').hover();
  await expect(run.locator('.says')).toBeVisible();
});

test('an old page says so, a fresh one does not, and ages go on', async ({ page }) => {
  await open(page, 'well');
  await expect(page.locator('#written')).toHaveText('12 s');
  await expect(page.locator('tbody time').nth(1)).toHaveText('24 s');
  await expect(page.locator('.outdated')).toBeHidden();
  await page.clock.setFixedTime(new Date('2026-11-29T12:14:59Z'));
  await page.reload();
  await expect(page.locator('.outdated')).toBeHidden();
  await page.clock.setFixedTime(new Date('2026-11-29T12:15:01Z'));
  await page.reload();
  await expect(page.locator('#written')).toHaveText('15 min');
  await expect(page.locator('.outdated')).toBeVisible();
  await page.clock.setFixedTime(new Date('2026-11-29T11:59:00Z')); // the host's clock is ahead
  await page.reload();
  await expect(page.locator('#written')).toHaveText('0 s');
});

test('without script everything is there but the ages', async ({ browser }) => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto('file://' + join(pages, 'held.html'));
  await expect(page.locator('footer')).toContainText('at 2026-11-29 12:00:00 UTC');
  await expect(page.locator('tbody tr').first()).toContainText('2 h');
  await page.locator('summary').first().click();
  await expect(page.locator('.story').first()).toBeVisible();
  await context.close();
});

test('hostile text is text', async ({ page }) => {
  await open(page, 'hostile');
  expect(await page.title()).not.toContain('owned');
  await expect(page.locator('script')).toHaveCount(1);
  await expect(page.locator('img, iframe, object, embed, link, form')).toHaveCount(0);
  await expect(page.locator('tbody tr').first()).toContainText('"><script>document.title="owned"</script><img src=x');
  expect(await page.content()).not.toMatch(/[\u202a-\u202e\u001b]/);
  expect(await page.locator('a').evaluateAll(all => all.filter(a => !a.getAttribute('href').startsWith('#')).length)).toBe(0);
});

test('reduced motion, forced colours', async ({ page }) => {
  await open(page, 'failing', { media: { reducedMotion: 'no-preference' } });
  const scrolls = () => page.evaluate(() => getComputedStyle(document.documentElement).scrollBehavior);
  expect(await scrolls()).toBe('smooth');
  await page.emulateMedia({ reducedMotion: 'reduce', forcedColors: 'active' });
  expect(await scrolls()).toBe('auto');
  const seen = await page.locator('.run.is-failed').first().evaluate(e => [getComputedStyle(e).fill, getComputedStyle(document.body).backgroundColor]);
  expect(seen[0]).not.toBe(seen[1]);
  await expect(page.locator('.cross').first()).toBeVisible();
  await expect(page.locator('.state.is-failing').first()).toContainText('failing');
  if (shots) await page.screenshot({ path: join(shots, 'failing-forced.png'), fullPage: true });
});
