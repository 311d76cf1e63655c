import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { chromium } from 'playwright-core';
import { startOauthServer } from '../conformance/oauth-server.ts';

const browser = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((file) =>
  existsSync(file),
);

test(
  'the readable API page runs in a browser under its own policy, and shows the operations',
  { skip: browser === undefined ? 'no Chromium on this machine' : false },
  async () => {
    const server = await startOauthServer();
    const opened = await chromium.launch({
      executablePath: browser ?? '',
      args: ['--no-sandbox', '--disable-background-networking'],
    });
    try {
      const page = await opened.newPage();
      const complaints: string[] = [];
      page.on('console', (message) => {
        if (message.type() === 'error') complaints.push(message.text());
      });
      page.on('request', (request) => {
        if (!/^(data:|blob:)/.test(request.url()) && !request.url().startsWith(server.url))
          complaints.push(`asked for ${request.url()}`);
      });
      await page.goto(`${server.url}/docs/`);
      await page.getByText('Get an access token').first().waitFor();
      assert.deepEqual(complaints, []);
    } finally {
      await opened.close();
    }
  },
);
