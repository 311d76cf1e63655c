import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { Hisp } from '../server/index.ts';
import { openAuthority } from './authority.ts';
import { ensureClient } from './sandbox-clients.ts';

test('a damaged file of the sandbox is named, with what to do', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-kept-'));
  t.after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));
  const clock = { now: () => new Date() };
  const authority = () => openAuthority({ folder, name: 'x', baseUrl: 'http://x.example', clock });
  await authority();
  const file = path.join(folder, 'client.json');
  const client = () => ensureClient({ hisp: {} as Hisp, file, name: 'x', directAddresses: [] });
  for (const [name, content, open] of [
    ['client.json', '{"clientId": "hi', client],
    ['client.json', '', client],
    ['x-ca.key', 'x', authority],
    ['x-ca.cer', '', authority],
  ] as const) {
    writeFileSync(path.join(folder, name), content);
    await assert.rejects(open, ({ message }: Error) => {
      assert.ok(message.startsWith(`${path.join(folder, name)} is damaged: `), message);
      assert.match(message, /[Rr]estore it, or delete the sandbox's folder/);
      return true;
    });
  }
});
