import { AsyncLocalStorage } from 'node:async_hooks';

/** Where an operator's action came from, beyond the name that they gave. */
export interface AuditOrigin {
  readonly channel: 'console' | 'command';
  /** Of the system, for a command. */
  readonly login?: string | undefined;
  /** True if the name is only what a command was told: whoever can run it can give any name. */
  readonly isClaimed?: boolean | undefined;
  /** Of the console; absent for a script with a token. */
  readonly session?: string | undefined;
  readonly remoteAddress?: string | undefined;
}

const origins = new AsyncLocalStorage<AuditOrigin>();

/** Does the work so that each audit row of an operator in it says where it came from. */
export function runFrom<R>(origin: AuditOrigin, work: () => R): R {
  return origins.run(origin, work);
}

/** Work of the service that an operator's request has started is not the operator's. */
export function originOf(actor: string | undefined): AuditOrigin | undefined {
  return actor === 'operator' || actor?.startsWith('operator:') === true ? origins.getStore() : undefined;
}

/** As in the row: names sorted, so that equal origins give equal text. */
export function writeOrigin(origin: AuditOrigin | undefined): string | null {
  if (origin === undefined) return null;
  const { channel, isClaimed, login, session } = origin;
  return JSON.stringify({ channel, ...(isClaimed === true && { isClaimed }), login, session });
}

/** How a row came about. */
export type AuditChannel = 'console' | 'command' | 'api' | 'edge' | 'service';

/** `service`: by itself, or by mail of others. */
export function channelOf({
  origin,
  action,
  actor,
  objects,
}: {
  readonly origin: Pick<AuditOrigin, 'channel'> | undefined;
  readonly action: string;
  readonly actor: string | undefined;
  readonly objects: Readonly<Record<string, unknown>>;
}): AuditChannel {
  if (origin !== undefined) return origin.channel;
  if (action.startsWith('console.')) return 'console';
  if (action === 'edge.sign-in' || objects['edgeAccount'] !== undefined) return 'edge';
  if (actor === 'system') return 'service';
  return actor?.startsWith('operator') === true ? 'command' : 'api';
}
