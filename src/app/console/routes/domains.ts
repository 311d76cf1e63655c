import { Type } from 'typebox';
import type { BundleStatus, DomainKeyDates, Trust } from '../../../service/trust/index.ts';
import {
  doneAnswer,
  domainDetails,
  domainList,
  retireRequest,
  type CertificateFacts,
  type DomainBundle,
  type DomainDetails,
  type DomainKey,
  type DomainSummary,
  type Level,
} from '../contract/index.ts';
import { ConsoleError } from '../errors.ts';
import { apiPrefix } from '../guard.ts';
import type { ConsoleRoutes, ConsoleServices } from '../types.ts';
import type { createActing } from './acting.ts';
import { describe, refusals } from './describe.ts';
import { listRequestedKeys } from './domain-keys.ts';
import { countOf, isoOrNull, isoTime } from './formats.ts';

const dayMs = 86_400_000;
const maxAddresses = 500;
/** Warned of from this many days before the end. */
const warningDays = 30;

type Certificate = Awaited<ReturnType<Trust['listKeyPairs']>>[number]['certificate'];

/** Hosted domains: their keys with dates, anchors and bundles. No private key leaves the service. */
export function domainRoutes(
  { trust, clock, config }: ConsoleServices,
  acting: ReturnType<typeof createActing>,
): ConsoleRoutes {
  async function requireDomain(name: string): Promise<string> {
    const domain = name.toLowerCase();
    if (!(await trust.isHostedDomain(domain)))
      throw new ConsoleError('CONSOLE_NOT_FOUND', 'no hosted domain has that name');
    return domain;
  }

  async function listKeys(domain: string): Promise<DomainKey[]> {
    const owners = new Set([domain, ...(await trust.listKeyOwners(domain))]);
    const lists = await Promise.all(
      [...owners].map(async (owner) =>
        (await trust.listKeyPairs(owner)).map((pair) => toKey(owner, pair, clock.now())),
      ),
    );
    return [...lists.flat(), ...(await listRequestedKeys(config, domain))];
  }

  return (app) => {
    app.get(
      `${apiPrefix}/domains`,
      {
        config: { permission: 'settings.read' },
        schema: {
          ...describe('domains', 'List hosted domains'),
          response: { 200: domainList, ...refusals() },
        },
      },
      async () => ({
        result: await Promise.all(
          (await trust.findKeyDates()).map(async (dates): Promise<DomainSummary> => {
            const [addresses, anchors] = await Promise.all([
              trust.listAddresses(dates.domain),
              trust.listAnchors(dates.domain),
            ]);
            return {
              domain: dates.domain,
              addressCount: addresses.length,
              anchorCount: anchors.length,
              ...judge(dates, anchors.length),
              daysLeft: dates.daysLeft ?? null,
            };
          }),
        ),
      }),
    );
    app.get(
      `${apiPrefix}/domains/:domain`,
      {
        config: { permission: 'settings.read' },
        schema: {
          ...describe(
            'domains',
            'Show a hosted domain',
            'Keys, anchors, bundles and addresses. Asks no network.',
          ),
          params: Type.Object({ domain: Type.String({ maxLength: 255 }) }),
          response: { 200: domainDetails, ...refusals(404) },
        },
      },
      async (request): Promise<DomainDetails> => {
        const domain = await requireDomain(request.params.domain);
        const [[dates], keys, anchors, bundles, addresses] = await Promise.all([
          trust.findKeyDates(domain),
          listKeys(domain),
          trust.listAnchors(domain),
          trust.listBundles(),
          trust.listAddresses(domain),
        ]);
        return {
          domain,
          ...judge(dates ?? { domain, daysLeft: undefined, warnings: [] }, anchors.length),
          keys,
          anchors: anchors.map(({ id, direction, bundleId, certificate, createdAt }) => ({
            id,
            direction,
            bundleId,
            level: levelOfDays(daysUntil(certificate.notAfter, clock.now())),
            certificate: toFacts(certificate),
            createdAt: isoTime(createdAt),
          })),
          bundles: bundles.filter((one) => one.domain === domain).map(toBundle),
          addresses: addresses.slice(0, maxAddresses).map(({ address, status }) => ({ address, status })),
          addressCount: addresses.length,
        };
      },
    );
    app.post(
      `${apiPrefix}/domains/:domain/keys/:id/retire`,
      {
        config: { permission: 'settings.change' },
        schema: {
          ...describe('domains', 'Retire a key', 'It signs no more and is not published; it still decrypts.'),
          params: Type.Object({
            domain: Type.String({ maxLength: 255 }),
            id: Type.String({ maxLength: 100 }),
          }),
          body: retireRequest,
          response: { 200: doneAnswer, ...refusals(400, 404, 409) },
        },
      },
      async (request) => {
        const domain = await requireDomain(request.params.domain);
        const { id } = request.params;
        if (!(await listKeys(domain)).some((key) => key.id === id))
          throw new ConsoleError('CONSOLE_NOT_FOUND', 'the domain has no key of that id');
        await acting(request).trust.retireKeyPair(id, { isForced: request.body.isForced === true });
        return { count: 1, sentence: 'The key is retired: it signs no more, and still decrypts.' };
      },
    );
  };
}

function daysUntil(end: Date, at: Date): number {
  return (end.getTime() - at.getTime()) / dayMs;
}

function levelOfDays(days: number): Level {
  return days < 0 ? 'failed' : days <= warningDays ? 'warning' : 'ok';
}

function judge(
  { daysLeft, warnings }: DomainKeyDates,
  anchorCount: number,
): { readonly level: Level; readonly text: string } {
  const [first] = warnings;
  if (first !== undefined)
    return {
      level: first.problem === 'expires-soon' ? 'warning' : 'failed',
      text: `${first.owner}: key ${first.problem.replaceAll('-', ' ')} (${first.uses.join(' and ')}).`,
    };
  if (anchorCount === 0)
    return { level: 'warning', text: 'No anchor: nothing is trusted, so nothing can be sent or received.' };
  return { level: 'ok', text: `Its keys are valid for ${countOf(Math.floor(daysLeft ?? 0), 'day')}.` };
}

interface Pair {
  readonly id: string;
  readonly status: 'active' | 'retired';
  readonly certificate: Certificate;
}

function toKey(owner: string, { id, status, certificate }: Pair, at: Date): DomainKey {
  const days = daysUntil(certificate.notAfter, at);
  const usage = certificate.keyUsage;
  const uses = [
    ...(usage === undefined || usage.has('digitalSignature') ? (['signing'] as const) : []),
    ...(usage === undefined || usage.has('keyEncipherment') ? (['encryption'] as const) : []),
  ];
  return {
    id,
    owner,
    status,
    level: status === 'retired' ? 'none' : certificate.notBefore > at ? 'warning' : levelOfDays(days),
    text:
      status === 'retired'
        ? 'Retired: it only decrypts.'
        : days < 0
          ? 'Expired.'
          : `Valid for ${countOf(Math.floor(days), 'more day')}.`,
    certificate: toFacts(certificate),
    uses,
    daysLeft: days,
    createdAt: null,
    csr: '',
    canRetire: status === 'active',
  };
}

function toFacts(certificate: Certificate): CertificateFacts {
  const { fingerprint, subject, issuer, serialNumber, notBefore, notAfter, keyType, keyBits } = certificate;
  return {
    fingerprint,
    subject,
    issuer,
    serialNumber,
    notBefore: isoTime(notBefore),
    notAfter: isoTime(notAfter),
    algorithm: `${keyType.toUpperCase()} ${keyBits}`,
  };
}

function toBundle(bundle: BundleStatus): DomainBundle {
  const { id, url, direction, anchorCount, refreshedAt, nextRefreshAt, lastError } = bundle;
  return {
    id,
    url,
    direction,
    anchorCount,
    level: lastError === '' ? 'ok' : 'warning',
    text:
      lastError === ''
        ? `${countOf(anchorCount, 'anchor')}.`
        : `It cannot be refreshed; its last good ${countOf(anchorCount, 'anchor')} stay.`,
    refreshedAt: isoOrNull(refreshedAt),
    nextRefreshAt: isoTime(nextRefreshAt),
    lastError,
    changes: [],
  };
}
