import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { Command } from 'commander';
import { countOf, errorCode, silentLog, systemClock, quoteForShell, toCsvLine } from '../../core/index.ts';
import { loadBuiltInGazetteer } from '../../lib/geo/index.ts';
import { domainOf, parseDirectAddress, type DirectAddress } from '../../lib/values/index.ts';
import {
  createDirectory,
  listHostedAddress,
  unlistHostedAddress,
  type HostedRecord,
} from '../../service/directory/index.ts';
import { importAddresses } from '../../service/hosting/index.ts';
import { createTrust, requireHostedDomain, type Trust } from '../../service/trust/index.ts';
import type { CliContext } from './context.ts';
import { UsageError } from './describe-error.ts';
import { printList, type JsonOption, toRow } from './print-list.ts';
import { futureForms, readEnd, readFuture } from './read-time.ts';
import { withInstallation, type AuditedInstallation } from './with-installation.ts';

interface Opened extends AuditedInstallation {
  readonly trust: Trust;
}

/** Directory data of an address: option, field of the record, description. */
const details = [
  ['npi', 'npi', 'NPI of the provider'],
  ['first-name', 'firstName', 'first name'],
  ['middle-name', 'middleName', 'middle name'],
  ['last-name', 'lastName', 'last name'],
  ['suffix', 'suffix', 'suffix, for example MD'],
  ['organization', 'organization', 'name of the organization'],
  ['specialty', 'specialty', 'specialty, as text or coded'],
  ['street', 'street', 'street address'],
  ['city', 'city', 'city'],
  ['state', 'state', 'state, two letters'],
  ['zip', 'zip', 'ZIP code'],
  ['phone', 'phone', 'telephone'],
] as const satisfies readonly (readonly [string, keyof HostedRecord, string])[];

type AddOptions = { readonly listed: boolean } & Readonly<Record<string, string | boolean | undefined>>;

/** Adds `address`: the hosted Direct addresses and their directory records. */
export function addAddressCommands(address: Command, context: CliContext): void {
  const withOpened = (work: (opened: Opened) => Promise<void>): Promise<void> =>
    withInstallation(context, (installation) =>
      work({ ...installation, trust: createTrust({ ...installation, clock: systemClock }) }),
    );

  const add = address
    .command('add <address>')
    .description(
      'host an address and list it in the directory; run again, with all options, to replace its entry',
    )
    .option('--no-listed', 'host the address without listing it');
  for (const [option, , description] of details) add.option(`--${option} <text>`, description);
  add.action((text: string, options: AddOptions) =>
    withOpened(async ({ storage, audit, trust }) => {
      const hosted = parseDirectAddress(text);
      await trust.putAddress(hosted);
      if (!options.listed) {
        await unlistHostedAddress({ storage, audit, clock: systemClock }, hosted);
        return;
      }
      const record = readRecord(hosted, options);
      const at = { storage, audit, clock: systemClock };
      for (const warning of await listHostedAddress(at, record, loadBuiltInGazetteer()))
        context.note(warning);
      context.note('A running server lists the address within seconds.');
    }),
  );
  address
    .command('disable <address>')
    .description('keep an address, but refuse its mail and remove it from the directory')
    .action((text: string) =>
      withOpened(async ({ storage, audit, trust }) => {
        const hosted = parseDirectAddress(text);
        const domain = await requireHostedDomain(trust, domainOf(hosted));
        // A misspelt address would be a new one, and the one that was meant would stay in use.
        if (!(await isStored(trust, hosted))) throw notHosted(hosted, domain);
        await trust.putAddress(hosted, 'disabled');
        await unlistHostedAddress({ storage, audit, clock: systemClock }, hosted);
      }),
    );
  address
    .command('show <address>')
    .description('show a hosted address with its record of identity proofing')
    .option('--json', 'as JSON')
    .action((text: string, options: JsonOption) =>
      withOpened(async ({ trust }) => {
        const named = parseDirectAddress(text);
        const domain = await requireHostedDomain(trust, domainOf(named));
        const found = await trust.findAddress(named);
        if (found === undefined) throw notHosted(named, domain);
        const proofing = await trust.findProofing(named);
        const forwarding = await trust.findForwarding(named);
        const shown = { ...found, proofing: proofing ?? null, forwarding: forwarding ?? null };
        if (options.json === true) {
          context.print(JSON.stringify(shown, undefined, 2));
          return;
        }
        context.print(toRow([found.address, found.status]));
        if (forwarding !== undefined)
          context.print(
            toRow([
              'forwarding to',
              forwarding.deliverTo.join(' '),
              forwarding.keepsCopy ? 'keeps a copy' : 'keeps no copy',
              forwarding.from === undefined ? '' : `from ${forwarding.from.toISOString()}`,
              forwarding.until === undefined ? '' : `until ${forwarding.until.toISOString()}`,
            ]),
          );
        if (proofing === undefined) context.note('No identity proofing is recorded.');
        else
          for (const [name, value] of Object.entries(proofing))
            if (value !== '') context.print(toRow([`proofing ${name}`, value]));
      }),
    );
  address
    .command('forward <address>')
    .description(
      'deliver what comes for an address to other hosted addresses of its organization: a shared address, forwarding, or an absence',
    )
    .option('--to <addresses...>', 'who gets it; replaces the present rule')
    .option('--keep-copy', 'the address itself gets it, too')
    .option('--from <time>', `from when on: ${futureForms()}; by default now`, readFuture)
    .option('--until <time>', 'until when, in the same forms; by default for good', readEnd)
    .option('--end', 'end the rule')
    .action((text: string, options: ForwardOptions) =>
      withOpened(async ({ trust }) => {
        const named = parseDirectAddress(text);
        const { to, keepCopy, from, until, end } = options;
        if ((to === undefined) === (end === undefined)) throw new UsageError('Give either --to or --end.');
        await trust.setForwarding(
          named,
          to && {
            deliverTo: to.map(parseDirectAddress),
            keepsCopy: keepCopy === true,
            ...(from !== undefined && { from }),
            ...(until !== undefined && { until }),
          },
        );
        if (to !== undefined) context.note('A running server follows the rule within seconds.');
      }),
    );
  address
    .command('import <file>')
    .description(
      'host the addresses of a CSV with their directory entries, all or none; columns: address, status, listed, as the options of add, and the record of identity proofing: proofing_level, _method, _date, _expires, _verifier, _reference',
    )
    .option('--dry-run', 'check and report, and change nothing')
    .option(
      '--check-names',
      'warn of names that the loaded directory has otherwise for the NPI; reads all of it',
    )
    .option('--row-by-row', 'store the good rows, also if others are refused')
    .option('--accept-loss', 'disable, unlist or blank many addresses, after the report was seen')
    .option('--report <file>', 'write the result of each row to a new file, as CSV')
    .option('--json', 'the result of each row as JSON')
    .action((file: string, options: ImportFlags) =>
      withOpened((opened) => importFile(context, opened, file, options)),
    );
  address
    .command('list <domain>')
    .description('list the addresses of a domain')
    .option('--json', 'as JSON')
    .action((domain: string, options: JsonOption) =>
      withOpened(async ({ trust }) => {
        await requireHostedDomain(trust, domain);
        const all = await trust.listAddresses(domain);
        printList(context, options, all, (one) => toRow([one.address, one.status]));
      }),
    );
}

function notHosted(address: DirectAddress, domain: string): UsageError {
  const shown = quoteForShell(domain);
  return new UsageError(
    `${address} is not a hosted address. List the addresses: openhisp address list ${shown}.`,
  );
}

/** True for a row that was changed by hand, too: it can be disabled. */
async function isStored(trust: Trust, address: DirectAddress): Promise<boolean> {
  try {
    return (await trust.findAddress(address)) !== undefined;
  } catch (error) {
    if (errorCode(error) === 'INTEGRITY_ROW_CHANGED') return true;
    throw error;
  }
}

function readRecord(directAddress: string, options: AddOptions): HostedRecord {
  const texts: Partial<Record<(typeof details)[number][1], string>> = {};
  for (const [option, field] of details) {
    // The command line parser turns `first-name` into `firstName`.
    const value = options[option.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())];
    if (typeof value === 'string') texts[field] = value;
  }
  return { directAddress, ...texts };
}

interface ForwardOptions {
  readonly to?: string[];
  readonly keepCopy?: true;
  readonly from?: Date;
  readonly until?: Date;
  readonly end?: true;
}

interface ImportFlags extends JsonOption {
  readonly dryRun?: true;
  readonly rowByRow?: true;
  readonly checkNames?: true;
  readonly acceptLoss?: true;
  readonly report?: string;
}

/** Refused rows that are printed; the report has all. */
const printedRefusals = 20;

async function importFile(
  context: CliContext,
  { storage, audit, trust, config }: Opened,
  file: string,
  options: ImportFlags,
): Promise<void> {
  const directory =
    options.checkNames === true
      ? await createDirectory({
          storage,
          audit,
          clock: systemClock,
          log: silentLog,
          gazetteer: loadBuiltInGazetteer(),
          snapshotDir: config.directory.snapshotDir,
          searchThreads: 0,
        })
      : undefined;
  const report = options.report === undefined ? undefined : await open(options.report, 'wx', 0o600);
  try {
    await directory?.refresh();
    const result = await importAddresses(
      {
        storage,
        audit,
        trust,
        clock: systemClock,
        gazetteer: loadBuiltInGazetteer(),
        findNames: directory && ((npi) => directory.findNames(npi)),
      },
      await openNamedFile(file),
      {
        isDryRun: options.dryRun === true,
        isRowByRow: options.rowByRow === true,
        acceptLoss: options.acceptLoss === true,
      },
    ).catch((error: unknown) => {
      throw error instanceof RangeError ? new UsageError(`${file}: ${error.message}`) : error;
    });
    const { rows, counts, loss, isStored } = result;
    const isLost = loss !== undefined && options.acceptLoss !== true;
    await report?.writeFile(
      [
        ['line', 'address', 'outcome', 'text'],
        ...rows.map((row) => [row.line, row.address, row.outcome, row.text]),
      ]
        .map((row) => `${toCsvLine(row)}\r\n`)
        .join(''),
    );
    if (options.json === true) context.print(JSON.stringify(result, undefined, 2));
    else {
      const refused = rows.filter(({ outcome }) => outcome === 'refused');
      for (const { line, address, text } of refused.slice(0, printedRefusals))
        context.print(toRow([`line ${line}`, address, text]));
      if (refused.length > printedRefusals)
        context.note(`${refused.length - printedRefusals} more rows are refused: --report FILE lists all.`);
      context.print(
        `${isStored ? '' : 'Would be: '}${counts.added} added, ${counts.changed} changed, ${counts.unchanged} unchanged, ${counts.refused} refused`,
      );
    }
    const warned = rows.filter(({ outcome, text }) => outcome !== 'refused' && text !== '').length;
    if (warned > 0 && options.json !== true)
      context.note(`${countOf(warned, 'row has', 'rows have')} warnings: --report FILE lists them.`);
    if (!isStored)
      context.note(
        options.dryRun === true
          ? 'Nothing was changed: a dry run.'
          : isLost
            ? 'Nothing was changed.'
            : 'Nothing was changed, because rows are refused. Correct them, or add --row-by-row to store the others.',
      );
    if (isLost) context.note(`${loss}. If the file is right, add --accept-loss.`);
    if (counts.refused > 0 || isLost) context.setExitCode(1);
  } finally {
    await report?.close();
    await directory?.close();
  }
}

/** Rejects at once for a file that cannot be read. */
async function openNamedFile(file: string): Promise<Readable> {
  const opened = await open(file);
  if ((await opened.stat()).isDirectory()) {
    await opened.close();
    throw Object.assign(new Error('a folder'), { code: 'EISDIR', path: file });
  }
  return opened.createReadStream();
}
