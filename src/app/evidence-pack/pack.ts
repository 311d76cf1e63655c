import { systemClock } from '../../core/index.ts';
import type { Certificate } from '../../lib/pki/index.ts';
import { defaultSettings, type Config, type Storage, type Vault } from '../../platform/index.ts';
import {
  countEvents,
  findBounds,
  readEvents,
  type Audit,
  type AuditPeriod,
  type AuditPublicKey,
  type AuditRecord,
  type EventCount,
  type PeriodBounds,
} from '../../service/audit/index.ts';
import { createEdges } from '../../service/edges/index.ts';
import { measureDeliveries, type DeliveryMonth } from '../../service/messaging/index.ts';
import { createOauth } from '../../service/oauth/index.ts';
import { createOperators } from '../../service/operators/index.ts';
import { createTrust, type Trust } from '../../service/trust/index.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { listComponents, type Component } from './components.ts';
import { requirements, type Requirement } from './requirements.ts';
import { measureServiceTime, type ServiceMonth } from './service-time.ts';
import { listRetention, listSettings, type PackSetting, type RetentionRule } from './settings.ts';

/** A row of the audit trail. */
export interface PackEvent {
  readonly sequence: number;
  readonly time: string;
  readonly action: string;
  readonly outcome: string;
  readonly actor: string;
  readonly objects: Readonly<Record<string, string | number>>;
}

export interface PackCertificate {
  readonly subject: string;
  /** SHA-256, hex. */
  readonly fingerprint: string;
  readonly notBefore: string;
  readonly notAfter: string;
}

interface PackDomain {
  readonly domain: string;
  readonly addresses: number;
  readonly keys: readonly (PackCertificate & { readonly owner: string; readonly status: string })[];
  readonly anchors: readonly (PackCertificate & {
    readonly direction: string;
    /** True for one of a bundle. */
    readonly isOfBundle: boolean;
  })[];
  readonly bundles: readonly { readonly url: string; readonly direction: string; readonly anchors: number }[];
}

/** What `openhisp verify` found when the pack was made. */
export interface PackFinding {
  readonly check: string;
  readonly isIntact: boolean;
  /** The fault. In a pack, empty for what is whole: its numbers grow with each command. */
  readonly text: string;
}

/**
 * What a pack says. Times are ISO 8601 in UTC. `changes`, `signIns`, `activity`, `deliveries`, `serviceTime`
 * and `auditTrail` are of the period; the rest is as it is when the pack is made.
 */
export interface EvidencePack {
  readonly type: 'openhisp-evidence-pack';
  readonly version: 1;
  readonly from: string;
  /** The first moment that is not in the period. */
  readonly until: string;
  /** Verifies the signature; compare it with `openhisp audit public-key`. */
  readonly publicKey: AuditPublicKey | undefined;
  readonly product: {
    readonly name: string;
    readonly version: string;
    readonly node: string;
    readonly database: string;
  };
  readonly requirements: readonly Requirement[];
  readonly verification: readonly PackFinding[];
  readonly auditTrail: PeriodBounds | undefined;
  readonly domains: readonly PackDomain[];
  readonly operators: readonly {
    readonly name: string;
    readonly role: string;
    /** Undefined: all of this HISP. */
    readonly organization: string | undefined;
    readonly isExternal: boolean;
    readonly created: string;
    readonly disabled: string | undefined;
  }[];
  readonly clients: readonly {
    readonly clientId: string;
    readonly name: string;
    readonly scopes: readonly string[];
    readonly addresses: readonly string[];
    readonly created: string;
    readonly disabled: string | undefined;
  }[];
  readonly edgeAccounts: readonly {
    readonly username: string;
    readonly clientId: string;
    readonly addresses: readonly string[];
    readonly protocols: readonly string[];
    readonly created: string;
    readonly disabled: string | undefined;
  }[];
  readonly changes: readonly PackEvent[];
  readonly signIns: readonly EventCount[];
  readonly activity: readonly EventCount[];
  readonly deliveries: readonly DeliveryMonth[];
  readonly serviceTime: readonly ServiceMonth[];
  readonly backups: readonly PackEvent[];
  readonly retention: readonly RetentionRule[];
  readonly settings: readonly PackSetting[];
  readonly components: readonly Component[];
}

export interface PackSources {
  readonly config: Config;
  readonly storage: Storage;
  readonly vault: Vault;
  readonly audit: Audit;
  readonly findings: readonly PackFinding[];
}

/** Areas whose actions change what a HISP is or whom it trusts. */
const changing = new Set(
  'address anchor audit bundle client domain edge integrity installation key operator queue storage token vault webhook'.split(
    ' ',
  ),
);
/** Actions of these areas that happen all the time, or only look. They are counted. */
const counted =
  /^(?:address\.check|audit\.(?:list|export|read|verify)|edge\.sign-in|operator\.enrol-show|queue\.(?:list|holds|show)|token\.issue|webhook\.(?:list|show|settled|test)|.*\.(?:list|show|read|search))$/;
const signingIn =
  /^(?:token\.issue|console\.(?:sign-in|refuse)|access\.refuse|edge\.sign-in|operator\.enrol)$/;
const backingUp = /^(?:backup\..*|audit\.restart|storage\.copy)$/;

/**
 * Reads everything that a pack says. The same installation gives the same pack again for a period that has
 * ended.
 */
export async function collectPack(sources: PackSources, period: AuditPeriod): Promise<EvidencePack> {
  const { config, storage, vault, audit } = sources;
  const shared = { storage, vault, audit, clock: systemClock };
  const activity = await countEvents(storage, period);
  const actions = [...new Set(activity.map(({ action }) => action))];
  const isChange = (action: string): boolean =>
    changing.has(action.split('.')[0] ?? '') && !counted.test(action) && !backingUp.test(action);
  const readAll = async (wanted: (action: string) => boolean): Promise<PackEvent[]> => {
    const rows: PackEvent[] = [];
    for await (const row of readEvents(storage, actions.filter(wanted), period)) rows.push(toEvent(row));
    return rows;
  };
  return {
    type: 'openhisp-evidence-pack',
    version: 1,
    from: period.since.toISOString(),
    until: period.until.toISOString(),
    publicKey: await audit.readPublicKey(),
    product: {
      name: packageJson.name,
      version: packageJson.version,
      node: process.version,
      database: config.storage.url === undefined ? 'SQLite' : 'PostgreSQL',
    },
    requirements,
    verification: sources.findings.map(({ check, isIntact, text }) => ({
      check,
      isIntact,
      text: isIntact ? '' : text,
    })),
    auditTrail: await findBounds(storage, period),
    domains: await describeDomains(createTrust(shared)),
    operators: await describeOperators(shared),
    clients: await describeClients(shared),
    edgeAccounts: await describeEdges(shared),
    changes: await readAll(isChange),
    signIns: activity.filter(({ action }) => signingIn.test(action)),
    activity,
    deliveries: await measureDeliveries(storage, period),
    serviceTime: await measureServiceTime(storage, period),
    backups: await readAll((action) => backingUp.test(action)),
    retention: listRetention(config),
    settings: listSettings(config),
    components: listComponents(),
  };
}

function toEvent({ sequence, recordedAt, action, outcome, actor, objects }: AuditRecord): PackEvent {
  return { sequence, time: recordedAt.toISOString(), action, outcome, actor: actor ?? '', objects };
}

function describeCertificate({ subject, fingerprint, notBefore, notAfter }: Certificate): PackCertificate {
  return { subject, fingerprint, notBefore: notBefore.toISOString(), notAfter: notAfter.toISOString() };
}

const byText =
  <Item>(textOf: (item: Item) => string) =>
  (a: Item, b: Item): number =>
    textOf(a) < textOf(b) ? -1 : 1;

async function describeDomains(trust: Trust): Promise<PackDomain[]> {
  const [counts, allBundles] = await Promise.all([trust.countAddresses(), trust.listBundles()]);
  const domains: PackDomain[] = [];
  for (const domain of await trust.listDomains()) {
    const [keys, anchors] = await Promise.all([trust.listDomainKeys(domain), trust.listAnchors(domain)]);
    domains.push({
      domain,
      addresses: counts.get(domain) ?? 0,
      keys: keys
        .map(({ owner, status, certificate }) => ({ owner, status, ...describeCertificate(certificate) }))
        .sort(byText(({ owner, fingerprint }) => `${owner} ${fingerprint}`)),
      anchors: anchors
        .map(({ direction, bundleId, certificate }) => ({
          direction,
          isOfBundle: bundleId !== '',
          ...describeCertificate(certificate),
        }))
        .sort(byText(({ direction, fingerprint }) => `${direction} ${fingerprint}`)),
      bundles: allBundles
        .filter((bundle) => bundle.domain === domain)
        .map(({ url, direction, anchorCount }) => ({ url, direction, anchors: anchorCount }))
        .sort(byText(({ url, direction }) => `${url} ${direction}`)),
    });
  }
  return domains;
}

type Shared = Pick<PackSources, 'storage' | 'vault' | 'audit'> & { readonly clock: typeof systemClock };

async function describeOperators(shared: Shared): Promise<EvidencePack['operators']> {
  const operators = await createOperators(shared).store.list();
  return operators.map(({ name, role, organizationId, isExternal, createdAt, disabledAt }) => ({
    name,
    role,
    organization: organizationId,
    isExternal,
    created: createdAt.toISOString(),
    disabled: disabledAt?.toISOString(),
  }));
}

async function describeClients(shared: Shared): Promise<EvidencePack['clients']> {
  const clients = await createOauth(shared).clients.list();
  return clients
    .map(({ clientId, name, scopes, directAddresses, createdAt, disabledAt }) => ({
      clientId,
      name,
      scopes,
      addresses: directAddresses,
      created: createdAt.toISOString(),
      disabled: disabledAt?.toISOString(),
    }))
    .sort(byText(({ clientId }) => clientId));
}

async function describeEdges(shared: Shared): Promise<EvidencePack['edgeAccounts']> {
  const { clients } = createOauth(shared);
  const { attemptsPerMinute } = defaultSettings.edge;
  const accounts = await createEdges({ ...shared, clients, attemptsPerMinute }).accounts.list();
  return accounts
    .map(({ username, clientId, addresses, protocols, createdAt, disabledAt }) => ({
      username,
      clientId,
      addresses,
      protocols,
      created: createdAt.toISOString(),
      disabled: disabledAt?.toISOString(),
    }))
    .sort(byText(({ username }) => username));
}
