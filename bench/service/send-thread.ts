/** Runs in a thread: sends many messages, several at once, and waits until the far side has processed them. */
import { randomBytes } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { createEdgeClient, type EdgeCredentials } from '../../src/app/dev/index.ts';

export interface SendTask {
  readonly own: EdgeCredentials;
  readonly from: string;
  readonly to: string;
  readonly sizeBytes: number;
  readonly count: number;
  readonly atOnce: number;
}

const { own, from, to, sizeBytes, count, atOnce } = workerData as SendTask;
const client = createEdgeClient(own);
const attachmentContent = randomBytes(sizeBytes).toString('base64');
const body = {
  fromDirectAddress: from,
  toDirectAddress: to,
  messageBody: 'one of many',
  emailAttachmentList: [{ attachmentClass: 'application/octet-stream', attachmentContent }],
};
const ids: string[] = [];

async function sendAll(): Promise<void> {
  for (let left = count - ids.length; left > 0; left = count - ids.length) {
    const sent = Array.from({ length: Math.min(left, atOnce) }, () =>
      client.post('/messaging/dirmsg/send_ccda', body),
    );
    for (const answer of await Promise.all(sent)) ids.push((answer as { messageId: string }).messageId);
  }
}

async function isProcessed(id: string): Promise<boolean> {
  const { messageStatus } = (await client.get(`/messaging/dirmsg/status/${encodeURIComponent(id)}`)) as {
    messageStatus: string;
  };
  return messageStatus === 'processed';
}

await client.get('/messaging/dirmsg/inbox?limit=1');
const startedAt = performance.now();
await sendAll();
parentPort?.postMessage({ what: 'accepted', ms: performance.now() - startedAt });
for (const id of ids.toReversed())
  while (!(await isProcessed(id))) await new Promise((resolve) => setTimeout(resolve, 20));
parentPort?.postMessage({ what: 'processed', ms: performance.now() - startedAt });
parentPort?.close();
