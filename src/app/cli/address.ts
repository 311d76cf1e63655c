import type { Command } from 'commander';
import { errorCode, systemClock, quoteForShell } from '../../core/index.ts';
import { loadBuiltInGazetteer } from '../../lib/geo/index.ts';
import { domainOf, parseDirectAddress, type DirectAddress } from '../../lib/values/index.ts';
import { listHostedAddress, unlistHostedAddress, type HostedRecord } from '../../service/directory/index.ts';
import { createTrust, requireHostedDomain, type Trust } from '../../service/trust/index.ts';
import type { CliContext } from './context.ts';
import { UsageError } from './describe-error.ts';
import { printList, type JsonOption, toRow } from './print-list.ts';
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
export function addAddressCommands(program: Command, context: CliContext): void {
  const withOpened = (work: (opened: Opened) => Promise<void>): Promise<void> =>
    withInstallation(context, (installation) =>
      work({ ...installation, trust: createTrust({ ...installation, clock: systemClock }) }),
    );

  const address = program.command('address').description('the hosted Direct addresses');
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
        await unlistHostedAddress({ storage, audit }, hosted);
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
        if (!(await isStored(trust, hosted)))
          throw new UsageError(
            `${hosted} is not a hosted address. List the addresses: openhisp address list ${quoteForShell(domain)}.`,
          );
        await trust.putAddress(hosted, 'disabled');
        await unlistHostedAddress({ storage, audit }, hosted);
      }),
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
