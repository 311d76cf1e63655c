/** A whole HISP in its own process, which answers the benchmark's questions about what it used. */
import { createPrivateKey } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { silentLog } from '../../src/core/index.ts';
import { startHisp } from '../../src/app/server/index.ts';
import { readCertificate } from '../../src/lib/pki/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import { loadConfig } from '../../src/platform/index.ts';
import { createProfiler } from './profile.ts';
import type { Answer, HispTask, Question, Usage } from './protocol.ts';

const task = JSON.parse(process.argv[2] ?? '') as HispTask;
const bytes = (text: string): Buffer => Buffer.from(text, 'base64');
const hisp = await startHisp({ config: loadConfig({}, undefined, task.settings), log: silentLog });
if (!(await hisp.trust.isHostedDomain(task.domain))) {
  await hisp.trust.addDomain(task.domain);
  const key = createPrivateKey({ key: bytes(task.privateKey), format: 'der', type: 'pkcs8' });
  await hisp.trust.addKeyPair(task.domain, readCertificate(bytes(task.certificate)).der, key);
  await hisp.trust.addAnchor(task.domain, bytes(task.anchor));
  await hisp.trust.putAddress(parseDirectAddress(task.address), 'active');
}
const client = await hisp.oauth.clients.create({
  name: 'benchmark',
  scopes: ['messaging.api'],
  directAddresses: [`@${task.domain}`],
  dataUseAcceptedAt: new Date(),
});
await hisp.webhooks.create(client.clientId, { url: task.webhookUrl });
const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
const profiler = createProfiler();

function usage(): Usage {
  const { user, system } = process.cpuUsage();
  const longestDelayMs = delay.max / 1e6;
  delay.reset();
  return {
    cpuMs: (user + system) / 1000,
    storage: hisp.storage.counts(),
    longestDelayMs,
    residentBytes: process.memoryUsage.rss(),
  };
}

async function answer(question: Question): Promise<Answer> {
  if (question === 'usage') return { kind: 'usage', usage: usage() };
  if (question === 'start-profile') await profiler.start();
  if (question === 'stop-profile') return { kind: 'profile', parts: await profiler.stop() };
  if (question === 'close') await hisp.close();
  return { kind: 'done' };
}

process.on('message', (question: Question) => {
  void answer(question).then((said) => {
    process.send?.(said);
    if (question === 'close') process.disconnect();
  });
});
const { baseUrl, smtpPort } = hisp;
const { clientId, clientSecret } = client;
process.send?.({ kind: 'ready', ready: { baseUrl, smtpPort, clientId, clientSecret } } satisfies Answer);
