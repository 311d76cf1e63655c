import type { Readable } from 'node:stream';
import { errorText, type Clock } from '../../core/index.ts';
import type { Gazetteer } from '../../lib/geo/index.ts';
import { addressKey, domainOf, findDirectAddress, type DirectAddress } from '../../lib/values/index.ts';
import type { AnyTransaction, Storage } from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import { findNameWarning, type FindNames } from './check-names.ts';
import {
  createHostedEntries,
  findRowFault,
  isUnnamedEnd,
  openTable,
  type CsvRow,
  type HostedEntries,
  type HostedRecord,
  type OpenTable,
  type PreparedEntry,
} from '../directory/index.ts';
import {
  findProofingFault,
  type AddressStatus,
  type PreparedAddresses,
  type Proofing,
  type Trust,
} from '../trust/index.ts';

export type ImportOutcome = 'added' | 'changed' | 'unchanged' | 'refused';

/** The result of one row of the file. */
export interface ImportedRow {
  /** The number of its line in the file. */
  readonly line: number;
  readonly address: string;
  readonly outcome: ImportOutcome;
  /** Why it is refused, or warnings about values that were left out or changed. */
  readonly text: string;
}

export interface AddressImport {
  readonly rows: readonly ImportedRow[];
  readonly counts: Readonly<Record<ImportOutcome, number>>;
  /** What too many addresses would lose; stored only if that is accepted. */
  readonly loss?: string;
  /** False for a dry run, and if a refused row stopped an import of all or nothing, or a loss one. */
  readonly isStored: boolean;
}

export interface ImportDependencies {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly trust: Pick<
    Trust,
    | 'isHostedDomain'
    | 'findOwners'
    | 'lockOwnedIn'
    | 'prepareAddresses'
    | 'countActiveAddresses'
    | 'storeProofingsIn'
    | 'findBeyondLimitsIn'
  >;
  readonly gazetteer: Gazetteer;
  /** For warnings about names; without it there are none. */
  readonly findNames?: FindNames | undefined;
}

export interface ImportOptions {
  /** Checks and reports, and stores nothing. */
  readonly isDryRun?: boolean;
  /** Good rows are stored although others are refused; otherwise one refused row stops all. */
  readonly isRowByRow?: boolean;
  /** The report was seen: what would be lost may go. */
  readonly acceptLoss?: boolean;
  /** Whose domains alone may be meant, until the rows are stored. */
  readonly organizationId?: string | undefined;
}

/** Rows of one file, all of which are held in memory. */
const maxRows = 100_000;
/** Rows of one transaction that stores row by row: others wait for it on SQLite. */
const rowsAtOnce = 1_000;

/** Columns of the file and their fields; `address` alone is required. */
const columns = {
  npi: 'npi',
  first_name: 'firstName',
  middle_name: 'middleName',
  last_name: 'lastName',
  suffix: 'suffix',
  organization: 'organization',
  specialty: 'specialty',
  street: 'street',
  city: 'city',
  state: 'state',
  zip: 'zip',
  phone: 'phone',
} as const satisfies Readonly<Record<string, keyof HostedRecord>>;

export type EntryField = (typeof columns)[keyof typeof columns];
export const entryFields: readonly EntryField[] = Object.values(columns);

/** Columns of the record of identity proofing; without any of them, stored records stay. */
const proofingColumns = {
  proofing_level: 'level',
  proofing_method: 'method',
  proofing_date: 'date',
  proofing_expires: 'expires',
  proofing_verifier: 'verifier',
  proofing_reference: 'reference',
} as const satisfies Readonly<Record<string, keyof Proofing>>;

const columnNames = ['address', 'status', 'listed', ...Object.keys(columns), ...Object.keys(proofingColumns)];

interface Planned {
  readonly line: number;
  readonly address: DirectAddress;
  readonly status: AddressStatus;
  /** Undefined: not listed in the directory. */
  readonly entry: PreparedEntry | undefined;
  /** Undefined: none, so that a stored one is removed. */
  readonly proofing: Proofing | undefined;
  readonly warnings: readonly string[];
}

/**
 * Imports a CSV with a header: `address`, and optionally `status` (active or disabled), `listed` (yes or no),
 * the fields of the directory entry, and the record of identity proofing. The same file again changes
 * nothing. Throws DIRECTORY_FILE_BROKEN, RangeError for a column that is unknown or missing and for too many
 * rows, and TRUST_DOMAIN_UNKNOWN if a domain was removed or moved away meanwhile.
 */
export async function importAddresses(
  deps: ImportDependencies,
  file: Readable,
  { isDryRun = false, isRowByRow = false, acceptLoss = false, organizationId }: ImportOptions = {},
): Promise<AddressImport> {
  const entries = await createHostedEntries(deps, deps.gazetteer);
  const plan = await readPlan(deps, entries, file);
  const beyond = await deps.storage.transaction((tx: AnyTransaction) =>
    deps.trust.findBeyondLimitsIn(tx, plan.planned, !isRowByRow),
  );
  const planned = plan.planned.filter((_row, position) => !beyond.has(position));
  const refused = [
    ...plan.refused,
    ...plan.planned.flatMap(({ line, address }, position): ImportedRow[] => {
      const text = beyond.get(position);
      return text === undefined ? [] : [{ line, address, outcome: 'refused', text: `address: ${text}` }];
    }),
  ];
  const { hasProofing } = plan;
  const loss = await findLoss(deps, entries, planned);
  const isStopped = (refused.length > 0 && !isRowByRow) || (loss !== undefined && !acceptLoss);
  const outcomes = new Map<number, ImportOutcome>();
  const batches = isRowByRow ? inBatches(planned) : [planned];
  for (const batch of batches) {
    const addresses = await deps.trust.prepareAddresses(batch);
    const apply = async (tx: AnyTransaction, dry: boolean): Promise<void> => {
      if (organizationId !== undefined)
        await deps.trust.lockOwnedIn(
          tx,
          organizationId,
          batch.map(({ address }) => domainOf(address)),
        );
      const entryOutcomes = await entries.storeIn(
        tx,
        batch.map(({ address, entry }) => ({ addressKey: addressKey(address), entry })),
        dry,
      );
      const addressOutcomes = await addresses.storeIn(tx, dry);
      const proofingOutcomes = hasProofing ? await deps.trust.storeProofingsIn(tx, batch, dry) : [];
      batch.forEach(({ line }, index) =>
        outcomes.set(
          line,
          join(
            addressOutcomes[index] ?? 'unchanged',
            entryOutcomes[index] === true || proofingOutcomes[index] === true,
          ),
        ),
      );
    };
    await deps.storage.transaction((tx: AnyTransaction) => apply(tx, isDryRun || isStopped));
  }
  const owners = await entries.warnOfOwners(
    planned.map(({ address, entry }) => ({ addressKey: addressKey(address), entry })),
  );
  const rows = [
    ...refused,
    ...planned.map(({ line, address, warnings }) => ({
      line,
      address,
      outcome: outcomes.get(line) ?? 'unchanged',
      text: [...warnings, ...[owners.get(addressKey(address)) ?? []].flat()].join(' '),
    })),
  ].toSorted((one, other) => one.line - other.line);
  const count = (outcome: ImportOutcome): number => rows.filter((row) => row.outcome === outcome).length;
  return {
    rows,
    counts: {
      added: count('added'),
      changed: count('changed'),
      unchanged: count('unchanged'),
      refused: count('refused'),
    },
    ...(loss !== undefined && { loss }),
    isStored: !isDryRun && !isStopped,
  };
}

/** Fewer addresses may always lose something. */
const fewestLost = 100;
/**
 * Part of the active addresses of the organizations in the file that may be disabled, and of their listed
 * ones that may lose something else. What others have neither allows more nor is told.
 */
const usualLostShare = 0.1;

/**
 * What a damaged file would take from too many addresses, as loads of a directory are checked (Decision
 * 0008): a column that is missing, or an export that says `disabled` or `no` in every row.
 */
async function findLoss(
  { storage, trust }: ImportDependencies,
  entries: HostedEntries,
  planned: readonly Planned[],
): Promise<string | undefined> {
  if (planned.length < fewestLost) return undefined;
  const owners = await trust.findOwners();
  const organizations = new Set(planned.flatMap(({ address }) => owners.get(domainOf(address)) ?? []));
  // All are removed meanwhile, which storing them refuses.
  if (organizations.size === 0) return undefined;
  const { listed, unlisted, blanked } = await entries.findLosses(
    planned.map(({ address, entry }) => ({ addressKey: addressKey(address), entry })),
    [...organizations],
  );
  const disabling = await trust.prepareAddresses(planned.filter(({ status }) => status === 'disabled'));
  const outcomes = await storage.transaction((tx: AnyTransaction) => disabling.storeIn(tx, true));
  const counts = await trust.countActiveAddresses();
  const active = [...organizations].reduce((sum, id) => sum + (counts.get(id) ?? 0), 0);
  const disabled = outcomes.filter((outcome) => outcome === 'changed').length;
  const [worst] = [
    { count: disabled, of: active, text: 'addresses would be disabled' },
    { count: unlisted, of: listed, text: 'addresses would leave the directory' },
    ...[...blanked].map(([field, count]) => ({
      count,
      of: listed,
      text: `entries would lose their ${columnOf(field)}`,
    })),
  ]
    .filter(({ count, of }) => count >= fewestLost && count > of * usualLostShare)
    .toSorted((one, other) => other.count - one.count);
  return worst && `${worst.count} ${worst.text}`;
}

/** `lastName` is the column `last_name`. */
function columnOf(field: string): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

type AddressOutcome = Awaited<ReturnType<PreparedAddresses['storeIn']>>[number];

const join = (address: AddressOutcome, isRestChanged: boolean): ImportOutcome =>
  address === 'unchanged' && isRestChanged ? 'changed' : address;

function* inBatches(planned: readonly Planned[]): Iterable<readonly Planned[]> {
  for (let start = 0; start < planned.length; start += rowsAtOnce)
    yield planned.slice(start, start + rowsAtOnce);
}

async function readPlan(
  { trust, clock, findNames }: ImportDependencies,
  entries: HostedEntries,
  file: Readable,
): Promise<{
  readonly planned: readonly Planned[];
  readonly refused: readonly ImportedRow[];
  readonly hasProofing: boolean;
}> {
  const table = await openTable(file);
  const names = table.header.map(columnNameOf);
  checkHeader(names);
  const planned: Planned[] = [];
  const refused: ImportedRow[] = [];
  const lines = new Map<string, number>();
  for await (const portion of table.rows(names.map(() => true)))
    for (const csvRow of portion) {
      const { line, fields } = csvRow;
      const row = new Map(names.map((name, index) => [name, (fields[index] ?? '').trim()]));
      if (csvRow.isMisquoted !== true && fields.every((field) => field.trim() === '')) continue;
      if (planned.length + refused.length >= maxRows)
        throw new RangeError(`The file has more than ${maxRows} rows. Cut it into several.`);
      const text = row.get('address') ?? '';
      const problem = findFault(csvRow, table);
      const result =
        problem ?? (await planRow(trust, entries, { line, row, lines, now: clock.now(), findNames }));
      if (typeof result === 'string') refused.push({ line, address: text, outcome: 'refused', text: result });
      else planned.push(result);
    }
  return { planned, refused, hasProofing: names.some((name) => name in proofingColumns) };
}

/** The name of the column as it is documented, or as it came; upper case, blanks and _ do not matter. */
function columnNameOf(written: string): string {
  const bare = written.replaceAll('_', '');
  return columnNames.find((name) => name.replaceAll('_', '') === bare) ?? written;
}

/** Columns without a name at the end, as spreadsheets leave them, may be there. */
function checkHeader(names: readonly string[]): void {
  const named = names.filter((_, column) => !isUnnamedEnd(names, column));
  const unknown = named.find((name) => !columnNames.includes(name));
  if (unknown !== undefined)
    throw new RangeError(`Unknown column: ${unknown === '' ? '(empty)' : unknown}. ${columnHelp}`);
  if (!names.includes('address')) throw new RangeError(`The column address is missing. ${columnHelp}`);
  const repeated = named.find((name, column) => named.indexOf(name) < column);
  if (repeated !== undefined) throw new RangeError(`The column ${repeated} is there twice.`);
}

const columnHelp = `The columns are ${columnNames.join(', ')}; upper case, blanks and _ do not matter.`;

/** Why nothing of the row can be read. */
function findFault(row: CsvRow, table: OpenTable): string | undefined {
  const { header } = table;
  const fault = findRowFault(row, table);
  if (fault === 'quoting') return 'Quotes are out of place.';
  if (row.fields.length !== header.length)
    return `It has ${row.fields.length} fields, and the header ${header.length}.`;
  if (row.fields.some((text, column) => text.trim() !== '' && isUnnamedEnd(header, column)))
    return 'It has a value in a column without a name. Remove that column, or the value.';
  if (row.fields.some((text) => text.includes('\ufffd')))
    return 'The text is not UTF-8: save the file again as "CSV UTF-8".';
  return undefined;
}

/** Undefined if the row has none. */
function readProofing(row: ReadonlyMap<string, string>): Proofing | undefined {
  const texts = Object.entries(proofingColumns).map(([name, field]) => [field, row.get(name) ?? ''] as const);
  if (texts.every(([, text]) => text === '')) return undefined;
  return Object.fromEntries(texts) as Record<keyof Proofing, string>;
}

/** The row as it would be stored, or why it is refused. */
async function planRow(
  trust: Pick<Trust, 'isHostedDomain'>,
  entries: HostedEntries,
  {
    line,
    row,
    lines,
    now,
    findNames,
  }: {
    readonly line: number;
    readonly row: ReadonlyMap<string, string>;
    readonly lines: Map<string, number>;
    readonly now: Date;
    readonly findNames: FindNames | undefined;
  },
): Promise<Planned | string> {
  const text = row.get('address') ?? '';
  const address = findDirectAddress(text);
  if (address === undefined)
    return text === '' ? 'address: missing.' : 'address: not a Direct address (local@domain).';
  if (!(await trust.isHostedDomain(domainOf(address))))
    return `address: ${domainOf(address)} is not a hosted domain.`;
  const earlier = lines.get(addressKey(address));
  if (earlier !== undefined) return `address: also in line ${earlier}.`;
  lines.set(addressKey(address), line);
  const status = (row.get('status') ?? '').toLowerCase() || 'active';
  if (status !== 'active' && status !== 'disabled') return 'status: neither active nor disabled.';
  const listed = (row.get('listed') ?? '').toLowerCase() || 'yes';
  if (listed !== 'yes' && listed !== 'no') return 'listed: neither yes nor no.';
  const proofing = readProofing(row);
  const fault = proofing === undefined ? undefined : findProofingFault(proofing, now);
  if (fault !== undefined) return `proofing_${fault.field}: ${fault.text}`;
  if (status === 'disabled' || listed === 'no')
    return { line, address, status, entry: undefined, proofing, warnings: [] };
  const texts = Object.entries(columns).flatMap(([name, field]) => {
    const value = row.get(name) ?? '';
    return value === '' ? [] : [[field, value] as const];
  });
  try {
    const record: HostedRecord = { directAddress: address, ...Object.fromEntries(texts) };
    const entry = entries.prepare(record);
    const warnings = [...entry.warnings, ...[findNameWarning(address, record, findNames) ?? []].flat()];
    return { line, address, status, entry, proofing, warnings };
  } catch (error) {
    return errorText(error);
  }
}
