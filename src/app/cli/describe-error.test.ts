import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { errorText } from '../../core/index.ts';
import { readCertificate } from '../../lib/pki/index.ts';
import { AuditError } from '../../service/audit/index.ts';
import { openInput } from '../../service/directory/index.ts';
import { evidenceType } from '../../service/messaging/index.ts';
import { TrustError } from '../../service/trust/index.ts';
import { describeError, isExpected } from './describe-error.ts';
import { readNamedFile } from './read-named-file.ts';

function errorOf(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
}

const main = path.join(import.meta.dirname, 'main.ts');

function runMain(...words: string[]) {
  return spawnSync(process.execPath, [main, ...words], { encoding: 'utf8' });
}

test('an error names the file, the fault and the next step, without the names of system calls', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-errors-'));
  t.after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));
  const missing = path.join(folder, 'none.pem');
  const missingError = errorOf(() => readFileSync(missing));
  assert.equal(describeError(missingError), `${missing}: not found. Check the path and its folders.`);
  const existing = path.join(folder, 'here.pem');
  writeFileSync(existing, '');
  const existingError = errorOf(() => writeFileSync(existing, '', { flag: 'wx' }));
  assert.match(describeError(existingError), /here\.pem: exists already and is not overwritten/);
  const forbidden = Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES', path: 'a.pem' });
  assert.equal(
    describeError(forbidden),
    `a.pem: no permission for the user ${userInfo().username}. Check the modes of the file and its folders, or run the command as the user of the service.`,
  );
  assert.ok(isExpected(missingError) && !isExpected(new TypeError('a fault')));
});

test('a folder and wrong content are told with the name of the file', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-errors-'));
  t.after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));
  const letter = path.join(folder, 'letter.txt');
  writeFileSync(letter, 'Dear Ann');
  const faultOf = (file: string, read: (bytes: Uint8Array) => unknown) =>
    readNamedFile(file, read).catch((error: unknown) => error);
  assert.equal(describeError(await faultOf(folder, readCertificate)), `${folder}: is a folder. Name a file.`);
  const wrong = await faultOf(letter, readCertificate);
  assert.ok(isExpected(wrong));
  assert.match(describeError(wrong), /letter\.txt: not a certificate: .* openssl x509 -in CHAIN\.pem/);
  const fault = await faultOf(letter, () => assert.fail('a fault'));
  assert.ok(!isExpected(fault));
});

test('a file of a directory is named by its path, which the report of the load omits', async () => {
  const fault = await openInput('/no/such/folder/nppes.csv').catch((error: unknown) => error);
  assert.equal(errorText(fault), 'nppes.csv cannot be read: not found');
  assert.equal(describeError(fault), '/no/such/folder/nppes.csv: not found. Check the path and its folders.');
  const other = await openInput(import.meta.dirname).catch((error: unknown) => error);
  assert.equal(describeError(other), 'cli cannot be read: it is a folder');
});

test('what is no evidence of delivery is refused with the name of its file', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-evidence-'));
  t.after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));
  const file = path.join(folder, 'letter.txt');
  const header = Buffer.from(JSON.stringify({ typ: evidenceType, alg: 'RS256', x5c: ['AAAA'] }));
  const forged = { protected: header.toString('base64url'), payload: 'e30', signature: 'AAAA' };
  for (const [content, fault] of [
    ['Dear Ann', 'not JSON'],
    ['[]', 'protected is missing or not base64url'],
    [JSON.stringify({ ...forged, protected: 'bm9uZQ' }), 'protected: not JSON'],
    // A certificate in the document is no file that could be converted.
    [JSON.stringify(forged), ''],
  ] as const) {
    writeFileSync(file, content);
    const { status, stderr } = runMain('evidence', 'verify', file);
    assert.equal(status, 1);
    assert.ok(stderr.startsWith(`${file}: ${fault}`), stderr);
    assert.doesNotMatch(stderr, /the file|openssl/i);
  }
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
  const { status, stderr } = runMain('evidence', 'verify', '/no/such/evidence.json');
  assert.deepEqual(
    [status, stderr],
    [1, '/no/such/evidence.json: not found. Check the path and its folders.\n'],
  );
});
