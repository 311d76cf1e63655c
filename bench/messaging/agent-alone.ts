/** Measures the agent alone for one message: seal and open the message, seal and open its MDN. */
import { sign } from 'node:crypto';
import { openMessage, sealMessage } from '../../src/lib/direct/index.ts';
import { buildMdn } from '../../src/lib/mdn/index.ts';
import { buildMessage } from '../../src/lib/mime/index.ts';
import { readCertificate } from '../../src/lib/pki/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import type { Party } from '../../test/processes/world.ts';

export interface AgentAlone {
  /** Processor time of all four operations, in milliseconds. */
  readonly cpuMs: number;
  /** Of one RSA-2048 signature. */
  readonly signMs: number;
}

export function measureAgent(from: Party, to: Party, sizeBytes: number, seconds: number): AgentAlone {
  const sender = parseDirectAddress(from.address);
  const recipient = parseDirectAddress(to.address);
  const at = new Date();
  const plain = buildMessage({
    from: sender,
    to: [recipient],
    date: at,
    messageId: '<1@benchmark.example>',
    text: 'one of many',
    attachments: [
      { mediaType: 'application/octet-stream', content: Buffer.alloc(sizeBytes, 7), fileName: 'a.bin' },
    ],
  });
  const mdn = buildMdn({
    disposition: 'processed',
    finalRecipient: recipient,
    originalSender: sender,
    originalMessageId: '<1@benchmark.example>',
    reportingUa: { host: 'benchmark.example', product: 'openhisp' },
    date: at,
    messageId: '<2@benchmark.example>',
    isFinalDelivery: false,
  });
  // As the agent does, certificates and keys are read once.
  const [fromKey, toKey] = [keyOf(from), keyOf(to)];
  type Key = typeof fromKey;
  const oneWay = (message: Uint8Array, by: Key, address: typeof sender, other: Key): void => {
    const sealed = sealMessage({
      at,
      message: Uint8Array.from(message),
      signers: [by],
      recipients: [{ address, certificates: [other.certificate] }],
    });
    openMessage({ message: sealed.message, keys: [other] });
  };
  const both = (): void => {
    oneWay(plain, fromKey, recipient, toKey);
    oneWay(mdn, toKey, sender, fromKey);
  };
  const digest = Buffer.alloc(32, 1);
  return {
    cpuMs: repeat(both, seconds),
    signMs: repeat(() => void sign('sha256', digest, from.privateKey), seconds / 4),
  };
}

const keyOf = (party: Party) => ({
  certificate: readCertificate(party.certificate),
  privateKey: party.privateKey,
});

/** Mean processor time of one run, in milliseconds. */
function repeat(work: () => void, seconds: number): number {
  const warmUntil = performance.now() + seconds * 300;
  while (performance.now() < warmUntil) work();
  const before = process.cpuUsage();
  const end = performance.now() + seconds * 1000;
  let count = 0;
  do {
    work();
    count++;
  } while (performance.now() < end);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / count;
}
