/** Seals and opens messages and their MDNs, and answers with the processor time of each. */
import { randomBytes, sign } from 'node:crypto';
import { createAgentJobRunner, type KeyBytes } from '../../src/lib/direct/index.ts';
import { buildMdn } from '../../src/lib/mdn/index.ts';
import { buildMessage } from '../../src/lib/mime/index.ts';
import { readPrivateKey } from '../../src/lib/pki/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import type { AgentParties, AgentParty, AgentTimes } from './agent-alone.ts';

/**
 * V8 optimizes code after thousands of calls, so what is measured first costs up to twice of what it costs later: a message is
 * handled this often before anything counts, as in processes that have served for a minute under load.
 */
const warmUpMessages = 8000;
/** Of each size: its buffers and loops are others. */
const warmUpOfSize = 200;
/** The median of several batches leaves out those in which other work disturbed. */
const batches = 9;
const messagesPerBatch = 60;
const signaturesPerBatch = 100;

const { from, to } = JSON.parse(process.argv[2] ?? '') as AgentParties;
const [sender, recipient] = [parseDirectAddress(from.address), parseDirectAddress(to.address)];
const [senderKey, recipientKey] = [keyOf(from), keyOf(to)];
const at = new Date();
// As the service does, through the same runner with its caches.
const runner = createAgentJobRunner();
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
let handled = 0;

function keyOf({ certificate, privateKey }: AgentParty): KeyBytes {
  return {
    certificate: Buffer.from(certificate, 'base64'),
    privateKey: Buffer.from(privateKey, 'base64'),
  };
}

function buildPlain(sizeBytes: number): Uint8Array {
  return buildMessage({
    from: sender,
    to: [recipient],
    date: at,
    messageId: '<1@benchmark.example>',
    text: 'one of many',
    attachments: [
      { mediaType: 'application/octet-stream', content: randomBytes(sizeBytes), fileName: 'a.bin' },
    ],
  });
}

function carry(
  message: Uint8Array,
  by: KeyBytes,
  address: typeof sender,
  { certificate, privateKey }: KeyBytes,
): void {
  const sealed = runner.seal({
    kind: 'seal',
    atMs: at.getTime(),
    message: Uint8Array.from(message),
    signers: [by],
    recipients: [{ address, certificates: [certificate] }],
  });
  runner.open({ kind: 'open', message: sealed.message, keys: [{ certificate, privateKey }] });
}

function handle(plain: Uint8Array): void {
  carry(plain, senderKey, recipient, recipientKey);
  carry(mdn, recipientKey, sender, senderKey);
  handled++;
}

/** Milliseconds of each call: the median of the batches. */
function measure(work: () => void, calls: number): number {
  const times = Array.from({ length: batches }, () => {
    const before = process.cpuUsage();
    for (let call = 0; call < calls; call++) work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000 / calls;
  });
  return times.toSorted((a, b) => a - b)[Math.floor(batches / 2)] ?? 0;
}

process.on('message', (sizeBytes: number) => {
  const plain = buildPlain(sizeBytes);
  const until = Math.max(handled + warmUpOfSize, warmUpMessages);
  while (handled < until) handle(plain);
  const key = readPrivateKey(senderKey.privateKey);
  const digest = Buffer.alloc(32, 1);
  const times: AgentTimes = {
    cpuMs: measure(() => handle(plain), messagesPerBatch),
    signMs: measure(() => void sign('sha256', digest, key), signaturesPerBatch),
  };
  process.send?.(times);
});
