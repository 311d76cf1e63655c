import { silentLog, systemClock } from '../../core/index.ts';
import { createWebhooks, type Webhooks } from '../../service/webhook/index.ts';
import type { AuditedInstallation } from './with-installation.ts';

/** Webhooks that a command may change. They are never started: a running service sends. */
export async function withWebhooks<Result>(
  installation: AuditedInstallation,
  work: (webhooks: Webhooks) => Promise<Result>,
): Promise<Result> {
  const { allowedHosts, allowsPrivateTargets: isLoopbackAllowed } = installation.config.webhook;
  const webhooks = createWebhooks({
    ...installation,
    clock: systemClock,
    log: silentLog,
    allowedHosts,
    isLoopbackAllowed,
    post: () => Promise.reject(new TypeError('a command sends nothing')),
  });
  try {
    return await work(webhooks);
  } finally {
    await webhooks.close();
  }
}
