import type { Clock } from '../../core/index.ts';
import {
  addressKey,
  domainOf,
  findDirectAddress,
  hasNpiCheckDigit,
  isStateCode,
  type DirectAddress,
  type Npi,
} from '../../lib/values/index.ts';
import type { Storage } from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import { patientPolicy, readContribution, type ContributedRecord } from '../directory/index.ts';
import type { DomainKeyPair, Trust } from '../trust/index.ts';

/**
 * Why an address is left out: the categories that the publisher of the aggregated directory reports by, and
 * `FORMAT` for a value that its format does not allow (DIR-02, DIR-03).
 */
export type ContributionCode = 'BAORG' | 'MISSENT' | 'MISSCERT' | 'PUBPATAD' | 'ENDPTVER' | 'FORMAT';

/** One row of the report. */
export interface ContributionRow {
  readonly address: string;
  readonly outcome: 'written' | 'removed' | 'left-out';
  /** Why it is left out; empty otherwise. */
  readonly codes: readonly ContributionCode[];
  /** The same in words, and what was written otherwise than it is stored. */
  readonly text: string;
}

export interface ContributionOptions {
  /** The name of this HISP in each row. */
  readonly hispOperator: string;
  /** Only what changed since, with a column `action`; otherwise everything that is listed. */
  readonly since?: Date | undefined;
  /** Takes the file in portions of whole lines. */
  readonly write: (text: string) => Promise<void>;
  readonly report: (rows: readonly ContributionRow[]) => Promise<void>;
}

export interface ContributionDependencies {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly trust: Pick<Trust, 'findAddress' | 'listDomainKeys' | 'isHostedDomain'>;
}

export type ContributionCounts = Readonly<Record<ContributionRow['outcome'], number>>;

type Texts = NonNullable<ContributedRecord['texts']>;

/** Columns that a record fills (DIR-01); an NPI without a person is the organization's. */
const columns: readonly (readonly [name: string, value: (texts: Texts) => string])[] = [
  ['service_direct_address', (texts) => texts.directAddress],
  ['provider_npi', (texts) => (isPerson(texts) ? texts.npi : '')],
  ['provider_first_name', (texts) => texts.firstName],
  ['provider_middle_name', (texts) => texts.middleName],
  ['provider_last_name', (texts) => texts.lastName],
  ['provider_suffix', (texts) => texts.suffix],
  ['provider_specialty', (texts) => (isPerson(texts) ? texts.specialty : '')],
  ['organization_npi', (texts) => (isPerson(texts) ? '' : texts.npi)],
  ['organization_name', (texts) => texts.organization],
  ['organization_address_line_1', (texts) => texts.street],
  ['organization_city', (texts) => texts.city],
  ['organization_state', (texts) => texts.state],
  ['organization_postal_code', (texts) => texts.zip],
  ['organization_phone', (texts) => texts.phone],
  ['organization_specialty', (texts) => (isPerson(texts) ? '' : texts.specialty)],
];

/**
 * Writes the listed addresses of this HISP as the aggregated directory takes them: CSV in ASCII, one row for
 * each address. A row that fails a published check is left out and reported. The file is what
 * `importDirectory` reads without a refusal.
 */
export async function contributeAddresses(
  { storage, clock, audit, trust }: ContributionDependencies,
  { hispOperator, since, write, report }: ContributionOptions,
): Promise<ContributionCounts> {
  const now = clock.now();
  const keysOf = cacheOf((domain: string) => trust.listDomainKeys(domain));
  const isOurs = cacheOf((domain: string) => trust.isHostedDomain(domain));
  const counts = { written: 0, removed: 0, 'left-out': 0 };
  const actionColumn = since === undefined ? [] : ['action'];
  const header = ['hisp_operator', ...columns.map(([name]) => name), ...actionColumn];
  await write(lineOf(header));

  async function examine(address: DirectAddress, stored: Texts) {
    const { texts, notes, faults } = prepareTexts(stored);
    const domain = domainOf(address);
    const findings: Finding[] = [...faults];
    if (texts.organization === '') findings.push(['BAORG', 'The organization has no name.']);
    if (texts.organization === '' && texts.lastName === '')
      findings.push(['MISSENT', 'Neither a person nor an organization is named.']);
    const isActive = (await isOurs(domain)) && (await trust.findAddress(address))?.status === 'active';
    if (!isActive) findings.push(['ENDPTVER', 'It is not an active address here: its mail is refused.']);
    const published = publishedFor(address, await keysOf(domain), now);
    if (published.length === 0) findings.push(['MISSCERT', 'It has no valid certificate to encrypt to.']);
    if (published.some(({ certificate }) => certificate.policyOids.includes(patientPolicy)))
      findings.push(['PUBPATAD', 'Its certificate is that of a patient.']);
    return { texts, notes, findings };
  }

  for await (const records of readContribution(storage, since)) {
    const lines: string[] = [];
    const rows: ContributionRow[] = [];
    const remove = (key: string, npi: string): void => {
      const kept = new Map([
        ['service_direct_address', key],
        // Our own import finds a record by its address and its NPI, the provider's first.
        ['provider_npi', npi],
      ]);
      const blank = columns.map(([name]) => kept.get(name) ?? '');
      lines.push(lineOf([toAscii(hispOperator), ...blank, 'remove']));
    };
    for (const { addressKey: key, texts: stored, removedNpis } of records) {
      const address = findDirectAddress(stored?.directAddress ?? key);
      if (address === undefined) continue;
      for (const npi of removedNpis) {
        remove(key, npi);
        const text = stored === undefined ? '' : 'Its former NPI.';
        rows.push({ address: addressKey(address), outcome: 'removed', codes: [], text });
      }
      if (stored === undefined) continue;
      const { texts, notes, findings } = await examine(address, stored);
      const isGood = findings.length === 0;
      const action = since === undefined ? [] : ['change'];
      if (isGood)
        lines.push(lineOf([toAscii(hispOperator), ...columns.map(([, value]) => value(texts)), ...action]));
      // It may have been good before.
      else if (since !== undefined) remove(key, stored.npi);
      rows.push({
        address,
        outcome: isGood ? 'written' : 'left-out',
        codes: [...new Set(findings.map(([code]) => code))],
        text: [...findings.map(([, text]) => text), ...notes].join(' '),
      });
    }
    await write(lines.join(''));
    await report(rows);
    for (const { outcome } of rows) counts[outcome] += 1;
  }
  await audit.record({
    action: 'directory.contribute',
    actor: 'operator',
    outcome: 'ok',
    objects: {
      ...(since !== undefined && { since: since.toISOString() }),
      written: String(counts.written),
      removed: String(counts.removed),
      leftOut: String(counts['left-out']),
    },
  });
  return counts;
}

type Finding = readonly [code: ContributionCode, text: string];

function isPerson({ firstName, lastName }: Texts): boolean {
  return firstName !== '' || lastName !== '';
}

/** Its own, or else those of its domain, as peers find them. */
function publishedFor(address: DirectAddress, keys: readonly DomainKeyPair[], now: Date) {
  const valid = keys.filter(
    ({ status, uses, certificate }) =>
      status === 'active' &&
      uses.includes('encryption') &&
      certificate.notBefore <= now &&
      now <= certificate.notAfter,
  );
  const own = valid.filter(({ owner }) => owner === addressKey(address));
  return own.length > 0 ? own : valid.filter(({ owner }) => owner === domainOf(address));
}

/** Names begin with a letter or digit, and so does every text: no program takes it for a formula. */
const plainText = /^[A-Za-z0-9#("'][\x20-\x7e]*$/;
const zipForm = /^\d{5}(?:-\d{4})?$/;
const names = ['firstName', 'middleName', 'lastName', 'suffix', 'organization'] as const;
const others = ['specialty', 'street', 'city'] as const;

function prepareTexts(stored: Texts) {
  const notes: string[] = [];
  const faults: Finding[] = [];
  const texts = { ...stored };
  for (const field of [...names, ...others]) {
    const text = toAscii(stored[field]);
    if (text !== stored[field]) notes.push(`${field} is written in ASCII.`);
    texts[field] = text;
    if (text === '') continue;
    if (!plainText.test(text))
      faults.push(['FORMAT', `${field} does not begin with a letter or digit, or is not ASCII.`]);
    else if (names.some((name) => name === field) && !/[A-Za-z]/.test(text))
      faults.push(['FORMAT', `${field} has no letter.`]);
  }
  if (texts.state !== '' && !isStateCode(texts.state))
    faults.push(['FORMAT', 'state is not a two-letter code.']);
  if (texts.zip !== '' && !zipForm.test(texts.zip))
    faults.push(['FORMAT', 'zip is not ##### or #####-####.']);
  if (texts.npi !== '' && !hasNpiCheckDigit(texts.npi as Npi))
    faults.push(['FORMAT', 'npi has a wrong check digit.']);
  if (!/^[\x21-\x7e]+$/.test(texts.directAddress)) faults.push(['FORMAT', 'The address is not ASCII.']);
  if (texts.phone !== '') {
    const phone = toE164(texts.phone);
    if (phone === undefined) faults.push(['FORMAT', 'phone is not a telephone number of ten digits.']);
    else texts.phone = phone;
  }
  return { texts, notes, faults };
}

/** Letters without their accents, typographic signs as plain ones; the rest stays, and is refused. */
function toAscii(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[\u2018\u2019\u02bc]/g, "'")
    .replaceAll(/[\u201c\u201d]/g, '"')
    .replaceAll(/[\u2010-\u2015\u2212]/g, '-')
    .replaceAll('ß', 'ss')
    .replaceAll(/[æÆ]/g, (one) => (one === 'æ' ? 'ae' : 'Ae'))
    .replaceAll(/[øØ]/g, (one) => (one === 'ø' ? 'o' : 'O'))
    .replaceAll(/[łŁ]/g, (one) => (one === 'ł' ? 'l' : 'L'));
}

/** `+1` and ten digits; undefined for anything else. An extension has no place in it. */
function toE164(phone: string): string | undefined {
  if (!/^\+?[\d\s().-]+$/.test(phone)) return undefined;
  const digits = phone.replaceAll(/\D/g, '').replace(/^1(?=\d{10}$)/, '');
  return /^[2-9]\d{9}$/.test(digits) ? `+1${digits}` : undefined;
}

/** RFC 4180. A telephone number begins with a plus, so nothing is put in front of one. */
function lineOf(cells: readonly string[]): string {
  return `${cells.map((cell) => (/[",]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\r\n`;
}

function cacheOf<Value>(read: (key: string) => Promise<Value>): (key: string) => Promise<Value> {
  const known = new Map<string, Promise<Value>>();
  return (key) => {
    const found = known.get(key) ?? read(key);
    known.set(key, found);
    return found;
  };
}
