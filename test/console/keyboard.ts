/** The keyboard as people use it: nothing is clicked, and focus is where Tab takes it. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';

const maxSteps = 150;

/** The accessible name of what has focus, about: its label, its `aria-label`, or its text. */
const focusedName = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return '';
  const label = element.labels?.[0]?.querySelector('span')?.innerText ?? element.labels?.[0]?.innerText;
  return (element.getAttribute('aria-label') ?? label ?? element.innerText ?? '').trim();
})()`;

/** Presses Tab until what is named has focus. */
export async function tabTo(
  page: Page,
  name: string | RegExp,
  { isBack = false }: { readonly isBack?: boolean } = {},
): Promise<void> {
  const seen: string[] = [];
  for (let step = 0; step < maxSteps; step++) {
    const focused = String(await page.evaluate(focusedName));
    if (typeof name === 'string' ? focused === name : name.test(focused)) return;
    seen.push(focused.slice(0, 30));
    await page.keyboard.press(isBack ? 'Shift+Tab' : 'Tab');
  }
  assert.fail(`Tab does not reach ${String(name)}; it reaches ${[...new Set(seen)].join(' | ')}`);
}

/** Goes to a button or link by Tab and presses Enter on it. */
export async function choose(
  page: Page,
  name: string | RegExp,
  options: { readonly isBack?: boolean } = {},
): Promise<void> {
  await tabTo(page, name, options);
  await page.keyboard.press('Enter');
}

/** Saves what a list shows, and reads the file without its byte order mark. */
export async function saveCsv(page: Page): Promise<{ readonly name: string; readonly lines: string[] }> {
  const saved = page.waitForEvent('download');
  await choose(page, 'Save as CSV');
  const file = await saved;
  const text = await readFile(await file.path(), 'utf8');
  return { name: file.suggestedFilename(), lines: text.replace('\uFEFF', '').trimEnd().split('\r\n') };
}

const looks = [
  { theme: 'light', width: 1440 },
  { theme: 'dark', width: 1440 },
  // A wide window at 400 %.
  { theme: 'light', width: 320 },
] as const;

/** Checks what a page shows in both themes and at phone width, and leaves it as it was. */
export async function tryAll(
  page: Page,
  what: string,
  ...checks: readonly ((page: Page, what: string) => Promise<void>)[]
): Promise<void> {
  for (const { theme, width } of looks) {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width, height: 900 });
    for (const check of checks) await check(page, `${what}, ${theme}, ${width} px`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 1440, height: 900 });
}
