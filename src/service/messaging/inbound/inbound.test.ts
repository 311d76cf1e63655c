import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { CodedError } from '../../../core/index.ts';
import { readMdnOrDsn } from '../../../lib/mdn/index.ts';
import { collectParts, parseEntity } from '../../../lib/mime/index.ts';
import { isXdm, readXdm } from '../../../lib/xdm/index.ts';
import { createAuthority, createKeyPair, issueDirectCertificate } from '../../../lib/pki/index.ts';
import { parseDirectAddress, type DirectAddress } from '../../../lib/values/index.ts';
import {
  alice,
  anna,
  base64,
  bob,
  carol,
  mallory,
  openPlain,
  sendBody,
  spoolAll,
  readPayload,
  startTestMessaging,
  waitUntil,
  type TestMessaging,
} from '../../../../test/messaging/start-messaging.ts';
import { MessagingError } from '../errors.ts';
import { listInbound } from '../operator/list-inbound.ts';
import { defaultDirectLimits } from './accept-mail.ts';
import { listDeadLetters, retryDeadLetters } from './dead-letters.ts';

let world: TestMessaging;
before(async () => {
  world = await startTestMessaging();
});
after(() => world.close());
beforeEach(() => {
  world.deliveries.splice(0);
  world.setOpenIncoming(openPlain);
});

let counter = 0;
const mail = (headers = '', body = 'Text', id = `<m${counter++}@direct.beta.example>`): string =>
  `From: ${bob}\nTo: ${alice}\nSubject: Befund Jane Doe\nMessage-ID: ${id}\nDate: Sat, 21 Nov 2026 12:00:00 +0000\nMIME-Version: 1.0\n${headers}\n${body}`;
const wantsFinal = 'Disposition-Notification-Options: X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true\n';

const list = async (client = world.clinic, query = {}) =>
  (await world.messaging.listInbox(client, query)).messages;
const drain = async (): Promise<void> => {
  for (const client of [world.clinic, world.otherClient])
    for (const { messageId } of await list(client, { limit: 100 }))
      await world.messaging.acknowledge(client, messageId, {});
  world.deliveries.splice(0);
};
beforeEach(drain);

const answers = () =>
  world.deliveries.map(({ kind, from, recipients, message }) => {
    const read = readMdnOrDsn(parseEntity(message));
    return {
      kind,
      from,
      to: recipients,
      disposition: read?.kind === 'mdn' ? read.disposition : undefined,
      original: read?.originalMessageIds[0],
      read,
    };
  });
const audited = async (action: string) => (await world.audit.find({ action })).length;

describe('receiving messages', () => {
  it('MDN-01, MDN-01a: each local recipient gets a copy, and answers with its own processed MDN', async () => {
    await world.receive({
      from: bob,
      to: [alice, mallory],
      inner: mail('', 'x', '<one@direct.beta.example>'),
    });
    const [own] = await list();
    const [foreign] = await list(world.otherClient);
    assert.deepEqual([own?.recipient, own?.sender, foreign?.recipient], [alice, bob, mallory]);
    assert.notEqual(own?.messageId, foreign?.messageId);
    assert.deepEqual(
      answers().map(({ kind, from, to, disposition, original }) => ({
        kind,
        from,
        to,
        disposition,
        original,
      })),
      [alice, mallory].map((from) => ({
        kind: 'mdn',
        from,
        to: [bob],
        disposition: 'processed',
        original: '<one@direct.beta.example>',
      })),
    );
  });

  it('AS-82: a second copy of the same message is not stored again, but answered again', async () => {
    const inner = mail('', 'once', '<dup@direct.beta.example>');
    await world.receive({ from: bob, to: [alice], inner });
    world.clock.advance(1000);
    await world.receive({ from: bob, to: [alice, anna], inner });
    assert.deepEqual(
      (await list()).map((entry) => entry.recipient),
      [alice, anna],
    );
    assert.equal(answers().length, 3);
  });

  it('another content under the same Message-ID is not lost', async () => {
    for (const body of ['first', 'second'])
      await world.receive({ from: bob, to: [alice], inner: mail('', body, '<same@direct.beta.example>') });
    assert.equal((await list()).length, 2);
  });

  it('SEC-11: an identifier that the database could not hold or ask for stops no mail', async () => {
    await world.receive({
      from: bob,
      to: [alice],
      inner: mail('', 'x', `${randomBytes(3000).toString('hex')}@b`),
    });
    const fields =
      'Final-Recipient: rfc822;bob@direct.beta.example\nOriginal-Message-ID: <a\0b@c>\nDisposition: a/b;processed\n';
    const report = 'Content-Type: message/disposition-notification\n';
    await world.receive({ from: bob, to: [alice], inner: mail(report, fields) });
    assert.equal((await list()).length, 1);
  });

  it('VER-02: the same signed text under another header, which nobody signed, is not stored again', async () => {
    world.setOpenIncoming(async (envelope, options) => ({
      ...(await openPlain(envelope, options)),
      signedName: 'a b',
    }));
    for (const headers of ['', 'X-Other: 1\n', 'X-Other: 2\n'])
      await world.receive({ from: bob, to: [alice], inner: mail(headers) });
    assert.equal((await list()).length, 1);
  });

  describe('VER-02: a header that is not signed', () => {
    const openUnsigned =
      (part: string, named: readonly DirectAddress[]): typeof openPlain =>
      async (envelope, options) => ({
        ...(await openPlain(envelope, options)),
        signedName: part,
        unsignedHeader: { part, named },
      });
    const receiveUnsigned = async (part: string, to: readonly DirectAddress[]): Promise<void> => {
      world.setOpenIncoming(openUnsigned(part, to));
      await world.receive({ from: bob, to: [...to], inner: mail() });
    };
    const refusals = () =>
      answers().map(({ kind, to, read }) => [kind, to, read?.kind === 'dsn' && read.recipients[0]?.status]);
    const recipients = async (): Promise<string[]> => (await list()).map((entry) => entry.recipient).sort();

    it('gives the signed part only to those whom its first header names; its sender is told', async () => {
      await receiveUnsigned('first', [alice]);
      assert.deepEqual([await recipients(), answers().length], [[alice], 1]);
      world.deliveries.splice(0);
      await receiveUnsigned('first', [anna]);
      assert.deepEqual(await recipients(), [alice]);
      assert.deepEqual(refusals(), [['dsn', [bob], '5.7.7']]);
      // Among those that the first header names a repetition is what it always was.
      await receiveUnsigned('both', [alice, anna]);
      await receiveUnsigned('both', [anna]);
      assert.deepEqual(await recipients(), [alice, alice, anna]);
      await receiveUnsigned('both', [alice, anna]);
      assert.deepEqual(await recipients(), [alice, alice, anna]);
    });

    it('is refused of a domain that has sent wrapped messages alone for a week, or as the settings say', async () => {
      const wrapped = { isWrapped: true };
      const unsigned = (part: string) => ({ unsignedHeader: { part, named: [alice] } });
      /** What answers a message now, and one of each form a week later. */
      const answersOf = async (
        first: readonly Partial<Awaited<ReturnType<typeof openPlain>>>[],
        trustSettings = {},
      ): Promise<unknown[]> => {
        const other = await startTestMessaging({ trustSettings });
        try {
          const found: unknown[] = [];
          for (const fields of [...first, undefined, unsigned('later'), wrapped]) {
            if (fields === undefined) {
              other.clock.advance(8 * 24 * 3_600_000);
              continue;
            }
            other.setOpenIncoming(async (envelope, options) => ({
              ...(await openPlain(envelope, options)),
              ...fields,
            }));
            other.deliveries.splice(0);
            const date = `Date: ${other.clock.now().toUTCString()}`;
            await other.receive({ from: bob, to: [alice], inner: mail().replace(/^Date: .*$/m, date) });
            const read = readMdnOrDsn(parseEntity(other.deliveries[0]?.message ?? Buffer.from('\n')));
            found.push(read?.kind === 'dsn' ? read.recipients[0]?.status : read?.kind);
          }
          return found;
        } finally {
          await other.close();
        }
      };
      assert.deepEqual(await answersOf([wrapped]), ['mdn', '5.7.1', 'mdn']);
      // Both forms within the week are both accepted ever after; a domain without history is free.
      assert.deepEqual(await answersOf([wrapped, unsigned('soon')]), ['mdn', 'mdn', 'mdn', 'mdn']);
      assert.deepEqual(await answersOf([]), ['mdn', 'mdn']);
      const domains = [bob.slice(bob.indexOf('@') + 1)];
      assert.deepEqual(await answersOf([], { wrappedDomains: domains }), ['5.7.1', 'mdn']);
      assert.deepEqual(await answersOf([wrapped], { unwrappedDomains: domains }), ['mdn', 'mdn', 'mdn']);
    });
  });

  it('a peer that sends again before we looked makes one spooled mail', async () => {
    const quiet = await startTestMessaging({ isStarted: false });
    try {
      for (let round = 0; round < 3; round++)
        await quiet.messaging.acceptInbound({
          mailFrom: bob,
          recipients: [alice],
          message: Buffer.from('same'),
        });
      assert.equal((await quiet.db.selectFrom('inbound_mail').select('id').execute()).length, 1);
    } finally {
      await quiet.close();
    }
  });

  it('stores messages encrypted', async () => {
    await world.receive({ from: bob, to: [alice], inner: mail('', 'patient Jane Doe') });
    const rows = await world.db.selectFrom('inbox_message').select('sealed_message').execute();
    for (const row of rows) assert.ok(!Buffer.from(row.sealed_message).toString('latin1').includes('Jane'));
  });

  it('MDN-12, DSN-05: an unknown or disabled address is answered by a failure DSN from its domain', async () => {
    await world.receive({
      from: bob,
      to: [alice, 'nobody@direct.alpha.example', 'gone@direct.alpha.example'],
      inner: mail('', 'x', '<lost@direct.beta.example>'),
    });
    assert.equal((await list()).length, 1);
    const [mdn, dsn, ...others] = answers().toSorted((left, right) => right.kind.localeCompare(left.kind));
    assert.deepEqual([mdn?.kind, dsn?.kind, others.length], ['mdn', 'dsn', 0]);
    assert.deepEqual(
      [dsn?.from, dsn?.to, dsn?.original],
      ['postmaster@direct.alpha.example', [bob], '<lost@direct.beta.example>'],
    );
    assert.ok(dsn?.read?.kind === 'dsn');
    // DSN-02.
    const { message } = world.deliveries.find(({ kind }) => kind === 'dsn') ?? { message: new Uint8Array() };
    assert.match(
      Buffer.from(message).toString(),
      /^Arrival-Date: [A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} 2026 .*\r$/m,
    );
    assert.deepEqual(
      dsn.read.recipients.map(({ finalRecipient, action, status }) => [finalRecipient, action, status]),
      [
        ['nobody@direct.alpha.example', 'failed', '5.1.1'],
        ['gone@direct.alpha.example', 'failed', '5.1.1'],
      ],
    );
  });

  it('MDN-12: a message that is too deep to be read is answered by a failure DSN, and audited', async () => {
    const before = await audited('message.reject');
    const deep = Array.from(
      { length: 200 },
      (_, level) => `Content-Type: multipart/mixed; boundary=b${level}\n\n--b${level}\n`,
    ).join('');
    await world.receive({
      from: bob,
      to: [alice],
      inner: mail(deep.slice(0, deep.indexOf('\n') + 1), deep.slice(deep.indexOf('\n') + 2)),
    });
    const [dsn, ...others] = answers();
    assert.ok(dsn?.read?.kind === 'dsn' && others.length === 0);
    assert.deepEqual(
      [dsn.read.recipients[0]?.status, dsn.read.recipients[0]?.finalRecipient],
      ['5.6.0', alice],
    );
    assert.deepEqual([await list(), await audited('message.reject')], [[], before + 1]);
  });

  it('MDN-12: in a domain without its own key, an address that has one reports for itself', async () => {
    const [zoe, yann] = ['zoe', 'yann'].map((name) => parseDirectAddress(`${name}@direct.bound.example`));
    assert.ok(zoe !== undefined && yann !== undefined);
    await world.trust.addDomain('direct.bound.example');
    for (const address of [zoe, yann]) await world.trust.putAddress(address, 'disabled');
    const addKey = async (owner: string, boundTo: { address: DirectAddress } | { domain: string }) => {
      const keys = await createKeyPair();
      const issuer = await createKeyPair();
      const validity = { notBefore: new Date('2026-01-01'), notAfter: new Date('2028-01-01') };
      const authority = createAuthority({ subject: [['CN', 'CA']], ...issuer, ...validity });
      const certificate = issueDirectCertificate({
        boundTo,
        publicKey: keys.publicKey,
        issuer: { certificate: authority, privateKey: issuer.privateKey },
        ...validity,
      });
      await world.trust.addKeyPair(owner, certificate.der, keys.privateKey);
    };
    const reports = async () => {
      world.deliveries.splice(0);
      await world.receive({ from: bob, to: [zoe, yann], inner: mail() });
      return answers().map(({ from, read }) => [
        from,
        read?.kind === 'dsn' ? read.recipients.map(({ finalRecipient }) => finalRecipient) : [],
      ]);
    };
    const postmaster = 'postmaster@direct.bound.example';
    await addKey(zoe, { address: zoe });
    assert.deepEqual(await reports(), [
      [zoe, [zoe]],
      [postmaster, [yann]],
    ]);
    await addKey('direct.bound.example', { domain: 'direct.bound.example' });
    assert.deepEqual(await reports(), [[postmaster, [zoe, yann]]]);
  });

  it('MDN-02: no report is answered, and the null sender gets no failure DSN', async () => {
    const odd = mail(
      'Content-Type: multipart/report; report-type=feedback-report; boundary=b\n',
      '--b\n\nhello\n--b--\n',
    );
    await world.receive({ from: bob, to: [alice, 'nobody@direct.alpha.example'], inner: odd });
    await world.receive({ from: bob, to: ['nobody@direct.alpha.example'], inner: mail(), mailFrom: '' });
    assert.deepEqual(answers(), []);
  });

  it('a recipient that the agent did not open it for gets nothing and answers nothing', async () => {
    world.setOpenIncoming(async (envelope, options) => ({
      ...(await openPlain(envelope, options)),
      recipients: [alice],
    }));
    await world.receive({ from: bob, to: [alice, anna], inner: mail() });
    assert.deepEqual(
      (await list()).map((entry) => entry.recipient),
      [alice],
    );
    assert.deepEqual(
      answers().map(({ from }) => from),
      [alice],
    );
  });

  it('AS-78: a recipient whose domain does not trust the sender is audited, and gets no MDN or DSN, while others get the message', async () => {
    const rejections = async () =>
      (await world.audit.find({ action: 'message.reject' })).map(({ objects }) => [
        objects['to'],
        objects['reason'],
        objects['messageId'],
      ]);
    const before = (await rejections()).length;
    const nobody = 'nobody@direct.alpha.example' as DirectAddress;
    world.setOpenIncoming(async (envelope, options) => ({
      ...(await openPlain(envelope, options)),
      recipients: [alice],
      refused: [
        { recipients: [mallory], code: 'DIRECT_UNKNOWN_RECIPIENT' },
        { recipients: [anna, nobody], code: 'PKI_NO_ANCHORS' },
      ],
    }));
    const id = '<mixed@direct.beta.example>';
    await world.receive({ from: bob, to: [alice, anna, mallory, nobody], inner: mail('', 'Text', id) });
    assert.deepEqual(
      answers().map(({ from, disposition }) => [from, disposition]),
      [[alice, 'processed']],
    );
    const rejected = await rejections();
    assert.equal(rejected.length, before + 2);
    assert.deepEqual(
      [`${anna} ${nobody}`, mallory].map((to) => rejected.find((row) => row[0] === to)),
      [
        [`${anna} ${nobody}`, 'PKI_NO_ANCHORS', id],
        [mallory, 'DIRECT_UNKNOWN_RECIPIENT', id],
      ],
    );
  });

  it('AS-78: rejected mail is audited, gets no MDN and is gone', async () => {
    const before = await audited('message.reject');
    world.setOpenIncoming(async () => {
      throw new CodedError({ DIRECT_X: { kind: 'untrusted' } }, 'DIRECT_X', 'not trusted');
    });
    await world.receive({ from: bob, to: [alice], inner: mail() });
    assert.deepEqual([answers(), await list(), await audited('message.reject')], [[], [], before + 1]);
    assert.equal((await world.db.selectFrom('inbound_mail').select('id').execute()).length, 0);
  });
});

describe('mail that cannot be worked on', () => {
  it('is retried, then a dead letter for the operator', async () => {
    const other = await startTestMessaging();
    try {
      let attempts = 0;
      other.setOpenIncoming(async () => {
        if (++attempts < 9) throw new Error('a bug at Jane Doe');
        throw new CodedError({ X_DOWN: { kind: 'unavailable' } }, 'X_DOWN', 'the key server is down');
      });
      await other.messaging.acceptInbound({
        mailFrom: bob,
        recipients: [alice],
        message: Buffer.from(`${bob}\n${mail('', 'poison').replaceAll('\n', '\r\n')}`),
      });
      const row = () => other.db.selectFrom('inbound_mail').selectAll().executeTakeFirstOrThrow();
      for (let round = 1; (await row()).state === 'waiting' && round < 20; round++) {
        await waitUntil(async () => attempts === round && (await row()).lease_token === null);
        other.clock.advance(10 * 3_600_000);
      }
      assert.deepEqual(
        [(await row()).state, attempts, (await row()).last_error],
        ['dead-letter', 9, 'X_DOWN'],
      );
      assert.ok(
        other.logLines.some((line) => line.includes('is a dead letter') && line.includes('inbound.test')),
      );
      assert.ok(!other.logLines.join().includes('Jane Doe'));
      const [lettered, ...more] = await other.audit.find({ action: 'message.dead-letter' });
      assert.deepEqual(
        [lettered?.objects['reason'], lettered?.objects['detail'], more],
        ['X_DOWN', 'the key server is down', []],
      );
      const [deadLetter] = await listDeadLetters(other.storage);
      assert.deepEqual(
        [deadLetter?.mailFrom, deadLetter?.recipients, deadLetter?.reason],
        [bob, [alice], 'X_DOWN'],
      );
      other.setOpenIncoming(openPlain);
      assert.equal(await retryDeadLetters(other.storage, 'another'), 0);
      assert.equal(await retryDeadLetters(other.storage, deadLetter?.id), 1);
      await waitUntil(async () => (await other.messaging.listInbox(other.clinic, {})).messages.length === 1);
      assert.deepEqual(await listDeadLetters(other.storage), []);
    } finally {
      await other.close();
    }
  });

  it('is retried if the clients to notify cannot be read, so that none of them misses its message', async () => {
    const other = await startTestMessaging();
    const { clientId } = other.clinic;
    const { get } = other.oauth.clients;
    let isAway = true;
    Object.assign(other.oauth.clients, {
      get: (id: string) =>
        isAway && id === clientId
          ? Promise.reject(
              new CodedError({ X_AWAY: { kind: 'unavailable' } }, 'X_AWAY', 'the connection was lost'),
            )
          : get(id),
    });
    try {
      const url = 'http://127.0.0.1:9/hook';
      await other.webhooks.create(clientId, { url, eventTypes: ['message.received'] });
      const message = Buffer.from(`${bob}\n${mail().replaceAll('\n', '\r\n')}`);
      await other.messaging.acceptInbound({ mailFrom: bob, recipients: [alice], message });
      assert.deepEqual((await other.messaging.listInbox(other.clinic, {})).messages, []);
      isAway = false;
      other.clock.advance(60_000);
      await waitUntil(async () => (await other.messaging.listInbox(other.clinic, {})).messages.length === 1);
      const [hook] = await other.webhooks.hooks.list(clientId);
      const notified = await other.storage
        .tables<{ webhook_notification: { webhook_id: string } }>()
        .selectFrom('webhook_notification')
        .select('webhook_id')
        .execute();
      assert.deepEqual(notified, [{ webhook_id: hook?.id }]);
    } finally {
      await other.close();
    }
  });

  it('does not hold up other mail, with recipients that were changed in the database, and a transient fault heals', async () => {
    let isDown = true;
    world.setOpenIncoming(async (envelope, options) => {
      if (isDown && Buffer.from(envelope.message).includes('later'))
        throw new CodedError({ X_DOWN: { kind: 'unavailable' } }, 'X_DOWN', 'DNS is down');
      return openPlain(envelope, options);
    });
    const waiting = world.receive({ from: bob, to: [alice], inner: mail('', 'later') });
    await waitUntil(
      async () =>
        (
          await world.db
            .selectFrom('inbound_mail')
            .select('id')
            .where('attempts', '>', 0)
            .where('lease_token', 'is', null)
            .execute()
        ).length === 1,
    );
    await world.messaging.acceptInbound({
      mailFrom: anna,
      recipients: [alice],
      message: Buffer.from(`${anna}\n${mail('', 'now').replaceAll('\n', '\r\n')}`),
    });
    await waitUntil(async () => (await list()).length === 1);
    const { id, recipients } = await world.db
      .selectFrom('inbound_mail')
      .select(['id', 'recipients'])
      .executeTakeFirstOrThrow();
    for (const [changed, error] of [
      ['{}', 'MESSAGING_ROW_CHANGED'],
      [recipients, 'X_DOWN'],
    ] as const) {
      await world.db.updateTable('inbound_mail').set({ recipients: changed }).where('id', '=', id).execute();
      world.clock.advance(300_000);
      await waitUntil(
        async () =>
          (await world.db.selectFrom('inbound_mail').select('last_error').executeTakeFirst())?.last_error ===
          error,
      );
    }
    isDown = false;
    world.clock.advance(3_600_000);
    await waiting;
    assert.equal((await list()).length, 2);
  });
});

describe('Decision 0014: the inbox', () => {
  const parts = (...entries: string[]) =>
    mail(
      'Content-Type: multipart/mixed; boundary=b\n',
      `${entries.map((entry) => `--b\n${entry}`).join('\n')}\n--b--\n`,
    );
  const document =
    'Content-Type: text/xml; name=ccd.xml\nContent-Disposition: attachment; filename=ccd.xml\nContent-Description: Summary\n\n<ClinicalDocument/>';

  it('lists oldest first, without content, page by page', async () => {
    for (let index = 0; index < 5; index++) {
      world.clock.advance(1000);
      await world.receive({ from: bob, to: [index % 2 === 0 ? alice : anna], inner: mail() });
    }
    const all = await list();
    assert.equal(all.length, 5);
    assert.deepEqual(
      all.map((entry) => entry.receivedAt.getTime()),
      all.map((entry) => entry.receivedAt.getTime()).toSorted((a, b) => a - b),
    );
    assert.ok(!JSON.stringify(all).includes('Jane'));
    const pages: string[] = [];
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
      const page = await world.messaging.listInbox(world.clinic, { limit: 2, cursor });
      pages.push(...page.messages.map((entry) => entry.messageId));
      cursor = page.nextCursor;
    }
    assert.deepEqual(
      pages,
      all.map((entry) => entry.messageId),
    );
    assert.deepEqual(
      (await list(world.clinic, { toDirectAddress: anna })).map((entry) => entry.recipient),
      [anna, anna],
    );
  });

  it('lists for a client with more addresses than a statement takes parameters', async () => {
    await world.receive({ from: bob, to: [alice], inner: mail() });
    const others = Array.from({ length: 70_000 }, (_, index) => `other${index}@direct.alpha.example`);
    const client = { ...world.clinic, directAddresses: [...others, alice.toLowerCase()] };
    assert.deepEqual(
      (await list(client)).map(({ recipient }) => recipient),
      [alice],
    );
  });

  it('refuses a wrong query, and an address of another client', async () => {
    const fault = async (query: object) => {
      const error = await world.messaging.listInbox(world.clinic, query).catch((reason: unknown) => reason);
      assert.ok(error instanceof MessagingError);
      return `${error.kind} ${error.problems[0]?.field}`;
    };
    assert.equal(await fault({ limit: 0 }), 'invalid-input limit');
    assert.equal(await fault({ limit: 1.5 }), 'invalid-input limit');
    assert.equal(await fault({ cursor: 'x' }), 'invalid-input cursor');
    assert.equal(await fault({ toDirectAddress: 'x' }), 'invalid-input toDirectAddress');
    assert.equal(await fault({ toDirectAddress: mallory }), 'forbidden toDirectAddress');
  });

  it("SEC-01: another client's copy does not exist, to read or to acknowledge", async () => {
    await world.receive({ from: bob, to: [alice], inner: mail() });
    const [{ messageId } = { messageId: '' }] = await list();
    for (const read of [
      () => world.messaging.readInbox(world.otherClient, messageId, false, {}),
      () => world.messaging.readAttachment(world.otherClient, messageId, 0, false, {}),
      () => world.messaging.acknowledge(world.otherClient, messageId, {}),
      () =>
        world.messaging.readInbox(world.clinic, 'urn:uuid:00000000-0000-4000-8000-000000000000', false, {}),
    ])
      await assert.rejects(read(), { code: 'MESSAGING_MESSAGE_NOT_FOUND' });
    assert.equal((await list(world.otherClient)).length, 0);
    assert.equal((await list()).length, 1);
  });

  it('a domain entry gives all addresses of the domain', async () => {
    await world.receive({ from: bob, to: [alice, mallory], inner: mail() });
    const domain = { ...world.clinic, directAddresses: ['@direct.alpha.example'] };
    assert.equal((await list(domain)).length, 2);
    assert.equal((await list({ ...world.clinic, directAddresses: [] })).length, 0);
  });

  it('gives subject, text and documents with size and hash', async () => {
    await world.receive({
      from: bob,
      to: [alice],
      inner: parts('Content-Type: text/plain; charset=utf-8\n\nGrüße', document),
    });
    const [entry] = await list();
    assert.equal(entry?.attachmentCount, 1);
    const payload = await readPayload(world, world.clinic, entry?.messageId ?? '', false, {});
    assert.deepEqual(
      [payload.messageSubject, payload.messageBody.trim(), payload.xdm],
      ['Befund Jane Doe', 'Grüße', false],
    );
    assert.deepEqual(payload.envelopeInfo, {
      fromDirectAddress: bob,
      toDirectAddress: [alice],
      messageId: entry?.messageId,
      transitTime: world.clock.now().toISOString(),
      wireMessageId: payload.envelopeInfo.wireMessageId,
    });
    assert.deepEqual(payload.emailAttachmentList, [
      {
        attachmentClass: 'text/xml',
        attachmentCharset: '',
        attachmentContent: base64('<ClinicalDocument/>'),
        attachmentFileName: 'ccd.xml',
        attachmentTitle: 'Summary',
        attachmentContentId: '',
        attachmentInline: false,
        attachmentSize: '19',
        attachmentHash: payload.emailAttachmentList[0]?.attachmentHash,
        attachmentTypeCode: '',
        attachmentTypeCodeText: '',
      },
    ]);
    assert.match(payload.emailAttachmentList[0]?.attachmentHash ?? '', /^[0-9a-f]{64}$/);
    const fetched = await world.messaging.readAttachment(world.clinic, entry?.messageId ?? '', 0, false, {});
    assert.equal(fetched.content.toString(), '<ClinicalDocument/>');
    await assert.rejects(world.messaging.readAttachment(world.clinic, entry?.messageId ?? '', 1, false, {}), {
      code: 'MESSAGING_ATTACHMENT_NOT_FOUND',
    });
  });

  it('a row that gives a message to another address, or has another sender, is refused and reported', async () => {
    const plain = `From: ${bob}\r\nTo: ${alice}\r\nMessage-ID: <row@x.example>\r\n\r\nSecret`;
    await world.receive({ from: bob, to: [alice], inner: plain });
    const [entry] = await list();
    const id = entry?.messageId ?? '';
    const copyId = id.replace('urn:uuid:', '');
    const copies = world.db.updateTable('inbox_copy').where('id', '=', copyId);
    const messages = world.db.updateTable('inbox_message').where('wire_id', '=', '<row@x.example>');
    const readAs = (client: typeof world.clinic) => world.messaging.readInbox(client, id, false, {});
    const refused = { code: 'MESSAGING_ROW_CHANGED' };
    await copies.set({ address: mallory, address_key: mallory }).execute();
    await assert.rejects(readAs(world.otherClient), refused);
    await assert.rejects(world.messaging.readReceived(world.otherClient, id, {}), refused);
    await assert.rejects(world.messaging.readAttachment(world.otherClient, id, 0, false, {}), refused);
    // No MDN goes out in the name of an address that did not receive it.
    await messages.set({ requests_final_delivery: 1 }).execute();
    const mdns = world.deliveries.length;
    await assert.rejects(world.messaging.acknowledge(world.otherClient, id, {}), refused);
    await world.messaging.acknowledgeAll(world.otherClient, [id], {});
    assert.equal((await list(world.otherClient)).length, 1);
    assert.equal(world.deliveries.length, mdns);
    await copies.set({ address: mallory, address_key: alice }).execute();
    await assert.rejects(readAs(world.otherClient), refused);
    await copies.set({ address: alice, address_key: alice }).execute();
    await messages.set({ sender: carol }).execute();
    await assert.rejects(readAs(world.clinic), refused);
    await messages.set({ sender: bob }).execute();
    assert.match(String(Buffer.from(await readAs(world.clinic))), /Secret/);
    const alarms = await world.audit.find({ action: 'integrity.refuse' });
    assert.deepEqual(
      alarms.map(({ objects }) => objects),
      [{ table: 'inbox_copy', row: copyId }],
      'once, however often it is asked for',
    );
  });

  it('XDM-12: xdm=true packs loose documents, xdm=false unpacks a package with its type code', async () => {
    await world.receive({ from: bob, to: [alice], inner: parts('\nText', document) });
    const [loose] = await list();
    const packed = await readPayload(world, world.clinic, loose?.messageId ?? '', true, {});
    assert.equal(packed.xdm, true);
    const zip = Buffer.from(packed.emailAttachmentList[0]?.attachmentContent ?? '', 'base64');
    assert.ok(isXdm(zip, packed.emailAttachmentList[0]?.attachmentClass));

    await drain();
    await world.messaging.send(
      world.clinic,
      sendBody({
        toDirectAddress: anna,
        xdm: true,
        loincValue: '34133-9',
        loincName: 'Summary',
        emailAttachmentList: [
          { attachmentClass: 'text/xml', attachmentContent: base64('<a/>'), attachmentTitle: 'T' },
        ],
      }),
      {},
    );
    const sent = world.deliveries.at(-1)?.message ?? new Uint8Array();
    await world.receive({ from: alice, to: [anna], inner: sent });
    const [package_] = await list();
    const opened = await readPayload(world, world.clinic, package_?.messageId ?? '', false, {});
    assert.equal(opened.xdm, false);
    const [only] = opened.emailAttachmentList;
    assert.deepEqual(
      [
        only?.attachmentClass,
        only?.attachmentContent,
        only?.attachmentTitle,
        only?.attachmentTypeCode,
        only?.attachmentTypeCodeText,
      ],
      ['text/xml', base64('<a/>'), 'T', '34133-9', 'Summary'],
    );
    const unchanged = await readPayload(world, world.clinic, package_?.messageId ?? '', true, {});
    assert.equal(unchanged.emailAttachmentList.length, 1);
    assert.ok(
      Buffer.from(sent)
        .toString()
        .replaceAll(/\s/g, '')
        .includes(unchanged.emailAttachmentList[0]?.attachmentContent ?? '-'),
    );
  });

  it('CTX-01: gives the context header and the name of the attachment that it means', async () => {
    const context =
      'Content-Type: text/plain; name=metadata.txt\nContent-Disposition: attachment; filename=metadata.txt\nContent-ID: <context@direct.beta.example>\n\nversion: 1.1';
    const inner = parts('\nText', document, context).replace(
      'MIME-Version',
      'X-Direct-Context: <context@direct.beta.example>\nMIME-Version',
    );
    await world.receive({ from: bob, to: [alice], inner });
    const [entry] = await list();
    const payload = await readPayload(world, world.clinic, entry?.messageId ?? '', false, {});
    assert.equal(payload.directContext, 'context@direct.beta.example');
    assert.deepEqual(
      payload.emailAttachmentList.map((one) => [one.attachmentFileName, one.attachmentContentId]),
      [
        ['ccd.xml', ''],
        ['metadata.txt', 'context@direct.beta.example'],
      ],
    );
    assert.equal(
      Buffer.from(payload.emailAttachmentList[1]?.attachmentContent ?? '', 'base64')
        .toString()
        .trim(),
      'version: 1.1',
    );
  });

  it('META-03: a package made of a received message has the date of that message, whenever it came', async () => {
    const inner = parts('\nText', document).replace('12:00:00 +0000', '03:04:05 -0500');
    await world.receive({ from: bob, to: [alice], inner });
    const [entry] = await list();
    const { emailAttachmentList } = await readPayload(world, world.clinic, entry?.messageId ?? '', true, {});
    const { submissionSets } = await readXdm(
      Buffer.from(emailAttachmentList[0]?.attachmentContent ?? '', 'base64'),
    );
    assert.deepEqual(
      submissionSets.map(({ submissionTime }) => submissionTime),
      ['20261121080405'],
    );
  });

  it('AS-81: a broken package is returned as it is', async () => {
    const broken = Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.from('IHE_XDM/METADATA.XML')]).toString(
      'base64',
    );
    await world.receive({
      from: bob,
      to: [alice],
      inner: parts(
        '\nText',
        `Content-Type: application/zip; name=a.zip\nContent-Transfer-Encoding: base64\n\n${broken}`,
      ),
    });
    const [entry] = await list();
    for (const isXdmWanted of [true, false])
      assert.equal(
        (await readPayload(world, world.clinic, entry?.messageId ?? '', isXdmWanted, {})).emailAttachmentList
          .length,
        1,
      );
  });

  it('AS-81: damage of a package reaches the payload, the audit trail, the operator and the MDN, and names the document', async () => {
    const folder = join(import.meta.dirname, '../../../../test/fixtures/found/xdm');
    const partOf = (zip: Buffer): string =>
      `Content-Type: application/zip; name=a.zip\nContent-Transfer-Encoding: base64\n\n${zip.toString('base64')}`;
    const named = 'document 1 of 1 (DOC00001.XML';
    for (const [fixture, reason] of [
      ['crc-bad', 'checksum_mismatch'],
      ['hash-wrong', 'hash_mismatch'],
      ['leading-slash', undefined],
      ['meta-declared-utf16-is-utf8', undefined],
    ] as const) {
      const zip = readFileSync(join(folder, `${fixture}.zip`));
      await drain();
      const inner = `${wantsFinal}${parts('\nText', document, partOf(zip))}`;
      await world.receive({ from: bob, to: [alice], inner });
      const [entry] = await list();
      const opened = await readPayload(world, world.clinic, entry?.messageId ?? '', false, {});
      const packed = await readPayload(world, world.clinic, entry?.messageId ?? '', true, {});
      const found = (opened.warnings ?? []).map((one) => `${one.field} ${one.reason}`);
      assert.deepEqual(found, reason === undefined ? [] : [`emailAttachmentList[1] ${reason}`], fixture);
      assert.deepEqual(packed.warnings, opened.warnings, fixture);
      assert.equal(opened.emailAttachmentList[1]?.attachmentFileName, 'DOC00001.XML');
      assert.equal(opened.emailAttachmentList.length, 2);
      const [shown] = (await listInbound(world.audit, { kinds: ['received'], limit: 1 })).items;
      await world.messaging.acknowledge(world.clinic, entry?.messageId ?? '', {});
      const mdns = world.deliveries.filter(({ kind }) => kind === 'mdn');
      const [text = '', dispatched = ''] = mdns.map(
        ({ message }) => collectParts(parseEntity(message))[0]?.text() ?? '',
      );
      if (reason === undefined) {
        assert.equal(shown?.warnings, '');
        assert.equal(text.trim(), 'Your message was received and processed.');
        assert.equal(dispatched.trim(), 'Your message was delivered to its final destination.');
      } else {
        assert.ok(opened.warnings?.[0]?.detail.includes(named));
        assert.ok(shown?.warnings.startsWith(`emailAttachmentList[1] ${reason} of ${named}`));
        assert.ok(text.includes(named), text);
        assert.ok(dispatched.includes(named), dispatched);
      }
    }
  });

  it('MDN-09, MDN-13: the dispatched MDN goes out after the acknowledgement, only if asked for, and once', async () => {
    await world.receive({
      from: bob,
      to: [alice],
      inner: mail(wantsFinal, 'x', '<final@direct.beta.example>'),
    });
    await world.receive({ from: bob, to: [anna], inner: mail() });
    assert.deepEqual(
      answers().map(({ disposition }) => disposition),
      ['processed', 'processed'],
    );
    const [asked, plain] = await list();
    const first = await world.messaging.acknowledge(world.clinic, asked?.messageId ?? '', {});
    world.clock.advance(5000);
    assert.deepEqual(await world.messaging.acknowledge(world.clinic, asked?.messageId ?? '', {}), first);
    await world.messaging.acknowledge(world.clinic, plain?.messageId ?? '', {});
    const dispatched = answers().filter(({ disposition }) => disposition === 'dispatched');
    assert.deepEqual(
      dispatched.map(({ from, to, original }) => [from, to, original]),
      [[alice, [bob], '<final@direct.beta.example>']],
    );
    assert.ok(dispatched[0]?.read?.kind === 'mdn' && dispatched[0].read.confirmsFinalDelivery);
    assert.deepEqual(await list(), []);
    assert.equal(
      (await readPayload(world, world.clinic, asked?.messageId ?? '', false, {})).messageSubject,
      'Befund Jane Doe',
    );
  });

  it('MDN-11: a malformed request for final delivery asks for nothing', async () => {
    await world.receive({
      from: bob,
      to: [alice],
      inner: mail('Disposition-Notification-Options: X-DIRECT-FINAL-DESTINATION-DELIVERY=true\n'),
    });
    const [entry] = await list();
    await world.messaging.acknowledge(world.clinic, entry?.messageId ?? '', {});
    assert.deepEqual(
      answers().map(({ disposition }) => disposition),
      ['processed'],
    );
  });
});

describe('MDN-21 to MDN-24: MDNs', () => {
  const recipient = async (messageId: string, index = 0) =>
    (await world.messaging.getStatus(world.clinic, messageId)).recipients[index];
  async function send(changes = {}): Promise<{ messageId: string; wireId: string }> {
    const { messageId } = await world.messaging.send(world.clinic, sendBody(changes), {});
    await world.report({ deliveryId: world.deliveries.at(-1)?.deliveryId ?? '', outcome: 'sent' });
    return { messageId, wireId: `<${messageId.slice(9)}@direct.alpha.example>` };
  }
  const mdn = (
    wireId: string,
    { final = bob as string, disposition = 'processed', more = '' } = {},
  ): string =>
    `From: ${bob}\nTo: ${alice}\nSubject: Processed\nMessage-ID: <n${counter++}@direct.beta.example>\nMIME-Version: 1.0\n` +
    `Content-Type: multipart/report; report-type=disposition-notification; boundary=b\n\n--b\n\nok\n--b\nContent-Type: message/disposition-notification\n\n` +
    `Final-Recipient: rfc822;${final}\nOriginal-Message-ID: ${wireId}\n${more}Disposition: automatic-action/MDN-sent-automatically;${disposition}\n--b--\n`;
  const dsn = (wireId: string, status = '5.1.1', action = 'failed'): string =>
    `From: postmaster@direct.beta.example\nTo: ${alice}\nMessage-ID: <d${counter++}@direct.beta.example>\nMIME-Version: 1.0\n` +
    `Content-Type: multipart/report; report-type=delivery-status; boundary=b\n\n--b\n\nno\n--b\nContent-Type: message/delivery-status\n\n` +
    `Reporting-MTA: dns;mx.beta.example\nX-Original-Message-ID: ${wireId}\n\nFinal-Recipient: rfc822;${bob}\nAction: ${action}\nStatus: ${status}\nDiagnostic-Code: smtp;550 nobody\n--b--\n`;
  const receive = (inner: string, from: DirectAddress = bob, to: DirectAddress = alice) =>
    world.receive({ from, to: [to], inner });
  const postmaster = 'postmaster@direct.beta.example' as DirectAddress;

  it('a processed MDN moves that recipient only, and is not answered or shown in the inbox', async () => {
    const { messageId, wireId } = await send({ toDirectAddress: [bob, carol] });
    world.deliveries.splice(0);
    await receive(mdn(wireId));
    assert.deepEqual(
      [(await recipient(messageId, 0))?.state, (await recipient(messageId, 1))?.state],
      ['processed', 'queued'],
    );
    assert.deepEqual([answers(), await list()], [[], []]);
  });

  it('MDN-21: the recipient is compared without case and display name; another Message-ID does not match', async () => {
    const { messageId, wireId } = await send();
    await receive(mdn('<other@direct.alpha.example>'));
    assert.equal((await recipient(messageId))?.state, 'sent');
    await receive(mdn(wireId, { final: `Bob <BOB@Direct.Beta.Example>` }));
    assert.equal((await recipient(messageId))?.state, 'processed');
  });

  it('MDN-21: without Original-Message-ID, an MDN reports on the last message of the thread that it names', async () => {
    const first = await send({ messageId: 'urn:uuid:00000000-0000-4000-8000-000000000001' });
    const second = await send({ messageId: 'urn:uuid:ffffffff-ffff-4fff-bfff-ffffffffffff' });
    const states = () =>
      Promise.all([first, second].map(async ({ messageId }) => (await recipient(messageId))?.state));
    const inThread = (...wireIds: string[]) =>
      mdn('')
        .replace('Original-Message-ID: \n', '')
        .replace('\n', `\nReferences: ${wireIds.join(' ')}\n`);
    await receive(inThread(first.wireId, second.wireId));
    assert.deepEqual(await states(), ['sent', 'processed']);
    const third = await send({ messageId: 'urn:uuid:ffffffff-ffff-4fff-bfff-fffffffffffe' });
    await receive(inThread(third.wireId, first.wireId));
    assert.equal((await recipient(third.messageId))?.state, 'sent');
    assert.deepEqual(await states(), ['processed', 'processed']);
  });

  it('MDN-21: a recipient whose system delivers to another address is found by Original-Recipient', async () => {
    const alias = 'b.smith@inner.beta.example';
    const original = `Original-Recipient: rfc822;${bob}\n`;
    const processed = await send();
    await receive(mdn(processed.wireId, { final: alias, more: original }), carol);
    assert.equal((await recipient(processed.messageId))?.state, 'sent', 'the signer is not bound to it');
    await receive(mdn(processed.wireId, { final: alias, more: original }));
    assert.equal((await recipient(processed.messageId))?.state, 'processed');
    const failed = await send();
    await receive(dsn(failed.wireId).replace(`rfc822;${bob}\n`, `rfc822;${alias}\n${original}`), postmaster);
    assert.equal((await recipient(failed.messageId))?.state, 'failed');
    const both = await send({ toDirectAddress: [carol, bob] });
    await receive(mdn(both.wireId, { final: carol, more: original }), carol);
    assert.deepEqual(
      [(await recipient(both.messageId, 0))?.state, (await recipient(both.messageId, 1))?.state],
      ['processed', 'sent'],
      'Final-Recipient comes first',
    );
  });

  it('MDN-22: an MDN whose Final-Recipient is no address speaks for its signer, as one without it does', async () => {
    for (const final of ['bob@localhost', `"${bob}"`, `<mailto:${bob}>`]) {
      const { messageId, wireId } = await send({ toDirectAddress: [bob, carol] });
      await receive(mdn(wireId, { final }));
      assert.deepEqual(
        [(await recipient(messageId, 0))?.state, (await recipient(messageId, 1))?.state],
        ['processed', 'queued'],
        final,
      );
    }
  });

  it('MDN-23: a signer that is not bound to the recipient changes nothing', async () => {
    const { messageId, wireId } = await send();
    await receive(mdn(wireId), carol);
    await receive(mdn(wireId), 'eve@direct.beta.example' as DirectAddress);
    await receive(mdn(wireId, { final: carol }), carol);
    assert.equal((await recipient(messageId))?.state, 'sent');
    assert.equal((await recipient(messageId))?.history.length, 2);
    const reasons = (await world.audit.find({ action: 'mdn.receive' }))
      .slice(0, 3)
      .map((event) => event.objects?.['reason']);
    assert.deepEqual(reasons, ['no-such-recipient', 'signer-not-bound', 'signer-not-bound']);
  });

  it('MDN-23: a certificate that speaks for the whole domain may sign for the recipient', async () => {
    const { messageId, wireId } = await send();
    world.setOpenIncoming(async (envelope, options) => ({
      ...(await openPlain(envelope, options)),
      binding: 'domain',
    }));
    await receive(mdn(wireId), postmaster);
    assert.equal((await recipient(messageId))?.state, 'processed');
  });

  it('an MDN that was addressed to another recipient than the sender changes nothing', async () => {
    const { messageId, wireId } = await send();
    await receive(mdn(wireId), bob, anna);
    assert.equal((await recipient(messageId))?.state, 'sent');
  });

  it('MDN-24, MDN-29: final delivery needs processed and dispatched with the extension field, in any order', async () => {
    const extension = { disposition: 'dispatched', more: 'X-DIRECT-FINAL-DESTINATION-DELIVERY:\n' };
    const inOrder = await send({ requestFinalDelivery: true });
    await receive(mdn(inOrder.wireId));
    assert.equal((await recipient(inOrder.messageId))?.isFinal, false);
    await receive(mdn(inOrder.wireId, { disposition: 'dispatched' }));
    assert.equal((await recipient(inOrder.messageId))?.state, 'processed');
    await receive(mdn(inOrder.wireId, extension));
    assert.equal((await recipient(inOrder.messageId))?.state, 'dispatched');
    const reversed = await send({ requestFinalDelivery: true });
    await receive(mdn(reversed.wireId, extension));
    assert.equal((await recipient(reversed.messageId))?.state, 'sent');
    await receive(mdn(reversed.wireId));
    assert.equal((await recipient(reversed.messageId))?.state, 'dispatched');
  });

  it('MDN-25: with final delivery asked for, no dispatched MDN in time expires it', async () => {
    const { messageId, wireId } = await send({ requestFinalDelivery: true });
    await receive(mdn(wireId));
    world.clock.advance(3_600_000);
    await waitUntil(async () => (await recipient(messageId))?.state === 'expired');
    assert.deepEqual(
      [(await recipient(messageId))?.reason, (await recipient(messageId))?.statusCode],
      ['no-dispatched-mdn', '5.4.72'],
    );
  });

  for (const disposition of ['failed', 'denied', 'error', 'processed/error']) {
    it(`a ${disposition} MDN fails the recipient`, async () => {
      const { messageId, wireId } = await send();
      await receive(mdn(wireId, { disposition, more: 'Failure: mailbox is full\n' }));
      const found = await recipient(messageId);
      assert.deepEqual(
        [found?.state, found?.reason, found?.history.at(-1)?.diagnostic],
        ['failed', 'remote-failed', 'mailbox is full'],
      );
    });
  }

  for (const disposition of ['displayed', 'deleted', 'frobnicated']) {
    it(`MDN-22: a ${disposition} MDN confirms nothing`, async () => {
      const { messageId, wireId } = await send();
      await receive(mdn(wireId, { disposition }));
      assert.equal((await recipient(messageId))?.state, 'sent');
    });
  }

  it('MDN-28: a delivery status fails the recipient with its status code', async () => {
    const unknown = await send();
    await receive(dsn(unknown.wireId), postmaster);
    assert.deepEqual(
      [
        (await recipient(unknown.messageId))?.state,
        (await recipient(unknown.messageId))?.reason,
        (await recipient(unknown.messageId))?.statusCode,
      ],
      ['failed', 'unknown-recipient', '5.1.1'],
    );
    const full = await send();
    await receive(dsn(full.wireId, '5.2.2'), postmaster);
    assert.deepEqual(
      [(await recipient(full.messageId))?.reason, (await recipient(full.messageId))?.statusCode],
      ['remote-failed', '5.2.2'],
    );
    const delayed = await send();
    await receive(dsn(delayed.wireId, '4.4.1', 'delayed'), postmaster);
    await receive(dsn(delayed.wireId), carol);
    await receive(dsn(delayed.wireId), 'eve@direct.beta.example' as DirectAddress);
    assert.equal((await recipient(delayed.messageId))?.state, 'sent');
  });

  it('of a message that went to more recipients under its id, each one has its own MDN or DSN', async () => {
    const submit = async (to: string) => {
      const text = `From: ${alice}\nTo: ${carol}, ${bob}, ${anna}\nMessage-ID: <wide@host.example>\n\nx`;
      const mail = { from: alice, to: [to], message: Buffer.from(text) };
      return (await world.messaging.submit(world.clinic, mail, {})).messageId;
    };
    const sent = [await submit(carol), await submit(bob), await submit(anna)];
    await receive(mdn('<wide@host.example>', { final: carol }), carol);
    await receive(dsn('<wide@host.example>'), postmaster);
    assert.deepEqual(await Promise.all(sent.map(async (messageId) => (await recipient(messageId))?.state)), [
      'processed',
      'failed',
      'queued',
    ]);
  });

  it('an MDN that is repeated endlessly does not fill the history', async () => {
    const { messageId, wireId } = await send();
    for (let round = 0; round < 110; round++) await receive(mdn(wireId));
    assert.equal((await recipient(messageId))?.history.length, 100);
  });

  it('MDN-26: a late MDN is in the history only', async () => {
    const { messageId, wireId } = await send();
    world.clock.advance(3_600_000);
    await waitUntil(async () => (await recipient(messageId))?.state === 'expired');
    await receive(mdn(wireId));
    const found = await recipient(messageId);
    assert.equal(found?.state, 'expired');
    assert.deepEqual([found?.history.at(-1)?.event, found?.history.at(-1)?.isLate], ['processed', true]);
  });
});

describe('SEC-03: the source of incoming mail', () => {
  for (const directLimits of [defaultDirectLimits, spoolAll])
    it(`is in its audit rows, ${directLimits.slots > 0 ? 'processed directly' : 'spooled'}`, async () => {
      const other = await startTestMessaging({ directLimits });
      const rows = async () =>
        (await other.audit.find({ limit: 100 }))
          .filter(({ objects }) => objects['mailId'] !== undefined)
          .map(({ action, remoteAddress }) => `${action} ${remoteAddress}`)
          .toSorted();
      const receive = (inner: string) =>
        other.messaging.acceptInbound({
          mailFrom: bob,
          recipients: [alice],
          message: Buffer.from(`${bob}\n${inner.replaceAll('\n', '\r\n')}`),
          remoteAddress: '192.0.2.7',
        });
      try {
        const report = 'Content-Type: multipart/report; report-type=disposition-notification; boundary=b\n';
        await receive(mail());
        await receive(mail(report, '--b\n\nno fields\n--b--\n'));
        other.setOpenIncoming(async (envelope, options) => {
          if (Buffer.from(envelope.message).includes('not trusted'))
            throw new CodedError({ DIRECT_X: { kind: 'untrusted' } }, 'DIRECT_X', 'not trusted');
          return openPlain(envelope, options);
        });
        await receive(mail('', 'not trusted'));
        await waitUntil(async () => (await rows()).length === 3);
        assert.deepEqual(
          await rows(),
          ['mdn.receive', 'message.receive', 'message.reject'].map((action) => `${action} 192.0.2.7`),
        );
      } finally {
        await other.close();
      }
    });
});

describe('SEC-03: nothing of a patient is in the log or the audit trail', () => {
  it('neither after sending nor after receiving nor after refusing', async () => {
    const secrets = [
      'Jane',
      'Doe',
      'Befund',
      '19700101',
      'MRN-4711',
      'Springfield',
      'ClinicalDocument',
      'later',
      'Grüße',
    ];
    const fields = {
      messageSubject: 'Befund',
      messageBody: 'Jane Doe',
      patientDOB: '19700101',
      patientId: 'MRN-4711',
      assigning_authority: '1.2.3',
      patientAddressCity: 'Springfield',
      patient_summary: 'Jane Doe',
    };
    await world.messaging.send(world.clinic, sendBody(fields), {});
    await world.messaging
      .send(world.clinic, sendBody({ ...fields, patientGender: 'Jane' }), {})
      .catch(() => {});
    await world.messaging.send(world.otherClient, sendBody(fields), {}).catch(() => {});
    await world.audit.flush();
    const trail = JSON.stringify(await world.audit.find({ limit: 1000 }));
    assert.ok(trail.length > 1000 && world.logLines.length > 0);
    for (const secret of secrets) {
      assert.ok(!trail.includes(secret), `audit: ${secret}`);
      assert.ok(!world.logLines.join('').includes(secret), `log: ${secret}`);
    }
  });
});
