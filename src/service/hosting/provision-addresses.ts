import {
  createTokenBuckets,
  errorCode,
  errorText,
  readInstant,
  type Clock,
  type FieldProblem,
  type RateLimitResult,
} from '../../core/index.ts';
import type { Gazetteer } from '../../lib/geo/index.ts';
import { addressKey, domainOf, findDirectAddress, type DirectAddress } from '../../lib/values/index.ts';
import type { AnyTransaction, Storage, Vault } from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import { createHostedEntries, findHostedRecords, type PreparedEntry } from '../directory/index.ts';
import type { ClientIdentity } from '../oauth/index.ts';
import {
  createOrganizationsGuards,
  createOwnership,
  OrganizationsError,
  type Organization,
} from '../organizations/index.ts';
import {
  findProofingFault,
  type AddressStatus,
  type Forwarding,
  type Proofing,
  type Trust,
} from '../trust/index.ts';
import { findNameWarning, type FindNames } from './check-names.ts';
import { HostingError } from './errors.ts';
import { entryFields, type EntryField, type ImportOutcome } from './import-addresses.ts';

/** What the directory shows of an address; fields that are absent are blank. */
export type ProvisionedEntry = Partial<Record<EntryField, string>>;

/** A record of identity proofing, as a client gives it. */
export type ProvisionedProofing = Pick<Proofing, 'level' | 'method' | 'date' | 'verifier'> &
  Partial<Pick<Proofing, 'expires' | 'reference'>>;

/**
 * What an address becomes. What is left out stays; a new address is active, not listed and without a record
 * of proofing.
 */
export interface AddressChange {
  readonly status?: AddressStatus;
  /** Null takes it out of the directory. */
  readonly directory?: ProvisionedEntry | null;
  /** Null removes the record. */
  readonly proofing?: ProvisionedProofing | null;
}

export interface ProvisionedAddress {
  readonly directAddress: DirectAddress;
  readonly status: AddressStatus;
  readonly directory: ProvisionedEntry | null;
  readonly proofing: Proofing | null;
  readonly forwarding: Forwarding | null;
}

/** As a client gives it: texts. */
export interface ForwardingInput {
  readonly deliverTo: readonly string[];
  readonly keepsCopy?: boolean;
  readonly from?: string;
  readonly until?: string;
}

/** The result of one of several changes. */
export interface ProvisionedRow {
  /** As it was given. */
  readonly directAddress: string;
  readonly outcome: ImportOutcome;
  /** About values that were left out or changed. */
  readonly warnings: readonly FieldProblem[];
  /** Why it is refused. */
  readonly problems: readonly FieldProblem[];
}

export interface ProvisioningReport {
  readonly rows: readonly ProvisionedRow[];
  /** False for a dry run. */
  readonly isStored: boolean;
}

export interface ProvisioningMode {
  /** Good rows are stored although others are refused; otherwise one refused row refuses all. */
  readonly isRowByRow?: boolean;
  /** Checks and reports, and stores nothing. */
  readonly isDryRun?: boolean;
}

export interface ProvisioningPage {
  readonly domain?: string | undefined;
  readonly status?: AddressStatus | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** A client of an organization, and its request for the audit trail. */
export interface ProvisioningCaller extends Pick<ClientIdentity, 'clientId' | 'organizationId'> {
  readonly requestId?: string;
  readonly remoteAddress?: string;
}

/** The organization of a client, as far as its addresses are concerned. */
export interface ProvisionedOrganization extends Pick<Organization, 'id' | 'name' | 'limits'> {
  readonly domains: readonly string[];
  readonly activeAddresses: number;
}

/** The addresses of an organization, changed by its own clients (Decision 0037). */
export interface Provisioning {
  /** Throws HOSTING_ADDRESSES_REFUSED for a cursor of elsewhere. */
  list(
    caller: ProvisioningCaller,
    page: ProvisioningPage,
  ): Promise<{
    readonly addresses: readonly ProvisionedAddress[];
    readonly nextCursor: string | undefined;
  }>;
  /** Throws HOSTING_ADDRESS_UNKNOWN, also for an address of another organization. */
  get(caller: ProvisioningCaller, address: string): Promise<ProvisionedAddress>;
  /**
   * Throws HOSTING_ADDRESS_UNKNOWN, HOSTING_ADDRESSES_REFUSED with the fields, ORGANIZATION_CLOSED,
   * ORGANIZATION_ADDRESSES_FULL.
   */
  put(caller: ProvisioningCaller, address: string, change: AddressChange): Promise<ProvisionedRow>;
  /** The same for many in one transaction; fields are named `addresses[n].…`. */
  putAll(
    caller: ProvisioningCaller,
    changes: readonly (AddressChange & { readonly directAddress: string })[],
    mode: ProvisioningMode,
  ): Promise<ProvisioningReport>;
  /**
   * To whom what comes for an address is delivered; null ends it. Throws HOSTING_ADDRESS_UNKNOWN,
   * TRUST_FORWARDING_INVALID.
   */
  putForwarding(
    caller: ProvisioningCaller,
    address: string,
    forwarding: ForwardingInput | null,
  ): Promise<ProvisionedAddress>;
  findOrganization(caller: ProvisioningCaller): Promise<ProvisionedOrganization>;
  /** Counts a request. Throws HOSTING_RATE_LIMITED. */
  limit(
    caller: ProvisioningCaller,
    what: LimitedRequests,
    report: (rateLimit: RateLimitResult) => void,
  ): void;
}

/** Requests that change something, and those that count all addresses of the organization. */
export type LimitedRequests = 'changes' | 'counts';

export interface ProvisioningDependencies {
  readonly storage: Storage;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly trust: Trust;
  readonly gazetteer: Gazetteer;
  /** For warnings about names; without it there are none. */
  readonly findNames?: FindNames | undefined;
}

/** With every field they have as many names as a JSON body may hold. */
export const maxProvisionedAtOnce = 200;
const usualPage = 100;
const maxPage = 1_000;
/** Each change makes every node read its domains and keys anew. */
const changesPerSecond = 5;
const changesBurst = 20;

const unknown = (): HostingError =>
  new HostingError('HOSTING_ADDRESS_UNKNOWN', 'no address of the organization of the client');
const problem = (field: string, reason: string, detail: string): FieldProblem => ({ field, reason, detail });

const toWarning = (text: string): FieldProblem => problem('directory', 'entry_warning', text);

/** A change whose own fields are in order. */
interface CheckedChange {
  readonly position: number;
  readonly address: DirectAddress;
  readonly change: AddressChange;
  readonly entry: PreparedEntry | undefined;
  readonly proofing: Proofing | undefined;
}

interface Result {
  outcome: ImportOutcome;
  readonly warnings: FieldProblem[];
  readonly problems: FieldProblem[];
}

export function createProvisioning(deps: ProvisioningDependencies): Provisioning {
  const { storage, clock, trust } = deps;
  const ownership = createOwnership({ storage, guards: createOrganizationsGuards(deps) });
  const createBuckets = () =>
    createTokenBuckets({ ratePerSecond: changesPerSecond, burst: changesBurst, clock });
  const buckets = { changes: createBuckets(), counts: createBuckets() };

  async function describe(
    hosted: readonly { readonly address: DirectAddress; readonly status: AddressStatus }[],
  ): Promise<readonly ProvisionedAddress[]> {
    const addresses = hosted.map(({ address }) => address);
    const records = await findHostedRecords(storage, addresses.map(addressKey));
    const proofings = await trust.findProofings(addresses);
    const forwardings = await trust.findForwardings(addresses);
    return hosted.map(({ address, status }) => {
      const record = records.get(addressKey(address));
      return {
        directAddress: address,
        status,
        directory: record === undefined ? null : toEntry(record),
        proofing: proofings.get(addressKey(address)) ?? null,
        forwarding: forwardings.get(addressKey(address)) ?? null,
      };
    });
  }

  async function get(caller: ProvisioningCaller, text: string): Promise<ProvisionedAddress> {
    const address = findDirectAddress(text);
    if (address === undefined) throw unknown();
    const owners = await storage.transaction((tx: AnyTransaction) =>
      ownership.findOwnersIn(tx, [domainOf(address)]),
    );
    if (owners.get(domainOf(address)) !== caller.organizationId) throw unknown();
    const found = await trust.findAddress(address);
    const [described] = found === undefined ? [] : await describe([found]);
    if (described === undefined) throw unknown();
    return described;
  }

  async function apply(
    caller: ProvisioningCaller,
    changes: readonly (AddressChange & { readonly directAddress: string })[],
    { isRowByRow = false, isDryRun = false }: ProvisioningMode,
  ): Promise<{ readonly results: readonly Result[]; readonly isStored: boolean }> {
    const { clientId, organizationId } = caller;
    const request = requestOf(caller);
    const audit = deps.audit.as(clientId, request);
    const acting = trust.as(clientId, request);
    const entries = await createHostedEntries({ ...deps, audit }, deps.gazetteer);
    const results = changes.map((): Result => ({ outcome: 'unchanged', warnings: [], problems: [] }));
    const resultAt = (position: number): Result => results[position] as Result;
    const positions = new Map<string, number>();
    const checked = changes.flatMap((change, position): CheckedChange[] => {
      const { warnings, problems } = resultAt(position);
      const address = findDirectAddress(change.directAddress);
      if (address === undefined) {
        problems.push(problem('directAddress', 'invalid', 'Not a Direct address (local@domain).'));
        return [];
      }
      const earlier = positions.get(addressKey(address));
      if (earlier !== undefined)
        problems.push(problem('directAddress', 'duplicate', `The same address as addresses[${earlier}].`));
      else positions.set(addressKey(address), position);
      let entry: PreparedEntry | undefined;
      try {
        if (change.directory !== undefined && change.directory !== null)
          entry = entries.prepare({ directAddress: address, ...change.directory });
        warnings.push(...(entry?.warnings ?? []).map(toWarning));
      } catch (error) {
        if (errorCode(error) !== 'DIRECTORY_RECORD_INVALID') throw error;
        const text = errorText(error);
        problems.push(problem(text.includes('NPI') ? 'directory.npi' : 'directory', 'invalid', text));
      }
      const proofing =
        change.proofing === undefined || change.proofing === null
          ? undefined
          : { expires: '', reference: '', ...change.proofing };
      const fault = proofing && findProofingFault(proofing, clock.now());
      if (fault !== undefined)
        problems.push(
          problem(`proofing.${fault.field}`, 'invalid', `proofing.${fault.field}: ${fault.text}`),
        );
      return problems.length > 0 ? [] : [{ position, address, change, entry, proofing }];
    });
    const { isStored, kept: told } = await storage.transaction(async (tx: AnyTransaction) => {
      // Until the end no domain moves to another organization.
      await ownership.lockIn(tx, organizationId);
      const owners = await ownership.findOwnersIn(
        tx,
        checked.map(({ address }) => domainOf(address)),
      );
      const own = checked.filter(({ address, position }) => {
        const isOwn = owners.get(domainOf(address)) === organizationId;
        if (!isOwn)
          resultAt(position).problems.push(
            problem('directAddress', 'not_found', 'Not in a domain of your organization.'),
          );
        return isOwn;
      });
      const before = await trust.findStatusesIn(
        tx,
        own.map(({ address }) => address),
      );
      const planned = own.map((row) => ({
        ...row,
        status: row.change.status ?? before.get(addressKey(row.address)) ?? ('active' as const),
      }));
      const beyond = await trust.findBeyondLimitsIn(tx, planned, !isRowByRow);
      const kept = planned.filter(({ position }, index) => {
        const text = beyond.get(index);
        if (text !== undefined) resultAt(position).problems.push(problem('status', 'limit', text));
        return text === undefined;
      });
      for (const result of results) if (result.problems.length > 0) result.outcome = 'refused';
      const isRefused = !isRowByRow && results.some(({ outcome }) => outcome === 'refused');
      const isDry = isDryRun || isRefused;
      const listed = kept.flatMap(({ position, address, change, status, entry }) => {
        if (status === 'active' && change.directory === undefined) return [];
        if (status === 'disabled' && entry !== undefined)
          resultAt(position).warnings.push(
            problem(
              'directory',
              'not_stored',
              'Not stored, because the address is disabled. Give it when you enable the address.',
            ),
          );
        return [
          {
            position,
            addressKey: addressKey(address),
            entry: status === 'disabled' ? undefined : entry,
          },
        ];
      });
      const proofed = kept.filter(({ change }) => change.proofing !== undefined);
      const listings = listed.length === 0 ? [] : await entries.storeIn(tx, listed, isDry);
      const outcomes = await (await acting.prepareAddresses(kept)).storeIn(tx, isDry);
      const proofings = await acting.storeProofingsIn(tx, proofed, isDry);
      for (const [index, { position }] of kept.entries())
        resultAt(position).outcome = outcomes[index] ?? 'unchanged';
      const changed = [
        ...listed.filter((_row, index) => listings[index] === true),
        ...proofed.filter((_row, index) => proofings[index] === true),
      ];
      for (const { position } of changed) {
        const result = resultAt(position);
        if (result.outcome === 'unchanged') result.outcome = 'changed';
      }
      return { isStored: !isDry, kept };
    });
    // What the directory has of other addresses is not the caller's to know.
    const owners = await entries.warnOfOwners(
      told.map(({ address, entry }) => ({ addressKey: addressKey(address), entry })),
    );
    for (const { address, position, change } of told) {
      const warnings = [
        findNameWarning(address, change.directory ?? {}, deps.findNames),
        owners.get(addressKey(address)),
      ];
      resultAt(position).warnings.push(
        ...warnings.flatMap((text) => (text === undefined ? [] : toWarning(text))),
      );
    }
    const reasons = new Set(results.flatMap(({ problems }) => problems.map(({ reason }) => reason)));
    if (reasons.size > 0)
      await audit.record({
        action: 'address.refuse',
        actor: 'operator',
        outcome: 'refused',
        objects: {
          count: results.filter(({ outcome }) => outcome === 'refused').length,
          reason: [...reasons].sort().join(' '),
        },
      });
    return { results, isStored };
  }

  return {
    async list({ organizationId }, { domain, status, limit = usualPage, cursor }) {
      const size = Math.min(limit, maxPage);
      const found = await trust.listOwned(organizationId, {
        domain,
        status,
        after: cursor === undefined ? undefined : readCursor(cursor),
        limit: size + 1,
      });
      const page = found.slice(0, size);
      const last = page.at(-1);
      return {
        addresses: await describe(page),
        nextCursor: found.length > size && last !== undefined ? writeCursor(last.address) : undefined,
      };
    },
    get,
    async put(caller, directAddress, change) {
      const { results } = await apply(caller, [{ ...change, directAddress }], {});
      const [{ outcome, warnings, problems } = { outcome: 'refused' as const, warnings: [], problems: [] }] =
        results;
      if (problems.some(({ reason }) => reason === 'not_found')) throw unknown();
      refuse(problems);
      return { directAddress, outcome, warnings, problems };
    },
    async putAll(caller, changes, mode) {
      const { results, isStored } = await apply(caller, changes, mode);
      if (mode.isRowByRow !== true)
        refuse(
          results.flatMap(({ problems }, position) =>
            problems.map((one) => ({ ...one, field: `addresses[${position}].${one.field}` })),
          ),
        );
      return {
        rows: results.map((result, position) => ({
          directAddress: changes[position]?.directAddress ?? '',
          ...result,
        })),
        isStored,
      };
    },
    async putForwarding(caller, text, given) {
      const { directAddress } = await get(caller, text);
      const { clientId, organizationId } = caller;
      const forwarding = given === null ? undefined : readForwarding(given);
      try {
        await trust.as(clientId, requestOf(caller)).setForwarding(directAddress, forwarding, organizationId);
      } catch (error) {
        // It went to another organization meanwhile.
        throw errorCode(error) === 'TRUST_ADDRESS_UNKNOWN' ? unknown() : error;
      }
      return get(caller, directAddress);
    },
    async findOrganization({ organizationId }) {
      const organization = await ownership.find(organizationId);
      if (organization === undefined)
        throw new OrganizationsError('ORGANIZATION_UNKNOWN', `there is no organization ${organizationId}`);
      const domains = await ownership.listDomains(organizationId);
      const counts = await trust.countActiveAddresses(organizationId);
      return {
        id: organization.id,
        name: organization.name,
        limits: organization.limits,
        domains: domains.toSorted(),
        activeAddresses: counts.get(organizationId) ?? 0,
      };
    },
    limit({ clientId }, what, report) {
      const rateLimit = buckets[what].take(clientId);
      report(rateLimit);
      if (!rateLimit.allowed)
        throw new HostingError(
          'HOSTING_RATE_LIMITED',
          `client ${clientId} sends too many requests: ${what}`,
          {
            retryAfterSeconds: rateLimit.retryAfterSeconds,
          },
        );
    },
  };
}

/** For the audit trail. */
function requestOf({
  requestId,
  remoteAddress,
}: ProvisioningCaller): Pick<ProvisioningCaller, 'requestId' | 'remoteAddress'> {
  return {
    ...(requestId !== undefined && { requestId }),
    ...(remoteAddress !== undefined && { remoteAddress }),
  };
}

/** Throws HOSTING_ADDRESSES_REFUSED. */
function readForwarding({ deliverTo, keepsCopy = false, from, until }: ForwardingInput): Forwarding {
  const problems: FieldProblem[] = [];
  const addresses = deliverTo.flatMap((text, position) => {
    const address = findDirectAddress(text);
    if (address === undefined)
      problems.push(problem(`deliverTo[${position}]`, 'invalid', 'Not a Direct address (local@domain).'));
    return address ?? [];
  });
  const readTime = (field: string, text: string | undefined): Date | undefined => {
    if (text === undefined) return undefined;
    const at = readInstant(text);
    if (at === undefined)
      problems.push(problem(field, 'invalid', 'Not a time with its zone such as 2026-12-20T08:00:00Z.'));
    return at;
  };
  const bounds = { from: readTime('from', from), until: readTime('until', until) };
  refuse(problems);
  return {
    deliverTo: addresses,
    keepsCopy,
    ...(bounds.from !== undefined && { from: bounds.from }),
    ...(bounds.until !== undefined && { until: bounds.until }),
  };
}

/** More problems than this say no more. */
const maxProblems = 100;

/** Throws HOSTING_ADDRESSES_REFUSED, or ORGANIZATION_ADDRESSES_FULL if nothing else is wrong. */
function refuse(problems: readonly FieldProblem[]): void {
  const [first] = problems;
  if (first === undefined) return;
  const text = `${first.field}: ${first.detail}`;
  const shown = { problems: problems.slice(0, maxProblems), publicMessage: first.detail };
  if (problems.every(({ reason }) => reason === 'limit'))
    throw new OrganizationsError('ORGANIZATION_ADDRESSES_FULL', text, shown);
  throw new HostingError('HOSTING_ADDRESSES_REFUSED', text, shown);
}

function toEntry(record: Partial<Record<string, string>>): ProvisionedEntry {
  return Object.fromEntries(
    entryFields.flatMap((field) => {
      const value = record[field] ?? '';
      return value === '' ? [] : [[field, value]];
    }),
  );
}

const writeCursor = (address: DirectAddress): string =>
  Buffer.from(addressKey(address)).toString('base64url');

/** Throws HOSTING_ADDRESSES_REFUSED. */
function readCursor(cursor: string): string {
  const address = findDirectAddress(Buffer.from(cursor, 'base64url').toString());
  if (address !== undefined && writeCursor(address) === cursor) return addressKey(address);
  const fault = problem('cursor', 'invalid', 'Invalid cursor.');
  throw new HostingError('HOSTING_ADDRESSES_REFUSED', fault.detail, { problems: [fault] });
}
