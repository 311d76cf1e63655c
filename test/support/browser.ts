import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

const file = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((name) =>
  existsSync(name),
);

/** For `describe`: skipped with the reason where there is no browser. */
export const needsBrowser = { skip: file === undefined ? 'Chromium is not installed' : false };

const args =
  '--no-sandbox --disable-gpu --disable-dev-shm-usage --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync';

/** `more`: further arguments of Chromium. */
export function openBrowser(more: readonly string[] = []): Promise<Browser> {
  return chromium.launch({ executablePath: file ?? '', args: [...args.split(' '), ...more] });
}
