import { listDestinations, listHolds, measureQueue } from '../../../service/delivery/index.ts';
import { oldDirectoryDays, readSources, readUsedToday } from '../../../service/directory/index.ts';
import {
  adviceFor,
  countFailures,
  failureReasons,
  countDeadLetters,
  listDeadLetters,
  measureUnacknowledged,
  readTraffic,
  retriedText,
} from '../../../service/messaging/index.ts';
import {
  createOrganizations,
  everything,
  isOwned,
  nearShare,
  type Organizations,
  type Owned,
} from '../../../service/organizations/index.ts';
import { describeKeyWarning, needsOperator } from '../../../service/trust/index.ts';
import { findFailingHooks } from '../../../service/webhook/index.ts';
import { now as nowSchema, nowQuery, type Now, type Permission, type Tile } from '../contract/index.ts';
import { route } from '../route.ts';
import type { ConsoleRoutes, ConsoleServices } from '../types.ts';
import { listAttention, type NearQuota } from './attention.ts';
import { countOf, isoTime, spanOf } from './formats.ts';

const dayMs = 86_400_000;
/** Figures are cached for this time for all readers. */
const cacheMs = 2_000;

/** Routes of the screen Now. */
export function nowRoutes(services: ConsoleServices): ConsoleRoutes {
  const organizations = createOrganizations(services);
  let last: { readonly at: number; readonly figures: Promise<Figures> } | undefined;
  function readCached(): Promise<Figures> {
    const at = performance.now();
    if (last === undefined || at - last.at > cacheMs) {
      last = { at, figures: readFigures(services, organizations) };
      last.figures.catch(() => {
        last = undefined;
      });
    }
    return last.figures;
  }
  return (app) => {
    route(app, 'get', '/now', {
      needs: 'messages.read',
      scope: 'filtered',
      about: [
        'now',
        'Show the current state',
        'What needs attention, figures, the failures of the last day, and charts.',
      ],
      query: nowQuery,
      answer: nowSchema,
      handle: async (request) => {
        const { hours = 4 } = request.query;
        const { storage, clock } = services;
        const stepMinutes = hours <= 2 ? 1 : hours <= 8 ? 5 : 15;
        const { owned } = request;
        const [figures, points] = await Promise.all([
          owned === everything ? readCached() : readOwned(services, organizations, owned),
          // Counted for the whole HISP only.
          owned === everything ? readTraffic(storage, clock.now(), { hours, stepMinutes }) : [],
        ]);
        return {
          at: isoTime(clock.now()),
          ...onlyOpenLinks(figures, request.operator.permissions),
          series: {
            stepSeconds: stepMinutes * 60,
            times: points.map(({ at }) => isoTime(at)),
            accepted: points.map(({ accepted }) => accepted),
            processed: points.map(({ processed }) => processed),
            failed: points.map(({ failed }) => failed),
            p99Seconds: points.map(({ p99Seconds }) => p99Seconds ?? null),
          },
        };
      },
    });
  };
}

type Figures = Pick<Now, 'attention' | 'tiles' | 'failures'>;

async function readFigures(
  services: ConsoleServices,
  organizations: Pick<Organizations, 'findNearLimits'>,
): Promise<Figures> {
  const { storage, clock, trust } = services;
  const now = clock.now();
  const [
    queue,
    holds,
    worst,
    failures,
    traffic,
    dead,
    [oldestDead],
    open,
    hooks,
    keys,
    bundles,
    sources,
    nearLimits,
    nearQuotas,
  ] = await Promise.all([
    measureQueue(storage, clock),
    listHolds(storage, clock),
    listDestinations(storage, now.getTime(), { limit: 20 }),
    countFailures(storage, new Date(now.getTime() - dayMs)),
    readTraffic(storage, now, { hours: 24, stepMinutes: 1440 }),
    countDeadLetters(storage),
    listDeadLetters(storage, { limit: 1 }),
    measureUnacknowledged(storage, clock),
    findFailingHooks(storage),
    trust.findKeyDates(),
    trust.listBundles(),
    readSources(storage),
    organizations.findNearLimits(trust.countActiveAddresses),
    findNearQuotas(services),
  ]);
  const waiting = queue.filter(({ kind }) => kind === 'message').reduce((sum, { count }) => sum + count, 0);
  const oldest = Math.max(0, ...queue.map(({ oldestSeconds }) => oldestSeconds));
  const stuck = worst.items.find(({ reason }) => reason !== undefined);
  const failed = failures.reduce((sum, { count }) => sum + count, 0);
  const decided = Math.max(
    failed,
    traffic.reduce((sum, point) => sum + point.processed + point.failed, 0),
  );
  const tiles: Tile[] = [
    {
      id: 'queue',
      title: 'Queue',
      value: waiting,
      unit: 'waiting',
      level: waiting === 0 ? 'ok' : stuck === undefined ? 'waiting' : 'warning',
      text:
        waiting === 0
          ? 'Nothing is waiting.'
          : `The oldest has waited ${spanOf(oldest * 1000)}.${stuck === undefined ? '' : ` ${stuck.domain}: ${retriedText(stuck.reason ?? 'internal')}`}`,
      link: '/queue',
    },
    failureTile(failures, decided),
    {
      id: 'inbound',
      title: 'Inbound dead letters',
      value: dead,
      unit: dead === 1 ? 'message' : 'messages',
      level: dead === 0 ? 'ok' : 'failed',
      text: dead === 0 ? 'None.' : `${countOf(dead, 'inbound message')} could not be processed.`,
      link: '/inbound?state=dead-lettered',
    },
    unacknowledgedTile(open),
    webhookTile(hooks),
    keyTile(keys),
    bundleTile(bundles, now),
    directoryTile(sources, now),
  ];
  return {
    attention: listAttention({
      now,
      waiting: worst.items,
      holds,
      deadLetters: dead,
      oldestDeadLetterAt: oldestDead?.receivedAt,
      open,
      hooks,
      keys,
      bundles,
      sources,
      nearLimits,
      nearQuotas,
      degraded: findUpkeep(services),
    }),
    tiles,
    failures: failures.map(toReasonCount),
  };
}

type Failures = Awaited<ReturnType<typeof countFailures>>;

const toReasonCount = ({ reason, count }: Failures[number]): Figures['failures'][number] => ({
  reason,
  count,
  text: failureReasons[reason].text,
  whatToDo: adviceFor(reason, true),
  link: `/messages?reason=${reason}`,
});

/** `decided`: the recipients of the same time whose outcome is known; undefined: not counted. */
function failureTile(failures: Failures, decided: number | undefined): Tile {
  const failed = failures.reduce((sum, { count }) => sum + count, 0);
  const [first] = failures;
  return {
    id: 'failures',
    title: 'Failures in 24 hours',
    value: failed,
    unit: failed === 0 || decided === undefined ? 'recipients' : `of ${countOf(decided, 'recipient')}`,
    level: failed === 0 ? 'ok' : 'warning',
    text:
      first === undefined
        ? 'None.'
        : `${failures.length > 1 ? 'Most often: ' : ''}${failureReasons[first.reason].text}`,
    link: '/messages?state=failed',
  };
}

function unacknowledgedTile(open: Awaited<ReturnType<typeof measureUnacknowledged>>): Tile {
  return {
    id: 'unacknowledged',
    title: 'Not acknowledged',
    value: open.count,
    unit: open.count === 1 ? 'message' : 'messages',
    level: open.count === 0 ? 'ok' : open.oldestSeconds > 86_400 ? 'warning' : 'waiting',
    text: open.count === 0 ? 'None.' : `The oldest for ${spanOf(open.oldestSeconds * 1000)}.`,
    link: '/inbound?state=unacknowledged',
  };
}

/** What of the figures is of one organization. */
async function readOwned(
  services: ConsoleServices,
  organizations: Pick<Organizations, 'findNearLimits'>,
  owned: Owned,
): Promise<Figures> {
  const { storage, clock, trust } = services;
  const now = clock.now();
  const [failures, open, allHooks, allKeys, allBundles, limits, quotas] = await Promise.all([
    countFailures(storage, new Date(now.getTime() - dayMs), owned),
    measureUnacknowledged(storage, clock, owned),
    findFailingHooks(storage),
    trust.findKeyDates(),
    trust.listBundles(),
    organizations.findNearLimits(trust.countActiveAddresses),
    findNearQuotas(services),
  ]);
  const hooks = allHooks.filter(({ clientId }) => isOwned(owned, 'clients', clientId));
  const keys = allKeys.filter(({ domain }) => isOwned(owned, 'domains', domain));
  const bundles = allBundles.filter(({ domain }) => isOwned(owned, 'domains', domain));
  return {
    attention: listAttention({
      now,
      waiting: [],
      holds: [],
      deadLetters: 0,
      open,
      hooks,
      keys,
      bundles,
      sources: [],
      nearLimits: limits.filter(({ organizationId }) => isOwned(owned, 'organizations', organizationId)),
      nearQuotas: quotas.filter(({ clientId }) => isOwned(owned, 'clients', clientId)),
      degraded: [],
    }),
    tiles: [
      failureTile(failures, undefined),
      unacknowledgedTile(open),
      webhookTile(hooks),
      keyTile(keys),
      bundleTile(bundles, now),
    ],
    failures: failures.map(toReasonCount),
  };
}

/** Clients that were given four fifths of their directory records of today (UTC), or more. */
async function findNearQuotas({ storage, clock, oauth, config }: ConsoleServices): Promise<NearQuota[]> {
  const used = await readUsedToday(storage, undefined, clock.now());
  if (used.size === 0) return [];
  return (await oauth.clients.list([...used.keys()])).flatMap(({ clientId, name, limits, disabledAt }) => {
    const count = used.get(clientId) ?? 0;
    const allowed = limits.directoryRecordsPerDay ?? config.directory.recordsPerDay;
    if (disabledAt !== undefined || count < allowed * nearShare) return [];
    return [{ clientId, name, used: count, allowed }];
  });
}

/** Who may open the screens that others than readers of messages have. */
const linkPermissions: readonly (readonly [path: RegExp, permission: Permission])[] = [
  [/^\/(?:clients|domains|webhooks)\b/, 'settings.read'],
  [/^\/audit\b/, 'audit.read'],
  [/^\/directory\b/, 'directory.read'],
];

/** What leads to a screen that its reader may not open leads nowhere. */
function onlyOpenLinks(figures: Figures, permissions: readonly string[]): Figures {
  const keep = <One extends { readonly link: string }>(one: One): One => {
    const needed = linkPermissions.find(([path]) => path.test(one.link))?.[1];
    return needed === undefined || permissions.includes(needed) ? one : { ...one, link: '' };
  };
  return {
    attention: figures.attention.map(keep),
    tiles: figures.tiles.map(keep),
    failures: figures.failures.map(keep),
  };
}

/** Parts of the readiness details that nothing else here tells, and where the console shows more. */
const upkeepLinks: Readonly<Record<string, string>> = {
  disk: '/',
  anchors: '/domains',
  tls: '/domains',
  audit: '/audit',
  backup: '/',
  files: '/',
  mailboxes: '/domains',
};

function findUpkeep({ degraded = () => [] }: Pick<ConsoleServices, 'degraded'>) {
  return degraded().flatMap((one) => {
    const link = upkeepLinks[one.part];
    return link === undefined ? [] : [{ ...one, link }];
  });
}

type Hooks = Awaited<ReturnType<typeof findFailingHooks>>;
type Keys = Awaited<ReturnType<ConsoleServices['trust']['findKeyDates']>>;
type BundleList = Awaited<ReturnType<ConsoleServices['trust']['listBundles']>>;
type SourceList = Awaited<ReturnType<typeof readSources>>;

function webhookTile(hooks: Hooks): Tile {
  const failing = hooks.filter((one) => one.failingSince !== undefined || one.disabledReason !== '');
  const dead = hooks.reduce((sum, one) => sum + one.deadLetterCount, 0);
  const [first] = failing.length > 0 ? failing : hooks;
  return {
    id: 'webhooks',
    title: 'Webhooks',
    value: failing.length,
    unit: 'failing',
    level: failing.length > 0 ? 'failed' : dead > 0 ? 'warning' : 'ok',
    text:
      failing.length > 0
        ? `${countOf(failing.length, 'webhook')} ${failing.length === 1 ? 'is' : 'are'} failing or disabled.`
        : dead > 0
          ? `${countOf(dead, 'dead letter')} of webhooks can be replayed.`
          : 'All respond.',
    // The webhook itself, if there is one that needs attention.
    link:
      first !== undefined && (failing.length || hooks.length) === 1 ? `/webhooks/${first.id}` : '/webhooks',
  };
}

function keyTile(keys: Keys): Tile {
  const days = keys.flatMap(({ daysLeft }) => daysLeft ?? []);
  const least = days.length === 0 ? null : Math.floor(Math.min(...days));
  const warnings = keys
    .flatMap(({ domain, warnings: own }) => own.map((warning) => ({ domain, warning })))
    .toSorted((one, other) => urgencyOf(one.warning) - urgencyOf(other.warning));
  const [first] = warnings;
  const more = warnings.length - 1;
  // The days of the others are no figure of what fails.
  const bad = warnings.filter(({ warning }) => warning.problem !== 'expires-soon').length;
  return {
    id: 'keys',
    title: 'Keys',
    ...(bad > 0
      ? { value: bad, unit: 'not usable' }
      : { value: least, unit: least === 1 ? 'day left' : 'days left' }),
    level: bad > 0 ? 'failed' : first === undefined ? 'ok' : 'warning',
    text:
      first === undefined
        ? 'All keys are valid.'
        : more === 0
          ? describeKeyWarning(first.warning)
          : `${describeKeyWarning(first.warning).replace(/\.$/, '')}; ${countOf(more, 'other key')} ${more === 1 ? 'needs' : 'need'} attention.`,
    link:
      first === undefined || new Set(warnings.map(({ domain }) => domain)).size > 1
        ? '/domains'
        : `/domains/${encodeURIComponent(first.domain)}`,
  };
}

/** What does not serve now comes first, then what ends first. */
function urgencyOf({ problem, notAfter }: Keys[number]['warnings'][number]): number {
  return problem === 'expires-soon' ? (notAfter?.getTime() ?? 0) : 0;
}

function bundleTile(bundles: BundleList, now: Date): Tile {
  const failing = bundles.filter(({ health }) => needsOperator(health));
  const [first] = failing;
  const ages = bundles.flatMap(({ refreshedAt }) =>
    refreshedAt === undefined ? [] : [now.getTime() - refreshedAt.getTime()],
  );
  return {
    id: 'bundles',
    title: 'Trust bundles',
    value: failing.length,
    unit: 'failing',
    level:
      bundles.length === 0
        ? 'none'
        : first === undefined
          ? 'ok'
          : failing.some(({ health }) => health.level === 'failed')
            ? 'failed'
            : 'warning',
    text:
      bundles.length === 0
        ? 'No trust bundle is used.'
        : first === undefined
          ? `All refreshed within ${spanOf(Math.max(0, ...ages))}.`
          : `${first.url.replace(/[?#].*$/, '')}: ${first.health.text}`,
    link: '/domains',
  };
}

function directoryTile(sources: SourceList, now: Date): Tile {
  const ages = sources.flatMap(({ active }) =>
    active?.finishedAt === undefined ? [] : [now.getTime() - Date.parse(active.finishedAt)],
  );
  const days = ages.length === 0 ? null : Math.floor(Math.max(...ages) / dayMs);
  const failing = sources.flatMap(({ name, schedule }) =>
    schedule?.failure === undefined ? [] : [`The scheduled load of ${name} failed: ${schedule.failure}`],
  );
  return {
    id: 'directory',
    title: 'Directory',
    value: days,
    unit: days === 1 ? 'day old' : 'days old',
    level: failing.length > 0 || (days ?? 0) > oldDirectoryDays ? 'warning' : days === null ? 'none' : 'ok',
    text:
      failing[0] !== undefined
        ? failing[0].replace(/\.?$/, '.')
        : days === null
          ? 'Nothing is loaded.'
          : `The oldest source was loaded ${spanOf(Math.max(...ages))} ago.`,
    link: '/directory/sources',
  };
}
