import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { AuditError } from '../../service/audit/index.ts';
import { TrustError } from '../../service/trust/index.ts';
import { describeError, isExpected } from './describe-error.ts';

function errorOf(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
}

test('an error names the file, the fault and the next step, without the names of system calls', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-errors-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const missing = path.join(folder, 'none.pem');
  const missingError = errorOf(() => readFileSync(missing));
  assert.equal(describeError(missingError), `${missing}: not found. Check the path and its folders.`);
  const existing = path.join(folder, 'here.pem');
  writeFileSync(existing, '');
  const existingError = errorOf(() => writeFileSync(existing, '', { flag: 'wx' }));
  assert.match(describeError(existingError), /here\.pem: exists already and is not overwritten/);
  assert.match(describeError(errorOf(() => readFileSync(folder))), /is a folder|EISDIR/);
  const forbidden = Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES', path: 'a.pem' });
  assert.equal(
    describeError(forbidden),
    `a.pem: no permission for the user ${userInfo().username}. Check the modes of the file and its folders, or run the command as the user of the service.`,
  );
  assert.ok(isExpected(missingError) && !isExpected(new TypeError('a fault')));
});

test('a known error says the next step after its text', () => {
  assert.equal(
    describeError(new TrustError('TRUST_DOMAIN_UNKNOWN', 'x.example is not a hosted domain')),
    'x.example is not a hosted domain. List the hosted domains: openhisp domain list. Host one: openhisp domain add DOMAIN.',
  );
  assert.match(
    describeError(new AuditError('AUDIT_CHAIN_BROKEN', 'audit events after 5 are missing')),
    /^audit events after 5 are missing\. After a restore from a backup: openhisp audit restart /,
  );
  assert.equal(describeError(new TypeError('a fault')), 'a fault');
});

test('the program prints it on standard error and exits with 1', () => {
  const main = path.join(import.meta.dirname, 'main.ts');
  const words = ['evidence', 'verify', '/no/such/evidence.json'];
  const { status, stderr } = spawnSync(process.execPath, [main, ...words], { encoding: 'utf8' });
  assert.deepEqual(
    [status, stderr],
    [1, '/no/such/evidence.json: not found. Check the path and its folders.\n'],
  );
});
