/** Outgoing mail through a real Postfix as smart host: TLS with a checked name, credentials, one route for all destinations. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { examine, type DoctorOptions } from '../../src/app/doctor/index.ts';
import { createOutgoingMail } from '../../src/app/server/index.ts';
import { systemClock } from '../../src/core/index.ts';
import { createDnsResolver } from '../../src/lib/dns/index.ts';
import { createSmtpServer, type SmtpServer } from '../../src/lib/smtp/index.ts';
import { loadConfig, type Config } from '../../src/platform/index.ts';
import { waitingText } from '../../src/service/messaging/index.ts';
import { startDeliveryWorld, until, type DeliveryWorld } from '../delivery/start-delivery.ts';
import type { RunningServer } from '../support/named.ts';
import { startPostfix } from '../support/postfix.ts';
import { createTemporaryFolder, needsRootAndPrograms, type TemporaryFolder } from '../support/processes.ts';
import { makeTlsCertificate } from '../support/tls-certificate.ts';

const user = 'hisp@example.org';
const password = 'right horse';

/** Answers Postfix's questions about credentials in Dovecot's protocol, so that no password database is needed. */
async function startSasl(): Promise<{ server: Server; port: number }> {
  const talk = (socket: Socket): void => {
    socket.on('error', () => {});
    socket.write('VERSION\t1\t2\nMECH\tPLAIN\tplaintext\nSPID\t1\nCUID\t1\nCOOKIE\t00\nDONE\n');
    let rest = '';
    socket.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const [word, id] = line.split('\t');
        if (word !== 'AUTH') continue;
        const given = Buffer.from(/\tresp=(.*)$/.exec(line)?.[1] ?? '', 'base64').toString();
        const isRight = given === `\0${user}\0${password}`;
        socket.write(isRight ? `OK\t${id}\tuser=${user}\n` : `FAIL\t${id}\tuser=${user}\n`);
      }
    });
  };
  const server = createServer(talk);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

describe('a smart host', needsRootAndPrograms('postfix', 'openssl'), () => {
  let folder: TemporaryFolder;
  let sasl: Awaited<ReturnType<typeof startSasl>>;
  let behind: SmtpServer;
  let postfix: RunningServer;
  let world: DeliveryWorld;
  let lastId = 0;
  const arrived: string[] = [];
  const file = (name: string): string => path.join(folder.path, name);

  before(async () => {
    folder = await createTemporaryFolder('smart-host');
    for (const [name, host] of [
      ['relay.pem', 'localhost'],
      ['other.pem', 'other.example'],
    ] as const)
      await writeFile(file(name), makeTlsCertificate(host) ?? '', { mode: 0o600 });
    await writeFile(file('password'), `${password}\n`, { mode: 0o600 });
    await chmod(folder.path, 0o700);
    sasl = await startSasl();
    behind = await createSmtpServer({
      host: '127.0.0.1',
      port: 0,
      hostname: 'mx.far.example',
      handlers: {
        onRecipient: async () => 'accept',
        onMessage: async ({ recipients }) => void arrived.push(...recipients),
      },
    });
    postfix = await startPostfix({
      relayPort: behind.port,
      settings: [
        `smtpd_tls_cert_file = ${file('relay.pem')}`,
        `smtpd_tls_key_file = ${file('relay.pem')}`,
        'smtpd_tls_security_level = encrypt',
        'smtpd_tls_auth_only = yes',
        'smtpd_sasl_auth_enable = yes',
        'smtpd_sasl_type = dovecot',
        `smtpd_sasl_path = inet:127.0.0.1:${sasl.port}`,
        'smtpd_sasl_tls_security_options = noanonymous',
        'mynetworks = 192.0.2.1/32',
        'smtpd_relay_restrictions = permit_sasl_authenticated, reject',
        'smtpd_recipient_restrictions = check_recipient_access inline:{ { blocked@b.example = REJECT 5.7.1 not here } }, permit_sasl_authenticated, reject',
      ],
    });
    // No recipient's domain is in the DNS: whoever looked up an MX would fail.
    world = await startDeliveryWorld();
    world.addDomain('known.example');
  });
  after(async () => {
    await world?.close();
    await postfix?.stop();
    await behind?.close();
    sasl?.server.close();
    await folder?.remove();
  });

  function configure(more: Readonly<Record<string, string>> = {}): Config {
    return loadConfig({}, undefined, {
      dataDir: folder.path,
      'smtp.relayHost': 'localhost',
      'smtp.relayPort': String(postfix.port),
      'smtp.relayCaFile': file('relay.pem'),
      'smtp.relayUser': user,
      'smtp.relayPasswordFile': file('password'),
      'smtp.hostname': 'out.own.example',
      ...more,
    });
  }

  async function withRelay<Result>(
    config: Config,
    work: (run: Awaited<ReturnType<DeliveryWorld['start']>>, id: string) => Promise<Result>,
  ): Promise<Result> {
    const { smtp, port, relayHost } = createOutgoingMail(config);
    const run = await world.start({ smtp, peerPort: port, relayHost, allowsPrivateHosts: false });
    try {
      return await work(run, `relay-${++lastId}`);
    } finally {
      await run.close();
      await smtp.close();
    }
  }

  test('takes mail for every destination, over TLS with credentials, without a look-up of any MX', async () => {
    await withRelay(configure(), async ({ enqueue, outcomes, delivery }, id) => {
      await enqueue(id, ['x@a.example', 'y@a.example', 'z@b.example', 'blocked@b.example']);
      await until(() => outcomes.length === 4, `four outcomes:\n${postfix.output().slice(-2000)}`);
      assert.deepEqual(
        Object.fromEntries(outcomes.map((one) => [one.recipient, one.reason ?? one.outcome])),
        {
          'x@a.example': 'sent',
          'y@a.example': 'sent',
          'z@b.example': 'sent',
          'blocked@b.example': 'smtp-rejected',
        },
      );
      await until(() => arrived.length === 3, 'three recipients behind the relay');
      assert.deepEqual(arrived.toSorted(), ['x@a.example', 'y@a.example', 'z@b.example']);
      // Each destination keeps its own attempt, and so its own slot.
      const attempts = await delivery.listAttempts([id]);
      assert.deepEqual(
        attempts
          .map(({ domain, host, address, tls }) => [domain, host, address, tls].join(' '))
          .toSorted((a, b) => a.localeCompare(b)),
        ['a.example localhost 127.0.0.1 TLSv1.3', 'b.example localhost 127.0.0.1 TLSv1.3'],
      );
      assert.match(postfix.output(), /sasl_username=hisp@example\.org/);
    });
  });

  const faults: readonly (readonly [
    name: string,
    more: () => Readonly<Record<string, string>>,
    code: string,
    text: RegExp,
  ])[] = [
    [
      'a wrong password',
      () => ({ 'smtp.relayPassword': 'wrong', 'smtp.relayPasswordFile': '' }),
      'SMTP_AUTH_FAILED',
      /does not take the credentials/,
    ],
    [
      'a certificate of another authority',
      () => ({ 'smtp.relayCaFile': file('other.pem') }),
      'SMTP_TLS_FAILED',
      /TLS with SMTP server .* failed: .*certificate/,
    ],
    [
      'a certificate of another name',
      () => ({ 'smtp.relayHost': '127.0.0.1' }),
      'SMTP_TLS_FAILED',
      /TLS with SMTP server .* failed: .*does not match certificate/,
    ],
    [
      'implicit TLS where STARTTLS is spoken',
      () => ({ 'smtp.relayTls': 'implicit' }),
      'SMTP_TLS_FAILED',
      /TLS with SMTP server .* failed: it does not speak TLS at once on this port/,
    ],
    [
      'a name without address',
      () => ({ 'smtp.relayHost': 'relay.known.example' }),
      'SMTP_UNREACHABLE',
      /has no address/,
    ],
    [
      'a port where nobody listens',
      () => ({ 'smtp.relayPort': '1' }),
      'SMTP_UNREACHABLE',
      /refused the connection/,
    ],
  ];
  for (const [name, more, code, text] of faults) {
    test(`${name} lets mail wait, says so, and the doctor finds it`, async () => {
      const { 'smtp.relayPasswordFile': passwordFile, ...rest } = more();
      const config = passwordFile === undefined ? configure(rest) : withoutPasswordFile(configure(), rest);
      await withRelay(config, async ({ enqueue, outcomes, delivery }, id) => {
        await enqueue(id, ['x@a.example']);
        const attempts = () => delivery.listAttempts([id]);
        await until(async () => (await attempts()).length > 0, 'an attempt');
        assert.deepEqual(
          (await attempts()).map((one) => [one.outcome, one.code]),
          [['deferred', code]],
        );
        const [waiting] = await delivery.findWaiting([id]);
        assert.equal(waiting?.lastReason, 'gateway-unavailable');
        // What client and operator read while it waits names no recipient's server.
        const wait = { ...waiting, isRunning: false, isOnHold: false, isBackingOff: false };
        assert.equal(
          waitingText(wait),
          'Not sent yet. The outgoing mail gateway of this service cannot be reached, or refuses its connection. The delivery will be retried.',
        );
        assert.match(waiting?.lastError ?? '', /^This service's mail gateway: /);
        assert.match(waiting?.lastError ?? '', text);
        assert.doesNotMatch(waiting?.lastError ?? '', /wrong|right horse/);
        assert.deepEqual(outcomes, []);
        await delivery.fail({ deliveryId: id });
      });
      const [finding] = await examineRelayOf(config);
      assert.equal(finding?.severity, 'error');
      assert.match(finding.text, text);
    });
  }

  test('the doctor is content with one in order', async () => {
    const [finding] = await examineRelayOf(configure());
    assert.deepEqual(
      [finding?.severity, finding?.text],
      ['ok', `localhost port ${postfix.port} accepts our mail (TLS: starttls).`],
    );
  });

  function withoutPasswordFile(
    config: Config,
    { 'smtp.relayPassword': given }: Record<string, string>,
  ): Config {
    const { relayPasswordFile: _, ...smtp } = config.smtp;
    return { ...config, smtp: { ...smtp, relayPassword: given ?? '' } };
  }

  async function examineRelayOf(config: Config) {
    const dns = createDnsResolver({ servers: [{ host: '127.0.0.1', port: world.dnsPort }], cache: false });
    const none = async () => [];
    const options = {
      config,
      storage: world.storage,
      trust: { listDomains: none, listBundles: none },
      clock: systemClock,
      dns,
      timeServer: { host: '127.0.0.1', port: 1 },
      timeoutMs: 2_000,
    } as unknown as DoctorOptions;
    try {
      return (await examine(options)).filter(({ check }) => check === 'relay');
    } finally {
      await dns.close();
    }
  }
});
