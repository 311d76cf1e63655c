import { createPublicKey, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Type } from 'typebox';
import { createDnsResolver, type DnsAnswer } from '../../../lib/dns/index.ts';
import {
  createCsr,
  createKeyPair,
  formatPem,
  readCertificate,
  readPem,
  readPrivateKey,
  type Certificate,
} from '../../../lib/pki/index.ts';
import { domainOf, parseDirectAddress } from '../../../lib/values/index.ts';
import { findUsesEver } from '../../../service/trust/index.ts';
import {
  csrAnswer,
  csrRequest,
  domainFindings,
  domainKey,
  domainRecords,
  installRequest,
  type DnsRecord,
  type DomainKey,
  type Level,
} from '../contract/index.ts';
import { ConsoleError } from '../errors.ts';
import { apiPrefix } from '../guard.ts';
import type { ConsoleRoutes, ConsoleServices } from '../types.ts';
import type { createActing } from './acting.ts';
import { describe, refusals } from './describe.ts';
import { isoTime } from './formats.ts';

type Services = Pick<ConsoleServices, 'config' | 'clock' | 'trust' | 'vault'>;

const dayMs = 86_400_000;
const ttlSeconds = 300;
const dnsTimeoutMs = 2_000;

const domainParams = Type.Object({ domain: Type.String({ maxLength: 255 }) });
/** A key whose certificate is awaited: on the disk of the node that made it, its private part sealed. */
interface KeyRequest {
  readonly id: string;
  readonly domain: string;
  readonly owner: string;
  readonly csr: string;
  readonly createdAt: string;
  readonly sealedKey: string;
}

/** What DNS must say about a domain, and a new key for it: the request for the CA, and the certificate that comes back. */
export function domainKeyRoutes(
  { config, clock, trust, vault }: Services,
  acting: ReturnType<typeof createActing>,
): ConsoleRoutes {
  const folder = folderOf(config);
  const listRequests = (domain: string): Promise<readonly KeyRequest[]> => readRequests(config, domain);
  async function requireDomain(name: string): Promise<string> {
    const domain = name.toLowerCase();
    if (!(await trust.isHostedDomain(domain)))
      throw new ConsoleError('CONSOLE_NOT_FOUND', 'no hosted domain has that name');
    return domain;
  }

  async function judgeDomain(domain: string): Promise<{ readonly level: Level; readonly text: string }> {
    const [dates] = await trust.findKeyDates(domain);
    const [first] = dates?.warnings ?? [];
    if (first === undefined) return { level: 'ok', text: 'Keys are valid.' };
    const texts = {
      missing: `No valid key for ${first.uses.join(' and ')}: install one.`,
      expired: `The key of ${first.owner} is expired: rotate it now.`,
      'expires-soon': `The key of ${first.owner} expires soon: rotate it.`,
      'not-yet-valid': `The key of ${first.owner} is not valid yet.`,
    } as const;
    const isBad = first.problem === 'missing' || first.problem === 'expired';
    return { level: isBad ? 'failed' : 'warning', text: texts[first.problem] };
  }

  async function listRecords(domain: string): Promise<DnsRecord[]> {
    const hostname = config.smtp.hostname.toLowerCase();
    const published = await trust.findPublished(domain);
    const resolver = createDnsResolver({
      servers: config.dns.resolvers.map(toServer),
      timeoutMs: dnsTimeoutMs,
      attempts: 1,
      cache: false,
      clock,
    });
    const certificates = published.map((der) => Buffer.from(der).toString('base64'));
    const canAsk = config.dns.resolvers.length > 0;
    const mx = canAsk ? await ask(() => resolver.resolveMx(domain)) : null;
    const cert = canAsk ? await ask(() => resolver.resolveCert(domain)) : null;
    return [
      compare(
        domain,
        'MX',
        `10 ${hostname}.`,
        mx && mx.map(({ priority, exchange }) => `${priority} ${exchange.toLowerCase()}.`),
        (value) => value.split(' ')[1] === `${hostname}.`,
      ),
      ...certificates.map((base64) =>
        compare(
          domain,
          'CERT',
          `1 0 0 ${base64}`,
          cert && cert.map(({ data }) => `1 0 0 ${Buffer.from(data).toString('base64')}`),
          (value) => value.endsWith(base64),
        ),
      ),
    ];
  }

  return (app) => {
    const read = { permission: 'settings.read' } as const;
    const change = { permission: 'settings.change' } as const;

    app.get(
      `${apiPrefix}/domains/:domain/records`,
      {
        config: read,
        schema: {
          ...describe('domains', 'Show DNS records, expected and actual'),
          params: domainParams,
          response: { 200: domainRecords, ...refusals(404) },
        },
      },
      async (request) => ({
        records: await listRecords(await requireDomain(request.params.domain)),
        notes: [`Also publish A or AAAA records of ${config.smtp.hostname.toLowerCase()}.`],
        checkedAt: isoTime(clock.now()),
      }),
    );

    app.get(
      `${apiPrefix}/domains/:domain/findings`,
      {
        config: read,
        schema: {
          ...describe('domains', 'Show what is wrong with a domain'),
          params: domainParams,
          response: { 200: domainFindings, ...refusals(404) },
        },
      },
      async (request) => {
        const domain = await requireDomain(request.params.domain);
        const { level, text } = await judgeDomain(domain);
        const severity =
          level === 'ok' ? ('ok' as const) : level === 'failed' ? ('error' as const) : ('warning' as const);
        return {
          findings: [{ check: 'keys', subject: domain, severity, level, text, advice: '' }],
          checkedAt: isoTime(clock.now()),
        };
      },
    );

    app.post(
      `${apiPrefix}/domains/:domain/csr`,
      {
        config: change,
        schema: {
          ...describe('domains', 'Make a key', 'Answers the request for the CA; the key stays here, sealed.'),
          params: domainParams,
          body: csrRequest,
          response: { 200: csrAnswer, ...refusals(400, 404) },
        },
      },
      async (request) => {
        const domain = await requireDomain(request.params.domain);
        const owner = (request.body.owner ?? domain).toLowerCase();
        const boundTo = owner.includes('@') ? { address: parseDirectAddress(owner) } : { domain };
        if ('address' in boundTo ? domainOf(boundTo.address) !== domain : owner !== domain)
          throw invalid('owner', 'owner: the domain itself, or an address under it.');
        const keys = await createKeyPair();
        const csr = formatPem('CERTIFICATE REQUEST', createCsr({ boundTo, ...keys }));
        const id = randomUUID();
        const sealedKey = Buffer.from(
          vault.seal(keys.privateKey.export({ type: 'pkcs8', format: 'der' }), `key-request:${id}`),
        ).toString('base64');
        const createdAt = isoTime(clock.now());
        const kept: KeyRequest = { id, domain, owner, csr, createdAt, sealedKey };
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await writeFile(path.join(folder, `${id}.json`), JSON.stringify(kept), { mode: 0o600, flag: 'wx' });
        await acting(request).audit.record({
          action: 'key.request',
          actor: request.operator.actor,
          outcome: 'ok',
          objects: { owner, requestedKey: id },
          requestId: request.id,
          remoteAddress: request.ip,
        });
        return { keyId: id, owner, csr };
      },
    );

    app.post(
      `${apiPrefix}/domains/:domain/keys`,
      {
        config: change,
        schema: {
          ...describe('domains', 'Install the certificate of a requested key'),
          params: domainParams,
          body: installRequest,
          response: { 200: domainKey, ...refusals(400, 404) },
        },
      },
      async (request) => {
        const domain = await requireDomain(request.params.domain);
        const certificate = readFirst(request.body.certificate);
        for (const { id, owner, sealedKey } of await listRequests(domain)) {
          const privateKey = readPrivateKey(
            vault.open(Buffer.from(sealedKey, 'base64'), `key-request:${id}`),
          );
          if (!createPublicKey(privateKey).equals(certificate.publicKey)) continue;
          const stored = await trust.addKeyPair(owner, certificate.der, privateKey);
          await acting(request).audit.record({
            action: 'key.install',
            actor: request.operator.actor,
            outcome: 'ok',
            objects: { owner, keyPair: stored },
            requestId: request.id,
            remoteAddress: request.ip,
          });
          await rm(path.join(folder, `${id}.json`), { force: true });
          return toInstalled(stored, owner, certificate, clock.now());
        }
        throw invalid('certificate', 'certificate: it belongs to no key that was requested here.');
      },
    );
  };
}

function folderOf({ dataDir }: ConsoleServices['config']): string {
  return path.join(dataDir, 'key-requests');
}

async function readRequests(
  config: ConsoleServices['config'],
  domain: string,
): Promise<readonly KeyRequest[]> {
  const folder = folderOf(config);
  const names = await readdir(folder).catch(() => []);
  const all = await Promise.all(
    names.map(async (name) => JSON.parse(await readFile(path.join(folder, name), 'utf8')) as KeyRequest),
  );
  return all.filter((request) => request.domain === domain);
}

/** The keys of a domain that wait for their certificate. */
export async function listRequestedKeys(
  config: ConsoleServices['config'],
  domain: string,
): Promise<DomainKey[]> {
  return (await readRequests(config, domain)).map(({ id, owner, csr, createdAt }) => ({
    id,
    owner,
    status: 'requested',
    level: 'waiting',
    text: 'waits for its certificate',
    certificate: null,
    uses: [],
    daysLeft: null,
    createdAt,
    csr,
    canRetire: false,
  }));
}

function toInstalled(id: string, owner: string, certificate: Certificate, now: Date): DomainKey {
  return {
    id,
    owner,
    status: 'active',
    level: 'ok',
    text: 'active',
    certificate: factsOf(certificate),
    uses: [...findUsesEver(certificate, owner)],
    daysLeft: Math.floor((certificate.notAfter.getTime() - now.getTime()) / dayMs),
    createdAt: isoTime(now),
    csr: '',
    canRetire: false,
  };
}

function invalid(field: string, detail: string): ConsoleError {
  return new ConsoleError('CONSOLE_REQUEST_INVALID', detail, {
    problems: [{ field, reason: 'invalid', detail }],
  });
}

function readFirst(pem: string): Certificate {
  const [block] = readPem(pem);
  if (block === undefined) throw invalid('certificate', 'certificate: not a certificate in PEM.');
  try {
    return readCertificate(block.der);
  } catch {
    throw invalid('certificate', 'certificate: not a certificate in PEM.');
  }
}

function factsOf(certificate: Certificate) {
  const { fingerprint, subject, issuer, serialNumber, notBefore, notAfter, keyType, keyBits, curve } =
    certificate;
  return {
    fingerprint,
    subject,
    issuer,
    serialNumber,
    notBefore: isoTime(notBefore),
    notAfter: isoTime(notAfter),
    algorithm: curve ?? `${String(keyType).toUpperCase()} ${keyBits}`,
  };
}

/** Null if the DNS gives no answer. */
async function ask<T>(question: () => Promise<DnsAnswer<T>>): Promise<readonly T[] | null> {
  try {
    const answer = await question();
    return answer.records;
  } catch {
    return null;
  }
}

function compare(
  name: string,
  type: string,
  expected: string,
  actual: readonly string[] | null,
  isSame: (value: string) => boolean,
): DnsRecord {
  const state =
    actual === null ? 'unknown' : actual.length === 0 ? 'missing' : actual.some(isSame) ? 'ok' : 'different';
  const words = {
    ok: ['ok', 'as expected'],
    missing: ['failed', 'missing'],
    different: ['warning', 'differs'],
    unknown: ['none', 'not known'],
  } as const;
  const [level, text] = words[state];
  return {
    name,
    type,
    ttl: ttlSeconds,
    expected,
    line: `${name}. ${ttlSeconds} IN ${type} ${expected}`,
    actual: actual === null ? null : [...actual],
    state,
    level,
    text,
  };
}

function toServer(text: string): { readonly host: string; readonly port: number } {
  const colon = text.lastIndexOf(':');
  return { host: text.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(text.slice(colon + 1)) };
}
