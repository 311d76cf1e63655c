import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parseEntity } from '../../../lib/mime/index.ts';
import { parseDirectAddress } from '../../../lib/values/index.ts';
import { buildXdm, defaultXdmCodes } from '../../../lib/xdm/index.ts';
import type { InboundContent } from './inbound-document.ts';
import { findDamage, openDocuments } from './open-documents.ts';
import { createWorkerPool } from './worker-pool.ts';

const at = new Date('2026-11-21T10:36:55Z');
const crcBad = readFileSync(join(import.meta.dirname, '../../../../test/fixtures/found/xdm/crc-bad.zip'));

function packageOf(...fileNames: readonly string[]): Promise<Buffer> {
  return buildXdm({
    from: 'alice@direct.alpha.example',
    to: ['bob@direct.beta.example'],
    messageUuid: '6f1c2c5e-8a43-4d5e-9c0b-0d6f3f1f2a11',
    sourceId: '1.3.6.1.4.1.99999.1',
    at,
    documents: fileNames.map((fileName) => ({
      mediaType: 'text/plain',
      content: Buffer.from(fileName),
      fileName,
    })),
  });
}

/** The package with octets of its directory changed: at an offset of the last entry, which is a document. */
function patched(zip: Buffer, offset: number, value: number): Buffer {
  const copy = Buffer.from(zip);
  copy.writeUInt16LE(value, copy.lastIndexOf('PK\u0001\u0002', undefined, 'latin1') + offset);
  return copy;
}

const renamed = (zip: Buffer, from: string, to: string) =>
  Buffer.from(zip.toString('latin1').replaceAll(from, to), 'latin1');

function messageOf(...packages: readonly (readonly [type: string, content: Buffer])[]): Buffer {
  const parts = packages.map(
    ([type, content], index) =>
      `--b\r\nContent-Type: ${type}; name=p${index}.zip\r\nContent-Transfer-Encoding: base64\r\n\r\n${content.toString('base64')}\r\n`,
  );
  return Buffer.from(
    `From: doc@direct.good.example\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nhello\r\n${parts.join('')}--b--\r\n`,
  );
}

function open(message: Uint8Array, isXdm: boolean): Promise<InboundContent> {
  return openDocuments(message, {
    isXdm,
    facts: {
      copyId: '0190f0a0-0000-7000-8000-000000000001',
      recipient: parseDirectAddress('ehr@direct.own.example'),
      sender: 'doc@direct.good.example',
      wireId: '<r1@direct.good.example>',
      receivedAt: at,
    },
    identity: { hostname: 'hisp.own.example', sourceOid: '1.2.3.4', xdmCodes: defaultXdmCodes },
  });
}

const zipType = 'application/zip';
const reasons = ({ warnings }: InboundContent) => warnings.map(({ field, reason }) => `${field} ${reason}`);

describe('damage of received packages', () => {
  test('fields name the attachment, by the list that is given', async () => {
    const whole = await packageOf('A.TXT', 'B.TXT');
    const message = messageOf([zipType, whole], [zipType, crcBad], [zipType, patched(whole, 16, 1)]);
    assert.deepEqual(reasons(await open(message, false)), [
      'emailAttachmentList[2] checksum_mismatch',
      'emailAttachmentList[4] checksum_mismatch',
    ]);
    assert.deepEqual(reasons(await open(message, true)), [
      'emailAttachmentList[1] checksum_mismatch',
      'emailAttachmentList[2] checksum_mismatch',
    ]);
    assert.deepEqual(
      (await findDamage(message)).map(({ subject }) => subject.replace(/2\.25\.\d+/, 'OID')),
      ['document 1 of 1 (DOC00001.XML)', 'document 2 of 2 (OID)'],
    );
  });

  test('nothing that could name a patient is told', async () => {
    for (const name of ['SMITH.TXT', 'DOE_JANE.TXT', 'CCD19500.TXT']) {
      const damage = await findDamage(messageOf([zipType, patched(await packageOf(name), 16, 1)]));
      assert.match(damage[0]?.subject ?? '', /^document 1 of 1 \(2\.25\.\d+\)$|\(CCD19500\.TXT, /, name);
    }
    const [one] = await findDamage(messageOf([zipType, patched(await packageOf('A1234567.TXT'), 16, 1)]));
    assert.doesNotMatch(JSON.stringify(one), /A1234567/);
  });

  test('a missing document and metadata that cannot be read are told without a place', async () => {
    const whole = await packageOf('A.TXT', 'DOC00002.TXT');
    const missing = renamed(whole, 'IHE_XDM/SUBSET01/DOC00002.TXT', '__MACOSX/SUBSET1/DOC00002.TXT');
    const content = await open(messageOf([zipType, missing]), false);
    assert.deepEqual(reasons(content), ['emailAttachmentList document_missing']);
    assert.match(
      content.warnings[0]?.detail ?? '',
      /^XDM package, missing document \(DOC00002\.TXT, 2\.25\.\d+\): /,
    );
    const unread = renamed(whole, 'METADATA.XML', 'METADATA.XMX');
    assert.deepEqual(reasons(await open(messageOf([zipType, unread]), false)), [
      'emailAttachmentList metadata_missing',
    ]);
  });

  test('a package of which nothing can be unpacked is given as it is, and says why', async () => {
    const whole = await packageOf('A.TXT');
    const cases: readonly (readonly [reason: string, content: Buffer])[] = [
      ['[0] xdm_unsafe_name', renamed(whole, 'SUBSET01/A.TXT', '../../../A.TXT')],
      [' document_unreadable', patched(whole, 8, 1)],
      [' document_unreadable', patched(whole, 10, 12)],
      [' document_unreadable', patched(whole, 24, 1)],
    ];
    for (const [reason, content] of cases) {
      for (const isXdm of [false, true]) {
        const message = messageOf(['application/octet-stream', content]);
        const opened = await open(message, isXdm);
        assert.deepEqual(reasons(opened), [`emailAttachmentList${reason}`]);
        assert.deepEqual(
          opened.documents.map((one) => one.content),
          [content],
        );
      }
    }
  });

  test('what is whole in a damaged package is given, and the rest is told', async () => {
    const whole = await packageOf('A.TXT', 'B.TXT');
    for (const [content, documents, told] of [
      [patched(whole, 10, 12), ['A.TXT'], ['emailAttachmentList document_unreadable']],
      [whole.subarray(0, -40), ['A.TXT', 'B.TXT'], ['emailAttachmentList archive_damaged']],
    ] as const) {
      const opened = await open(messageOf([zipType, content]), false);
      assert.deepEqual(reasons(opened), told);
      assert.deepEqual(
        opened.documents.map((one) => one.content.toString()),
        documents,
      );
    }
  });

  test('a thread is started for a package alone, not for octets that are none', async () => {
    let started = 0;
    const count = () => {
      started += 1;
    };
    process.on('worker', count);
    const pool = createWorkerPool();
    try {
      const find = (message: Buffer) => pool.findDamage(message, parseEntity(message));
      const octets = 'application/octet-stream';
      assert.deepEqual(
        await find(messageOf([octets, Buffer.from('%PDF')], [zipType, Buffer.from('PK no')])),
        [],
      );
      assert.equal(started, 0);
      assert.equal((await find(messageOf([octets, crcBad]))).length, 1);
      assert.equal(started, 1);
    } finally {
      await pool.close();
      process.off('worker', count);
    }
  });

  test('what is no package is not looked at', async () => {
    for (const content of [Buffer.from('PK\u0003\u0004 cut'), Buffer.from('IHE_XDM/'), Buffer.alloc(0)])
      assert.deepEqual(await findDamage(messageOf([zipType, content])), []);
    assert.deepEqual(await findDamage(messageOf(['application/pdf', Buffer.from('%PDF')])), []);
  });
});
