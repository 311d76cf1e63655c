import { statfs } from 'node:fs/promises';
import type { Clock } from '../../core/index.ts';
import type { Config, Metrics, Storage } from '../../platform/index.ts';
import { readStatus } from '../../service/directory/index.ts';
import { listDeadLetters } from '../../service/messaging/index.ts';
import type { Trust } from '../../service/trust/index.ts';
import { findFailingHooks } from '../../service/webhook/index.ts';

export interface GaugeSources {
  readonly config: Config;
  readonly storage: Storage;
  readonly trust: Pick<Trust, 'listBundles'>;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** Registers what operators set alerts on. Each gauge is read when the metrics are; one that cannot be read is NaN and harms no other. */
export function registerGauges({ config, storage, trust, clock, metrics }: GaugeSources): void {
  const ageSeconds = (at: Date): number => (clock.now().getTime() - at.getTime()) / 1000;

  function measure(name: string, help: string, read: () => Promise<number>): void {
    metrics.measured({ name, help }, () => read().catch(() => Number.NaN));
  }

  measure('openhisp_disk_free_bytes', 'Room left on the disk of the data folder.', async () => {
    const { bavail, bsize } = await statfs(config.dataDir);
    return bavail * bsize;
  });
  measure(
    'openhisp_directory_age_seconds',
    'Time since the served directory was loaded; NaN if none ever was.',
    async () => {
      const { active } = await readStatus(storage);
      return active?.finishedAt === undefined ? Number.NaN : ageSeconds(new Date(active.finishedAt));
    },
  );
  measure(
    'openhisp_bundle_age_seconds',
    'Time since the last refresh of the trust bundle that waits longest; 0 without bundles.',
    async () =>
      Math.max(
        0,
        ...(await trust.listBundles()).flatMap(({ refreshedAt }) =>
          refreshedAt === undefined ? [] : [ageSeconds(refreshedAt)],
        ),
      ),
  );
  measure(
    'openhisp_bundles_failing',
    'Trust bundles whose last refresh failed.',
    async () => (await trust.listBundles()).filter(({ lastError }) => lastError !== '').length,
  );
  measure(
    'openhisp_webhooks_failing',
    'Webhooks that fail or were switched off by the service.',
    async () =>
      (await findFailingHooks(storage)).filter(
        ({ failingSince, disabledReason }) => failingSince !== undefined || disabledReason !== '',
      ).length,
  );
  measure(
    'openhisp_mail_dead_letters',
    'Inbound messages that failed on every attempt and wait for the operator.',
    async () => (await listDeadLetters(storage)).length,
  );
}
