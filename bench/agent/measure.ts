/** One thread or process of the benchmark: does one kind of work over and over and reports what it took. */
import { listMoved } from '../../src/core/threads/index.ts';
import { sign } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { openMessage, verifySender } from '../../src/lib/direct/index.ts';
import { validatePath, readCertificate } from '../../src/lib/pki/index.ts';
import {
  anchorsOfRecipient,
  anchorsOfSender,
  at,
  recipient,
  recipientKey,
  sender,
  senderKey,
} from './keys.ts';
import { buildPlain, seal, sizes } from './messages.ts';

/** `validated`: with the recipient's certification path validated before, or the sender's after. */
export type Work = 'out' | 'in' | 'validated out' | 'validated in' | 'sign';

export interface MeasureRequest {
  readonly work: Work;
  readonly sizeLabel: string;
  readonly seconds: number;
}

export interface Measured {
  readonly count: number;
  readonly wallMs: number;
  /** Of the whole process, garbage collection included: meaningful if one thread measures alone. */
  readonly cpuMs: number;
}

/** Creates the work to be repeated, its input made beforehand. */
export function prepare({ work, sizeLabel }: Omit<MeasureRequest, 'seconds'>): () => void | Promise<void> {
  if (work === 'sign') {
    const digest = Buffer.alloc(32, 1);
    return () => void sign('sha256', digest, senderKey.privateKey);
  }
  const size = sizes.find(({ label }) => label === sizeLabel);
  if (size === undefined) throw new TypeError(`no size ${sizeLabel}`);
  const plain = buildPlain(size);
  const message = work.endsWith('out') ? plain : seal(plain);
  return () => runOnce(work, message);
}

/** The whole pipeline for one message, from RFC 5322 bytes to RFC 5322 bytes. */
export function runOnce(work: Exclude<Work, 'sign'>, message: Uint8Array): void | Promise<void> {
  switch (work) {
    case 'out':
      return handOver(seal(message));
    case 'in':
      return void openMessage({ message, keys: [recipientKey] });
    case 'validated out':
      return resolveAndSeal(message);
    case 'validated in':
      return openAndVerify(message);
  }
}

/** From the bytes of the recipient's certificate, as discovery finds them. */
async function resolveAndSeal(message: Uint8Array): Promise<void> {
  const certificate = readCertificate(recipientKey.certificate.der);
  const path = await validatePath(certificate, 'encryption', {
    at,
    anchors: anchorsOfSender,
    address: recipient,
  });
  handOver(seal(message, path.certificates[0]));
}

async function openAndVerify(message: Uint8Array): Promise<void> {
  const opened = openMessage({ message, keys: [recipientKey] });
  const envelope = { mailFrom: sender, recipients: [recipient] };
  await verifySender(opened, envelope, { at, anchors: anchorsOfRecipient });
}

/** A thread of the agent transfers what it made to the thread that sends it, and no longer has to clear it away. */
function handOver(bytes: Uint8Array): void {
  for (const memory of listMoved([bytes])) (memory as ArrayBuffer).transfer(0);
}

async function measure(request: MeasureRequest): Promise<Measured> {
  const run = prepare(request);
  const warmUntil = performance.now() + request.seconds * 500;
  do await run();
  while (performance.now() < warmUntil);
  const cpuBefore = process.cpuUsage();
  const start = performance.now();
  const end = start + request.seconds * 1000;
  let count = 0;
  do {
    await run();
    count++;
  } while (performance.now() < end || count < 3);
  const wallMs = performance.now() - start;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { count, wallMs, cpuMs: (user + system) / 1000 };
}

if (parentPort !== null) {
  const request = workerData as MeasureRequest;
  parentPort.postMessage(await measure(request));
}
