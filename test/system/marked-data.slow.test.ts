/**
 * Patient data and secrets stay where they belong. Two HISPs send, receive, refuse, bounce and are attacked, with one marked word in every
 * place that can hold data about a patient. Then everything else is searched for it: refusals, logs of every level, metrics, audit rows,
 * what commands print, status notifications, the wire, the stored bytes, and every file, open or deleted, while the service runs and after it.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import {
  connect,
  createServer as createTcpServer,
  type AddressInfo,
  type Server as TcpServer,
} from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { runCommand } from '../support/run-command.ts';
import { createEdgeClient, demoAddress, domains, partners } from '../../src/app/dev/index.ts';
import { buildMdn } from '../../src/lib/mdn/index.ts';
import { isPostgres } from '../support/storage.ts';
import { openHostilePeer, type HostilePeer } from '../console/hostile-peer.ts';
import { findMarks, formsOf } from '../support/find-marks.ts';
import { openTestSandbox, send, waitFor, type TestSandbox } from './sandbox-fixture.ts';

/** In every value that describes a patient or is content. */
const mark = 'ZqvxMark';
/** As a name where there should be none; refusals may repeat a name to the caller, and nothing else may. */
const nameMark = 'ZqvxName';
const peerDomain = 'direct.marked.example';
const peerMailAddress = '127.0.0.77';
const largeBytes = 2_500_000;

/** The members of a status event, and no others. */
const eventMembers = [
  'attempt',
  'eventId',
  'eventTime',
  'eventType',
  'fromDirectAddress',
  'messageId',
  'status',
  'statusCode',
  'statusText',
  'toDirectAddress',
];

const ccda = (filler = 0): string =>
  `<ClinicalDocument xmlns="urn:hl7-org:v3"><title>${mark} title</title><recordTarget><patientRole><id extension="${mark}-7"/><patient><name><given>${mark}</given></name></patient></patientRole></recordTarget><text>${`${mark} `.repeat(filler / 9)}</text></ClinicalDocument>`;

const attachment = (filler = 0) => ({
  attachmentClass: 'text/xml',
  attachmentContent: Buffer.from(ccda(filler)).toString('base64'),
  attachmentTitle: `${mark} title`,
  attachmentFileName: `${mark}-file.xml`,
});

/** A send with the word in every field that takes any text. */
const referral = (to: string, extra: Readonly<Record<string, unknown>> = {}) => ({
  fromDirectAddress: demoAddress,
  toDirectAddress: to,
  messageSubject: `${mark} subject`,
  messageBody: `Body of ${mark}`,
  emailAttachmentList: [attachment()],
  patientLastname: `${mark}son`,
  patientFirstname: `${mark}a`,
  patientMiddlename: mark,
  patientId: `${mark}-4711`,
  assigning_authority: '2.16.840.1.113883.19.5',
  patientAddressStreet1: `12 ${mark} Street`,
  patientAddressStreet2: mark,
  patientAddressCity: `${mark}ville`,
  patient_summary: `${mark}a ${mark}son`,
  authorPerson: `${mark} the author`,
  loincValue: '57133-1',
  loincName: `${mark} note`,
  ...extra,
});

interface Place {
  readonly what: string;
  readonly bytes: Buffer;
}

describe('patient data and secrets', () => {
  let world: TestSandbox;
  let temporary: string;
  let peer: HostilePeer;
  let mailServer: TcpServer;
  let hookServer: Server;
  const usualTemporary = process.env['TMPDIR'];
  const secrets = new Map<string, string>();
  const onWire: Buffer[] = [];
  /** Bodies that the clients' webhooks got, by their path. */
  const notified = new Map<string, string[]>();
  const refusals: { readonly what: string; readonly status: number; readonly text: string }[] = [];
  const printed: Place[] = [];
  let token = '';

  before(async () => {
    world = await openTestSandbox({
      'messaging.processedWindowMinutes': '0.1',
      'messaging.facilityType': '394759007^Independent provider site^2.16.840.1.113883.6.96',
      'messaging.practiceSetting': '394802001^General medicine^2.16.840.1.113883.6.96',
      'delivery.giveUpHours': '1',
      'messaging.sendsPerSecond': '1000',
      'messaging.sendsBurst': '2000',
    });
    // From here on, temporary files of this process and of SQLite have a folder to themselves.
    temporary = mkdtempSync(path.join(tmpdir(), 'openhisp-marked-'));
    process.env['TMPDIR'] = temporary;
    await openPeers();
    await collectSecrets();
    await Promise.all([sendEverything(), receiveEverything(), attackHttp(), attackSmtp()]);
    await settle();
    await runCommands();
  });
  after(async () => {
    await world?.close();
    mailServer?.close();
    hookServer?.close();
    if (usualTemporary === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = usualTemporary;
    rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });
  });

  async function openPeers(): Promise<void> {
    mailServer = startMailServer();
    await new Promise<void>((resolve) =>
      mailServer.listen(world.sandbox.world.peerPort, peerMailAddress, resolve),
    );
    peer = await openHostilePeer(world.sandbox, { domain: peerDomain, mailAddress: peerMailAddress });
    hookServer = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks);
        const name = request.url ?? '';
        notified.set(name, [...(notified.get(name) ?? []), body.toString()]);
        // As the error page of a framework, which shows the request that it failed on.
        response.writeHead(500, { 'content-type': 'text/html', 'x-echo': mark }).end(body);
      });
    });
    await new Promise<void>((resolve) => hookServer.listen(0, '127.0.0.1', resolve));
    const base = `http://127.0.0.1:${(hookServer.address() as AddressInfo).port}`;
    for (const kind of ['status', 'inbound']) {
      const hook = (await world.client.post('/messaging/webhooks', {
        url: `${base}/${kind}`,
        kind,
        basicAuth: { username: 'clinic', password: `${nameMark}-password` },
      })) as { readonly secret: string };
      secrets.set(`secret of the ${kind} webhook`, hook.secret);
    }
    secrets.set('password of a webhook', `${nameMark}-password`);
  }

  /** Takes mail for `taken@`, defers `later@` and refuses all other; keeps what was sent to it. */
  function startMailServer(): TcpServer {
    return createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.write('220 mx ready\r\n');
      let isData = false;
      let rest = '';
      socket.on('data', (chunk: Buffer) => {
        onWire.push(chunk);
        rest += chunk.toString('latin1');
        for (let end = rest.indexOf('\r\n'); end >= 0; end = rest.indexOf('\r\n')) {
          const line = rest.slice(0, end);
          rest = rest.slice(end + 2);
          if (isData) {
            if (line !== '.') continue;
            isData = false;
            socket.write('250 taken\r\n');
          } else if (/^STARTTLS/i.test(line)) socket.write('502 no TLS here\r\n');
          else if (/^DATA/i.test(line)) {
            isData = true;
            socket.write('354 go on\r\n');
          } else if (/^RCPT TO:<later/i.test(line)) socket.write('450 4.2.1 later\r\n');
          else if (/^RCPT TO:<bounce/i.test(line)) socket.write('550 5.7.1 no\r\n');
          else if (/^QUIT/i.test(line)) socket.end('221 bye\r\n');
          else socket.write('250 ok\r\n');
        }
      });
    });
  }

  /** Secrets as their holders know them, to be found nowhere but with their holders. */
  async function collectSecrets(): Promise<void> {
    const { credentials, consoleLink = '' } = world.sandbox;
    const { hisp, authority } = world.sandbox.world;
    secrets.set('client secret', credentials.clientSecret);
    const response = await fetch(`${credentials.baseUrl}/oauth2/direct/v1/token`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${credentials.clientId}:${credentials.clientSecret}`).toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: 'grant_type=client_credentials&scope=messaging.api%20provider-directory',
    });
    token = ((await response.json()) as { access_token: string }).access_token;
    secrets.set('access token', token);
    secrets.set('link to the console', consoleLink.split('#enter=')[1] ?? '');
    const { id, name } = await hisp.operators.store.create('Marked', 'operator');
    const link = await hisp.operators.links.create(id, name, 'sign-in');
    secrets.set('sign-in link', link.token);
    const session = await hisp.operators.signIn.byLink(
      (await hisp.operators.links.create(id, name, 'sign-in')).token,
      { remoteAddress: '127.0.0.1', userAgent: 'test' },
    );
    assert.equal(session.kind, 'signed-in');
    if (session.kind === 'signed-in') secrets.set('session of the console', session.session.token);
    const bearer = await hisp.operators.tokens.create(await hisp.operators.store.get(name), {
      label: 'x',
      lifetimeMs: 3_600_000,
    });
    secrets.set('token of an operator', bearer.token);
    const pair = await authority.issue({ domain: domains.own });
    await hisp.trust.addKeyPair(domains.own, pair.certificate.der, pair.privateKey);
    const { d = '', p = '', q = '' } = pair.privateKey.export({ format: 'jwk' });
    // The bytes themselves, which DER and PKCS #8 hold unchanged.
    for (const [part, text] of Object.entries({ d, p, q }))
      secrets.set(`private key (${part})`, Buffer.from(text, 'base64url').subarray(8, 40).toString('latin1'));
  }

  async function sendEverything(): Promise<void> {
    const { client } = world;
    const own = [`taken@${peerDomain}`, `later@${peerDomain}`, `bounce@${peerDomain}`];
    for (const to of [...Object.values(partners), `echo@${domains.partner}`, ...own])
      for (const xdm of [false, true]) await send(client, referral(to, { xdm, requestFinalDelivery: xdm }));
    // Stored in chunks, composed and sealed in threads.
    for (const to of [partners.processed, `later@${peerDomain}`])
      await send(client, referral(to, { xdm: true, emailAttachmentList: [attachment(largeBytes)] }));
    const messageId = `urn:uuid:${crypto.randomUUID()}`;
    await send(client, referral(partners.processed, { messageId }));
    await send(client, referral(partners.processed, { messageId }));
    const other = referral(partners.processed, { messageId, messageBody: `another ${mark}` });
    refusals.push(await ask('POST', '/messaging/dirmsg/send_ccda', JSON.stringify(other)));
    // From the partner's own client, as a package.
    const partner = JSON.parse(
      readFileSync(path.join(world.folder, 'partner-client.json'), 'utf8'),
    ) as Parameters<typeof createEdgeClient>[0];
    await send(createEdgeClient({ ...partner, baseUrl: world.sandbox.world.partner.baseUrl }), {
      ...referral(demoAddress, { xdm: true }),
      fromDirectAddress: partners.processed,
    });
  }

  /** Sealed by a peer that is trusted: what nobody but the recipient may see. */
  async function receiveEverything(): Promise<void> {
    const header = (id: string): string =>
      peer
        .header(`<${id}@${peerDomain}>`)
        .replace(/^From: .*$/m, `From: "${mark} Doctor" <${peer.address}>`)
        .replace(/^To: .*$/m, `To: "${mark} Clinic" <${demoAddress}>`)
        .trimEnd();
    const part = (type: string, text: string, extra = ''): string =>
      `--b\r\nContent-Type: ${type}\r\n${extra}\r\n${text}\r\n`;
    const all = [
      header('all'),
      `Subject: ${mark} =?utf-8?B?${Buffer.from(`${mark} subject`).toString('base64')}?=`,
      `X-Patient: ${mark}`,
      `Comments: ${mark}`,
      `Reply-To: "${mark}" <${peer.address}>`,
      'Content-Type: multipart/mixed; boundary=b',
      '',
      part('text/plain', `text of ${mark}`),
      part('text/xml', ccda(), `Content-Disposition: attachment; filename="${mark}.xml"\r\n`),
      part(
        `application/pdf; name="${mark}.pdf"`,
        Buffer.from(`%PDF-1.4 ${mark}`).toString('base64'),
        `Content-Transfer-Encoding: base64\r\nContent-Description: ${mark}\r\n`,
      ),
      '--b--',
      '',
    ].join('\r\n');
    await peer.send(all);
    // Faults inside of what is signed and encrypted: what is said about them must not quote them.
    const faulty = [
      `Subject: ${mark}\r\nContent-Type: ${mark}/${mark}; ${mark}; =${mark}\r\n\r\n${mark}`,
      `Subject: =?${mark}?Q?${mark}?=\r\nContent-Type: text/plain; charset="${mark}"\r\n\r\n${mark}`,
      `Subject: x\r\nContent-Type: multipart/mixed; boundary="${mark}"\r\n\r\n--${mark}\r\n${mark} no header\r\n\r\n${mark}`,
      `Content-Type: application/zip; name="${mark}.zip"\r\nContent-Transfer-Encoding: base64\r\n\r\n${Buffer.from(`PK\x03\x04${mark}`).toString('base64')}`,
      `Content-Type: text/xml\r\nContent-Transfer-Encoding: ${mark}\r\n\r\n<${mark}>`,
      `Content-Type: multipart/report; report-type=disposition-notification; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\n${mark}\r\n--b\r\nContent-Type: message/disposition-notification\r\n\r\nFinal-Recipient: rfc822;${mark}\r\nDisposition: ${mark}\r\n${mark}: ${mark}\r\n--b--\r\n`,
      `Content-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\n${mark}\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns;mx\r\n\r\nFinal-Recipient: rfc822;${mark}\r\nAction: ${mark}\r\nStatus: ${mark}\r\n--b\r\nContent-Type: text/rfc822-headers\r\n\r\nSubject: ${mark}\r\n--b--\r\n`,
    ];
    for (const [index, text] of faulty.entries()) await peer.offer(`${header(`f${index}`)}\r\n${text}\r\n`);
    await peer.offer(
      `${header('old').replace(/^Date: .*$/m, 'Date: Mon, 01 Jan 2001 00:00:00 +0000')}\r\nSubject: ${mark}\r\n\r\n${mark}\r\n`,
    );
    const waiting = await send(world.client, referral(peer.address));
    const { wireId } = await world.sandbox.world.hisp.storage
      .tables<{ message: { uuid: string; wire_id: string } }>()
      .selectFrom('message')
      .select('wire_id as wireId')
      .where('uuid', '=', waiting.replace('urn:uuid:', ''))
      .executeTakeFirstOrThrow();
    await peer.offer(
      buildMdn({
        disposition: 'failed',
        finalRecipient: peer.address,
        originalSender: demoAddress,
        originalMessageId: wireId,
        reportingUa: { host: `mx.${peerDomain}`, product: 'marked' },
        date: new Date(),
        messageId: `<mdn@${peerDomain}>`,
        text: `Your message "${mark} subject" about ${mark}son was not shown.`,
        failureText: 'mailbox is gone',
      }),
    );
    // In plain: refused, and kept nowhere.
    await peer.sendRaw(`${header('raw')}\r\nSubject: ${mark}\r\n\r\n${mark}\r\n`);
  }

  async function ask(
    method: string,
    target: string,
    body?: string | Uint8Array,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ what: string; status: number; text: string }> {
    const response = await fetch(`${world.sandbox.credentials.baseUrl}${target}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: Buffer.from(body) }),
    });
    const all = JSON.stringify([...response.headers]) + (await response.text());
    return {
      what: `${method} ${target.slice(0, 80)} ${Buffer.from(body ?? '')
        .subarray(0, 80)
        .toString()}`,
      status: response.status,
      text: all,
    };
  }

  /** Requests with a fault at, before and after the word. */
  async function attackHttp(): Promise<void> {
    const sendPath = '/messaging/dirmsg/send_ccda';
    const filler = 'x'.repeat(200_000);
    const bad = (fields: Readonly<Record<string, unknown>>): string =>
      JSON.stringify(referral(partners.processed, fields));
    const bodies: (string | Uint8Array)[] = [
      ...[
        'fromDirectAddress',
        'toDirectAddress',
        'messageId',
        'patientDOB',
        'patientGender',
        'patientAddressState',
        'patientAddressZip',
        'assigning_authority',
        'patientIdType',
        'loincValue',
        'authorInstitution',
        'emailAttachmentList',
        'xdm',
        'asmEnabled',
        'requestFinalDelivery',
      ].map((name) => bad({ [name]: `${mark} no value` })),
      bad({ messageSubject: `${mark}\r\nBcc: ${mark}` }),
      bad({ patientLastname: [mark], patientFirstname: { [nameMark]: mark } }),
      bad({ messageBody: { [nameMark]: mark } }),
      bad({ assigning_authority: undefined }),
      bad({ [nameMark]: mark }),
      bad({ toDirectAddress: [partners.processed, `${mark}@`, mark] }),
      bad({ emailAttachmentList: [{ ...attachment(), attachmentContent: `!${mark}!` }] }),
      bad({ emailAttachmentList: [{ ...attachment(), attachmentContent: `!${mark}!${filler}` }] }),
      bad({ emailAttachmentList: [{ ...attachment(), attachmentClass: mark }] }),
      bad({ emailAttachmentList: [{ ...attachment(), attachmentFileName: `../${mark}\0` }] }),
      bad({ emailAttachmentList: [{ ...attachment(), [nameMark]: mark }] }),
      bad({
        emailAttachmentList: [
          mark,
          { attachmentClass: 'application/pdf', attachmentContent: Buffer.from(mark).toString('base64') },
        ],
      }),
      // V8's messages about JSON quote what stands around the fault.
      `{"messageBody":"${mark}`,
      `{"messageBody":${mark}}`,
      `{"messageBody":"${mark}" "${mark}"}`,
      `{"messageBody":"${mark}\n${mark}"}`,
      `${mark}`,
      `{"filler":"${filler}","messageBody":${mark}}`,
      `{"messageBody":"${mark}","filler":"${filler}`,
      `{"messageBody":"${mark}","messageBody":"${mark}"}`,
      `{"messageBody":"${mark}\\ud800"}`,
      Buffer.concat([
        Buffer.from(`{"messageBody":"${mark}`),
        Buffer.from([0xff, 0xfe]),
        Buffer.from(`${mark}"}`),
      ]),
    ];
    for (const body of bodies) refusals.push(await ask('POST', sendPath, body));
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/xml',
      `application/json; charset=${mark}x`,
    ])
      refusals.push(await ask('POST', sendPath, `{"messageBody":${mark}`, { 'content-type': type }));
    refusals.push(await ask('POST', sendPath, `{"messageBody":"${mark}"}`, { 'content-encoding': 'gzip' }));
    const others: readonly (readonly [method: string, target: string, body?: string])[] = [
      ['GET', `/messaging/dirmsg/status/${mark}`],
      ['GET', `/messaging/dirmsg/inbox?toDirectAddress=${mark}`],
      ['GET', `/messaging/dirmsg/inbox?cursor=${mark}`],
      ['GET', `/messaging/dirmsg/inbox/${mark}`],
      ['GET', `/messaging/dirmsg/inbox/${mark}/attachments/${mark}`],
      ['POST', `/messaging/dirmsg/inbox/${mark}/ack`],
      ['POST', '/messaging/dirmsg/status', JSON.stringify({ messageIds: [mark, { [nameMark]: mark }] })],
      ['POST', '/messaging/webhooks', JSON.stringify({ url: `https://${mark}:${mark}@${mark}/` })],
      ['POST', '/messaging/webhooks', JSON.stringify({ url: `javascript:${mark}`, kind: mark })],
      ['DELETE', `/messaging/webhooks/${mark}`],
      ['GET', `/provider-directory/v2/providers?prov_npi=${mark}`],
      ['GET', `/nowhere/${mark}?${mark}=${mark}`],
      ['PUT', sendPath, JSON.stringify(referral(partners.processed))],
    ];
    for (const [method, target, body] of others) refusals.push(await ask(method, target, body));
    refusals.push(
      await ask('GET', '/messaging/dirmsg/inbox', undefined, { authorization: `Bearer ${mark}` }),
    );
    refusals.push(
      await ask('GET', '/messaging/dirmsg/inbox', undefined, { authorization: `${mark} ${mark}` }),
    );
    const form = { 'content-type': 'application/x-www-form-urlencoded', authorization: '' };
    for (const body of [
      `grant_type=client_credentials&client_id=${mark}&client_secret=${mark}`,
      `grant_type=${mark}&scope=${mark}&${mark}=${mark}`,
      `grant_type=client_credentials&scope=${mark}&client_id=${world.sandbox.credentials.clientId}&client_secret=${mark}`,
    ])
      refusals.push(await ask('POST', '/oauth2/direct/v1/token', body, form));
    const { port } = new URL(world.sandbox.credentials.baseUrl);
    for (const request of [
      `${mark}\r\n\r\n`,
      `GET /${mark} HTTP/1.1\r\nHost: x\r\n${mark}\r\n\r\n`,
      `GET /${mark} HTTP/1.1\r\nHost: x\r\nX-Long: ${mark.repeat(4000)}\r\n\r\n`,
      `POST ${sendPath} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${mark}\r\n${mark}\r\n`,
      `POST ${sendPath} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{"messageBody":"${mark}`,
    ]) {
      const text = await exchange(Number(port), '127.0.0.1', request);
      refusals.push({ what: `raw ${request.slice(0, 60)}`, status: 400, text });
    }
  }

  /** Writes, waits for an answer, and leaves: in the middle of a request, too. */
  function exchange(port: number, host: string, ...texts: readonly string[]): Promise<string> {
    return new Promise((resolve) => {
      let received = '';
      const left = [...texts];
      const socket = connect(port, host);
      const end = setTimeout(() => socket.destroy(), 700);
      const next = (): void => void socket.write(left.shift() ?? '');
      socket.on('connect', () => host === '127.0.0.1' && next());
      socket.on('data', (chunk: Buffer) => {
        received += chunk.toString('latin1');
        if (host !== '127.0.0.1' && left.length > 0) next();
      });
      socket.on('error', () => undefined);
      socket.on('close', () => {
        clearTimeout(end);
        resolve(received);
      });
    });
  }

  /** Sessions that go wrong; replies of ours must not repeat what they do not understand. */
  async function attackSmtp(): Promise<void> {
    const { smtpPort } = world.sandbox.world;
    const start = [
      'EHLO mx.marked.example\r\n',
      `MAIL FROM:<${peer.address}>\r\n`,
      `RCPT TO:<${demoAddress}>\r\n`,
      'DATA\r\n',
    ];
    for (const texts of [
      [`${mark} ${mark}\r\n`, `HELP ${mark}\r\n`, `VRFY ${mark}\r\n`],
      ['EHLO mx.marked.example\r\n', `MAIL FROM:${mark}\r\n`, `AUTH PLAIN ${mark}\r\n`],
      [...start, `Subject: ${mark}\r\n\r\n${mark}\r\n.\r\n`],
      // Gone in the middle of it.
      [...start, `Subject: ${mark}\r\nContent-Type: application/pkcs7-mime\r\n\r\n${mark}\r\n`],
      [...start, `${mark}\r\n`.repeat(2000)],
    ]) {
      const text = await exchange(smtpPort, '127.0.0.2', ...texts);
      refusals.push({ what: `SMTP ${texts.at(-1)?.slice(0, 40)}`, status: 400, text });
    }
  }

  /** Until every message but the deferred ones is decided, and hooks were called. */
  async function settle(): Promise<void> {
    const { hisp } = world.sandbox.world;
    await waitFor(
      () =>
        hisp.storage
          .tables<{ message_recipient: { state: string; address: string } }>()
          .selectFrom('message_recipient')
          .select(['state', 'address'])
          .where('state', 'in', ['queued', 'sent'])
          .execute(),
      (rows) => rows.every(({ address }) => address.startsWith('later@')),
      90,
    );
    await waitFor(
      () => [notified.get('/status')?.length ?? 0, notified.get('/inbound')?.length ?? 0],
      ([status = 0, inbound = 0]) => status > 5 && inbound > 0,
    );
    await hisp.audit.flush();
  }

  async function runHere(...words: readonly string[]): Promise<string> {
    const env = {
      OPENHISP_DATA_DIR: path.join(world.folder, 'hisp'),
      OPENHISP_STORAGE_URL: world.databases[0]?.location.url,
      OPENHISP_OPERATOR: 'jo',
    };
    const { out: said, note: noted, exitCode = 0 } = await runCommand(env, words);
    assert.equal(exitCode, 0, `${words.join(' ')}: ${noted.slice(0, 500)}`);
    printed.push({ what: words.join(' '), bytes: Buffer.from(said + noted) });
    return said;
  }

  /** Every command of an operator that shows what came from outside. */
  async function runCommands(): Promise<void> {
    interface Listed {
      readonly items: readonly { readonly id?: string; readonly messageId?: string }[];
    }
    const list = async (...words: readonly string[]): Promise<Listed['items']> =>
      (JSON.parse(await runHere(...words, '--limit', '200', '--json')) as Listed).items;
    const sent = new Set((await list('message', 'find')).map(({ messageId }) => messageId ?? ''));
    assert.ok(sent.size > 15, String(sent.size));
    for (const id of sent) await runHere('message', 'show', id);
    const inbound = await list('inbound', 'list');
    assert.ok(inbound.length > 0);
    for (const { id } of inbound) await runHere('inbound', 'show', String(id));
    await runHere('queue', 'list', peerDomain, '--json');
    await runHere('audit', 'list', '--all');
    await runHere('webhook', 'list', '--json');
    await runHere('client', 'list');
    await runHere('verify');
    if (!isPostgres) await runHere('backup', path.join(temporary, 'backup.db'));
  }

  /** Fails with each place that has the word, and what stands around it there. */
  function requireNone(places: readonly Place[], words: ReadonlyMap<string, string>): void {
    const found = places.flatMap(({ what, bytes }) =>
      [...words].flatMap(([name, word]) =>
        findMarks(bytes, word).map((place) => `${what}: ${name} ${place}`),
      ),
    );
    assert.deepEqual(found, []);
  }

  const content = new Map([
    ['content', mark],
    ['a name', nameMark],
  ]);
  const everything = (): Map<string, string> => new Map([...content, ...secrets]);

  const text = (what: string, value: unknown): Place => ({
    what,
    bytes: Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
  });

  it('has words to find: they stand where they belong', async () => {
    const { result } = (await world.client.get('/messaging/dirmsg/inbox?limit=100')) as {
      result: readonly { messageId: string }[];
    };
    const inner = await Promise.all(
      result.map(({ messageId }) => world.client.get(`/messaging/dirmsg/inbox/${messageId}`)),
    );
    assert.ok(result.length >= 3, `${result.length} messages`);
    for (const word of [`${mark} subject`, `text of ${mark}`, `${mark}.xml`, `${mark}.pdf`])
      assert.ok(JSON.stringify(inner).includes(word), word);
    assert.ok(findMarks(Buffer.from(JSON.stringify(inner)), mark).length > 0);
    assert.ok(findMarks(Buffer.from(notified.get('/inbound')?.join() ?? ''), mark).length > 0);
    for (const form of formsOf(mark).values())
      assert.equal(findMarks(Buffer.concat([randomBytes(999), form, randomBytes(999)]), mark).length, 1);
    assert.equal(findMarks(randomBytes(4_000_000), mark).length, 0);
    const status = await Promise.all(
      ['bounce', 'later', 'mallory'].map(async (name) => {
        const row = await world.sandbox.world.hisp.storage
          .tables<{ message_recipient: { message_id: string; address: string; state: string } }>()
          .selectFrom('message_recipient')
          .select('state')
          .where('address', '=', `${name}@${peerDomain}`)
          .executeTakeFirstOrThrow();
        return row.state;
      }),
    );
    assert.deepEqual(status, ['failed', 'queued', 'failed']);
  });

  it('are in no refusal, of HTTP or of SMTP', () => {
    assert.ok(refusals.length > 60, String(refusals.length));
    for (const { what, status, text: answer } of refusals)
      assert.ok(status >= 400 && status < 500, `${what}: ${status} ${answer.slice(0, 300)}`);
    // A name that is unknown is repeated to the caller who wrote it, and so is an address that is refused.
    requireNone(
      refusals.map(({ what, text: answer }) => text(what, answer)),
      new Map([...everything()].filter(([name]) => name !== 'a name')),
    );
  });

  it('are in no line of the log, at any level', () => {
    assert.ok(world.logged.some((line) => line.startsWith('debug ')));
    assert.ok(world.logged.length > 100, String(world.logged.length));
    requireNone([text('the log', world.logged.join('\n'))], everything());
  });

  it('are in no metric and no audit row', async () => {
    const { hisp, partner } = world.sandbox.world;
    for (const one of [hisp, partner]) {
      const metrics = await (await fetch(`${one.baseUrl}/metrics`)).text();
      assert.match(metrics, /openhisp_http_request_seconds_count/);
      await one.audit.flush();
      const rows = await one.audit.find({ limit: 10_000 });
      assert.ok(rows.length > 20, String(rows.length));
      requireNone([text('metrics', metrics), ...rows.map((row) => text(row.action, row))], everything());
    }
  });

  it('are in no output of a command', () => requireNone(printed, everything()));

  it('are in no status notification, which says what the specification lists and no more', () => {
    const bodies = (notified.get('/status') ?? []).map((body) => JSON.parse(body) as object);
    for (const body of bodies) assert.deepEqual(Object.keys(body).toSorted(), eventMembers);
    requireNone([text('notifications', notified.get('/status')?.join('\n'))], everything());
  });

  it('are not readable on the wire', () => {
    const { silentMail } = world.sandbox.world;
    assert.ok(silentMail.length > 0 && onWire.length > 0);
    const places = silentMail.map(({ message }) => ({ what: 'mail', bytes: Buffer.from(message) }));
    requireNone([...places, { what: 'SMTP', bytes: Buffer.concat(onWire) }], everything());
  });

  it('are not readable in the databases', async () => {
    for (const [index, database] of world.databases.entries()) {
      const bytes = await database.readAll();
      assert.ok(bytes.includes(demoAddress));
      requireNone([{ what: `database ${index}`, bytes }], everything());
    }
  });

  /** Of both data folders and of the temporary folder; the master key and the sandbox's own notes are where they belong. */
  function listFiles(): Place[] {
    const places: Place[] = [];
    for (const folder of [path.join(world.folder, 'hisp'), path.join(world.folder, 'partner'), temporary]) {
      if (!existsSync(folder)) continue;
      for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
        const file = path.join(folder, name);
        if (statSync(file, { throwIfNoEntry: false })?.isFile() === true)
          places.push({ what: file, bytes: readFileSync(file) });
      }
    }
    return places;
  }

  /** Files that a process deletes after opening them, as SQLite does with temporary ones. */
  function listDeletedFiles(): Place[] {
    const folder = '/proc/self/fd';
    if (!existsSync(folder)) return [];
    return readdirSync(folder).flatMap((name) => {
      try {
        const target = readlinkSync(path.join(folder, name));
        if (!target.endsWith(' (deleted)') || !target.startsWith('/')) return [];
        return [{ what: target, bytes: readFileSync(path.join(folder, name)) }];
      } catch {
        return [];
      }
    });
  }

  it('are in no file while the service runs, and in none after it', async () => {
    const files = listFiles();
    const names = files.map(({ what }) => path.basename(what));
    if (!isPostgres)
      for (const name of ['openhisp.db', 'openhisp.db-wal', 'backup.db'])
        assert.ok(names.includes(name), `${name}: ${names.join(' ')}`);
    requireNone([...files, ...listDeletedFiles()], everything());
    // A package that lay anywhere in plain would be compressed; its directory names this file.
    requireNone(files, new Map([['a package', 'METADATA.XML']]));
    await world.sandbox.close();
    requireNone(listFiles(), everything());
  });
});
