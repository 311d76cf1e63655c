import { Type } from 'typebox';
import { everything, isOwnedAddress, type Owned } from '../../../service/organizations/index.ts';
import type { AuditRecord } from '../../../service/audit/index.ts';
import {
  inboundTextOf,
  countDeadLetters,
  countReceived,
  measureInboundMail,
  measureUnacknowledged,
  type DeadLetter,
  type InboundEntry,
  type ReceivedMessage,
  type ShownInbound,
  type WaitingMail,
} from '../../../service/messaging/index.ts';
import {
  doneAnswer,
  inboundCounts,
  inboundDetails,
  inboundPage,
  inboundQuery,
  type InboundDetails,
  type InboundPage,
  type InboundQuery,
  type InboundRow,
  type InboundState,
} from '../contract/index.ts';
import { route } from '../route.ts';
import type { ConsoleRoutes, ConsoleServices } from '../types.ts';
import { isRefresh, type ActingServices, type Acting } from './acting.ts';
import { cursorsOf, sealCursors, timeAndId, type Cursors } from './cursors.ts';
import { isoTime, readTime, toCertificatePath } from './formats.ts';
import { writeInboundTicket } from './ticket.ts';

const dayMs = 86_400_000;
const maxInboundCount = 1000;

/** Routes of mail from other HISPs: received, refused, dead-lettered, and not acknowledged. */
export function inboundRoutes(services: ConsoleServices, acting: Acting): ConsoleRoutes {
  const { storage, vault, clock, audit, trust } = services;
  return (app) => {
    route(app, 'get', '/inbound', {
      needs: 'messages.read',
      scope: 'filtered',
      about: [
        'inbound',
        'List mail from other HISPs',
        'Refused and received: newest first; dead letters and unacknowledged messages: oldest first. A page may be short and still have a next one.',
      ],
      query: inboundQuery,
      answer: inboundPage,
      handle: async (request) => {
        const { state = 'refused' } = request.query;
        const { owned } = request;
        const plain = cursorsOfState[state];
        const cursors =
          owned.organizationId === undefined ? plain : sealCursors(plain, vault, owned.organizationId);
        return list(acting(request), { ...request.query, state }, { cursors, isRefresh: isRefresh(request) });
      },
    });
    route(app, 'get', '/inbound/counts', {
      needs: 'messages.read',
      scope: 'filtered',
      about: ['inbound', 'Count mail from other HISPs'],
      answer: inboundCounts,
      handle: async ({ owned }) => {
        const since = new Date(clock.now().getTime() - dayMs);
        const count = (action: string): Promise<number> => countOwned(audit, { action, since }, owned);
        const countOpened = async (): Promise<number> =>
          Math.min(await countReceived(storage, since, owned), maxInboundCount);
        const [received, rejected, discarded, dead, open, waiting] = await Promise.all([
          owned === everything ? count('message.receive') : countOpened(),
          count('message.reject'),
          count('message.discard'),
          countDeadLetters(storage, owned),
          measureUnacknowledged(storage, clock, owned),
          // What waits to be opened is nobody's yet.
          owned === everything ? measureInboundMail(storage, clock) : [],
        ]);
        return {
          received,
          refused: Math.min(rejected + discarded, maxInboundCount),
          deadLettered: dead,
          unacknowledged: open.count,
          oldestUnacknowledgedSeconds: open.oldestSeconds,
          waiting: waiting.reduce((sum, one) => sum + one.count, 0),
        };
      },
    });
    const details = async (
      request: Parameters<typeof acting>[0],
      id: string,
      isBackground: boolean,
    ): Promise<InboundDetails> => {
      const found = await acting(request).messaging.showInbound(id, { isRefresh: isBackground });
      const hosted = await trust.listDomains();
      const domains = new Set(found.to.map((one) => one.slice(one.lastIndexOf('@') + 1).toLowerCase()));
      return { ...toDetails(found), domains: hosted.filter((one) => domains.has(one)) };
    };
    route(app, 'get', '/inbound/:id', {
      needs: 'messages.read',
      scope: 'filtered',
      about: [
        'inbound',
        'Show refused mail or a dead letter',
        'With the certificates of its signer, if it was refused for them. Every view is audited.',
      ],
      answer: inboundDetails,
      handle: async (request) => details(request, request.params.id, isRefresh(request)),
    });
    route(app, 'get', '/inbound/:id/ticket', {
      needs: 'messages.read',
      scope: 'filtered',
      about: ['inbound', 'Show refused mail as text to paste into a ticket'],
      answer: { content: { 'text/plain': { schema: Type.String() } } },
      handle: async (request, reply) => {
        const found = await details(request, request.params.id, false);
        return reply.type('text/plain; charset=utf-8').send(writeInboundTicket(found, services));
      },
    });
    route(app, 'post', '/inbound/:id/retry', {
      needs: 'messages.change',
      scope: 'filtered',
      about: ['inbound', 'Retry a dead letter'],
      answer: doneAnswer,
      handle: async (request) => {
        const count = await acting(request).messaging.retryInbound(request.params.id);
        return { count, sentence: 'The dead letter will be retried now.' };
      },
    });
  };
}

/** Of an organization's own, not among the newest of all: how much others receive must not show. */
const maxCountedPages = 50;

/** Up to `maxInboundCount` rows of one action, newest first. */
async function countOwned(
  audit: ConsoleServices['audit'],
  filter: { readonly action: string; readonly since: Date },
  owned: Owned,
): Promise<number> {
  let count = 0;
  let olderThan: AuditRecord | undefined;
  for (let page = 0; page < maxCountedPages; page++) {
    const rows: readonly AuditRecord[] = await audit.find({ ...filter, olderThan, limit: maxInboundCount });
    count += rows.filter(
      ({ objects }) =>
        owned === everything ||
        String(objects['to'] ?? '')
          .split(' ')
          .some((one) => isOwnedAddress(owned, one)),
    ).length;
    olderThan = rows.at(-1);
    if (rows.length < maxInboundCount || count >= maxInboundCount) break;
  }
  return Math.min(count, maxInboundCount);
}

const cursorsOfState: Readonly<Record<InboundState, Cursors>> = {
  received: cursorsOf('received', timeAndId),
  refused: cursorsOf('refused', timeAndId),
  'dead-lettered': cursorsOf('dead-letters', timeAndId),
  unacknowledged: cursorsOf('unacknowledged', timeAndId),
};

async function list(
  acting: ActingServices,
  query: InboundQuery & { readonly state: InboundState },
  { cursors, ...options }: { readonly cursors: Cursors; readonly isRefresh: boolean },
): Promise<InboundPage> {
  const { state, limit = 50 } = query;
  const cursor = cursors.read(query.cursor);
  const page = await listState(acting, query, { state, limit, cursor, ...options });
  return { result: [...page.items], next: cursors.write(page.next) };
}

async function listState(
  { messaging }: ActingServices,
  { from, to, code, since, until }: InboundQuery,
  {
    state,
    limit,
    cursor,
    ...options
  }: {
    readonly state: InboundState;
    readonly limit: number;
    readonly cursor: string | undefined;
    readonly isRefresh: boolean;
  },
): Promise<{ readonly items: readonly InboundRow[]; readonly next?: string }> {
  const parts = {
    from,
    to,
    since: readTime('since', since),
    until: readTime('until', until),
    limit,
    cursor,
  };
  if (state === 'unacknowledged') {
    const { items, ...page } = await messaging.listUnacknowledged(parts, options);
    return { ...page, items: code === undefined ? items.map(toUnacknowledged) : [] };
  }
  if (state === 'dead-lettered') {
    const { items, ...page } = await messaging.listDeadLetters({ ...parts, reason: code }, options);
    return { ...page, items: items.map(toDeadLetter) };
  }
  const { items, ...page } = await messaging.listInbound(
    {
      ...parts,
      kinds: state === 'received' ? ['received'] : ['rejected', 'discarded'],
      reason: code,
    },
    options,
  );
  return { ...page, items: items.map((entry) => toRow(entry, state)) };
}

const blank = {
  code: '',
  text: '',
  whatToDo: '',
  wireId: '',
  remoteAddress: '',
  attempts: 0,
  canRetry: false,
} as const;

function toUnacknowledged(row: ReceivedMessage): InboundRow {
  return {
    ...blank,
    id: row.id,
    state: 'unacknowledged',
    at: isoTime(row.receivedAt),
    level: 'waiting',
    from: row.from,
    to: [row.to],
    text: 'In the inbox; no client has acknowledged it.',
    whatToDo: 'Check the client of this address: it has not fetched the message, or its webhook fails.',
    wireId: row.wireId,
  };
}

function toDeadLetter(row: DeadLetter): InboundRow {
  const { text, advice } = inboundTextOf(row.reason);
  return {
    ...blank,
    id: row.id,
    state: 'dead-lettered',
    at: isoTime(row.receivedAt),
    level: 'failed',
    from: row.mailFrom,
    to: [...row.recipients],
    code: row.reason,
    text,
    whatToDo: advice,
    canRetry: true,
  };
}

function receivedText({ warnings }: InboundEntry): string {
  const text = 'Opened, trusted and stored for its recipients.';
  return warnings === '' ? text : `${text} Not all of it could be read as its sender wrote it: ${warnings}.`;
}

function toRow(entry: InboundEntry, state: InboundState): InboundRow {
  const refusal = state === 'refused' ? inboundTextOf(entry.reason) : undefined;
  return {
    ...blank,
    id: entry.id,
    state,
    at: isoTime(entry.at),
    level: refusal === undefined ? (entry.warnings === '' ? 'ok' : 'warning') : 'failed',
    from: entry.from,
    to: [...entry.to],
    code: entry.reason,
    text: refusal === undefined ? receivedText(entry) : withDetail(refusal.text, entry.detail),
    whatToDo: refusal?.advice ?? '',
    wireId: entry.messageId,
    remoteAddress: entry.remoteAddress,
  };
}

function withDetail(text: string, detail: string): string {
  return detail === '' ? text : `${text} (${detail})`;
}

function toDetails(found: ShownInbound | WaitingMail): Omit<InboundDetails, 'domains'> {
  if ('kind' in found)
    return {
      row: toRow(found, found.kind === 'received' ? 'received' : 'refused'),
      mailId: found.mailId,
      path: found.signer === undefined ? null : toCertificatePath(found.signer.path),
      authorities: [...(found.signer?.authorities ?? [])],
    };
  const { from: mailFrom, to: recipients, attempts, state } = found;
  const row = { ...toDeadLetter({ ...found, mailFrom, recipients }), attempts };
  return {
    row:
      state === 'dead-letter'
        ? row
        : { ...row, canRetry: false, level: 'waiting', text: 'It waits to be processed.', whatToDo: '' },
    mailId: found.id,
    path: null,
    authorities: [],
  };
}
