import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  createOutsideZone,
  demoAddress,
  domains,
  mailHosts,
  type EdgeClient,
} from '../../src/app/dev/index.ts';
import { formatDate } from '../../src/lib/mime/index.ts';
import { formatPem } from '../../src/lib/pki/index.ts';
import { sendMail } from '../../src/lib/smtp/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import { openTestSandbox, send, waitFor, type TestSandbox } from './sandbox-fixture.ts';

const needsOpenssl = {
  skip: spawnSync('openssl', ['version']).status === 0 ? false : 'openssl is not installed',
};
const peer = parseDirectAddress('nurse@direct.openssl.example');
const peerDomain = 'direct.openssl.example';

let world: TestSandbox;
let client: EdgeClient;

const file = (name: string): string => path.join(world.folder, name);

function openssl(...args: string[]): Buffer {
  const result = spawnSync('openssl', args, { maxBuffer: 100_000_000 });
  assert.equal(result.status, 0, result.stderr.toString());
  return result.stdout;
}

before(async () => {
  world = await openTestSandbox();
  ({ client } = world);
  const { authority, publish } = world.sandbox.world;
  const pair = await authority.issue({ domain: peerDomain });
  publish(
    createOutsideZone({ domain: peerDomain, mailHost: mailHosts.silent, certificate: pair.certificate }),
  );
  await writeFile(file('peer.pem'), formatPem('CERTIFICATE', pair.certificate.der));
  await writeFile(file('peer.key'), pair.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  await writeFile(file('ca.pem'), formatPem('CERTIFICATE', authority.certificate.der));
  const [own] = await world.sandbox.world.hisp.trust.findPublished(domains.own);
  await writeFile(file('own.pem'), formatPem('CERTIFICATE', own ?? new Uint8Array()));
});
after(() => world.close());

describe('OpenSSL as the other HISP', () => {
  it(
    'AS-30 to AS-36: opens and verifies what we send, and finds the whole message wrapped inside',
    needsOpenssl,
    async () => {
      await send(client, {
        fromDirectAddress: demoAddress,
        toDirectAddress: peer,
        messageSubject: 'For OpenSSL',
        messageBody: 'Grüße',
      });
      const [mail] = await waitFor(
        () => world.sandbox.world.silentMail.filter((one) => one.recipients.includes(peer)),
        (list) => list.length > 0,
      );
      assert.equal(mail?.mailFrom, demoAddress);
      await writeFile(file('outer.eml'), mail?.message ?? '');
      openssl(
        'cms',
        '-decrypt',
        '-in',
        file('outer.eml'),
        '-inkey',
        file('peer.key'),
        '-recip',
        file('peer.pem'),
        '-out',
        file('signed.eml'),
      );
      openssl(
        'cms',
        '-verify',
        '-in',
        file('signed.eml'),
        '-CAfile',
        file('ca.pem'),
        '-purpose',
        'any',
        '-out',
        file('wrapped.eml'),
      );
      const wrapped = await readFile(file('wrapped.eml'), 'latin1');
      assert.match(wrapped, /^Content-Type: message\/rfc822/i);
      assert.match(wrapped, /^Subject: For OpenSSL\r$/m);
      assert.match(wrapped, new RegExp(`^From: .*${demoAddress}`, 'm'));
      assert.match(wrapped, /^Message-ID: <[0-9a-f-]{36}@direct\.riverside\.example>\r$/im);
    },
  );

  it(
    'AS-70, MDN-03: a message that OpenSSL made is opened, trusted, delivered, and answered by a processed MDN',
    needsOpenssl,
    async () => {
      const inner = [
        `From: ${peer}`,
        `To: ${demoAddress}`,
        `Date: ${formatDate(new Date())}`,
        'Message-ID: <made-by-openssl@direct.openssl.example>',
        'Subject: From OpenSSL',
        'MIME-Version: 1.0',
        'Content-Type: text/plain; charset=us-ascii',
        '',
        'Good morning.',
        '',
      ].join('\r\n');
      await writeFile(file('plain'), `Content-Type: message/rfc822\r\n\r\n${inner}`);
      const signer = ['-signer', file('peer.pem'), '-inkey', file('peer.key')];
      openssl(
        'cms',
        '-sign',
        '-in',
        file('plain'),
        ...signer,
        '-md',
        'sha256',
        '-crlfeol',
        '-out',
        file('to-encrypt'),
      );
      const header = ['-from', peer, '-to', demoAddress];
      openssl(
        'cms',
        '-encrypt',
        '-aes256',
        '-in',
        file('to-encrypt'),
        '-crlfeol',
        ...header,
        '-out',
        file('to-send'),
        file('own.pem'),
      );
      const outcome = await sendMail({
        host: '127.0.0.2',
        port: world.sandbox.world.smtpPort,
        hostname: 'mx.openssl.example',
        mailFrom: peer,
        recipients: [demoAddress],
        message: await readFile(file('to-send')),
        timeoutMs: 10_000,
      });
      assert.deepEqual(outcome.accepted, [demoAddress]);
      type Page = { result: readonly { messageId: string; fromDirectAddress: string }[] };
      const page = await waitFor(
        () => client.get('/messaging/dirmsg/inbox') as Promise<Page>,
        (answer) => answer.result.some((one) => one.fromDirectAddress === peer),
      );
      const entry = page.result.find((one) => one.fromDirectAddress === peer);
      const received = (await client.get(`/messaging/dirmsg/inbox/${entry?.messageId}`)) as {
        messageSubject: string;
        messageBody: string;
      };
      assert.equal(received.messageSubject, 'From OpenSSL');
      assert.match(received.messageBody, /Good morning\./);

      const mdns = await waitFor(
        () =>
          world.sandbox.world.silentMail.filter(
            (one) => one.mailFrom === demoAddress && one.recipients.includes(peer),
          ),
        (list) => list.length >= 2,
      );
      await writeFile(file('mdn.eml'), mdns.at(-1)?.message ?? '');
      openssl(
        'cms',
        '-decrypt',
        '-in',
        file('mdn.eml'),
        '-inkey',
        file('peer.key'),
        '-recip',
        file('peer.pem'),
        '-out',
        file('mdn-signed.eml'),
      );
      openssl(
        'cms',
        '-verify',
        '-in',
        file('mdn-signed.eml'),
        '-CAfile',
        file('ca.pem'),
        '-purpose',
        'any',
        '-out',
        file('mdn.txt'),
      );
      const mdn = await readFile(file('mdn.txt'), 'latin1');
      assert.match(mdn, /^Original-Message-ID: <made-by-openssl@direct\.openssl\.example>\r$/im);
      assert.match(mdn, /^Disposition: automatic-action\/MDN-sent-automatically; ?processed\r$/im);
    },
  );
});
