import {
  describeHold,
  type HeldDestination,
  type WaitingDestination,
} from '../../../service/delivery/index.ts';
import { adviceFor, retriedText } from '../../../service/messaging/index.ts';
import {
  describeKeyWarning,
  needsOperator,
  type BundleStatus,
  type DomainKeyDates,
} from '../../../service/trust/index.ts';
import {
  adviceForNearLimit,
  describeNearLimit,
  type NearLimit,
} from '../../../service/organizations/index.ts';
import type { FailingHook } from '../../../service/webhook/index.ts';
import type { readSources } from '../../../service/directory/index.ts';
import type { DegradedComponent } from '../../http/index.ts';
import type { Attention } from '../contract/index.ts';
import { countOf, isoOrNull, isoTime, spanOf } from './formats.ts';

/** What the list is made of, as it is now. */
export interface Situation {
  readonly now: Date;
  /** Destinations with waiting mail, the longest wait first. */
  readonly waiting: readonly WaitingDestination[];
  readonly holds: readonly HeldDestination[];
  readonly deadLetters: number;
  /** When the oldest of them was received. */
  readonly oldestDeadLetterAt?: Date | undefined;
  /** Received mail that no client has acknowledged. */
  readonly open: { readonly count: number; readonly oldestSeconds: number };
  readonly hooks: readonly FailingHook[];
  readonly keys: readonly DomainKeyDates[];
  readonly bundles: readonly BundleStatus[];
  readonly sources: Awaited<ReturnType<typeof readSources>>;
  /** Limits of organizations that are reached, or nearly so. */
  readonly nearLimits: readonly NearLimit[];
  /** Clients that were given most of the directory records that they may have today, or all of them. */
  readonly nearQuotas: readonly NearQuota[];
  readonly degraded: readonly (DegradedComponent & { readonly link: string })[];
}

export interface NearQuota {
  readonly clientId: string;
  readonly name: string;
  readonly used: number;
  readonly allowed: number;
}

/** Of one kind; the rest is one line more. */
const shownOfKind = 5;
/** A first attempt that failed is tried again within minutes and concerns nobody. */
const longWaitMs = 60_000;
const longOpenSeconds = 86_400;
/** A load of a whole country takes hours, and is due until it has ended. */
const overdueMs = 6 * 3_600_000;

/**
 * What needs an operator now, the most serious first and in that the oldest. What is over is not in it:
 * failures of messages are decided, and have a list of their own.
 */
export function listAttention(situation: Situation): Attention[] {
  const kinds = [
    outages,
    heldMail,
    stuckMail,
    deadMail,
    failingHooks,
    badKeys,
    badBundles,
    oldMail,
    lateLoads,
    nearLimits,
    nearQuotas,
  ];
  const all = kinds.flatMap((kind) => kind(situation));
  // What has no time comes last.
  const timeOf = ({ since }: Attention): string => since ?? '9999';
  const rank = ({ level }: Attention): number => (level === 'failed' ? 0 : 1);
  return all.toSorted((one, other) => rank(one) - rank(other) || timeOf(one).localeCompare(timeOf(other)));
}

function outages({ degraded }: Situation): Attention[] {
  return degraded.map(({ part, detail, isOutage, link }) => ({
    id: `upkeep:${part}`,
    level: isOutage === true ? 'failed' : 'warning',
    title: detail,
    text: isOutage === true ? 'Work is refused because of it.' : '',
    since: null,
    link,
  }));
}

function heldMail({ holds, now }: Situation): Attention[] {
  return withRest(
    holds,
    (hold) => {
      const { text, isUrgent } = describeHold(hold, now);
      return {
        id: `hold:${hold.domain}`,
        level: isUrgent ? 'failed' : 'warning',
        title: `Mail to ${hold.domain} is on hold`,
        text: `${text.replace(/\.$/, '')}.`,
        since: isoTime(hold.since),
        link: `/queue/${encodeURIComponent(hold.domain)}`,
      };
    },
    (more) => ({
      id: 'holds',
      title: `Mail to ${countOf(more, 'more destination')} is on hold`,
      link: '/queue',
    }),
  );
}

function stuckMail({ waiting, holds, now }: Situation): Attention[] {
  const held = new Set(holds.map(({ domain }) => domain));
  const stuck = waiting.filter(
    ({ domain, reason, oldestAt }) =>
      reason !== undefined && !held.has(domain) && now.getTime() - oldestAt.getTime() >= longWaitMs,
  );
  return withRest(
    stuck,
    ({ domain, reason, oldestAt, messages }) => ({
      id: `queue:${domain}`,
      level: 'warning',
      title: `${countOf(messages, 'message')} to ${domain} ${messages === 1 ? 'waits' : 'wait'}`,
      text: `${retriedText(reason ?? 'internal')} ${adviceFor(reason ?? 'internal', false)}`,
      since: isoTime(oldestAt),
      link: `/queue/${encodeURIComponent(domain)}`,
    }),
    (more) => ({ id: 'queue', title: `Mail to ${countOf(more, 'more destination')} waits`, link: '/queue' }),
  );
}

function deadMail({ deadLetters, oldestDeadLetterAt }: Situation): Attention[] {
  if (deadLetters === 0) return [];
  return [
    {
      id: 'inbound',
      level: 'failed',
      title: `${countOf(deadLetters, 'inbound message')} could not be processed`,
      text: 'The sender believes that it was delivered. Read the reason, then process it again or discard it.',
      since: isoOrNull(oldestDeadLetterAt),
      link: '/inbound?state=dead-lettered',
    },
  ];
}

function failingHooks({ hooks }: Situation): Attention[] {
  return withRest(
    hooks,
    ({ id, failingSince, disabledReason, deadLetterCount }) => {
      const isFailing = failingSince !== undefined || disabledReason !== '';
      return {
        id: `webhook:${id}`,
        level: isFailing ? 'failed' : 'warning',
        title: isFailing
          ? disabledReason === ''
            ? 'A webhook is failing'
            : 'A webhook is disabled'
          : `${countOf(deadLetterCount, 'dead letter')} of a webhook can be replayed`,
        text: isFailing
          ? `Its client learns nothing of new events${deadLetterCount > 0 ? `; ${countOf(deadLetterCount, 'dead letter')} can be replayed` : ''}.`
          : 'Its client was not told of these events.',
        since: isoOrNull(failingSince),
        link: `/webhooks/${id}`,
      };
    },
    (more) => ({ id: 'webhooks', title: `${countOf(more, 'more webhook')} failing`, link: '/webhooks' }),
  );
}

function badKeys({ keys }: Situation): Attention[] {
  const warnings = keys
    .flatMap(({ domain, warnings: own }) => own.map((warning) => ({ domain, warning })))
    .toSorted((one, other) => endOf(one.warning) - endOf(other.warning));
  return withRest(
    warnings,
    ({ domain, warning }) => ({
      id: `keys:${domain}:${warning.owner}:${warning.problem}:${warning.uses.join('-')}`,
      level: warning.problem === 'expires-soon' ? 'warning' : 'failed',
      title: describeKeyWarning(warning),
      text:
        warning.problem === 'expires-soon'
          ? 'After that day peers refuse its mail and cannot encrypt to it. Rotate the key.'
          : warning.problem === 'missing'
            ? 'Peers refuse its mail or cannot encrypt to it. Create or install a key.'
            : 'Peers refuse its mail or cannot encrypt to it. Rotate the key.',
      since: isoOrNull(warning.problem === 'expired' ? warning.notAfter : warning.addedAt),
      link: `/domains/${encodeURIComponent(domain)}`,
    }),
    (more) => ({ id: 'keys', title: `${countOf(more, 'more key')} to rotate`, link: '/domains' }),
  );
}

/** What does not serve now comes first, then what ends first. */
function endOf({ problem, notAfter }: DomainKeyDates['warnings'][number]): number {
  return problem === 'expires-soon' ? (notAfter?.getTime() ?? 0) : 0;
}

function badBundles({ bundles }: Situation): Attention[] {
  return withRest(
    bundles.filter(({ health }) => needsOperator(health)),
    ({ id, domain, url, health, refreshedAt, anchorCount }) => ({
      id: `bundle:${id}`,
      level: health.level === 'failed' ? 'failed' : 'warning',
      title: `The trust bundle ${url.replace(/[?#].*$/, '')} of ${domain} is not refreshed`,
      text: `${health.text} ${anchorCount === 0 ? 'None of its members is trusted.' : 'Its members as last read stay trusted.'}`,
      since: isoOrNull(refreshedAt),
      link: `/domains/${encodeURIComponent(domain)}`,
    }),
    (more) => ({ id: 'bundles', title: `${countOf(more, 'more trust bundle')} failing`, link: '/domains' }),
  );
}

function oldMail({ open, now }: Situation): Attention[] {
  if (open.count === 0 || open.oldestSeconds <= longOpenSeconds) return [];
  return [
    {
      id: 'unacknowledged',
      level: 'warning',
      title: `Received mail is not read: ${countOf(open.count, 'message')} not acknowledged`,
      text: `No client has acknowledged the oldest for ${spanOf(open.oldestSeconds * 1000)}. Ask the client's operator.`,
      since: isoTime(new Date(now.getTime() - open.oldestSeconds * 1000)),
      link: '/inbound?state=unacknowledged',
    },
  ];
}

function lateLoads({ sources, now }: Situation): Attention[] {
  return sources.flatMap(({ name, schedule, active }) => {
    if (schedule === undefined) return [];
    const { failure, checkedAt, everyMs } = schedule;
    const dueMs = checkedAt === undefined ? Infinity : Date.parse(checkedAt) + everyMs;
    if (failure === undefined && now.getTime() - dueMs < overdueMs) return [];
    const served =
      active === undefined
        ? 'Nothing of it was loaded yet.'
        : `The directory serves the ${active.recordCount.toLocaleString('en-US')} records that were loaded before.`;
    return [
      {
        id: `load:${name}`,
        level: 'warning',
        title: `The scheduled load of ${name} ${failure === undefined ? 'is overdue' : 'failed'}`,
        text: `${failure?.replace(/\.?$/, '.') ?? 'No node has finished one: its file may still be growing, or another load runs.'} ${served}`,
        since: failure === undefined ? isoTime(new Date(dueMs)) : (schedule.failedSince ?? null),
        link: '/directory/sources',
      },
    ];
  });
}

function nearLimits({ nearLimits: limits }: Situation): Attention[] {
  return withRest(
    limits,
    (limit) => ({
      id: `limit:${limit.organizationId}:${limit.limit}`,
      level: limit.used >= limit.allowed ? 'failed' : 'warning',
      title: describeNearLimit(limit).replace(/\.$/, ''),
      text: adviceForNearLimit(limit),
      since: null,
      link: '/usage',
    }),
    (more) => ({ id: 'limits', title: `${countOf(more, 'more limit')} of organizations`, link: '/usage' }),
  );
}

function nearQuotas({ nearQuotas: quotas }: Situation): Attention[] {
  return withRest(
    quotas,
    ({ clientId, name, used, allowed }) => ({
      id: `quota:${clientId}`,
      level: used >= allowed ? 'failed' : 'warning',
      title: `${name}: ${used.toLocaleString('en-US')} of ${allowed.toLocaleString('en-US')} directory records of today`,
      text: `Its searches are refused until midnight (UTC)${used >= allowed ? '' : ' once it is reached'}. Ask whoever runs the client; the operator of this HISP can raise its limit.`,
      since: null,
      link: `/clients/${encodeURIComponent(clientId)}`,
    }),
    (more) => ({ id: 'quotas', title: `${countOf(more, 'more limit')} of clients`, link: '/clients' }),
  );
}

/** The first of a kind, and one line for all others. */
function withRest<Found>(
  found: readonly Found[],
  toItem: (one: Found) => Attention,
  toRest: (more: number) => Pick<Attention, 'id' | 'title' | 'link'>,
): Attention[] {
  const items = found.slice(0, shownOfKind).map(toItem);
  const rest = found.slice(shownOfKind).map(toItem);
  if (rest.length === 0) return items;
  const level = rest.some((one) => one.level === 'failed') ? 'failed' : 'warning';
  return [...items, { ...toRest(rest.length), level, text: '', since: null }];
}
