/**
 * What operators see of messages and do about them; never their content.
 * Used by `service/messaging`; others by its `index.ts`.
 * Begin with the interface here.
 */
import { hasHidden, quoteForShell, type Clock } from '../../../core/index.ts';
import { defaultSettings, type AnyTransaction, type Storage, type Vault } from '../../../platform/index.ts';
import { isQualifiedDomain } from '../../../lib/values/index.ts';
import { createRecentViews, type Audit } from '../../audit/index.ts';
import {
  createDeliveryAdmin,
  type DestinationPage,
  type DestinationQuery,
  type HeldDestination,
  type QueuePage,
  type Ended,
  type RecordChange,
  type Retried,
  type SelectedDestination,
  type Selection,
} from '../../delivery/index.ts';
import { createLegalHolds, findHoldsOn, type LegalHold, type LegalHolds } from '../../legal-hold/index.ts';
import { everything, type Owned } from '../../organizations/index.ts';
import type { Trust } from '../../trust/index.ts';
import type { Webhooks } from '../../webhook/index.ts';
import { MessagingError } from '../errors.ts';
import type { EventCounts } from '../count-events.ts';
import { recordOutcomes } from '../status/record-outcome.ts';
import { describeMessages, describeWait, findUuid } from '../status/find-status.ts';
import { objectsOf, type MessageRow, type MessagingTables } from '../tables.ts';
import { findMessages, findNamed, type FoundMessage, type MessageQuery } from './find-messages.ts';
import {
  explainMessage,
  explainReceived,
  type MessageDetails,
  type MessageExplanation,
  type ReceivedExplanation,
} from './explain-message.ts';
import { findCopies, findReceived, type ReceivedMessage } from './find-received.ts';
import { retryDeadLetters, type DeadLetter } from '../inbound/dead-letters.ts';
import { searchMessages, type SearchPage, type SearchQuery, type SearchRow } from './search-messages.ts';
import {
  listInbound,
  showInbound,
  type InboundEntry,
  type InboundQuery,
  type ShownInbound,
  type WaitingMail,
} from './list-inbound.ts';
import { buildEvidence } from '../evidence/build-evidence.ts';
import { signEvidence, type SignedEvidence } from '../evidence/sign-evidence.ts';
import { toAttempt } from '../evidence/attempts.ts';
import { pageDeadLetters, type DeadLetterQuery } from './page-dead-letters.ts';
import type { Page } from './paging.ts';
import { hasAddresses, pickPage, type AddressesQuery } from './pick-page.ts';

export interface OperatorDependencies {
  readonly storage: Storage;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly emit: EventCounts['emit'];
  readonly audit: Audit;
  readonly webhooks: Pick<Webhooks, 'notifyIn'>;
  readonly trust: Pick<Trust, 'findSigningKeys' | 'listAnchors'>;
  /** The acting operator, for the audit trail. */
  readonly operator: string;
}

/**
 * An operator's queries and actions on messages, from a process other than the service's. No result contains
 * content or patient data, and each call leaves an audit row. Running nodes follow within one or two seconds.
 */
export interface MessagingOperator {
  /** The same for what one organization owns: the rest is unknown. */
  within(owned: Owned): MessagingOperator;
  /** Throws MESSAGING_SEARCH_INVALID. */
  find(query: MessageQuery): Promise<Page<FoundMessage>>;
  /** All messages with that id, of any kind. Throws MESSAGING_MESSAGE_NOT_FOUND. */
  show(name: string): Promise<readonly MessageDetails[]>;
  /**
   * The search box: sent and received messages. `isRefresh`, here and below: a refresh by an open page, which
   * leaves no audit row if this operator made the same query, or viewed the same message, within the last
   * hour.
   */
  search(query: SearchQuery, options?: ListOptions): Promise<SearchPage>;
  /**
   * One sent or received message by any of its ids, with explanations. Throws MESSAGING_MESSAGE_NOT_FOUND;
   * here and below, MESSAGING_SEARCH_INVALID for an id that several messages have.
   */
  explain(name: string, options?: ListOptions): Promise<MessageExplanation | ReceivedExplanation>;
  /** Makes the waiting destinations of a message due now. Throws MESSAGING_MESSAGE_NOT_FOUND. */
  retry(name: string): Promise<Retried>;
  /**
   * Ends the waiting deliveries of a message: its undecided recipients fail with the reason `cancelled`, and
   * its client is notified. Destinations with an attempt in progress continue. Throws
   * MESSAGING_MESSAGE_NOT_FOUND.
   */
  fail(name: string): Promise<Ended>;
  /**
   * The signed evidence of a message's delivery. Throws MESSAGING_MESSAGE_NOT_FOUND,
   * MESSAGING_EVIDENCE_UNSIGNED.
   */
  getEvidence(name: string): Promise<SignedEvidence>;
  /** Throws MESSAGING_SEARCH_INVALID for what is not a domain. */
  listQueue(
    query: { domain?: string; limit: number; cursor?: string },
    options?: ListOptions,
  ): Promise<QueuePage>;
  listHolds(): Promise<readonly HeldDestination[]>;
  /** Waiting deliveries by destination, the oldest first, and all destinations on hold. */
  listDestinations(
    query: DestinationQuery,
    options?: ListOptions,
  ): Promise<DestinationPage & { readonly holds: readonly HeldDestination[] }>;
  /** The messages that a change of the queue would affect. Changes nothing. `isPreview`: none follows. */
  selectQueued(
    which: Selection,
    options?: { readonly isPreview?: boolean },
  ): Promise<readonly SelectedDestination[]>;
  /** Makes the selected deliveries due now. Returns their number. */
  retrySelected(selected: readonly SelectedDestination[]): Promise<number>;
  /** Ends the selected deliveries that are not running: recipients fail with the reason `cancelled`. */
  failSelected(selected: readonly SelectedDestination[]): Promise<Ended>;
  /** Makes all deliveries to a destination due now. */
  retryDestination(domain: string): Promise<Retried>;
  /**
   * Nothing is sent to the domain until the hold ends or is released; something need not wait for it. Throws
   * MESSAGING_SEARCH_INVALID for what is not a domain, without a reason, and for an end in the past.
   */
  hold(domain: string, reason: string, endsAt?: Date): Promise<void>;
  /** False if it was not on hold. */
  release(domain: string): Promise<boolean>;
  /** Throws MESSAGING_SEARCH_INVALID. */
  listInbound(query: InboundQuery, options?: ListOptions): Promise<Page<InboundEntry>>;
  /** Received messages that no client has acknowledged, oldest first. Throws MESSAGING_SEARCH_INVALID. */
  listUnacknowledged(
    query: AddressesQuery & { readonly since?: Date | undefined; readonly until?: Date | undefined },
    options?: ListOptions,
  ): Promise<Page<ReceivedMessage>>;
  /** Oldest first. Throws MESSAGING_SEARCH_INVALID. */
  listDeadLetters(query: DeadLetterQuery, options?: ListOptions): Promise<Page<DeadLetter>>;
  /**
   * Retries a dead letter, or all, with the full number of attempts. Throws MESSAGING_MESSAGE_NOT_FOUND for
   * an unknown one.
   */
  retryInbound(id?: string): Promise<number>;
  /**
   * Puts a message, by any of its ids, on legal hold, or all messages from and to an address, or to and from
   * all addresses of an organization. Throws
   * MESSAGING_MESSAGE_NOT_FOUND, LEGAL_HOLD_INVALID, LEGAL_HOLD_EXISTS.
   */
  addLegalHold(
    what: { readonly messageId: string } | { readonly address: string } | { readonly organization: string },
    reason: string,
  ): Promise<LegalHold>;
  listLegalHolds: LegalHolds['list'];
  /** Throws LEGAL_HOLD_UNKNOWN, LEGAL_HOLD_INVALID. */
  releaseLegalHold: LegalHolds['release'];
  /** Throws MESSAGING_MESSAGE_NOT_FOUND. */
  showInbound(id: string, options?: ListOptions): Promise<ShownInbound | WaitingMail>;
}

const maxReason = 200;
/** Of several messages with one id, the first in an error. */
const maxListed = 10;

/** The conditions of a list of inbound mail; those that name addresses or a reason are recorded. */
interface InboundConditions {
  readonly state?: string;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly reason?: string | undefined;
  readonly cursor?: string | undefined;
}

interface ListOptions {
  readonly isRefresh?: boolean;
}

export function createMessagingOperator(
  deps: OperatorDependencies,
  owned: Owned = everything,
  views = createRecentViews(),
): MessagingOperator {
  const { storage, audit, operator, clock } = deps;
  const db = storage.tables<MessagingTables>();
  const delivery = createDeliveryAdmin({
    ...deps,
    onOutcome: (tx, outcomes) =>
      // An operator's outcomes are failures, after which no window begins.
      recordOutcomes(tx, { ...deps, settings: defaultSettings.messaging }, outcomes),
  });

  const recordIn = (
    tx: AnyTransaction,
    action: string,
    objects: Readonly<Record<string, string>>,
  ): Promise<void> => audit.recordIn(tx, { action, actor: operator, outcome: 'ok', objects });
  const record = (action: string, objects: Readonly<Record<string, string | number>>): Promise<void> =>
    audit.recordNow({ action, actor: operator, outcome: 'ok', objects });

  /** One row for each domain, with the number of its destinations that were changed. */
  const recordSelected =
    (action: string, selected: readonly SelectedDestination[]): RecordChange =>
    async ({ domains }) => {
      const changed = Map.groupBy(domains, (domain) => domain);
      for (const domain of new Set(selected.map((one) => one.domain)))
        await record(action, { domain, count: changed.get(domain)?.length ?? 0 });
    };

  /** Records a request for an unknown message, or for an id that matches several. */
  async function recordMiss(action: string, name: string): Promise<void> {
    await audit.recordNow({
      action,
      actor: operator,
      outcome: 'refused',
      objects: { name: name.slice(0, 255) },
    });
  }

  /** Each query leaves a row; refreshes of an open page one per hour and query, its page included. */
  async function recordQuery(
    action: string,
    query: object,
    objects: Readonly<Record<string, string | number | undefined>>,
    { isRefresh = false }: ListOptions = {},
  ): Promise<void> {
    if (views.note(`${action} ${JSON.stringify(query)}`, isRefresh))
      await record(action, onlyDefined(objects));
  }

  async function recordList<Item>(
    page: Page<Item>,
    query: InboundConditions,
    options?: ListOptions,
  ): Promise<Page<Item>> {
    const { state, from, to, reason } = query;
    await recordQuery('inbound.list', query, { state, from, to, reason, count: page.items.length }, options);
    return page;
  }

  const recordView = (objects: Readonly<Record<string, string>>, options?: ListOptions): Promise<void> =>
    recordQuery('message.show', objects, objects, options);

  async function getAll(action: string, name: string): Promise<readonly [MessageRow, ...MessageRow[]]> {
    const [first, ...others] = await db
      .selectFrom('message')
      .selectAll()
      .where('id', 'in', [...(await findNamed(db, name, owned)), ''])
      .orderBy('created_at')
      .orderBy('id')
      .execute();
    if (first !== undefined) return [first, ...others];
    await recordMiss(action, name);
    throw new MessagingError('MESSAGING_MESSAGE_NOT_FOUND', `no sent message has the id ${name}`);
  }

  async function get(action: string, name: string): Promise<MessageRow> {
    const all = await getAll(action, name);
    if (all.length === 1) return all[0];
    await recordMiss(action, name);
    const isOfApi = findUuid(name) !== undefined;
    const ids = all.slice(0, maxListed).map(({ id, uuid }) => (isOfApi ? id : `urn:uuid:${uuid}`));
    throw new MessagingError(
      'MESSAGING_SEARCH_INVALID',
      `${name} names ${all.length} messages. Use the id of one: ${ids.join(', ')}${all.length > maxListed ? ' …' : ''}; their recipients: openhisp message find --id ${quoteForShell(name)}`,
    );
  }

  const legalHolds = createLegalHolds({
    storage,
    clock,
    author: operator,
    recordIn: (tx, { action, objects }) => recordIn(tx, action, objects),
  });

  async function findWireId(name: string): Promise<string> {
    const copies = (await findNamed(db, name, owned)).length === 0 ? await findCopies(db, name, owned) : [];
    if (copies[0] !== undefined) return copies[0].wireId;
    // All that were sent under one Message-ID are held together.
    const [{ wire_id: wireId }, ...others] = await getAll('legal-hold.add', name);
    return others.every((one) => one.wire_id === wireId)
      ? wireId
      : (await get('legal-hold.add', name)).wire_id;
  }

  /** Waiting messages say why, by one question for the whole page. */
  async function addWaits(rows: readonly SearchRow[]): Promise<readonly SearchRow[]> {
    const ids = new Set(
      rows.flatMap((row) => (row.direction === 'out' && row.state === 'queued' ? row.deliveryId : [])),
    );
    if (ids.size === 0) return rows;
    const waiting = Map.groupBy(await delivery.findWaiting([...ids]), ({ deliveryId }) => deliveryId);
    return rows.map((row) =>
      row.direction === 'out' && row.state === 'queued'
        ? { ...row, waiting: describeWait({ address: row.to }, waiting.get(row.deliveryId) ?? []) }
        : row,
    );
  }

  const self: MessagingOperator = {
    within: (some) => (some === owned ? self : createMessagingOperator(deps, some, views)),
    async find(query) {
      const page = await findMessages(storage, audit, { ...query, owned });
      const { since, until, cursor: _cursor, otherAddresses: _others, owned: _owned, ...texts } = query;
      await record('message.find', {
        ...onlyDefined(texts),
        ...onlyDefined({ since: since?.toISOString(), until: until?.toISOString() }),
        count: page.items.length,
      });
      return page;
    },
    async show(name) {
      const messages = await getAll('message.show', name);
      const all = await Promise.all(
        messages.map((message) => describe({ storage, audit, delivery }, message)),
      );
      for (const message of messages) await record('message.show', objectsOf(message));
      return all;
    },
    async search(query, options) {
      const page = await searchMessages(storage, audit, { ...query, owned }, deps.clock.now());
      const { text, state, reason, clientId, direction, since, until } = query;
      const conditions = {
        text,
        state,
        reason,
        clientId,
        direction,
        since: since?.toISOString(),
        until: until?.toISOString(),
      };
      await recordQuery('message.find', query, { ...conditions, count: page.items.length }, options);
      return { ...page, items: await addWaits(page.items) };
    },
    async explain(name, options) {
      const ids = await findNamed(db, name, owned);
      const copies = ids.length === 0 ? await findCopies(db, name, owned) : [];
      if (copies.length > 0) {
        const explained = await explainReceived(deps, copies);
        await recordView({ messageId: copies[0]?.messageId ?? '' }, options);
        return explained;
      }
      const message = await get('message.show', name);
      const facts = await describe({ storage, audit, delivery }, message);
      const explained = await explainMessage(deps, facts);
      await recordView(objectsOf(message), options);
      return explained;
    },
    async retry(name) {
      const message = await get('message.retry', name);
      return delivery.retry({ deliveryId: message.id }, ({ count }) =>
        record('message.retry', { ...objectsOf(message), count }),
      );
    },
    async fail(name) {
      const message = await get('message.fail', name);
      return delivery.fail({ deliveryId: message.id }, ({ count: failed, running }) =>
        record('message.fail', { ...objectsOf(message), failed, running }),
      );
    },
    async getEvidence(name) {
      const message = await get('message.evidence', name);
      const signed = await signEvidence(deps, await buildEvidence({ ...deps, delivery }, message));
      await record('message.evidence', objectsOf(message));
      return signed;
    },
    async listQueue(query, options) {
      const { domain } = query;
      if (domain !== undefined) requireDomain(domain);
      const page = await delivery.listQueue(query);
      const view = { deliveries: true, ...query };
      await recordQuery('queue.list', view, { domain, count: page.items.length }, options);
      return page;
    },
    async listHolds() {
      const holds = await delivery.listHolds();
      await record('queue.holds', { count: holds.length });
      return holds;
    },
    async listDestinations(query, options) {
      const [page, holds] = await Promise.all([delivery.listDestinations(query), delivery.listHolds()]);
      const { domain } = query;
      await recordQuery('queue.list', query, { domain, count: page.items.length }, options);
      return { ...page, holds };
    },
    async selectQueued(which, { isPreview = false } = {}) {
      const selected = await delivery.select(which);
      if (isPreview)
        for (const [domain, some] of Map.groupBy(selected, (one) => one.domain))
          await record('queue.list', { domain, count: some.length });
      return selected;
    },
    async retrySelected(selected) {
      const ids = selected.map(({ id }) => id);
      return (await delivery.retry({ ids }, recordSelected('queue.retry', selected))).retried;
    },
    async failSelected(selected) {
      const ids = selected.map(({ id }) => id);
      return delivery.fail({ ids }, recordSelected('queue.fail', selected));
    },
    async retryDestination(domain) {
      return delivery.retry({ domain }, ({ count }) => record('queue.retry', { domain, count }));
    },
    async hold(domain, reason, endsAt) {
      requireDomain(domain);
      if (reason.trim() === '')
        throw new MessagingError('MESSAGING_SEARCH_INVALID', 'A hold needs a reason, for other operators.');
      if (hasHidden(reason) || reason.length > maxReason)
        throw new MessagingError(
          'MESSAGING_SEARCH_INVALID',
          `The reason must be one line of at most ${maxReason} visible characters.`,
        );
      if (endsAt !== undefined && endsAt <= clock.now())
        throw new MessagingError('MESSAGING_SEARCH_INVALID', 'The end of the hold is not in the future.');
      const until = onlyDefined({ until: endsAt?.toISOString() });
      await delivery.hold(domain, { reason, author: operator, endsAt }, (tx) =>
        recordIn(tx, 'queue.hold', { domain, reason, ...until }),
      );
    },
    async release(domain) {
      return delivery.release(domain, (tx, wasHeld) =>
        recordIn(tx, 'queue.release', { domain, wasHeld: String(wasHeld) }),
      );
    },
    async listInbound(query, options) {
      return recordList(await listInbound(audit, { ...query, owned }), query, options);
    },
    async listUnacknowledged({ from, to, ...query }, options) {
      const page = await pickPage(query, {
        read: (part) => findReceived(db, { ...query, ...part, owned, state: 'received', order: 'oldest' }),
        isWanted: (row) => hasAddresses({ from: row.from, to: [row.to] }, { from, to }),
        positionOf: ({ receivedAt, id }) => ({ at: receivedAt.getTime(), id }),
      });
      return recordList(page, { ...query, state: 'unacknowledged', from, to }, options);
    },
    async listDeadLetters(query, options) {
      return recordList(
        await pageDeadLetters(storage, { ...query, owned }),
        { state: 'dead-lettered', ...query },
        options,
      );
    },
    async retryInbound(id) {
      // All of them are not of one organization.
      if (owned !== everything) await showInbound(db, audit, id ?? '', owned);
      const count = await retryDeadLetters(storage, id);
      if (count === 0 && id !== undefined) {
        await recordMiss('inbound.retry', id);
        throw new MessagingError('MESSAGING_MESSAGE_NOT_FOUND', `no dead letter has the id ${id}`);
      }
      await record('inbound.retry', { ...onlyDefined({ id }), count });
      return count;
    },
    async addLegalHold(what, reason) {
      if ('organization' in what)
        return legalHolds.add({ kind: 'organization', subject: what.organization, reason });
      return 'address' in what
        ? legalHolds.add({ kind: 'address', subject: what.address, reason })
        : legalHolds.add({ kind: 'message', subject: await findWireId(what.messageId), reason });
    },
    async listLegalHolds(options) {
      const holds = await legalHolds.list(options);
      await record('legal-hold.list', { count: holds.length });
      return holds;
    },
    releaseLegalHold: (id, reason) => legalHolds.release(id, reason),
    async showInbound(id, options) {
      try {
        const found = await showInbound(db, audit, id, owned);
        await recordQuery('inbound.show', { id }, { id }, options);
        return found;
      } catch (error) {
        if (error instanceof MessagingError) await recordMiss('inbound.show', id);
        throw error;
      }
    },
  };
  return self;
}

function requireDomain(text: string): void {
  if (isQualifiedDomain(text)) return;
  throw new MessagingError(
    'MESSAGING_SEARCH_INVALID',
    `${text}: not a domain (direct.example.org). openhisp queue list shows the destinations.`,
  );
}

function onlyDefined(
  values: Readonly<Record<string, string | number | undefined>>,
): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string | number] => entry[1] !== undefined),
  );
}

interface DetailsSource extends Pick<OperatorDependencies, 'storage' | 'audit'> {
  readonly delivery: ReturnType<typeof createDeliveryAdmin>;
}

async function describe(
  { storage, audit, delivery }: DetailsSource,
  message: MessageRow,
): Promise<MessageDetails> {
  const [status] = await describeMessages({ storage, delivery }, [message]);
  if (status === undefined) throw new TypeError('a message without a status');
  return {
    message: status,
    deliveryId: message.id,
    clientId: message.client_id,
    wireId: message.wire_id,
    requestId: await findRequestId(audit, message),
    waiting: await delivery.findWaiting([message.id]),
    attempts: (await delivery.listAttempts([message.id])).map(toAttempt),
    legalHolds: await findHoldsOn(storage, {
      wireId: message.wire_id,
      addresses: [message.sender, ...status.recipients.map(({ address }) => address)],
    }),
  };
}

/** The audit row `message.accept` was written in the same transaction as the message. */
const acceptedWithinMs = 2_000;

async function findRequestId(audit: Pick<Audit, 'find'>, message: MessageRow): Promise<string> {
  const rows = await audit.find({
    action: 'message.accept',
    actor: message.client_id,
    since: new Date(message.created_at - acceptedWithinMs),
    until: new Date(message.created_at + acceptedWithinMs),
    limit: 1_000,
  });
  return rows.find(({ objects }) => objects['deliveryId'] === message.id)?.requestId ?? '';
}
