import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CodedError } from '../../src/core/index.ts';
import { findUnanswered, readMdnOrDsn, requestsFinalDelivery } from '../../src/lib/mdn/index.ts';
import {
  collectParts,
  findBodyText,
  findHeaderAmbiguity,
  parseEntity,
  readHeaderOctets,
  unwrapEntity,
} from '../../src/lib/mime/index.ts';
import { announcesEnvelope } from '../../src/lib/smime/index.ts';

const octets = 200_000;
// A reader whose work grows with the square of a run takes 13 s and more for one of that length, others a few
// hundredths of a second.
const limitMs = 5_000;

const mdn = [
  'Content-Type: multipart/report; report-type=disposition-notification; boundary=b',
  '',
  '--b',
  'Content-Type: message/disposition-notification',
  '',
  'Disposition: automatic-action/MDN-sent-automatically; processed',
  'Final-Recipient: rfc822;a@clinic.example',
  '',
].join('\r\n');

const before = [
  'X-A: ',
  'From: ',
  'Message-ID: ',
  'Content-Type: ',
  'Content-Type: text/plain; name=',
  'Content-Disposition: attachment; filename="',
  'Content-Type: multipart/mixed; boundary="',
  'Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n',
  'Content-Type: multipart/mixed\r\n\r\n',
  'Content-Type: text/html\r\n\r\n',
  'Content-Type: text/plain; format=flowed\r\n\r\n',
  'Content-Type: message/rfc822\r\n\r\n',
  'Content-Transfer-Encoding: base64\r\n\r\n',
  'Content-Transfer-Encoding: quoted-printable\r\n\r\n',
  'Disposition-Notification-Options: X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,',
  ...['Original-Message-ID: ', 'Error: ', 'Failure: '].map((field) => mdn + field),
];

const runs = [' ', '\t', '\r', '\r\n ', '\r\r\n', '<', '"', ';', ','];

function readAll(message: Buffer): void {
  const entity = parseEntity(message);
  announcesEnvelope(message);
  const parts = collectParts(entity);
  findBodyText(entity, parts);
  for (const part of parts) part.text();
  findHeaderAmbiguity(entity);
  findUnanswered(entity, 'a@clinic.example');
  requestsFinalDelivery(entity);
  readMdnOrDsn(entity);
  unwrapEntity(entity);
  for (const name of ['message-id', 'original-message-id']) readHeaderOctets(entity, name);
}

it('a run of one sign, wherever it stands in a message, is read in a time that grows with its length alone', () => {
  for (const start of before)
    for (const run of runs)
      for (const word of ['', 'none '])
        assertFast(`${start}${word}${run.repeat(octets / run.length)}!\r\n\r\nb`, [
          start.slice(-40),
          word,
          run,
        ]);
});

function assertFast(text: string, names: readonly string[]): void {
  const since = process.cpuUsage();
  try {
    readAll(Buffer.from(text, 'latin1'));
  } catch (error) {
    // What is too long may be refused.
    if (!(error instanceof CodedError)) throw error;
  }
  const ms = process.cpuUsage(since).user / 1000;
  assert.ok(ms < limitMs, `${JSON.stringify(names)}: ${ms.toFixed(0)} ms`);
}
