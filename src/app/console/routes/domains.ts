import { formatPem, type Certificate } from '../../../lib/pki/index.ts';
import { describeUnread, listAllUnread, listUnread } from '../../../service/messaging/index.ts';
import { isOwned } from '../../../service/organizations/index.ts';
import type { ClientStore } from '../../../service/oauth/index.ts';
import {
  healthOfDomain,
  expiryWarningDays,
  requireHostedDomain,
  TrustError,
  type BundleChange,
  type BundleStatus,
  type DomainKeyPair,
  type KeyRequest,
  type Trust,
} from '../../../service/trust/index.ts';
import {
  csrAnswer,
  csrRequest,
  domainDetails,
  domainFindings,
  domainKey,
  domainList,
  domainRecords,
  doneAnswer,
  installRequest,
  retireRequest,
  type CertificateFacts,
  type DnsRecord,
  type DomainBundle,
  type DomainDetails,
  type DomainKey,
  type DomainSummary,
  type Finding,
  type Level,
} from '../contract/index.ts';
import { ConsoleError, invalidField } from '../errors.ts';
import { route } from '../route.ts';
import type { CheckedRecord, ConsoleApp, ConsoleRoutes, ConsoleServices, DomainChecks } from '../types.ts';
import type { Acting } from './acting.ts';
import { countOf, isoOrNull, isoTime } from './formats.ts';

const dayMs = 86_400_000;
const shownAddresses = 500;

/** Routes of domains: keys, anchors, bundles, expected and published DNS records, and key rotation. */
export function domainRoutes(services: ConsoleServices, acting: Acting): ConsoleRoutes {
  return (app) => {
    addViews(app, services);
    addChecks(app, services);
    addChanges(app, services, acting);
  };
}

function addViews(app: ConsoleApp, { trust, oauth, clock }: ConsoleServices): void {
  route(app, 'get', '/domains', {
    needs: 'settings.read',
    scope: 'filtered',
    about: ['domains', 'List domains', 'Those that need attention first.'],
    answer: domainList,
    handle: async ({ owned }) => {
      const sources = { trust, clients: oauth.clients };
      return { result: await listDomains(sources, (domain) => isOwned(owned, 'domains', domain)) };
    },
  });
  route(app, 'get', '/domains/:domain', {
    needs: 'settings.read',
    scope: ['domain', 'domain'],
    about: ['domains', 'Show a domain', 'Keys with their dates, anchors, bundles and their changes.'],
    answer: domainDetails,
    handle: async (request) =>
      showDomain(
        { trust, clients: oauth.clients },
        await requireHostedDomain(trust, request.params.domain),
        clock.now(),
      ),
  });
}

function addChecks(app: ConsoleApp, { trust, domainChecks, clock }: ConsoleServices): void {
  const requireChecks = (): DomainChecks => {
    if (domainChecks !== undefined) return domainChecks;
    throw new ConsoleError('CONSOLE_NOT_FOUND', 'domain checks are not available in this process');
  };
  route(app, 'get', '/domains/:domain/records', {
    needs: 'settings.read',
    scope: ['domain', 'domain'],
    about: [
      'domains',
      'Compare the DNS records of a domain',
      'Queries the DNS; takes up to several seconds.',
    ],
    answer: domainRecords,
    handle: async (request) => {
      const domain = await requireHostedDomain(trust, request.params.domain);
      const { records, notes } = await requireChecks().compareRecords(domain);
      return { records: records.map(toRecord), notes: [...notes], checkedAt: isoTime(clock.now()) };
    },
  });
  route(app, 'get', '/domains/:domain/findings', {
    needs: 'settings.read',
    scope: ['domain', 'domain'],
    about: ['domains', 'Examine a domain', 'The findings of openhisp doctor; takes up to several seconds.'],
    answer: domainFindings,
    handle: async (request) => {
      const domain = await requireHostedDomain(trust, request.params.domain);
      const found = await requireChecks().examine(domain);
      const findings = found.map((one): Finding => ({ ...one, level: findingLevels[one.severity] }));
      return { findings, checkedAt: isoTime(clock.now()) };
    },
  });
}

function addChanges(app: ConsoleApp, { clock }: ConsoleServices, acting: Acting): void {
  route(app, 'post', '/domains/:domain/csr', {
    needs: 'settings.change',
    about: [
      'domains',
      'Make a key and its certification request',
      'The private key is stored encrypted and never shown.',
    ],
    body: csrRequest,
    answer: csrAnswer,
    refuses: [409],
    handle: async (request) => {
      const { trust } = acting(request);
      const domain = await requireHostedDomain(trust, request.params.domain);
      const owner = (request.body.owner ?? domain).toLowerCase();
      if (owner !== domain && !owner.endsWith(`@${domain}`))
        throw invalidField('owner', `${domain}, or an address under it.`);
      const { organization = '' } = request.body;
      const made = await trust.requestKey(owner, {
        organization: organization.trim() === '' ? undefined : organization.trim(),
      });
      return { keyId: made.id, owner: made.owner, csr: csrText(made) };
    },
  });
  route(app, 'post', '/domains/:domain/keys', {
    needs: 'settings.change',
    about: ['domains', 'Install a certificate', 'Issued by a CA for a key that waits for its certificate.'],
    body: installRequest,
    answer: domainKey,
    refuses: [409],
    handle: async (request) => {
      const { trust } = acting(request);
      const domain = await requireHostedDomain(trust, request.params.domain);
      const { id } = await trust.installCertificate(domain, Buffer.from(request.body.certificate));
      const installed = (await trust.listDomainKeys(domain)).find((key) => key.id === id);
      if (installed === undefined) throw new TrustError('TRUST_KEY_UNKNOWN', `Unknown key pair: ${id}.`);
      return toKey(installed, clock.now());
    },
  });
  route(app, 'post', '/domains/:domain/keys/:id/retire', {
    needs: 'settings.change',
    about: [
      'domains',
      'Retire a key',
      'A retired key is not published and does not sign, but still decrypts. A key that waits for its certificate is deleted.',
    ],
    body: retireRequest,
    answer: doneAnswer,
    refuses: [409],
    handle: async (request) => {
      const { trust } = acting(request);
      const { id } = request.params;
      const domain = await requireHostedDomain(trust, request.params.domain);
      const waiting = (await trust.listKeyRequests(domain)).find((one) => one.id === id);
      if (waiting !== undefined) {
        await trust.discardKeyRequest(id);
        return {
          count: 1,
          sentence: `The key of ${waiting.owner} that waited for its certificate is deleted.`,
        };
      }
      const key = (await trust.listDomainKeys(domain)).find((one) => one.id === id);
      if (key === undefined) throw new TrustError('TRUST_KEY_UNKNOWN', `Unknown key pair: ${id}.`);
      await trust.retireKeyPair(id, { isForced: request.body.isForced === true });
      return { count: 1, sentence: `The key of ${key.owner} is retired; it still decrypts.` };
    },
  });
}

interface DomainSources {
  readonly trust: Trust;
  readonly clients: Pick<ClientStore, 'findOwned'>;
}

async function listDomains(
  sources: DomainSources,
  isShown: (domain: string) => boolean,
): Promise<DomainSummary[]> {
  const { trust } = sources;
  const dates = (await trust.findKeyDates()).filter(({ domain }) => isShown(domain));
  const [addresses, anchors, unread] = await Promise.all([
    trust.countAddresses(),
    trust.countAnchors(),
    listAllUnread(
      sources,
      dates.map(({ domain }) => domain),
    ),
  ]);
  const summaries = dates.map((one): DomainSummary => {
    const { domain, daysLeft = null } = one;
    const anchorCount = anchors.get(domain) ?? 0;
    return {
      domain,
      addressCount: addresses.get(domain) ?? 0,
      anchorCount,
      ...withUnread(domain, healthOfDomain(one, anchorCount), unread.get(domain) ?? []),
      daysLeft,
    };
  });
  const placeOf = ({ level }: DomainSummary): number => listedFirst.indexOf(level);
  return summaries.toSorted((one, other) => placeOf(one) - placeOf(other));
}

/** A mailbox that nobody reads is told of unless something is worse. */
function withUnread<Health extends { readonly level: string; readonly text: string }>(
  domain: string,
  health: Health,
  unread: Parameters<typeof describeUnread>[1],
): Health | { readonly level: 'warning'; readonly text: string } {
  if (health.level !== 'ok' || unread.length === 0) return health;
  return { level: 'warning', text: describeUnread(domain, unread) };
}

/** Levels of domains, the most urgent first; within one they are in the order of their names. */
const listedFirst: readonly Level[] = ['failed', 'warning', 'ok'];

async function showDomain(sources: DomainSources, domain: string, at: Date): Promise<DomainDetails> {
  const { trust } = sources;
  const [[dates], keys, requests, anchors, bundles, changes, addresses, unread] = await Promise.all([
    trust.findKeyDates(domain),
    trust.listDomainKeys(domain),
    trust.listKeyRequests(domain),
    trust.listAnchors(domain),
    trust.listBundles(),
    trust.listBundleChanges(domain),
    trust.listAddresses(domain),
    listUnread(sources, domain),
  ]);
  const health = healthOfDomain(
    dates ?? { domain, isInUse: true, daysLeft: undefined, warnings: [] },
    anchors.length,
  );
  const unreadText = unread.length === 0 ? '' : describeUnread(domain, unread);
  return {
    domain,
    ...withUnread(domain, health, unread),
    keys: [...requests.map(toRequestedKey), ...keys.map((key) => toKey(key, at))],
    anchors: anchors.map(({ id, direction, bundleId, certificate, createdAt }) => ({
      id,
      direction,
      bundleId,
      level: levelOfDates(certificate, at),
      certificate: toFacts(certificate),
      createdAt: isoTime(createdAt),
    })),
    bundles: bundles
      .filter((bundle) => bundle.domain === domain)
      .map((bundle) => toBundle(bundle, changes.get(bundle.id) ?? [])),
    addresses: addresses.slice(0, shownAddresses).map(({ address, status }) => ({ address, status })),
    addressCount: addresses.length,
    unread: { count: unread.length, addresses: unread.slice(0, shownAddresses), text: unreadText },
  };
}

function levelOfDates({ notBefore, notAfter }: Certificate, at: Date): Level {
  if (at < notBefore || at > notAfter) return 'failed';
  return notAfter.getTime() - at.getTime() <= expiryWarningDays * dayMs ? 'warning' : 'ok';
}

function toKey(pair: DomainKeyPair, at: Date): DomainKey {
  const { id, owner, status, canRetire, certificate, createdAt, uses } = pair;
  const isActive = status === 'active';
  const level = isActive ? levelOfDates(certificate, at) : 'none';
  return {
    id,
    owner,
    status,
    canRetire,
    level,
    text: isActive ? describeDates(pair, at) : 'retired, decrypts only',
    certificate: toFacts(certificate),
    uses: [...uses],
    daysLeft: daysUntil(certificate.notAfter, at),
    createdAt: isoTime(createdAt),
    csr: '',
  };
}

function describeDates({ certificate, signsFrom, retiresAt }: DomainKeyPair, at: Date): string {
  const { notBefore, notAfter } = certificate;
  if (at > notAfter) return 'expired';
  if (at < notBefore) return 'not valid yet';
  if (retiresAt !== undefined) return `is retired on ${isoTime(retiresAt).slice(0, 10)}`;
  if (signsFrom !== undefined && signsFrom > at)
    return `published, signs from ${isoTime(signsFrom).slice(0, 10)}`;
  const days = Math.floor(daysUntil(notAfter, at));
  if (days < 1) return 'expires in less than a day';
  return days <= expiryWarningDays ? `expires in ${countOf(days, 'day')}` : 'active';
}

function daysUntil(end: Date, at: Date): number {
  return (end.getTime() - at.getTime()) / dayMs;
}

function toRequestedKey(request: KeyRequest): DomainKey {
  return {
    id: request.id,
    owner: request.owner,
    status: 'requested',
    level: 'waiting',
    text: 'waiting for its certificate',
    certificate: null,
    uses: [],
    daysLeft: null,
    createdAt: isoTime(request.createdAt),
    csr: csrText(request),
    canRetire: true,
  };
}

function csrText({ csr }: KeyRequest): string {
  return formatPem('CERTIFICATE REQUEST', csr);
}

export function toFacts(certificate: Certificate): CertificateFacts {
  const { fingerprint, subject, issuer, serialNumber, keyType, keyBits, curve } = certificate;
  return {
    fingerprint,
    subject,
    issuer,
    serialNumber,
    notBefore: isoTime(certificate.notBefore),
    notAfter: isoTime(certificate.notAfter),
    algorithm: `${keyType.toUpperCase()} ${curve ?? keyBits}`,
  };
}

function toBundle(bundle: BundleStatus, changes: readonly BundleChange[]): DomainBundle {
  const { id, url, direction, anchorCount, refreshedAt, nextRefreshAt, lastError, health } = bundle;
  return {
    id,
    url: url.replace(/[?#].*$/, ''),
    direction,
    anchorCount,
    ...health,
    refreshedAt: isoOrNull(refreshedAt),
    nextRefreshAt: isoTime(nextRefreshAt),
    lastError,
    changes: changes.map((change) => ({
      at: isoTime(change.at),
      added: [...change.added],
      removed: [...change.removed],
    })),
  };
}

const recordLevels: Readonly<Record<DnsRecord['state'], Level>> = {
  ok: 'ok',
  missing: 'failed',
  different: 'warning',
  unknown: 'waiting',
};

function toRecord({ owner, type, ttlSeconds, data, line, actual, state, text }: CheckedRecord): DnsRecord {
  return {
    name: owner,
    type,
    ttl: ttlSeconds,
    expected: data,
    line,
    actual: actual === undefined ? null : [...actual],
    state,
    level: recordLevels[state],
    text,
  };
}

const findingLevels: Readonly<Record<Finding['severity'], Level>> = {
  ok: 'ok',
  note: 'none',
  warning: 'warning',
  error: 'failed',
};
