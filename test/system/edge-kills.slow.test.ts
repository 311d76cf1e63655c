import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { runEdgeKills } from '../processes/edge-kills.ts';
import { createRandom } from '../support/fast-check.ts';

test('what goes through the edges is in the client once, and its outcome told, whatever HISP is killed', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-edge-kills-'));
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const report = await runEdgeKills({
    folder,
    kills: 4,
    maxLifeMs: 1_000,
    random: createRandom('edge-kills'),
    drainMs: 120_000,
  });
  const { lost, untold, doubled, renamed, wrong, accepted, by } = report;
  const counts = [accepted.submission, accepted.line, by['imap'], by['pop3'], by['line']];
  assert.ok(
    counts.every((count = 0) => count > 0),
    counts.join(),
  );
  const none = { lost: [], untold: [], doubled: [], renamed: [], wrong: [] };
  assert.deepEqual({ lost, untold, doubled, renamed, wrong }, none);
});
