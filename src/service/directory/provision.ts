import { errorCode } from '../../core/index.ts';
import { textFields, type ProviderRecord, type TextField } from '../../lib/provider-record/index.ts';
import type { Gazetteer } from '../../lib/geo/index.ts';
import { addressKey, parseDirectAddress } from '../../lib/values/index.ts';
import { DirectoryError } from './errors.ts';
import { cellText } from './load/blank-values.ts';
import { createRowChecker } from './load/check-row.ts';
import { createPlaceTable } from './load/place-table.ts';
import { refusalReasons, warningReasons } from './load/row.ts';
import { textOf, textsOf } from './records/record-line.ts';
import type { ActivationContext } from './store/loads.ts';
import { loadState } from './store/state.ts';
import { findNamedOwners } from './sources/named-owners.ts';
import { tablesOf, type AnyTransaction, type Storage } from '../../platform/index.ts';
import {
  findLines,
  findListed,
  findProvisioned,
  removeProvisioned,
  storeProvisioned,
  storeProvisionedIn,
  type ProvisionedRecord,
} from './store/provisioned.ts';

/** An operator's data about a hosted address; everything but the address may be omitted. */
export type HostedRecord = Partial<Omit<ProviderRecord, 'id'>> & Pick<ProviderRecord, 'directAddress'>;

/** Checks the record like a row of a load and fills in its coordinates. Throws DIRECTORY_RECORD_INVALID. */
function provisionedLine(
  record: HostedRecord,
  places: ReturnType<typeof createPlaceTable>,
  warn: (text: string) => void,
): ProvisionedRecord {
  const checked = createRowChecker(places, (reason) => warn(warningReasons[reason])).check({
    line: 0,
    texts: textFields.map((field) => record[field] ?? ''),
    latitude: record.latitude === undefined ? '' : String(record.latitude),
    longitude: record.longitude === undefined ? '' : String(record.longitude),
    key: '',
    action: '',
    isPatient: false,
  });
  if (typeof checked === 'string')
    throw new DirectoryError('DIRECTORY_RECORD_INVALID', refusalReasons[checked]);
  for (const [index, field] of textFields.entries()) {
    const given = record[field]?.trim() ?? '';
    const isNone =
      cellText(given, index) === '' || (isPersonName(field) && textOf(checked.line, field) === '');
    if (given !== '' && isNone)
      warn(`${field}: what was given says that there is no value, and was left out.`);
  }
  return { addressKey: addressKeyOf(record.directAddress.trim()), line: checked.line };
}

/** Blank if both of a person's names are words for no value. */
function isPersonName(field: TextField): boolean {
  return field === 'firstName' || field === 'lastName';
}

/** Throws VALUE_DIRECT_ADDRESS_INVALID. */
function addressKeyOf(directAddress: string): string {
  return addressKey(parseDirectAddress(directAddress));
}

/**
 * Lists (or changes) a hosted address; every server of this database shows it within seconds to a minute.
 * Resolves with warnings, one sentence each, about values that were left out or changed.
 */
export async function listHostedAddress(
  context: ActivationContext,
  record: HostedRecord,
  gazetteer: Gazetteer,
): Promise<readonly string[]> {
  const warnings: string[] = [];
  const entry = provisionedLine(record, createPlaceTable(gazetteer), (text) => warnings.push(text));
  await storeProvisioned(context, entry);
  const unowned = await warnOfOwners(context.storage, [{ addressKey: entry.addressKey, entry }]);
  return [...warnings, ...unowned.values()];
}

/**
 * For entries without an NPI of addresses whose owner a source names: both are served, so the operator is
 * told (Decision 0025). They are stored by then, so a failure of the look-up is a warning, too.
 */
async function warnOfOwners(
  storage: Storage,
  entries: readonly HostedEntry[],
): Promise<ReadonlyMap<string, string>> {
  const unowned = entries.filter(({ entry }) => entry !== undefined && textOf(entry.line, 'npi') === '');
  const keys = unowned.map(({ addressKey: key }) => key);
  let owners;
  try {
    owners = await findNamedOwners(storage, keys);
  } catch (error) {
    const text = `npi: blank, and whether the directory has an NPI for the address could not be looked up (${errorCode(error)}).`;
    return new Map(keys.map((key) => [key, text]));
  }
  return new Map(
    [...owners].map(([key, [first, ...others]]) => [
      key,
      others.length > 0 || first === undefined
        ? `npi: blank, and the directory has ${others.length + 1} NPIs for the address, which stay records next to this one.`
        : `npi: blank, and the directory has the address with NPI ${first.npi} (source ${first.source}), as a second record. Give that NPI here if it is right: this record then stands for both.`,
    ]),
  );
}

interface HostedEntry {
  /** The lower-cased Direct address. */
  readonly addressKey: string;
  readonly entry: Pick<PreparedEntry, 'line'> | undefined;
}

/** Takes a hosted address out of the directory again. True if it was listed. */
export async function unlistHostedAddress(
  context: ActivationContext,
  directAddress: string,
): Promise<boolean> {
  return removeProvisioned(context, addressKeyOf(directAddress));
}

/** The same for many, in the caller's transaction; returns how many were listed. */
export async function prepareUnlisting(
  context: ActivationContext,
): Promise<(tx: AnyTransaction, addressKeys: readonly string[]) => Promise<number>> {
  await loadState(context.storage);
  return async (tx, addressKeys) => {
    const records = addressKeys.map((key) => ({ addressKey: key, line: '' }));
    const isChanged = await storeProvisionedIn(tablesOf(tx), context, records, false);
    return isChanged.filter(Boolean).length;
  };
}

/** The record of a hosted address as it is listed; undefined if it is not. */
export async function findHostedRecord(
  storage: Storage,
  directAddress: string,
): Promise<HostedRecord | undefined> {
  const line = await findProvisioned(storage, addressKeyOf(directAddress));
  if (line === '') return undefined;
  return { ...textsOf(line), directAddress };
}

/** Those of many, by lower-cased address; those that are not listed are absent. */
export async function findHostedRecords(
  storage: Storage,
  addressKeys: readonly string[],
): Promise<ReadonlyMap<string, Partial<Record<TextField, string>>>> {
  const lines = await findLines(storage, addressKeys);
  return new Map([...lines].map(([key, line]) => [key, textsOf(line)]));
}

/** A checked entry of a hosted address. */
export interface PreparedEntry {
  readonly line: string;
  /** One sentence each, about values that were left out or changed. */
  readonly warnings: readonly string[];
}

export interface HostedLosses {
  /** Addresses of the organizations that are listed now, whether they are among the entries or not. */
  readonly listed: number;
  /** Of the entries, those that are listed and would be no more. */
  readonly unlisted: number;
  /** By field, of those that would be listed, how many would have no value any more. */
  readonly blanked: ReadonlyMap<TextField, number>;
}

async function findLosses(
  storage: Storage,
  entries: readonly HostedEntry[],
  organizations: readonly string[],
): Promise<HostedLosses> {
  const { lines, count } = await findListed(
    storage,
    entries.map(({ addressKey: key }) => key),
    organizations,
  );
  const blanked = new Map<TextField, number>();
  let unlisted = 0;
  for (const { addressKey: key, entry } of entries) {
    const before = lines.get(key);
    if (before === undefined) continue;
    if (entry === undefined) unlisted++;
    else
      for (const field of textFields)
        if (textOf(before, field) !== '' && textOf(entry.line, field) === '')
          blanked.set(field, (blanked.get(field) ?? 0) + 1);
  }
  return { listed: count, unlisted, blanked };
}

/** Entries of many hosted addresses. */
export interface HostedEntries {
  /** Throws DIRECTORY_RECORD_INVALID. */
  prepare(record: HostedRecord): PreparedEntry;
  /** What storing them would take from the directory; `organizations` are those of their domains. */
  findLosses(entries: readonly HostedEntry[], organizations: readonly string[]): Promise<HostedLosses>;
  /** By lower-cased address, a warning about an owner that is named elsewhere alone. */
  warnOfOwners(entries: readonly HostedEntry[]): Promise<ReadonlyMap<string, string>>;
  /**
   * Lists them in the caller's transaction, or with `entry` undefined takes them out. Returns for each
   * whether it differs from what was stored; with `isDry` nothing is stored.
   */
  storeIn(tx: AnyTransaction, entries: readonly HostedEntry[], isDry: boolean): Promise<readonly boolean[]>;
}

export async function createHostedEntries(
  context: ActivationContext,
  gazetteer: Gazetteer,
): Promise<HostedEntries> {
  const places = createPlaceTable(gazetteer);
  await loadState(context.storage);
  return {
    prepare(record) {
      const warnings: string[] = [];
      const { line } = provisionedLine(record, places, (text) => warnings.push(text));
      return { line, warnings };
    },
    findLosses: (entries, organizations) => findLosses(context.storage, entries, organizations),
    warnOfOwners: (entries) => warnOfOwners(context.storage, entries),
    storeIn: (tx, entries, isDry) =>
      storeProvisionedIn(
        tablesOf(tx),
        context,
        entries.map(({ addressKey: key, entry }) => ({ addressKey: key, line: entry?.line ?? '' })),
        isDry,
      ),
  };
}
