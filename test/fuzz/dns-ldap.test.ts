import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createLdapClient } from '../../src/lib/ldap/index.ts';
import { respond } from '../../src/lib/ldap/respond.ts';
import { dnsTarget } from './dns.ts';
import { fuzz, readCorpus } from './fuzz.ts';
import { ldapTarget } from './ldap.ts';
import { createRandom, seed } from '../support/fast-check.ts';
import { mutate } from './mutate.ts';
import { timeScale } from '../support/time-scale.ts';

for (const target of [dnsTarget, ldapTarget]) {
  for (const [file, bytes] of readCorpus(target.name)) {
    test(`SEC-11: the ${target.name} reader takes ${file} and everything that begins like it`, async () => {
      assert.notEqual(await target.run(bytes), '');
      for (let length = 0; length < bytes.length; length++)
        await target.run(Buffer.from(bytes.subarray(0, length)));
    });
  }

  test(`SEC-11: the ${target.name} reader takes thousands of damaged samples`, async () => {
    const { runs, outcomes } = await fuzz(target, { runs: 5_000, seconds: 20, seed });
    assert.ok(runs > 0 && outcomes.size > 5);
  });
}

test('SEC-11: the LDAP client ends after any answer of a server', async (t) => {
  const random = createRandom('LDAP answers');
  const directory = { base: 'o=openhisp', findCertificates: () => [new Uint8Array(100).fill(0x30)] };
  const samples = [...readCorpus('ldap').values()];
  const damage = (message: Buffer) =>
    random() < 0.2 ? mutate(message, samples, ldapTarget.tokens, random) : message;
  const server = createServer((socket) => {
    const answer = async (request: Buffer) => {
      for (const message of (await respond(request, directory)).messages) socket.write(damage(message));
    };
    socket.on('error', () => {});
    // The client asks one thing after the other, and what it asks fits into one piece.
    socket.on('data', (chunk) => void answer(chunk));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const resolveAddresses = async () =>
    ({ status: 'found', records: ['127.0.0.1'], ttlSeconds: 1, transport: 'udp' }) as const;
  const client = createLdapClient({
    dns: { resolveAddresses },
    allowPrivate: true,
    timeoutMs: 2_000 * timeScale(),
  });
  const target = { host: 'x', port: (server.address() as AddressInfo).port, priority: 0, weight: 0 };
  const lookUp = () => client.findCertificates({ targets: [target], mail: 'bob@direct.example.org' });
  const answers = await Promise.all(Array.from({ length: 300 }, lookUp));
  const outcomes = new Set(answers.map(({ status }) => status));
  assert.ok(outcomes.has('found') && outcomes.has('unreachable'));
});
