/** A process at its limit of open files can ask nobody, and does not blame others for that. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { endWithTests } from '../support/processes.ts';

const lib = path.join(import.meta.dirname, '../../src/lib');

const program = `
  import { openSync } from 'node:fs';
  const { sendMail } = await import(${JSON.stringify(path.join(lib, 'smtp/index.ts'))});
  const { createDnsResolver } = await import(${JSON.stringify(path.join(lib, 'dns/index.ts'))});
  const { createLdapClient } = await import(${JSON.stringify(path.join(lib, 'ldap/index.ts'))});
  const codeOf = (work) => work.then(() => 'worked', (error) => error.code);
  const mail = (tls) => codeOf(sendMail({
    host: '127.0.0.1', port: 1, hostname: 'out.example.net', timeoutMs: 2000, tls,
    mailFrom: 'a@example.net', recipients: ['b@example.org'], message: Buffer.from('x'),
  }));
  const dns = createDnsResolver({ servers: [{ host: '127.0.0.1', port: 1 }], attempts: 1, timeoutMs: 2000 });
  const ldap = createLdapClient({ dns, allowPrivate: true });
  const targets = [{ host: '127.0.0.1', port: 1, priority: 0, weight: 0 }];
  const ask = async () => [
    await mail({ mode: 'opportunistic' }),
    await mail({ mode: 'implicit' }),
    await codeOf(dns.resolveMx('example.org')),
    await ldap.findCertificates({ targets, mail: 'a@b.org' }).then(({ status }) => status, (error) => error.code),
  ];
  const before = await ask();
  try { for (;;) openSync('/dev/null'); } catch {}
  console.log(JSON.stringify({ before, full: await ask() }));
  process.exit(0);
`;

test('without a free file descriptor a server was not asked, which is another error than an unreachable one', async () => {
  const child = endWithTests(
    spawn('sh', ['-c', 'ulimit -n 80; exec "$0" --input-type=module -e "$1"', process.execPath, program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  assert.deepEqual(JSON.parse(output), {
    before: ['SMTP_UNREACHABLE', 'SMTP_TLS_FAILED', 'DNS_UNREACHABLE', 'unreachable'],
    full: ['SMTP_NO_SOCKET', 'SMTP_NO_SOCKET', 'DNS_NO_SOCKET', 'LDAP_NO_SOCKET'],
  });
});
