import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { PlatformError } from '../errors.ts';
import { loadConfig } from './load-config.ts';
import { findIgnoredVariables, listSettings } from './settings.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-config-'));
after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));

function writeFile(content: unknown): string {
  const file = path.join(folder, 'config.json');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

function problemsOf(work: () => unknown): Record<string, string> {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof PlatformError && error.code === 'PLATFORM_CONFIG_INVALID');
    for (const problem of error.problems) assert.ok(error.message.includes(problem.detail));
    return Object.fromEntries(error.problems.map((problem) => [problem.field, problem.detail]));
  }
  assert.fail('the configuration was accepted');
}

test('without anything set every setting has its default', () => {
  const config = loadConfig({});
  assert.equal(config.http.port, 8080);
  assert.equal(config.messaging.maxRecipients, 50);
  assert.equal(config.storage.file, path.resolve('data/openhisp.db'));
});

test('flags win over the environment, the environment over the file, the file over the defaults', () => {
  const file = writeFile({ http: { port: 1, host: '127.0.0.2' }, log: { level: 'warn' }, smtp: { port: 1 } });
  const config = loadConfig({ OPENHISP_HTTP_PORT: '2', OPENHISP_LOG_LEVEL: 'debug' }, file, {
    'http.port': '3',
  });
  assert.deepEqual(
    [config.http.port, config.http.host, config.log.level, config.smtp.port],
    [3, '127.0.0.2', 'debug', 1],
  );
});

test('a file with a byte order mark is read', () => {
  const file = writeFile('\ufeff{"http": {"port": 81}}');
  assert.equal(loadConfig({}, file).http.port, 81);
});

test('PORT is understood, places follow the data folder, and DATA_DIR moves the sandbox only', () => {
  const config = loadConfig({ OPENHISP_DATA_DIR: folder, DATA_DIR: '/elsewhere', PORT: '0' });
  assert.equal(config.http.port, 0);
  assert.equal(config.vault.masterKeyFile, path.join(folder, 'master.key'));
  assert.equal(config.directory.snapshotDir, path.join(folder, 'directory'));
});

test('numbers, booleans and lists are read from text; an empty variable counts as unset', () => {
  const config = loadConfig({
    OPENHISP_DNS_RESOLVERS: '127.0.0.1:53, [::1]:53',
    OPENHISP_DNS_IS_SERVING: 'yes',
    OPENHISP_LDAP_IS_SERVING: 'off',
    OPENHISP_DELIVERY_RETRY_MINUTES: '1,2.5',
    OPENHISP_DELIVERY_GIVE_UP_HOURS: '0.5',
    OPENHISP_HTTP_PORT: '',
  });
  assert.deepEqual(config.dns.resolvers, ['127.0.0.1:53', '[::1]:53']);
  assert.deepEqual([config.dns.isServing, config.ldap.isServing], [true, false]);
  assert.deepEqual([config.delivery.retryMinutes, config.delivery.giveUpHours], [[1, 2.5], 0.5]);
  assert.equal(config.http.port, 8080);
});

test('all problems are reported together, each with its setting and its origin', () => {
  const file = writeFile({ http: { prot: 1 }, smtp: { port: 70000 }, nonsense: {} });
  const problems = problemsOf(() =>
    loadConfig({ PORT: 'abc', OPENHISP_LOG_LEVEL: 'loud', OPENHISP_DNS_IS_SERVING: 'maybe' }, file, {
      'no.such': '1',
    }),
  );
  assert.deepEqual(Object.keys(problems).sort(), [
    'dns.isServing',
    'http.port',
    'http.prot',
    'log.level',
    'no.such',
    'nonsense',
    'smtp.port',
  ]);
  assert.match(problems['http.port'] ?? '', /environment PORT/);
  assert.match(problems['smtp.port'] ?? '', /configuration file/);
});

test('a wrong value is answered with what is expected, and with where it came from', () => {
  const problems = problemsOf(() =>
    loadConfig({
      OPENHISP_LOG_LEVEL: 'verbose',
      OPENHISP_DNS_RESOLVERS: '127.0.0.1:53,8.8.8.8',
      OPENHISP_DNS_IS_SERVING: 'maybe',
      OPENHISP_SMTP_PORT: 'x',
      OPENHISP_HTTP_PORT: '70000',
      OPENHISP_MESSAGING_INBOX_DAYS: '-1',
      OPENHISP_DELIVERY_RETRY_MINUTES: '5,0',
      OPENHISP_DELIVERY_LEASE_SECONDS: '86401',
      OPENHISP_DELIVERY_PROBE_SECONDS: '15,31622401',
      OPENHISP_VERIFICATION_INTERVAL_DAYS: '367',
    }),
  );
  assert.deepEqual(problems, {
    'log.level':
      'log.level must be one of debug, info, warn, error, silent (environment OPENHISP_LOG_LEVEL).',
    'dns.resolvers.1':
      'dns.resolvers.1 does not have the expected form: Recursive resolvers as host:port, in order of use; if empty, the ' +
      'resolvers of the system (environment OPENHISP_DNS_RESOLVERS).',
    'dns.isServing': 'dns.isServing must be true or false (environment OPENHISP_DNS_IS_SERVING).',
    'smtp.port': 'smtp.port must be a whole number (environment OPENHISP_SMTP_PORT).',
    'http.port': 'http.port must be at most 65535 (environment OPENHISP_HTTP_PORT).',
    'messaging.inboxDays':
      'messaging.inboxDays must be at least 1 (environment OPENHISP_MESSAGING_INBOX_DAYS).',
    'delivery.retryMinutes.1':
      'delivery.retryMinutes.1 must be more than 0 (environment OPENHISP_DELIVERY_RETRY_MINUTES).',
    'delivery.leaseSeconds':
      'delivery.leaseSeconds must be at most 86400 (environment OPENHISP_DELIVERY_LEASE_SECONDS).',
    'delivery.probeSeconds.1':
      'delivery.probeSeconds.1 must be at most 31622400 (environment OPENHISP_DELIVERY_PROBE_SECONDS).',
    'verification.intervalDays':
      'verification.intervalDays must be at most 366 (environment OPENHISP_VERIFICATION_INTERVAL_DAYS).',
  });
});

test('trusted proxies are addresses or networks, and the public address is a URL', () => {
  const refused = { 'http.trustedProxies': 'proxy.example.org', 'http.publicUrl': 'hisp.example.org' };
  assert.deepEqual(
    problemsOf(() => loadConfig({}, undefined, refused)),
    {
      'http.trustedProxies':
        'http.trustedProxies: proxy.example.org is not an IP address or a network such as 10.0.0.0/8.',
      'http.publicUrl': 'http.publicUrl is not a URL such as https://hisp.example.org.',
    },
  );
  for (const proxies of ['10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '::/129'])
    assert.throws(() => loadConfig({}, undefined, { 'console.trustedProxies': proxies }), PlatformError);
  loadConfig({}, undefined, {
    'http.trustedProxies': '10.0.0.1,10.0.0.0/8,10.0.0.0/255.0.0.0,fd00::/8,::1,loopback',
    'http.publicUrl': 'https://hisp.example.org',
  });
});

test('receivers are hosts that a URL can have; an IPv6 address matches in whatever form it is written', () => {
  const hosts = 'ehr.internal, my_host, 10.1.2.3, fd00:0:0::0001, ::ffff:10.1.2.3';
  assert.deepEqual(loadConfig({ OPENHISP_WEBHOOK_ALLOWED_HOSTS: hosts }).webhook.allowedHosts, [
    'ehr.internal',
    'my_host',
    '10.1.2.3',
    'fd00::1',
    '::ffff:a01:203',
  ]);
  for (const host of ['ehr.internal:8443', '10.1.2.03', '10.1.2.3:443', 'fd00:::1', '1.2.3'])
    assert.deepEqual(
      problemsOf(() => loadConfig({ OPENHISP_WEBHOOK_ALLOWED_HOSTS: host })),
      {
        'webhook.allowedHosts': `webhook.allowedHosts: ${host} is not a host name or an IP address. A port does not belong here.`,
      },
    );
});

test('a variable that looks like a setting and is none is a problem; others are nobody’s business', () => {
  assert.deepEqual(Object.keys(problemsOf(() => loadConfig({ OPENHISP_HTTP_PROT: '1' }))), [
    'OPENHISP_HTTP_PROT',
  ]);
  loadConfig({ OPENHISP_FIXTURES: 'x', OPENHISP_CONFIG: 'y', HTTP_PORT: 'z' });
});

test('a variable whose section is misspelt is found, and what others set is not', () => {
  const env = {
    OPENHISP_SMPT_HOSTNAME: 'mx',
    OPENHISP_SMTP_HOSTNAME: 'mx',
    OPENHISP_MASTER_KEY_FILE: 'k',
    OPENHISP_OPERATOR: 'jo',
    OPENHISP_SERVICE_HOST: '10.0.0.1',
    OPENHISP_PORT_8080_TCP: 'tcp://10.0.0.1:8080',
    PATH: '/bin',
  };
  assert.deepEqual(findIgnoredVariables(env), ['OPENHISP_SMPT_HOSTNAME']);
});

test('the master key has a short name in the environment', () => {
  assert.equal(
    loadConfig({ OPENHISP_MASTER_KEY_FILE: '/run/secrets/key' }).vault.masterKeyFile,
    '/run/secrets/key',
  );
});

test('a file that is missing, no JSON or no object is a problem', () => {
  for (const file of [path.join(folder, 'none.json'), writeFile('{'), writeFile('[]')]) {
    assert.deepEqual(Object.keys(problemsOf(() => loadConfig({}, file))), [file]);
  }
});

test('OAUTH-15: plain HTTP is refused beyond loopback unless a proxy in front speaks TLS', () => {
  for (const host of ['0.0.0.0', '::', '10.0.0.1', '127.example.org']) {
    assert.deepEqual(Object.keys(problemsOf(() => loadConfig({ OPENHISP_HTTP_HOST: host }))), ['http.host']);
  }
  for (const host of ['127.0.0.1', '127.1.2.3', '::1', 'localhost']) loadConfig({ OPENHISP_HTTP_HOST: host });
  loadConfig({ OPENHISP_HTTP_HOST: '0.0.0.0', OPENHISP_HTTP_IS_BEHIND_TLS_PROXY: 'true' });
  loadConfig({
    OPENHISP_HTTP_HOST: '0.0.0.0',
    OPENHISP_HTTP_TLS_KEY_FILE: 'k',
    OPENHISP_HTTP_TLS_CERTIFICATE_FILE: 'c',
  });
});

test('the console beyond loopback needs TLS and the name that browsers use', () => {
  const problems = (env: Record<string, string>) =>
    Object.keys(
      problemsOf(() =>
        loadConfig(
          Object.fromEntries(Object.entries(env).map(([name, value]) => [`OPENHISP_CONSOLE_${name}`, value])),
        ),
      ),
    );
  assert.deepEqual(problems({ HOST: '0.0.0.0' }), ['console.host']);
  assert.deepEqual(problems({ IS_BEHIND_TLS_PROXY: 'true' }), ['console.publicUrl']);
  for (const url of ['https://console.example.org', 'http://console.example.org', 'http://127.0.0.1:8090'])
    assert.deepEqual(problems({ PUBLIC_URL: url }), ['console.publicUrl'], url);
  for (const url of ['https://console.example.org/path', 'https://a@b.example', 'javascript:alert(1)'])
    assert.ok(problems({ PUBLIC_URL: url }).includes('console.publicUrl'), url);
  const proxied = { HOST: '0.0.0.0', IS_BEHIND_TLS_PROXY: 'true', PUBLIC_URL: 'https://console.example.org' };
  assert.equal(
    loadConfig(
      Object.fromEntries(Object.entries(proxied).map(([name, value]) => [`OPENHISP_CONSOLE_${name}`, value])),
    ).console.host,
    '0.0.0.0',
  );
  assert.deepEqual(problems({ OIDC_ISSUER: 'http://login.example.org' }), [
    'console.oidc.clientId',
    'console.oidc.roleMap',
    'console.oidc.issuer',
  ]);
  assert.deepEqual(problems({ OIDC_ROLE_MAP: 'staff=root' }), ['console.oidc.roleMap.0']);
});

test('a TLS key without its certificate is a problem, and so is a key file that is the database', () => {
  assert.deepEqual(Object.keys(problemsOf(() => loadConfig({ OPENHISP_SMTP_TLS_KEY_FILE: 'k' }))), [
    'smtp.tlsCertificateFile',
  ]);
  const same = { OPENHISP_STORAGE_FILE: '/x/a', OPENHISP_VAULT_MASTER_KEY_FILE: '/x/a' };
  assert.deepEqual(Object.keys(problemsOf(() => loadConfig(same))), ['vault.masterKeyFile']);
});

test('a wrong secret is not repeated in the problem', () => {
  const problems = problemsOf(() => loadConfig({ OPENHISP_VAULT_MASTER_KEY: 'geheim', PORT: 'x' }));
  assert.ok(!JSON.stringify(problems).includes('geheim'));
});

test('every setting is described and has its own variable', () => {
  const settings = listSettings();
  assert.equal(new Set(settings.map((setting) => setting.variable)).size, settings.length);
  for (const setting of settings) assert.match(setting.description, /\.$/, setting.path);
});

test('a relay is protected, and its credentials are complete', () => {
  const load = (flags: Readonly<Record<string, string>>) => () => loadConfig({}, undefined, flags);
  const relay = { 'smtp.relayHost': 'relay.example.org' };
  assert.equal(load(relay)().smtp.relayTls, 'starttls');
  const refused: readonly (readonly [flags: Readonly<Record<string, string>>, words: RegExp])[] = [
    [
      { ...relay, 'smtp.relayTls': 'none' },
      /smtp\.relayTls is none, and relay\.example\.org is not on this machine/,
    ],
    [{ ...relay, 'smtp.relayUser': 'u' }, /smtp\.relayPasswordFile or smtp\.relayPassword is missing/],
    [{ ...relay, 'smtp.relayPassword': 'geheim' }, /smtp\.relayUser is missing/],
    [
      { ...relay, 'smtp.relayUser': 'u', 'smtp.relayPassword': 'geheim', 'smtp.relayPasswordFile': 'f' },
      /are both set/,
    ],
    [{ 'smtp.relayUser': 'u' }, /smtp\.relayUser is set, and smtp\.relayHost is not/],
    [{ 'smtp.relayHost': 'user:geheim@relay' }, /smtp\.relayHost/],
  ];
  for (const [flags, words] of refused)
    assert.throws(
      load(flags),
      (error: Error) => words.test(error.message) && !error.message.includes('geheim'),
    );
  load({ 'smtp.relayHost': '127.0.0.1', 'smtp.relayTls': 'none' })();
});
