import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { CodedError, errorText, quoteForShell, readDecimal, systemClock } from '../../core/index.ts';
import { formatPem, readCertificate } from '../../lib/pki/index.ts';
import { parseDirectAddress } from '../../lib/values/index.ts';
import {
  createTrust,
  type InstalledRenewal,
  type KeyRequest,
  type Renewal,
  type Trust,
} from '../../service/trust/index.ts';
import type { CliContext } from './context.ts';
import { UsageError } from './describe-error.ts';
import { toRow } from './print-list.ts';
import { readNamedFile } from './read-named-file.ts';
import { readEnd } from './read-time.ts';
import { withInstallation } from './with-installation.ts';

const dayMs = 86_400_000;
/** Resolvers keep a certificate for hours at most: peers find the new one before it signs. */
const defaultSwitchMs = dayMs;
const defaultOverlapDays = 7;
const maxDays = 3660;

interface RenewOptions {
  readonly expiringWithin?: string;
  readonly out?: string;
  readonly organization?: string;
  readonly cert?: readonly string[];
  readonly switchAt?: Date;
  readonly overlapDays?: string;
}

/** Adds `key renew`: a new pair with its request, then its certificate and the dates of the switch. */
export function addRenewCommand(key: Command, context: CliContext): void {
  key
    .command('renew [owner]')
    .description(
      'make a new key and its certification request, or with --cert import the certificate: both keys are published, the new one signs from a date, and the old one is retired after the overlap',
    )
    .option('--expiring-within <days>', 'for every domain and address whose key expires in so many days')
    .option('--out <path>', 'file of the request, PEM; with --expiring-within the folder of the requests')
    .option('--organization <name>', 'name of the organization in the request')
    .option('--cert <file...>', 'certificates that the CA issued for the requests, PEM or DER')
    .option('--switch-at <time>', 'when the new key begins to sign: a time, or 12h, 2d; default: 1d', readEnd)
    .option(
      '--overlap-days <days>',
      `days after the switch for which the old key is published still; default: ${defaultOverlapDays}`,
    )
    .action((owner: string | undefined, options: RenewOptions) =>
      withInstallation(context, async (installation) => {
        refuseMixed(owner, options);
        const trust = createTrust({ ...installation, clock: systemClock });
        if (options.cert !== undefined) {
          const isServing = installation.config.dns.isServing;
          await installAll(context, trust, { owner, files: options.cert, isServing, options });
        } else if (owner !== undefined) await requestOne(context, trust, owner, options);
        else await requestExpiring(context, trust, options);
      }),
    );
}

function refuseMixed(owner: string | undefined, options: RenewOptions): void {
  const { cert, expiringWithin, out, organization, switchAt, overlapDays } = options;
  if (cert === undefined && (switchAt !== undefined || overlapDays !== undefined))
    throw new UsageError(
      '--switch-at and --overlap-days go with --cert: the dates begin with the certificate.',
    );
  if (cert !== undefined && [expiringWithin, out, organization].some((one) => one !== undefined))
    throw new UsageError(
      '--cert imports certificates; --expiring-within, --out and --organization make requests.',
    );
  if (cert !== undefined) return;
  if ((owner === undefined) === (expiringWithin === undefined))
    throw new UsageError('Name a domain or an address, or add --expiring-within DAYS for all that expire.');
  if (owner === undefined && out === undefined)
    throw new UsageError('--expiring-within needs --out FOLDER, where the requests are written.');
}

function readDays(name: string, text: string): number {
  const days = readDecimal(text);
  if (days >= 0 && days <= maxDays) return days;
  throw new UsageError(`${name} is a number of days from 0 to ${maxDays}.`);
}

const pemOf = ({ csr }: KeyRequest): string => formatPem('CERTIFICATE REQUEST', csr);

async function requestOne(
  context: CliContext,
  trust: Trust,
  owner: string,
  { out, organization }: RenewOptions,
): Promise<void> {
  const request = await trust.requestKey(owner, { organization, reusesWaiting: true });
  if (out === undefined) context.print(pemOf(request).trimEnd());
  else await writeFile(out, pemOf(request));
  context.note(
    `The private key is stored encrypted here. When the CA has issued the certificate: openhisp key renew ${quoteForShell(request.owner)} --cert FILE`,
  );
}

async function requestExpiring(
  context: CliContext,
  trust: Trust,
  { expiringWithin = '', out = '', organization }: RenewOptions,
): Promise<void> {
  const days = readDays('--expiring-within', expiringWithin);
  const expiring = await trust.findExpiring(days);
  let refused = 0;
  for (const { owner, notAfter } of expiring) {
    try {
      const request = await trust.requestKey(owner, { organization, reusesWaiting: true });
      // A local part may contain a slash.
      const file = path.join(out, `${encodeURIComponent(owner).replaceAll('%40', '@')}.csr`);
      await writeFile(file, pemOf(request));
      context.print(toRow([owner, `until ${notAfter.toISOString().slice(0, 10)}`, file]));
    } catch (error) {
      refused += 1;
      context.note(`${owner}: ${errorText(error)}`);
    }
  }
  if (expiring.length === 0) context.note(`No key expires within ${days} days without a successor.`);
  else if (refused < expiring.length)
    context.note('When the CA has issued the certificates: openhisp key renew --cert FILE…');
  if (refused > 0) context.setExitCode(1);
}

interface Installing {
  readonly owner: string | undefined;
  readonly files: readonly string[];
  readonly isServing: boolean;
  readonly options: RenewOptions;
}

/** Each certificate by itself, so that a wrong one keeps no other from being renewed. */
async function installAll(context: CliContext, trust: Trust, installing: Installing): Promise<void> {
  const { files, options } = installing;
  const overlapDays =
    options.overlapDays === undefined ? defaultOverlapDays : readDays('--overlap-days', options.overlapDays);
  const signsFrom = options.switchAt ?? new Date(systemClock.now().getTime() + defaultSwitchMs);
  const renewal = { signsFrom, retiresAt: new Date(signsFrom.getTime() + overlapDays * dayMs) };
  for (const file of files) {
    try {
      await installOne(context, trust, installing, { file, renewal });
    } catch (error) {
      if (files.length === 1) throw error;
      context.note(`${file}: ${errorText(error)}`);
      context.setExitCode(1);
    }
  }
}

async function installOne(
  context: CliContext,
  trust: Trust,
  { owner: named, isServing, options }: Installing,
  { file, renewal }: { readonly file: string; readonly renewal: Renewal },
): Promise<void> {
  const { der } = await readNamedFile(file, readCertificate);
  const movesDates = options.switchAt !== undefined || options.overlapDays !== undefined;
  const damaged = new Set<string>();
  const onDamaged = (error: unknown): void => void damaged.add(errorText(error));
  const installed = await trust
    .installRenewal(der, renewal, { owner: named, movesDates, onDamaged })
    .finally(() => {
      for (const text of damaged) context.note(text);
    });
  await describe(context, trust, installed, isServing);
}

async function describe(
  context: CliContext,
  trust: Trust,
  installed: InstalledRenewal,
  isServing: boolean,
): Promise<void> {
  const { id, owner, signsFrom, outcome } = installed;
  context.print(toRow([id, owner, `signs from ${signsFrom.toISOString()}`]));
  if (outcome === 'unchanged')
    context.note(
      `It was imported before; nothing was changed.${signsFrom > systemClock.now() ? ' --switch-at and --overlap-days move the dates.' : ''}`,
    );
  try {
    await describeReplaced(context, trust, installed);
  } catch (error) {
    if (!(error instanceof CodedError) || error.code !== 'INTEGRITY_ROW_CHANGED') throw error;
    context.note(
      `The new key is stored. No key of ${owner} is used as long as this row is there: ${errorText(error)}`,
    );
  }
  const shown = quoteForShell(owner.slice(owner.lastIndexOf('@') + 1));
  if (!isServing)
    context.note(`Publish both now, and again when the old one is retired: openhisp domain records ${shown}`);
}

async function describeReplaced(
  context: CliContext,
  trust: Trust,
  { id, owner, signsFrom }: InstalledRenewal,
): Promise<void> {
  const pairs = await trust.listKeyPairs(owner);
  const replaced = pairs.filter(({ status, retiresAt }) => status === 'active' && retiresAt !== undefined);
  for (const { id: old, certificate, retiresAt } of replaced) {
    context.note(`${old} is retired at ${retiresAt?.toISOString()} and still decrypts then.`);
    if (certificate.notAfter < signsFrom)
      context.note(
        `It expires on ${certificate.notAfter.toISOString()}, before the switch: from then on the new key signs.`,
      );
  }
  if (replaced.length > 0) return;
  const signing = owner.includes('@') ? await trust.findSigningKeys(parseDirectAddress(owner)) : [];
  context.note(
    signing.length > 0 && signing.every((key) => key.id !== id)
      ? `${owner} has no other active key of its own: until then the key of its domain signs.`
      : `${owner} has no other active key: this one signs at once.`,
  );
}
