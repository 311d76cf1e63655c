/** A mailbox that nobody reads, from the rows of clients and addresses to what an operator is told. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DoctorOptions } from '../../src/app/doctor/doctor-options.ts';
import { examineTrust } from '../../src/app/doctor/examine-trust.ts';
import { createMailboxWatch } from '../../src/app/server/watch-mailboxes.ts';
import { createManualClock, silentLog } from '../../src/core/index.ts';
import { readMdnOrDsn } from '../../src/lib/mdn/index.ts';
import { parseEntity } from '../../src/lib/mime/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import { createMetrics, createVault, loadConfig } from '../../src/platform/index.ts';
import { createAudit } from '../../src/service/audit/index.ts';
import { createOauth } from '../../src/service/oauth/index.ts';
import { createTrust } from '../../src/service/trust/index.ts';
import { collectLines } from '../support/collect-lines.ts';
import { openTestStorage } from '../support/storage.ts';
import { alice, bob, mallory, startTestMessaging } from './start-messaging.ts';

test('a hosted address that no enabled client may fetch is named by readiness, log, metric and doctor', async () => {
  const storage = await openTestStorage();
  const clock = createManualClock(new Date('2026-06-01T00:00:00Z'));
  const vault = createVault(Buffer.alloc(32, 7));
  const audit = createAudit({ storage, vault, clock, log: silentLog });
  const trust = createTrust({ storage, vault, clock, audit });
  const oauth = createOauth({ storage, vault, clock, audit });
  const metrics = createMetrics();
  const { log, lines } = collectLines();
  const watch = createMailboxWatch({ trust, oauth, clock, log, metrics });
  const examine = async (more = {}) =>
    (
      await examineTrust('d.example', {
        config: loadConfig({}, undefined, more),
        clock,
        trust,
        clients: oauth.clients,
      } as unknown as DoctorOptions)
    ).flatMap(({ check, severity, text }) => (check === 'mailbox' ? [`${severity}: ${text}`] : []));
  const look = async (): Promise<string> => {
    await watch.run();
    const [, count] = /^openhisp_mailboxes_unread (\d+)$/m.exec(await metrics.text()) ?? [];
    return `${count} ${watch
      .degraded()
      .map(({ part, detail }) => `${part}: ${detail}`)
      .join()}`;
  };

  for (const domain of ['d.example', 'e.example', 'f.example']) await trust.addDomain(domain);
  for (const name of ['Ann@d.example', 'bo@d.example', 'cy@d.example', 'di@d.example', 'ed@e.example'])
    await trust.putAddress(parseDirectAddress(name));
  await trust.putAddress(parseDirectAddress('off@d.example'), 'disabled');
  await oauth.clients.create({
    clientId: 'e-client',
    name: 'All of e',
    scopes: ['messaging.api'],
    directAddresses: ['@e.example'],
  });
  // It may search the directory only.
  await oauth.clients.create({
    clientId: 'searcher',
    name: 'No mail',
    scopes: ['provider-directory'],
    directAddresses: ['@d.example'],
  });
  const all = 'Nobody reads the mail of Ann@d.example, bo@d.example, cy@d.example and 1 more of d.example';
  assert.equal(await look(), `4 mailboxes: ${all}: no enabled client has these addresses.`);
  assert.deepEqual(await examine(), [
    `warning: ${all}: no enabled client has these addresses. Mail to it is answered as processed, and waits here for ever.`,
  ]);
  assert.match(
    (await examine({ 'messaging.refusesUnreadMail': 'true' }))[0] ?? '',
    /Mail to it is refused\.$/,
  );

  await oauth.clients.create({
    clientId: 'clinic',
    name: 'Clinic',
    scopes: ['messaging.api'],
    directAddresses: ['ann@d.example', 'bo@d.example', 'cy@d.example'],
  });
  assert.equal(
    await look(),
    '1 mailboxes: Nobody reads the mail of di@d.example: no enabled client has the address.',
  );
  // Told once a day for each domain.
  assert.equal(lines.length, 1);
  await oauth.clients.disable('e-client');
  assert.match(await look(), /^2 .*di@d\.example.*ed@e\.example/);
  await oauth.clients.enable('e-client');
  await oauth.clients.update('clinic', { directAddresses: ['@d.example'] });
  assert.equal(await look(), '0 ');
  assert.deepEqual(await examine(), []);
  await audit.close();
  await storage.close();
});

test('messaging.refusesUnreadMail: its sender is told, and other recipients get the message', async (t) => {
  for (const refusesUnreadMail of [false, true]) {
    const world = await startTestMessaging({ settings: { refusesUnreadMail } });
    t.after(() => world.close());
    await world.oauth.clients.disable('other');
    await world.receive({
      from: bob,
      to: [alice, mallory],
      inner: `From: ${bob}\nTo: ${alice}, ${mallory}\nMessage-ID: <u@direct.beta.example>\nDate: Sat, 21 Nov 2026 12:00:00 +0000\n\nText`,
    });
    const stored = await world.db.selectFrom('inbox_copy').select('address').execute();
    const reports = world.deliveries.flatMap(({ message }) => {
      const read = readMdnOrDsn(parseEntity(message));
      return read?.kind === 'dsn'
        ? read.recipients.map(({ finalRecipient, status }) => `${finalRecipient} ${status}`)
        : [read?.kind];
    });
    const refused = await world.audit.find({ action: 'message.reject' });
    assert.deepEqual(
      {
        stored: stored.map(({ address }) => address).sort(),
        reports: reports.map(String).sort(),
        refused: refused.map(({ objects }) => [objects['to'], objects['reason']]),
      },
      refusesUnreadMail
        ? { stored: [alice], reports: [`${mallory} 5.2.1`, 'mdn'], refused: [[mallory, 'no-reader']] }
        : { stored: [alice, mallory], reports: ['mdn', 'mdn'], refused: [] },
    );
  }
});
