/** A separate node that sends notifications, for tests that stop or kill it. Its log goes to the output. */
import { createGuardedFetch } from '../../src/lib/fetch/index.ts';
import { createLog, createVault, openStorage, type StorageOptions } from '../../src/platform/index.ts';
import { createAudit } from '../../src/service/audit/index.ts';
import { createWebhooks } from '../../src/service/webhook/index.ts';

interface ChildOptions {
  readonly location: Pick<StorageOptions, 'file' | 'url'>;
  readonly vaultKey: string;
  readonly leaseMs: number;
}

const { location, vaultKey, leaseMs } = JSON.parse(process.argv[2] ?? '{}') as ChildOptions;
const storage = await openStorage(location);
const clock = { now: () => new Date() };
const log = createLog({
  level: 'debug',
  isReadable: false,
  write: (line) => void process.stdout.write(`${line.trimEnd()}\n`),
});
const vault = createVault(Buffer.from(vaultKey, 'base64'));
const webhooks = createWebhooks({
  storage,
  vault,
  clock,
  log,
  audit: createAudit({ storage, vault, clock, log }),
  post: createGuardedFetch({ timeoutMs: 60_000, maxBytes: 10_000, allowPrivate: true }),
  isLoopbackAllowed: true,
  idleMs: 50,
  leaseMs,
});
await webhooks.start();
process.stdout.write('ready\n');
