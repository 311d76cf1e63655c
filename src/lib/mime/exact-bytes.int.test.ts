import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { buildMessage } from './build-message.ts';
import { decodeBody } from './decode-body.ts';
import { parseEntity } from './mime-entity.ts';
import { wrapMessage } from './wrap-message.ts';

const openssl = (...args: string[]): { status: number | null; stdout: Buffer } => spawnSync('openssl', args);
const hasOpenssl = openssl('version').status === 0;

test(
  'AS-33: OpenSSL signs a wrapped message, and verifies the bytes that the splitter cuts out',
  { skip: hasOpenssl ? false : 'openssl is missing' },
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'mime-'));
    const at = (name: string): string => join(folder, name);
    try {
      const wrapped = wrapMessage(
        buildMessage({
          from: 'alice@direct.alpha.example',
          to: ['bob@direct.beta.example'],
          date: new Date(0),
          messageId: '<1@direct.alpha.example>',
          subject: 'Grüße',
          text: 'a\n\n--b\n',
          attachments: [{ mediaType: 'application/pdf', content: Buffer.from([0, 255, 10, 13, 10]) }],
        }),
      );
      writeFileSync(at('wrapped'), wrapped);
      assert.equal(
        openssl(
          'req',
          '-x509',
          '-newkey',
          'rsa:2048',
          '-nodes',
          '-subj',
          '/CN=test',
          '-days',
          '1',
          '-keyout',
          at('key'),
          '-out',
          at('cert'),
        ).status,
        0,
      );
      const signed = openssl(
        'cms',
        '-sign',
        '-binary',
        '-md',
        'sha256',
        '-in',
        at('wrapped'),
        '-signer',
        at('cert'),
        '-inkey',
        at('key'),
        '-outform',
        'SMIME',
      );
      assert.equal(signed.status, 0);
      const [part, signature] = parseEntity(signed.stdout).parts;
      assert.ok(part !== undefined && signature !== undefined);
      assert.ok(Buffer.from(part.bytes).equals(wrapped));
      writeFileSync(at('part'), part.bytes);
      writeFileSync(at('signature'), decodeBody(signature));
      const verify = (): number | null =>
        openssl(
          'cms',
          '-verify',
          '-binary',
          '-inform',
          'DER',
          '-in',
          at('signature'),
          '-content',
          at('part'),
          '-noverify',
          '-out',
          at('out'),
        ).status;
      assert.equal(verify(), 0);
      writeFileSync(at('part'), Buffer.concat([part.bytes, Buffer.from('\r\n')]));
      assert.notEqual(verify(), 0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
