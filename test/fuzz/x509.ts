import { CodedError } from '../../src/core/index.ts';
import {
  validatePath,
  readCertificate,
  readCertificates,
  readCrl,
  readTrustBundle,
  verifyCrl,
  type Certificate,
} from '../../src/lib/pki/index.ts';
import { main, readCorpus, type FuzzTarget } from './fuzz.ts';

const tokens = [
  '\x30\x80',
  '\x30\x84\xff\xff\xff\xff',
  '\0\0',
  '\x01\x01\xff',
  '\x06\x03\x55\x1d\x11',
  '\x06\x03\x55\x1d\x13',
  '\x06\x03\x55\x1d\x1e',
  '\x04\x00',
  '\x81\x1aalice@direct.alpha.example',
  '\x82\x14direct.alpha.example',
  '\x82\x01*',
  '\xa0\x03\x02\x01\x02',
  '\x17\x0d260101000000Z',
  '\x02\x01\xff',
  '-----BEGIN CERTIFICATE-----\n',
  '-----END CERTIFICATE-----\n',
];

// Samples are certificates that never were secret to anybody: their keys were thrown away when they were made.
const corpus = readCorpus('x509');
const anchor = readCertificate(corpus.get('anchor.der') ?? Buffer.alloc(0));
const intermediate = readCertificate(corpus.get('intermediate.der') ?? Buffer.alloc(0));
const genuine = new Set(
  ['anchor.der', 'intermediate.der', 'leaf.der', 'leaf-rsa.der'].map((file) =>
    corpus.get(file)?.toString('base64'),
  ),
);
const at = new Date('2026-06-15T00:00:00Z');

/** Reads the bytes as every reader of untrusted input does; a changed certificate must never be validated. */
async function run(bytes: Buffer): Promise<string> {
  const outcomes = [
    await outcomeOf(async () => validate(readCertificate(bytes))),
    await outcomeOf(async () => {
      for (const certificate of readCertificates(bytes).slice(0, 4)) await validate(certificate);
    }),
    await outcomeOf(() => verifyList(bytes)),
    await outcomeOf(() => void readTrustBundle(bytes)),
  ];
  return outcomes.find((outcome) => outcome !== 'PKI_CERTIFICATE_MALFORMED') ?? 'PKI_CERTIFICATE_MALFORMED';
}

async function validate(certificate: Certificate): Promise<void> {
  await validatePath(certificate, 'signing', {
    at,
    anchors: [anchor],
    candidates: [intermediate, certificate],
  });
  if (!genuine.has(Buffer.from(certificate.der).toString('base64')))
    throw new Error('a changed certificate was proved');
}

async function verifyList(bytes: Buffer): Promise<void> {
  const crl = readCrl(bytes);
  crl.find(Buffer.of(1));
  await verifyCrl(crl, { issuer: anchor, candidates: [intermediate] });
  if (corpus.get('list.crl')?.equals(bytes) !== true) throw new Error('a changed list was accepted');
}

async function outcomeOf(work: () => void | Promise<void>): Promise<string> {
  try {
    await work();
    return 'taken';
  } catch (error) {
    if (error instanceof CodedError) return error.code;
    throw error;
  }
}

export const x509Target: FuzzTarget = { name: 'x509', tokens, run };

if (import.meta.main) await main(x509Target, process.argv.slice(2));
