/**
 * No answer of the admin API, no log line, audit row or metric shows content, patient data, or what lets somebody in. Words are planted
 * wherever such things stand; then every route of the API's own document is called.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { demoAddress, domains, partners } from '../../src/app/dev/index.ts';
import { buildMdn } from '../../src/lib/mdn/index.ts';
import type { InboundPage, MessageDetails, MessagePage } from '../../src/app/console/contract/index.ts';
import type { Role } from '../../src/service/operators/index.ts';
import { waitFor } from '../system/sandbox-fixture.ts';
import { openAdminWorld, type AdminWorld } from './admin-world.ts';
import { openHostilePeer } from './hostile-peer.ts';

/** Content and patient data. */
const planted = {
  subject: 'CANARY-SUBJECT-41',
  text: 'CANARY-TEXT-42',
  fileName: 'canary-file-43.xml',
  title: 'CANARY-TITLE-44',
  document: 'CANARY-DOCUMENT-45',
  lastName: 'Canarysson46',
  firstName: 'Canarina47',
  patientId: 'CANARY-PATIENT-48',
  birthDate: '19130428',
  inboundSubject: 'CANARY-INBOUND-SUBJECT-51',
  inboundText: 'CANARY-INBOUND-TEXT-52',
  inboundName: 'CANARY INBOUND NAME 53',
  inboundFile: 'canary-inbound-file-54.txt',
  mdnText: 'CANARY-MDN-TEXT-55',
  refusedSubject: 'CANARY-REFUSED-SUBJECT-56',
  refusedText: 'CANARY-REFUSED-TEXT-57',
  hookToken: 'CANARY-HOOK-TOKEN-61',
  hookUser: 'CANARY-HOOK-USER-62',
  hookPassword: 'CANARY-HOOK-PASSWORD-63',
  refusedRow: 'CANARY-REFUSED-ROW-71',
};

/** Answers each message with one. */
const echoAddress = `echo@${domains.partner}`;

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly permission: string;
}

interface Case {
  /** Usually `operator`. */
  readonly role?: Role;
  /** The value for `{…}` in the path, and a query. */
  readonly names?: readonly string[];
  readonly query?: string;
  readonly body?: unknown;
  readonly status?: number;
}

describe('data that the admin API never returns', () => {
  let world: AdminWorld;
  let operations: readonly Operation[];
  /** Everything that must not be said, by what it is. */
  const canaries = new Map<string, string>(Object.entries(planted));
  const answers: { readonly what: string; readonly text: string }[] = [];
  let cases: Readonly<Record<string, readonly Case[]>>;
  let received: MessageDetails;

  const referral = (to: string, extra: Readonly<Record<string, unknown>> = {}) => ({
    fromDirectAddress: demoAddress,
    toDirectAddress: to,
    messageSubject: planted.subject,
    messageBody: `${planted.text} for ${planted.firstName} ${planted.lastName}`,
    patientLastname: planted.lastName,
    patientFirstname: planted.firstName,
    patientDOB: planted.birthDate,
    patientGender: 'F',
    patientId: planted.patientId,
    assigning_authority: '2.16.840.1.113883.19.5',
    emailAttachmentList: [
      {
        attachmentClass: 'text/xml',
        attachmentContent: Buffer.from(
          `<ClinicalDocument xmlns="urn:hl7-org:v3"><title>${planted.document}</title></ClinicalDocument>`,
        ).toString('base64'),
        attachmentTitle: planted.title,
        attachmentFileName: planted.fileName,
      },
    ],
    ...extra,
  });

  async function send(to: string, extra?: Readonly<Record<string, unknown>>): Promise<string> {
    const answer = (await world.client.post('/messaging/dirmsg/send_ccda', referral(to, extra))) as {
      messageId: string;
    };
    return answer.messageId;
  }

  const show = async (id: string): Promise<MessageDetails> =>
    (await world.call<MessageDetails>('operator', 'GET', `/messages/${encodeURIComponent(id)}`)).body;

  before(async () => {
    world = await openAdminWorld({
      'messaging.processedWindowMinutes': '0.15',
      'messaging.facilityType': '394759007^Independent provider site^2.16.840.1.113883.6.96',
      'messaging.practiceSetting': '394802001^General medicine^2.16.840.1.113883.6.96',
    });
    const { hisp, authority, side } = world.sandbox.world;
    const peer = await openHostilePeer(world.sandbox, {
      domain: 'direct.canary.example',
      mailAddress: '127.0.0.78',
    });

    // Secrets, as they are where they belong.
    const { credentials, consoleLink = '' } = world.sandbox;
    canaries.set('client secret', credentials.clientSecret);
    canaries.set('sandbox link', consoleLink.split('#enter=')[1] ?? '');
    for (const role of ['help-desk', 'operator', 'auditor'] as const)
      canaries.set(`token of ${role}`, world.headersOf(role)['authorization']?.split(' ')[1] ?? '');
    const pair = await authority.issue({ domain: domains.own });
    const { id: keyId } = await hisp.trust.addKeyPair(domains.own, pair.certificate.der, pair.privateKey);
    const { d = '', p = '' } = pair.privateKey.export({ format: 'jwk' });
    const pkcs8 = pair.privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64');
    for (const [name, text] of Object.entries({ d, p, pkcs8: pkcs8.slice(600, 700) }))
      canaries.set(`private key (${name})`, text.slice(0, 60));
    const hookUrl = `${side.baseUrl}/webhook?token=${planted.hookToken}`;
    const hook = (await world.client.post('/messaging/webhooks', {
      url: hookUrl,
      basicAuth: { username: planted.hookUser, password: planted.hookPassword },
    })) as { webhook: { id: string }; secret: string };
    canaries.set('webhook secret', hook.secret);
    const deadHook = (await world.client.post('/messaging/webhooks', {
      url: `${side.baseUrl}/nowhere?token=${planted.hookToken}`,
      kind: 'inbound',
    })) as { webhook: { id: string }; secret: string };
    canaries.set('webhook secret of an inbound hook', deadHook.secret);

    // Content, sent and received.
    const ids = await Promise.all(
      [...Object.values(partners), echoAddress].map((to) =>
        send(
          to,
          to === partners.dispatched
            ? {
                requestFinalDelivery: true,
                xdm: true,
                loincValue: '57133-1',
                loincName: 'Referral note',
              }
            : {},
        ),
      ),
    );
    const waiting = await send(peer.address);
    const { wireId } = await show(waiting);
    await peer.send(
      [
        peer
          .header('<canary-one@direct.canary.example>')
          .replace(/^From: .*$/m, `From: "${planted.inboundName}" <${peer.address}>`)
          .trimEnd(),
        `Subject: ${planted.inboundSubject}`,
        'Content-Type: multipart/mixed; boundary=b',
        '',
        '--b',
        'Content-Type: text/plain',
        '',
        planted.inboundText,
        '--b',
        'Content-Type: text/plain',
        `Content-Disposition: attachment; filename=${planted.inboundFile}`,
        '',
        planted.inboundText,
        '--b--',
        '',
      ].join('\r\n'),
    );
    await peer.send(
      buildMdn({
        disposition: 'failed',
        finalRecipient: peer.address,
        originalSender: demoAddress,
        originalMessageId: wireId,
        reportingUa: { host: 'mx.direct.canary.example', product: 'canary' },
        date: new Date(),
        messageId: '<canary-mdn@direct.canary.example>',
        text: `${planted.mdnText} Subject: ${planted.subject}`,
        failureText: 'mailbox is gone',
      }),
    );
    const refused = `${peer.header('<canary-two@direct.canary.example>')}Subject: ${planted.refusedSubject}\r\n\r\n${planted.refusedText}\r\n`;
    await peer.sendRaw(refused);
    await peer.send(refused.replace(/^Date: .*$/m, 'Date: Mon, 01 Jan 2001 00:00:00 +0000'));
    await waitFor(
      () => Promise.all([...ids, waiting].map(show)),
      (all) => all.every(({ recipients }) => recipients.every(({ isFinal }) => isFinal)),
      120,
    );
    const inbound = await waitFor(
      () => world.call<MessagePage>('operator', 'GET', '/messages?direction=in&q=direct.canary.example'),
      ({ body }) => body.result.length === 1,
    );
    received = await show(inbound.body.result[0]?.wireId ?? '');
    const turned = await waitFor(
      () => world.call<InboundPage>('operator', 'GET', '/inbound?state=refused'),
      ({ body }) => body.result.length > 0,
    );
    const refusedId = turned.body.result[0]?.id ?? '';

    // An operator who is to register a passkey, one who may sign in, and a session.
    const { store, links } = hisp.operators;
    const person = await store.create('canary person', 'help-desk');
    const enrolment = (await links.create(person.id, person.name, 'enrol')).token;
    const signIn = (await links.create(person.id, person.name, 'sign-in')).token;
    canaries.set('enrolment link', enrolment);
    canaries.set('sign-in link', signIn);

    // Disabling ends a client's tokens.
    const other = await hisp.oauth.clients.create({ name: 'Another client', scopes: ['messaging.api'] });
    canaries.set('secret of another client', other.clientSecret);

    const sent = ids[0] ?? '';
    const message = { names: [encodeURIComponent(sent)] };
    const clientId = credentials.clientId;
    const edgeUser = `canary@${domains.own}`;
    cases = {
      'post /sign-in/link': [
        { body: { token: enrolment } },
        { body: { token: signIn } },
        { body: { token: signIn }, status: 401 },
      ],
      'get /sign-in/methods': [{}],
      'post /enrol/passkey/options': [{ body: { token: enrolment } }],
      'post /enrol/passkey/verify': [{ body: { token: enrolment, response: {} }, status: 401 }],
      'post /sign-in/passkey/options': [{}],
      'post /sign-in/passkey/verify': [{ body: {}, status: 401 }],
      'get /session': [{}],
      'delete /session': [{ status: 204 }],
      'get /sessions': [{}],
      'delete /sessions': [{}],
      'delete /sessions/{sessionId}': [{ names: ['nothing'], status: 404 }],
      'get /passkeys': [{}],
      'post /passkeys/options': [{ body: {}, status: 403 }],
      'post /passkeys': [{ body: { name: 'x', response: {} }, status: 403 }],
      'patch /passkeys/{passkeyId}': [{ names: ['nothing'], body: { name: 'x' }, status: 404 }],
      'delete /passkeys/{passkeyId}': [{ names: ['nothing'], status: 403 }],
      'get /live': [],
      'get /now': [{}],
      'get /domains': [{}],
      'get /domains/{domain}': [{ names: [domains.own] }],
      'get /domains/{domain}/records': [{ names: [domains.own] }],
      'get /domains/{domain}/findings': [{ names: [domains.own] }],
      'post /domains/{domain}/csr': [{ names: [domains.own], body: {} }],
      'post /domains/{domain}/keys': [
        { names: [domains.own], body: { certificate: planted.text }, status: 400 },
      ],
      'post /domains/{domain}/keys/{id}/retire': [{ names: [domains.own, keyId], body: {} }],
      'post /domains': [{ body: { domain: 'direct.second.example' } }],
      'post /domains/{domain}/anchors': [
        {
          names: [domains.own],
          body: { certificate: planted.text, direction: 'both', preview: true },
          status: 400,
        },
      ],
      'delete /domains/{domain}/anchors/{id}': [{ names: [domains.own, 'nothing'], status: 404 }],
      'post /domains/{domain}/bundles': [
        {
          names: [domains.own],
          body: {
            url: `https://bundles.example/a.p7b?token=${planted.hookToken}`,
            direction: 'both',
            refreshHours: 24,
          },
        },
      ],
      'delete /domains/{domain}/bundles/{id}': [{ names: [domains.own, 'nothing'], status: 404 }],
      'get /domains/{domain}/addresses': [{ names: [domains.own] }],
      'get /addresses/{address}': [{ names: [demoAddress] }],
      'post /addresses/import': [
        { body: { csv: `address\nthird@${domains.own}\n`, preview: true, isRowByRow: false } },
      ],
      'put /addresses/{address}': [{ names: [`second@${domains.own}`], body: { isListed: true } }],
      'put /addresses/{address}/forwarding': [
        { names: [`second@${domains.own}`], body: { deliverTo: [demoAddress] } },
      ],
      'post /addresses/{address}/disable': [{ names: [`second@${domains.own}`] }],
      'post /addresses/{address}/enable': [{ names: [`second@${domains.own}`] }],
      'get /organizations': [{}],
      'get /organizations/{id}': [{ names: ['operator'] }],
      'post /organizations': [{ body: { id: 'canary-clinic', name: 'A clinic' }, status: 201 }],
      'patch /organizations/{id}': [{ names: ['canary-clinic'], body: { limits: { addresses: 5 } } }],
      'post /organizations/{id}/close': [{ names: ['canary-clinic'], body: { reason: 'The end' } }],
      'post /organizations/{id}/reopen': [{ names: ['canary-clinic'] }],
      'get /domains/{domain}/removal': [{ names: ['direct.second.example'] }],
      'post /domains/{domain}/disable': [{ names: ['direct.second.example'] }],
      'post /domains/{domain}/remove': [
        { names: ['direct.second.example'], body: { domain: planted.text }, status: 400 },
      ],
      'get /edge-accounts': [{}],
      'post /edge-accounts': [
        {
          body: { clientId, username: edgeUser, addresses: [edgeUser], protocols: ['imap'] },
          status: 201,
        },
      ],
      'get /edge-accounts/{id}': [{ names: ['nothing'], status: 404 }],
      'patch /edge-accounts/{id}': [{ names: ['nothing'], body: {}, status: 404 }],
      'post /edge-accounts/{id}/passwords': [{ names: ['nothing'], status: 404 }],
      'delete /edge-accounts/{id}/passwords/{passwordId}': [{ names: ['nothing', 'nothing'], status: 404 }],
      'post /edge-accounts/{id}/disable': [{ names: ['nothing'], status: 404 }],
      'post /edge-accounts/{id}/enable': [{ names: ['nothing'], status: 404 }],
      'get /nodes': [{}],
      'get /operators': [{}],
      'get /operators/{name}': [{ names: ['script auditor'] }],
      // The caller's token gives nobody access.
      'post /operators': [{ body: { name: 'ann', role: 'auditor' }, status: 403 }],
      'patch /operators/{name}': [{ names: ['script auditor'], body: { role: 'operator' }, status: 403 }],
      'post /operators/{name}/link': [{ names: ['script auditor'], status: 403 }],
      'post /operators/{name}/enable': [{ names: ['script auditor'], status: 403 }],
      'post /operators/{name}/disable': [{ names: ['nothing'], status: 404 }],
      'delete /operators/{name}/sessions': [{ names: ['script help-desk'] }],
      'delete /operators/{name}/sessions/{id}': [{ names: ['script help-desk', 'nothing'], status: 404 }],
      'delete /operators/{name}/tokens/{id}': [{ names: ['script help-desk', 'nothing'], status: 404 }],
      'delete /operators/{name}/passkeys/{id}': [{ names: ['script help-desk', 'nothing'], status: 404 }],
      'post /address-checks': [
        { body: { address: partners.untrusted } },
        { body: { address: peer.address } },
      ],
      'post /legal-holds': [
        { body: { kind: 'address', name: `second@${domains.own}`, reason: 'Case 12' }, status: 201 },
      ],
      'post /legal-holds/{holdId}/release': [
        { names: ['nothing'], body: { reason: 'Case 12' }, status: 404 },
      ],
      'get /queue': [{}],
      'get /queue/{destination}': [{ names: [domains.partner] }],
      'post /queue/actions': [
        { body: { action: 'retry', destinations: [domains.partner], preview: true } },
        { body: { action: 'retry', destinations: [domains.partner], preview: false } },
      ],
      'get /directory/form': [{}],
      'get /directory/search': [{ query: '?limit=5' }],
      'get /directory/records/{id}': [{ names: ['1'] }],
      'get /directory/suggestions': [{ query: '?q=smith' }],
      'get /directory/sources': [{}],
      'get /directory/loads': [{}],
      'post /directory/sources/{name}/rollback': [{ names: ['default'], status: 409 }],
      'post /directory/verification': [{ body: { isRunning: false } }],
      // The upload and its report have their own test below.
      'post /directory/loads': [{ body: {}, status: 400 }],
      'get /audit': [{ query: '?limit=200' }, { query: `?message=${encodeURIComponent(sent)}` }],
      'get /usage': [{}, { query: '?by=all' }],
      'post /audit/verify': [{}],
      'get /audit/export': [{ role: 'auditor' }],
      'get /messages': [{ query: '?limit=200' }, { query: '?direction=in&limit=200' }],
      'get /message-filters': [{}],
      'get /messages/{messageId}': [
        ...[...ids, waiting, received.messageId, received.wireId].map((id) => ({
          names: [encodeURIComponent(id)],
        })),
        // One view of the auditor, to whom all rows are shown.
        { ...message, role: 'auditor' },
      ],
      'get /messages/{messageId}/ticket': [...ids, waiting, received.wireId].map((id) => ({
        names: [encodeURIComponent(id)],
      })),
      'get /messages/{messageId}/evidence': [message],
      'post /messages/{messageId}/retry': [message],
      'post /messages/{messageId}/fail': [message],
      'get /clients': [{}],
      'get /clients/{id}': [{ names: [clientId] }],
      'post /clients': [{ body: { name: 'A second client', scopes: ['messaging.api'] }, status: 201 }],
      'patch /clients/{id}': [{ names: [clientId], body: { name: 'The demo client' } }],
      'post /clients/{id}/secrets': [{ names: [clientId], status: 201 }],
      'delete /clients/{id}/secrets/{secretId}': [{ names: [clientId, 'nothing'], status: 404 }],
      'post /clients/{id}/disable': [{ names: [other.clientId] }],
      'post /clients/{id}/enable': [{ names: [other.clientId] }],
      'get /inbound': ['received', 'refused', 'dead-lettered', 'unacknowledged'].map((state) => ({
        query: `?state=${state}`,
      })),
      'get /inbound/counts': [{}],
      'get /inbound/{id}': [{ names: [refusedId] }],
      'get /inbound/{id}/ticket': [{ names: [refusedId] }],
      'post /inbound/{id}/retry': [{ names: ['nothing'], status: 404 }],
      'get /webhooks': [{}],
      'get /webhooks/{id}': [{ names: [hook.webhook.id] }, { names: [deadHook.webhook.id] }],
      // The secret is what it is for.
      'post /webhooks': [
        { body: { clientId: 'nothing', url: 'https://a.example/', kind: 'status' }, status: 404 },
      ],
      'post /webhooks/{id}/replay': [{ names: [deadHook.webhook.id], body: {} }],
      'post /webhooks/{id}/disable': [{ names: ['nothing'], status: 404 }],
      'post /webhooks/{id}/enable': [{ names: [hook.webhook.id] }],
      'post /webhooks/{id}/test': [{ names: [hook.webhook.id] }, { names: [deadHook.webhook.id] }],
      'post /test-messages': [
        { body: { fromDirectAddress: demoAddress, toDirectAddress: partners.processed } },
        { body: { fromDirectAddress: planted.subject, toDirectAddress: planted.text }, status: 400 },
      ],
      'get /playground': [{}],
      'post /playground/send': [{ body: { to: partners.processed, sample: 'referral-note' } }],
      'get /playground/exchange/{messageId}': [{ ...message, status: 404 }],
    };

    const { body } = await world.call<{
      paths: Record<
        string,
        Record<string, { 'x-permission': string; responses: Record<string, { description: string }> }>
      >;
    }>('auditor', 'GET', '/openapi.json');
    let described = 0;
    for (const [place, methods] of Object.entries(body.paths))
      for (const [method, { responses }] of Object.entries(methods))
        for (const [status, { description }] of Object.entries(responses)) {
          // The generator's placeholder is 'Default Response'.
          assert.match(description, /^[A-Z].*\.$/s, `${method} ${place} ${status}`);
          described += 1;
        }
    assert.ok(described > 200, String(described));
    operations = Object.entries(body.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, one]) => ({
        method,
        path: path.replace('/admin/v1', ''),
        permission: one['x-permission'],
      })),
    );
  });
  after(() => world?.close());

  function requireSilence(what: string, text: string): void {
    for (const [name, word] of canaries) {
      assert.notEqual(word, '', name);
      assert.ok(!text.includes(word), `${what} shows the ${name}`);
      assert.ok(
        !text.includes(Buffer.from(word).toString('base64').replace(/=+$/, '').slice(0, -1)),
        `${what} shows the ${name} in base64`,
      );
    }
  }

  it('has words to find: they stand where they belong', async () => {
    const { result } = (await world.client.get(
      `/messaging/dirmsg/inbox?toDirectAddress=${demoAddress}&limit=100`,
    )) as { result: readonly { messageId: string; fromDirectAddress: string }[] };
    const entry = result.find(({ fromDirectAddress }) => fromDirectAddress.endsWith('canary.example'));
    const inner = JSON.stringify(await world.client.get(`/messaging/dirmsg/inbox/${entry?.messageId}`));
    for (const word of [planted.inboundSubject, planted.inboundText, planted.inboundFile])
      assert.ok(inner.includes(word), word);
    assert.ok(received.messageId !== '' && received.direction === 'in');
  });

  it('has a case for every route that the API describes', () => {
    const described = operations.map(({ method, path }) => `${method} ${path}`);
    assert.ok(described.length >= 50, String(described.length));
    assert.deepEqual(described.toSorted(), Object.keys(cases).toSorted());
  });

  it('says none of the words in any answer', async () => {
    for (const { method, path } of operations)
      for (const one of cases[`${method} ${path}`] ?? []) {
        const { role = 'operator', names = [], query = '', body, status = 200 } = one;
        const left = [...names];
        const target = `${path.replaceAll(/\{[^}]+\}/g, () => left.shift() ?? '')}${query}`;
        const answer = await world.call(role, method.toUpperCase(), target, body);
        const what = `${role}: ${method} ${target}`;
        assert.equal(answer.status, status, `${what}: ${answer.text.slice(0, 500)}`);
        answers.push({ what, text: answer.text });
        requireSilence(what, answer.text);
      }
    assert.ok(answers.some(({ text }) => text.includes('mailbox is gone')));
  });

  it('returns none of the words in the report of an upload or in the stream of changes', async () => {
    const ending = new AbortController();
    const stream = await fetch(`${world.consoleUrl}/admin/v1/live`, {
      headers: world.headersOf('operator'),
      signal: ending.signal,
    });
    let received = '';
    const reading = (async () => {
      for await (const chunk of stream.body ?? []) received += Buffer.from(chunk).toString();
    })().catch(() => undefined);
    const rows = [
      'prov_npi,prov_last_name,serv_direct_addr',
      `1234567893,Smith,${planted.refusedRow} no address`,
      `${planted.refusedRow},Smith,a@direct.good.example`,
    ].join('\r\n');
    const upload = await fetch(`${world.consoleUrl}/admin/v1/directory/loads?name=rows.csv&source=canary`, {
      method: 'POST',
      headers: { ...world.headersOf('operator'), 'content-type': 'text/csv' },
      body: rows,
    });
    assert.equal(upload.status, 202, await upload.clone().text());
    await waitFor(
      () => received,
      (text) => /"phase":"(?:done|failed)"/.test(text),
    );
    await send(partners.processed);
    await waitFor(
      () => received,
      (text) => text.includes('"messages"'),
    );
    ending.abort();
    await reading;
    const loads = await world.call('auditor', 'GET', '/directory/loads');
    assert.ok(loads.text.includes('rows.csv'));
    requireSilence('the report of an upload', loads.text);
    requireSilence('the stream', received);
  });

  it('says none of the words of a request that it refuses', async () => {
    for (const [method, target, body] of [
      ['GET', `/nothing/${planted.patientId}`, undefined],
      ['POST', '/sign-in/link', { token: planted.hookToken }],
      ['POST', '/clients', { name: 'x', scopes: [planted.subject] }],
      ['POST', '/queue/actions', { action: planted.subject }],
      ['POST', '/address-checks', { address: planted.subject }],
    ] as const) {
      const answer = await world.call('operator', method, target, body);
      assert.ok(answer.status >= 400, `${method} ${target}`);
      requireSilence(`${method} ${target}`, answer.text);
    }
  });

  it('leaves none of the words in an audit row, a log line or a metric', async () => {
    const { hisp } = world.sandbox.world;
    await hisp.audit.flush();
    const rows = await hisp.audit.find({ limit: 10_000 });
    assert.ok(rows.length > 100);
    for (const row of rows)
      requireSilence(`the audit row ${row.sequence} (${row.action})`, JSON.stringify(row));
    assert.ok(world.logged.length > 0);
    for (const line of world.logged) requireSilence('a log line', line);
    const metrics = await (await fetch(`${hisp.baseUrl}/metrics`)).text();
    assert.match(metrics, /# TYPE/);
    requireSilence('the metrics', metrics);
  });
});
