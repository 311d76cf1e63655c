/** Runs in a thread, so that the work of a client does not count as the service's: sends, waits, fetches. */
import { randomBytes } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { createEdgeClient, type EdgeCredentials } from '../../src/app/dev/index.ts';

export interface EdgeTask {
  readonly own: EdgeCredentials;
  readonly partner: EdgeCredentials;
  readonly from: string;
  readonly to: string;
  readonly sizeBytes: number;
}

const task = workerData as EdgeTask;
const own = createEdgeClient(task.own);
const partner = createEdgeClient(task.partner);
const enter = async (phase: string): Promise<void> => {
  parentPort?.postMessage(phase);
  await pause(100);
};
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function run(): Promise<void> {
  const attachmentContent = randomBytes(task.sizeBytes).toString('base64');
  const emailAttachmentList = [{ attachmentClass: 'application/octet-stream', attachmentContent }];
  await own.get('/messaging/dirmsg/inbox?limit=1');
  await enter('send');
  const { messageId } = (await own.post('/messaging/dirmsg/send_ccda', {
    fromDirectAddress: task.from,
    toDirectAddress: task.to,
    messageBody: 'large',
    emailAttachmentList,
  })) as { messageId: string };
  await enter('deliver and receive');
  const status = `/messaging/dirmsg/status/${encodeURIComponent(messageId)}`;
  for (;;) {
    const { messageStatus } = (await own.get(status)) as { messageStatus: string };
    if (messageStatus === 'processed') break;
    if (messageStatus === 'failed') throw new Error('the message failed');
    await pause(50);
  }
  await enter('status and list');
  await own.get(status);
  const { result } = (await partner.get(`/messaging/dirmsg/inbox?limit=1&toDirectAddress=${task.to}`)) as {
    result: readonly { messageId: string }[];
  };
  const id = encodeURIComponent(result[0]?.messageId ?? '');
  await enter('fetch as JSON');
  const fetched = (await partner.get(`/messaging/dirmsg/inbox/${id}`)) as {
    emailAttachmentList: readonly { attachmentContent: string }[];
  };
  if (fetched.emailAttachmentList[0]?.attachmentContent !== attachmentContent)
    throw new Error('the content came back changed');
  await enter('fetch as XDM');
  await partner.get(`/messaging/dirmsg/inbox/${id}?xdm=true`);
  await enter('acknowledge');
  await partner.post(`/messaging/dirmsg/inbox/${id}/ack`);
  await enter('rest');
  await pause(500);
}

await run();
parentPort?.close();
