import { totalmem } from 'node:os';
import type { Config } from '../../platform/index.ts';

/** What the process may use: the limit of its container or unit, or the machine's memory. */
export function memoryOfProcess(): number {
  // 0 or a huge number if there is no limit.
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/**
 * Lowers the budgets for large contents and lists to what fits into the memory of the process: each is a
 * small part of it, so that all of them together (less than half), with what the service needs itself and
 * what is copied while content is worked on (70 % of a budget), stay below it. Changes nothing from 3.5 GB.
 */
export function fitMemory(config: Config, memoryBytes: number): Config {
  const { http, smtp, messaging, edge } = config;
  const most = (share: number, bytes: number): number => Math.min(bytes, Math.floor(memoryBytes * share));
  return {
    ...config,
    http: {
      ...http,
      maxUploadBytes: most(1 / 16, http.maxUploadBytes),
      maxUploadBytesPerClient: most(1 / 20, http.maxUploadBytesPerClient),
    },
    smtp: {
      ...smtp,
      maxReceivingBytes: most(1 / 13, smtp.maxReceivingBytes),
      maxReceivingBytesPerNetwork: most(1 / 16, smtp.maxReceivingBytesPerNetwork),
    },
    messaging: { ...messaging, maxWorkBytes: most(1 / 12, messaging.maxWorkBytes) },
    edge: {
      ...edge,
      maxContentBytes: most(1 / 16, edge.maxContentBytes),
      maxMailboxBytes: most(1 / 16, edge.maxMailboxBytes),
    },
  };
}
