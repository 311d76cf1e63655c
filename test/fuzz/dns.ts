import { readAnswer } from '../../src/lib/dns/answer.ts';
import { DnsError } from '../../src/lib/dns/errors.ts';
import { dataOf, readMessage } from '../../src/lib/dns/message.ts';
import { writeName } from '../../src/lib/dns/names.ts';
import { type RecordType, typeCodes } from '../../src/lib/dns/records.ts';
import { createStaticZone, respond } from '../../src/lib/dns/respond.ts';
import { type FuzzTarget, main } from './fuzz.ts';

const tokens = [
  '\xc0\x0c',
  '\xc0\x00',
  '\xff\xff',
  '\0\0',
  '\0\x25\0\x01',
  '\0\x29',
  '\x06direct',
  '\x07example\x03org\0',
  '\x3f',
  '\x40',
  '\x80',
];

const soa = {
  primaryServer: 'ns.direct.example.org',
  mailbox: 'hostmaster.direct.example.org',
  serial: 1,
  refreshSeconds: 1,
  retrySeconds: 1,
  expireSeconds: 1,
  minimumSeconds: 1,
};
const zone = createStaticZone('direct.example.org', [
  { name: 'direct.example.org', type: 'SOA', ttlSeconds: 1, data: soa },
  {
    name: 'direct.example.org',
    type: 'MX',
    ttlSeconds: 1,
    data: { priority: 1, exchange: 'mx.direct.example.org' },
  },
  {
    name: 'bob.direct.example.org',
    type: 'CERT',
    ttlSeconds: 1,
    data: { certificateType: 1, keyTag: 0, algorithm: 0, data: new Uint8Array(900) },
  },
]);

/** As a resolver would read it, and as a server would answer it. */
async function run(bytes: Buffer): Promise<string> {
  const read = readAsAnswer(bytes);
  const response = await respond(bytes, 'udp', () => [zone]);
  if (response === undefined) return read;
  if (response.length > 1_232) throw new Error('a datagram that is too long');
  const written = readMessage(response);
  if (written.id !== bytes.readUInt16BE(0) || !written.isResponse)
    throw new Error('a response to something else');
  return `${read}, answered with ${written.rcode}`;
}

function readAsAnswer(bytes: Buffer): string {
  try {
    const message = readMessage(bytes);
    for (const type of Object.keys(typeCodes) as RecordType[]) dataOf(message, message.answers, type);
    for (const { name } of [...message.questions, ...message.answers]) writeName(name);
    const [question] = message.questions;
    return question === undefined
      ? 'no question'
      : readAnswer(message, question.name, 'CERT', 'udp').answer.status;
  } catch (error) {
    if (error instanceof DnsError) return error.code;
    throw error;
  }
}

export const dnsTarget: FuzzTarget = { name: 'dns', tokens, run };

if (import.meta.main) await main(dnsTarget, process.argv.slice(2));
