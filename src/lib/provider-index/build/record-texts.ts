import type { ColumnName } from '../columns.ts';
import type { ProviderRecord } from '../types.ts';
import type { ColumnInput } from './build-columns.ts';
import { createGrowingColumn } from './growing-column.ts';
import { createValueInterner } from './value-interner.ts';

/** Takes the texts of records in and keeps each distinct one once. */
export interface RecordTexts {
  add(record: ProviderRecord): void;
  /** The columns of all records so far; nothing can be added afterwards. */
  finish(): ReadonlyMap<ColumnName, ColumnInput>;
}

// Texts are interned column by column in batches: a column's tables stay in the processor's cache meanwhile.
const batchSize = 512;

interface TextSource {
  readonly waiting: string[];
  intern(count: number): void;
  finish(): ColumnInput;
}

export function createRecordTexts(expectedRecords: number): RecordTexts {
  const plain = (name: ColumnName): TextSource => createTextSource(name, expectedRecords);
  const npi = plain('npi');
  const firstName = plain('firstName');
  const middleName = plain('middleName');
  const lastName = plain('lastName');
  const suffix = plain('suffix');
  const organization = plain('organization');
  const specialty = plain('specialty');
  const street = plain('street');
  const city = plain('city');
  const state = plain('state');
  const zip = plain('zip');
  const phone = plain('phone');
  const addressLocal = createTextSource('addressLocal', expectedRecords, 'up to @');
  const addressDomain = createTextSource('addressDomain', expectedRecords, 'behind @');
  const sources = {
    npi,
    firstName,
    middleName,
    lastName,
    suffix,
    organization,
    specialty,
    street,
    city,
    state,
    zip,
    phone,
    addressLocal,
    addressDomain,
  };
  const all = Object.values(sources);
  let count = 0;

  function internAll(): void {
    for (const source of all) source.intern(count);
    count = 0;
  }

  return {
    // Spelled out, because this runs for each of millions of records.
    add(record) {
      npi.waiting[count] = record.npi;
      firstName.waiting[count] = record.firstName;
      middleName.waiting[count] = record.middleName;
      lastName.waiting[count] = record.lastName;
      suffix.waiting[count] = record.suffix;
      organization.waiting[count] = record.organization;
      specialty.waiting[count] = record.specialty;
      street.waiting[count] = record.street;
      city.waiting[count] = record.city;
      state.waiting[count] = record.state;
      zip.waiting[count] = record.zip;
      phone.waiting[count] = record.phone;
      addressLocal.waiting[count] = record.directAddress;
      addressDomain.waiting[count] = record.directAddress;
      if (++count === batchSize) internAll();
    },
    finish() {
      internAll();
      const columns = Object.entries(sources).map(
        ([name, source]) => [name as ColumnName, source.finish()] as const,
      );
      return new Map(columns);
    },
  };
}

// Where the domain begins: behind the first `@`, or at the end if there is none.
function splitOf(address: string): number {
  const at = address.indexOf('@') + 1;
  return at === 0 ? address.length : at;
}

// Which part of a text the column is made of, as seen from its first `@`.
type Part = 'whole' | 'up to @' | 'behind @';

function createTextSource(name: ColumnName, expectedRecords: number, part: Part = 'whole'): TextSource {
  const interner = createValueInterner();
  const values = createGrowingColumn(expectedRecords);
  const waiting: string[] = Array.from({ length: batchSize }, () => '');
  return {
    waiting,
    intern(count) {
      for (let index = 0; index < count; index++) {
        const text = waiting[index] as string;
        const from = part === 'behind @' ? splitOf(text) : 0;
        const to = part === 'up to @' ? splitOf(text) : text.length;
        values.push(interner.intern(text, from, to));
      }
    },
    finish: () => ({
      name,
      values: { bytes: interner.bytes, offsets: interner.offsets, count: interner.count },
      valueOfRecord: values.values(),
    }),
  };
}
