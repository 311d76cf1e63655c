/** Seals and opens messages and their MDNs, by the whole agent and by its S/MIME alone, and answers with the processor time of each. */
import { randomBytes, sign } from 'node:crypto';
import { createAgentJobRunner, type KeyBytes } from '../../src/lib/direct/index.ts';
import { buildMdn } from '../../src/lib/mdn/index.ts';
import { buildMessage } from '../../src/lib/mime/index.ts';
import { readPrivateKey } from '../../src/lib/pki/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import type { AgentParties, AgentParty, AgentTimes } from './agent-alone.ts';
import { openWholeAgent } from './whole-agent.ts';

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
/** Messages with the agent at the same time, so that it handles several in one turn of the event loop, as in a service. */
const atOnce = 16;

const parties = JSON.parse(process.argv[2] ?? '') as AgentParties;
const { from, to } = parties;
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
const agent = await openWholeAgent(parties);
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

/** S/MIME alone. */
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

function handleSmime(plain: Uint8Array): void {
  carry(plain, senderKey, recipient, recipientKey);
  carry(mdn, recipientKey, sender, senderKey);
}

async function handle(plain: Uint8Array, count: number): Promise<void> {
  let left = count;
  const work = async (): Promise<void> => {
    while (left-- > 0) {
      await agent.carry(plain, sender, recipient);
      await agent.carry(mdn, recipient, sender);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  handled += count;
}

/** Milliseconds of each of `count`: the median of the batches. */
async function measure(count: number, work: () => Promise<void> | void): Promise<number> {
  const times: number[] = [];
  for (let batch = 0; batch < batches; batch++) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000 / count);
  }
  return times.toSorted((a, b) => a - b)[Math.floor(batches / 2)] ?? 0;
}

function repeat(count: number, work: () => void): void {
  for (let index = 0; index < count; index++) work();
}

async function measureAll(sizeBytes: number): Promise<AgentTimes> {
  const plain = buildPlain(sizeBytes);
  const warmUp = Math.max(warmUpOfSize, warmUpMessages - handled);
  await handle(plain, warmUp);
  repeat(warmUp, () => handleSmime(plain));
  const key = readPrivateKey(senderKey.privateKey);
  const digest = Buffer.alloc(32, 1);
  return {
    cpuMs: await measure(messagesPerBatch, () => handle(plain, messagesPerBatch)),
    smimeMs: await measure(messagesPerBatch, () => repeat(messagesPerBatch, () => handleSmime(plain))),
    signMs: await measure(signaturesPerBatch, () =>
      repeat(signaturesPerBatch, () => void sign('sha256', digest, key)),
    ),
  };
}

process.on('message', (sizeBytes: number) => {
  void measureAll(sizeBytes).then((times) => process.send?.(times));
});
