import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

const file = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((name) =>
  existsSync(name),
);

/** For `describe`: skipped with the reason where there is no browser. */
export const needsBrowser = { skip: file === undefined ? 'Chromium is not installed' : false };

export function openBrowser(): Promise<Browser> {
  const args = [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    '--disable-background-networking',
  ];
  return chromium.launch({ executablePath: file ?? '', args });
}
