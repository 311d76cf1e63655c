/** The commands that the sandbox prints, pasted into a shell. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { edgeAddress, edgeCommands, formatBanner } from '../../src/app/dev/index.ts';
import { needsPrograms, runProgram } from '../support/processes.ts';
import { openTestSandbox } from './sandbox-fixture.ts';

const root = path.resolve(import.meta.dirname, '../..');

test(
  'each printed command works as it is, one for each edge among them',
  needsPrograms('bash', 'curl', 'openssl'),
  async (t) => {
    const { sandbox, databases, close } = await openTestSandbox();
    t.after(close);
    const banner = formatBanner(sandbox, root);
    const [, pasted = ''] = /^Paste these.*\n\n([^]*)\nCtrl-C /m.exec(banner) ?? [];
    const script = `set -o pipefail\ntrap 'echo "FAILED: $BASH_COMMAND"' ERR\n${pasted}`;
    // Commands find a database of PostgreSQL by the setting that the sandbox was started with.
    const url = databases[0]?.location.url;
    const { stdout, stderr } = await runProgram('bash', ['-c', script], {
      cwd: root,
      timeoutMs: 120_000,
      ...(url !== undefined && { env: { OPENHISP_STORAGE_URL: url } }),
    });
    const out = `${stdout.toString()}${stderr.toString()}`;
    assert.doesNotMatch(out, /FAILED|"status":"Error"|^curl:/m, out);
    for (const found of [
      /"providers":\[\{/,
      /"distance"/,
      /^urn:uuid:\S+$/m,
      // The line edge: signed in, the recipient, its text, what was queued, and what has come, or nothing.
      /^OK\nOK\necho@direct\.lakeside\.example\nBEGIN\nOK\nQUEUED echo@direct\.lakeside\.example \S+\n(NONE|MAIL |STATUS )/m,
      /^\* SEARCH/m,
    ])
      assert.match(out, found, out);
    // Nothing is printed of a mail that was sent: it is in Sent.
    const sent = `. "$1"; curl -sS --cacert "$EDGE_CA" -u "$EDGE_USER:$EDGE_PASSWORD" "imaps://${sandbox.edge.imaps}/Sent?ALL"`;
    const found = await runProgram('bash', ['-c', sent, 'bash', sandbox.envFile]);
    assert.match(found.stdout.toString(), /^\* SEARCH 1 2 3\r?$/m, found.stderr.toString());
  },
);

test('docs/edges.md and README.md have the commands of a sandbox on the usual ports', async () => {
  const commands = edgeCommands({
    address: edgeAddress,
    username: edgeAddress,
    password: '',
    caFile: '',
    line: '127.0.0.1:32541',
    smtps: '127.0.0.1:8465',
    submission: '127.0.0.1:8587',
    imaps: '127.0.0.1:8993',
    pop3s: '127.0.0.1:8995',
  }).trim();
  const textOf = (file: string): Promise<string> => readFile(path.join(root, file), 'utf8');
  assert.ok((await textOf('docs/edges.md')).includes(commands), commands);
  const [imap = 'none'] = /^curl .* "imaps:.*$/m.exec(commands) ?? [];
  assert.ok((await textOf('README.md')).includes(imap), imap);
});
