import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fc } from '../../../test/support/fast-check.ts';
import { PlatformError, type PlatformErrorCode } from '../errors.ts';
import { loadMasterKey, masterKeyId, parseMasterKey } from './master-key.ts';
import { decryptAead, encryptAead } from './aead.ts';
import { createVault } from './vault.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-vault-'));
after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));
const hasCode = (code: PlatformErrorCode) => (error: unknown) =>
  error instanceof PlatformError && error.code === code;

test('SEC-05: every encrypted value can be decrypted, only in its context', () => {
  const vault = createVault(randomBytes(32));
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.string(), fc.string(), (plain, context, other) => {
      const encrypted = vault.encrypt(plain, context);
      assert.deepEqual([...vault.decrypt(encrypted, context)], [...plain]);
      if (other !== context)
        assert.throws(() => vault.decrypt(encrypted, other), hasCode('PLATFORM_SEAL_BROKEN'));
    }),
    { numRuns: 100 },
  );
});

test('SEC-05: the same plain value never encrypts to the same bytes', () => {
  const vault = createVault(randomBytes(32));
  assert.notDeepEqual(vault.encrypt(Buffer.from('x'), 'c'), vault.encrypt(Buffer.from('x'), 'c'));
});

test('a flipped bit anywhere, or a cut end, is refused', () => {
  const vault = createVault(randomBytes(32));
  const encrypted = Buffer.from(vault.encrypt(Buffer.from('content'), 'message:1'));
  for (let position = 0; position < encrypted.length; position++) {
    const changed = Buffer.from(encrypted);
    changed[position] = (changed[position] ?? 0) ^ 1;
    assert.throws(() => vault.decrypt(changed, 'message:1'), PlatformError);
    assert.throws(() => vault.decrypt(encrypted.subarray(0, position), 'message:1'), PlatformError);
  }
});

test('another master key opens nothing', () => {
  const encrypted = createVault(randomBytes(32)).encrypt(Buffer.from('content'), 'c');
  assert.throws(
    () => createVault(randomBytes(32)).decrypt(encrypted, 'c'),
    hasCode('PLATFORM_SEAL_KEY_UNKNOWN'),
  );
});

test('a MAC is valid for its bytes, its context and its key only', () => {
  const vault = createVault(randomBytes(32));
  const data = Buffer.from('row');
  const mac = vault.mac(data, 'client:1');
  vault.requireMac(mac, data, 'client:1');
  assert.throws(() => vault.requireMac(mac, Buffer.from('roW'), 'client:1'), hasCode('PLATFORM_MAC_INVALID'));
  assert.throws(() => vault.requireMac(mac, data, 'client:2'), hasCode('PLATFORM_MAC_INVALID'));
  assert.throws(() => vault.requireMac(mac.subarray(0, -1), data, 'client:1'), PlatformError);
  assert.throws(() => vault.requireMac(Buffer.alloc(0), data, 'client:1'), PlatformError);
  const other = createVault(randomBytes(32));
  assert.throws(() => other.requireMac(mac, data, 'client:1'), hasCode('PLATFORM_SEAL_KEY_UNKNOWN'));
  for (let position = 0; position < mac.length; position++) {
    const changed = Buffer.from(mac);
    changed[position] = (changed[position] ?? 0) ^ 1;
    assert.throws(() => vault.requireMac(changed, data, 'client:1'), PlatformError);
  }
});

test('a key of the wrong length is never used', () => {
  assert.throws(
    () => encryptAead(randomBytes(16), Buffer.alloc(1), 'c'),
    hasCode('PLATFORM_MASTER_KEY_INVALID'),
  );
  assert.throws(
    () => decryptAead(randomBytes(31), Buffer.alloc(40), 'c'),
    hasCode('PLATFORM_MASTER_KEY_INVALID'),
  );
});

test('SEC-06: the master key comes from the environment or from a file, and the environment wins', () => {
  const file = path.join(folder, 'both.key');
  const base64 = randomBytes(32).toString('base64');
  writeFileSync(file, randomBytes(32).toString('base64'), { mode: 0o600 });
  assert.deepEqual(loadMasterKey({ base64, file }), parseMasterKey(base64));
  assert.notDeepEqual(loadMasterKey({ file }), parseMasterKey(base64));
});

test('a key file is made once, for its owner alone, and only when asked for', () => {
  const file = path.join(folder, 'new.key');
  assert.throws(() => loadMasterKey({ file }), hasCode('PLATFORM_KEY_FILE_UNUSABLE'));
  assert.equal(existsSync(file), false);
  const first = loadMasterKey({ file, createsFile: true });
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(loadMasterKey({ file, createsFile: true }), first);
  assert.throws(
    () => loadMasterKey({ file: path.join(folder, 'none', 'x.key'), createsFile: true }),
    hasCode('PLATFORM_KEY_FILE_UNUSABLE'),
  );
});

test('a key file that others can read is refused', () => {
  const file = path.join(folder, 'open.key');
  writeFileSync(file, randomBytes(32).toString('base64'));
  chmodSync(file, 0o644);
  assert.throws(() => loadMasterKey({ file }), hasCode('PLATFORM_KEY_FILE_UNUSABLE'));
});

test('refuses an invalid key without repeating it', () => {
  const bad = ['', 'short', randomBytes(31).toString('base64'), `${randomBytes(32).toString('base64')}!`];
  for (const text of bad) {
    assert.throws(
      () => parseMasterKey(text),
      (error) =>
        hasCode('PLATFORM_MASTER_KEY_INVALID')(error) &&
        (text === '' || !(error as Error).message.includes(text)),
    );
  }
  assert.throws(() => loadMasterKey({}), hasCode('PLATFORM_MASTER_KEY_INVALID'));
});

test('the id of a master key reveals nothing of the key', () => {
  const key = parseMasterKey(randomBytes(32).toString('base64'));
  assert.match(masterKeyId(key), /^[0-9a-f]{16}$/);
  assert.ok(!Buffer.from(key).toString('hex').includes(masterKeyId(key)));
  assert.ok(readFileSync(path.join(folder, 'new.key'), 'utf8').length > 40);
});
