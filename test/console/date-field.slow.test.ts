/** The field of dates and its calendar in real Chromium, by keyboard and by hand, as a filter and in a dialog. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import {
  checkAccessibility,
  checkWidth,
  openConsoleWorld,
  skip,
  until,
  type ConsoleWorld,
} from './console-world.ts';
import { choose, tryAll } from './keyboard.ts';

describe('the field of dates', { skip }, () => {
  let world: ConsoleWorld;
  let page: Page;
  const press = (...keys: readonly string[]): Promise<void> =>
    keys.reduce((done, key) => done.then(() => page.keyboard.press(key)), Promise.resolve());
  const focused = (): Promise<string> =>
    page.evaluate<string>(
      `document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? ''`,
    );
  const query = (name: string): string | null => new URL(page.url()).searchParams.get(name);
  const first = () => page.getByLabel('First day');
  const calendar = () => page.locator('.calendar');

  before(async () => {
    world = await openConsoleWorld();
    page = await world.openPage();
    await world.show(page, '/messages?when=days');
  });
  after(async () => {
    await world.close();
    assert.deepEqual(world.complaints, []);
  });

  it('takes what people write, and says what is no date', async () => {
    await first().fill('Nov 20, 2026');
    await press('Tab');
    await until(
      () => query('after'),
      (day) => day === '2026-11-20',
      'the first day',
    );
    assert.equal(await first().inputValue(), '11/20/2026');
    await page.getByLabel('Last day').fill('2/30/2026');
    await press('Enter');
    await page.getByRole('alert').getByText('Not a date. Write 11/20/2026.').waitFor();
    await tryAll(page, 'a text that is no date', checkAccessibility, checkWidth);
    await page.getByLabel('Last day').fill('11/19/2026');
    await press('Enter');
    await page.getByRole('alert').getByText('Not before 11/20/2026.').waitFor();
    assert.equal(query('before'), null);
    await page.getByLabel('Last day').fill('');
    await press('Enter');
    await page.getByRole('alert').getByText('Not before').waitFor({ state: 'detached' });
  });

  it('is chosen from a calendar by keyboard', async () => {
    await first().focus();
    await press('Tab', 'Enter');
    for (const [key, day] of [
      ['', 'Friday, November 20, 2026'],
      ['Home', 'Sunday, November 15, 2026'],
      ['End', 'Saturday, November 21, 2026'],
      ['ArrowRight', 'Sunday, November 22, 2026'],
      ['ArrowDown', 'Sunday, November 29, 2026'],
      ['ArrowDown', 'Sunday, December 6, 2026'],
      ['ArrowUp', 'Sunday, November 29, 2026'],
      ['ArrowLeft', 'Saturday, November 28, 2026'],
      ['Shift+PageDown', 'Sunday, November 28, 2027'],
      ['Shift+PageUp', 'Saturday, November 28, 2026'],
      ['PageDown', 'Monday, December 28, 2026'],
      ['ArrowRight', 'Tuesday, December 29, 2026'],
      ['PageDown', 'Friday, January 29, 2027'],
      // The last day of a shorter month.
      ['PageDown', 'Sunday, February 28, 2027'],
    ] as const) {
      if (key !== '') await press(key);
      await until(focused, (name) => name === day, `${key || 'opened'}: ${day}`);
    }
    await tryAll(page, 'an open calendar', checkAccessibility, checkWidth);
    await press('Escape');
    await calendar().waitFor({ state: 'detached' });
    assert.equal(await focused(), 'Choose from a calendar');
    assert.equal(query('after'), '2026-11-20', 'Escape chooses nothing');
    await press('Enter', 'ArrowLeft', 'Enter');
    await until(
      () => query('after'),
      (day) => day === '2026-11-19',
      'the day before',
    );
    assert.equal(await focused(), 'Choose from a calendar');
    // A letter in the calendar is none of the keys of screens, and Tab out of it closes it.
    await press('Enter', 'Tab', 'Tab');
    await calendar().waitFor({ state: 'detached' });
  });

  it('is chosen by hand on a phone', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    const opener = page.getByRole('button', { name: 'Choose from a calendar' }).last();
    await opener.click();
    for (const button of await calendar().getByRole('button').all()) {
      const box = await button.boundingBox();
      assert.ok((box?.width ?? 0) >= 44 && (box?.height ?? 0) >= 44, JSON.stringify(box));
    }
    const frame = await calendar().boundingBox();
    assert.ok(
      frame !== null && frame.x >= 0 && frame.x + frame.width <= 390 && frame.y + frame.height <= 844,
    );
    // The button closes what it opened; so does a touch elsewhere.
    await opener.click();
    await calendar().waitFor({ state: 'detached' });
    await opener.click();
    await page.locator('h1').click();
    await calendar().waitFor({ state: 'detached' });
    await opener.click();
    await calendar().getByRole('button', { name: 'Next month' }).click();
    await calendar().getByRole('button', { name: 'Previous month' }).click();
    const before = calendar().getByRole('button', { name: 'Wednesday, November 18, 2026' });
    assert.equal(await before.getAttribute('aria-disabled'), 'true');
    await before.click({ force: true });
    assert.equal(query('before'), null);
    await calendar().getByRole('button', { name: 'Today' }).click();
    await until(
      () => query('before'),
      (day) => day !== null,
      'the last day',
    );
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  it('takes a time in a dialog, and Escape closes the calendar alone', async () => {
    await world.show(page, '/queue?domain=direct.quiet.example');
    await choose(page, 'Hold it before its maintenance');
    await choose(page, 'Hold');
    const dialog = page.getByRole('dialog', { name: 'Hold deliveries?' });
    await dialog.getByLabel('Reason').fill('announced');
    await dialog.getByLabel('Until').fill('soon');
    await press('Enter');
    await dialog.getByText('Not a date. Write 11/20/2026, 8:00 AM.').waitFor();
    await dialog.getByLabel('Until').fill('1/2/2099');
    await dialog.getByRole('button', { name: 'Choose from a calendar' }).click();
    await until(focused, (name) => name === 'Friday, January 2, 2099', 'the day that was written');
    await press('ArrowRight', 'Enter');
    await calendar().getByLabel('Time').selectOption('15:30');
    await tryAll(page, 'a calendar in a dialog', checkAccessibility, checkWidth);
    await press('Escape');
    await calendar().waitFor({ state: 'detached' });
    assert.equal(await dialog.getByLabel('Until').inputValue(), '1/3/2099, 3:30 PM');
    await dialog.getByRole('button', { name: 'Hold' }).click();
    await page.getByText(/until\s+Jan 3, 2099/).waitFor();
  });
});
