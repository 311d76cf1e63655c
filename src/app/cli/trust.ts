import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { countOf, readDecimal, systemClock, quoteForShell } from '../../core/index.ts';
import {
  createCsr,
  createKeyPair,
  formatPem,
  readCertificate,
  readCertificates,
  readPrivateKey,
  writeTrustBundle,
  type Certificate,
} from '../../lib/pki/index.ts';
import { domainOf, parseDirectAddress } from '../../lib/values/index.ts';
import {
  createTrust,
  describeAnchorFaults,
  expiryWarningDays,
  requireHostedDomain,
  type AnchorDirection,
  type BundleStatus,
  type DomainKeyPair,
  type DomainRemoval,
  type Trust,
} from '../../service/trust/index.ts';
import type { CliContext } from './context.ts';
import { UsageError } from './describe-error.ts';
import { printList, type JsonOption, toRow } from './print-list.ts';
import { addRenewCommand } from './key-renew.ts';
import { readNamedFile } from './read-named-file.ts';
import { withInstallation } from './with-installation.ts';

/** What the lists show of a certificate. */
function describeCertificate({ fingerprint, subject, notBefore, notAfter }: Certificate) {
  return { subject, fingerprint, notBefore, notAfter };
}

async function withTrust(context: CliContext, work: (trust: Trust) => Promise<void>): Promise<void> {
  await withInstallation(context, (installation) =>
    work(createTrust({ ...installation, clock: systemClock })),
  );
}

/** Adds `domain`: the hosted domains, from the first record to the end. */
export function addDomainCommands(domain: Command, context: CliContext): void {
  domain
    .command('add <domain>')
    .description('host a domain')
    .option('--organization <id>', "the organization that it belongs to; default: the operator's own")
    .action((name: string, options: { organization?: string }) =>
      withTrust(context, async (trust) => {
        await trust.addDomain(name, options.organization);
        context.note(
          `Next: openhisp key csr ${quoteForShell(name)}, then key import, anchor add, address add, domain records.`,
        );
      }),
    );
  domain
    .command('records <domain>')
    .description('print the DNS records of a hosted domain, for its zone file')
    .action((name: string) =>
      withInstallation(context, async (installation) => {
        const trust = createTrust({ ...installation, clock: systemClock });
        // Loaded here: it needs much that no other command of this file does.
        const { listDomainRecords } = await import('../doctor/index.ts');
        const { records, notes } = await listDomainRecords(trust, name, installation.config);
        records.forEach(({ line }) => context.print(line));
        notes.forEach((line) => context.note(line));
      }),
    );
  addRemovalCommands(domain, context);
  domain
    .command('list')
    .description('list the hosted domains')
    .option('--json', 'as JSON')
    .action((options: JsonOption) =>
      withTrust(context, async (trust) =>
        printList(context, options, await trust.listDomains(), (name) => name),
      ),
    );
}

/** The end of a domain: nothing new first, then its removal. */
function addRemovalCommands(domain: Command, context: CliContext): void {
  domain
    .command('disable <domain>')
    .description(
      'disable all addresses of a domain and take them out of the directory; what is under way finishes',
    )
    .action((name: string) =>
      withInstallation(context, async (installation) => {
        const trust = createTrust({ ...installation, clock: systemClock });
        const { disableDomain } = await import('../../service/hosting/index.ts');
        const disabled = await disableDomain({ ...installation, clock: systemClock, trust }, name);
        disabled.forEach((address) => context.print(address));
        context.note(
          `${countOf(disabled.length, 'address', 'addresses')} disabled now. Next: openhisp domain remove ${quoteForShell(name.toLowerCase())}. To undo it, add those addresses again: openhisp address add.`,
        );
      }),
    );
  domain
    .command('remove <domain>')
    .description('show what the removal of a domain would end, and with --yes remove it')
    .option('--yes', 'remove it')
    .action((name: string, { yes = false }: { yes?: boolean }) =>
      withInstallation(context, async (installation) => {
        const trust = createTrust({ ...installation, clock: systemClock });
        const removal = await trust.describeRemoval(name);
        const shown = quoteForShell(removal.domain);
        describeRemoval(removal).forEach((row) => context.print(toRow(row)));
        if (!yes) {
          removal.obstacles.forEach((text) => context.note(text));
          context.note(
            removal.obstacles.length > 0
              ? `${removal.domain} cannot be removed now.`
              : `Nothing was changed. To remove it: openhisp domain remove ${shown} --yes.`,
          );
          return;
        }
        const { removeDomain } = await import('../../service/hosting/index.ts');
        await removeDomain({ ...installation, clock: systemClock, trust }, name);
        context.note(
          `${removal.domain} is removed: mail for it is refused. Take its records out of the DNS. To host it again: openhisp domain add ${shown} --organization ${quoteForShell(removal.organizationId)}.`,
        );
      }),
    );
}

function describeRemoval(removal: DomainRemoval): string[][] {
  const { addresses, activeAddresses, keys, keyRequests, anchors, bundles, unread, deadLetters } = removal;
  return [
    ['addresses', `${addresses}, ${activeAddresses} active`, 'end, with their directory entries'],
    ['keys', String(keys), 'are retired: they only decrypt'],
    ['key requests', String(keyRequests), 'are deleted'],
    ['anchors', String(anchors), 'end'],
    ['bundles', String(bundles), 'are no longer fetched'],
    ['not fetched', String(unread), 'received messages stay until their retention, for their clients'],
    ['dead letters', String(deadLetters), 'can no longer be retried'],
  ];
}

/** Adds `key`: certificates and private keys, and their renewal. */
export function addKeyCommands(key: Command, context: CliContext): void {
  key
    .command('import <owner>')
    .description('import a certificate and its private key for a domain or an address')
    .requiredOption('--cert <file>', 'certificate, PEM or DER')
    .requiredOption('--key <file>', 'private key, PEM or DER (PKCS #8), not encrypted')
    .option('--retired', 'use it only to decrypt old mail; it may have expired (AS-84)')
    .action((owner: string, options: { cert: string; key: string; retired?: true }) =>
      withTrust(context, async (trust) => {
        const certificate = await readNamedFile(options.cert, readCertificate);
        const isRetired = options.retired === true;
        const { id, isNew } = await trust.addKeyPair(
          owner,
          certificate.der,
          await readNamedFile(options.key, readPrivateKey),
          { isRetired },
        );
        context.print(toRow([id, certificate.fingerprint]));
        if (!isNew) context.note('It was imported before; nothing was changed.');
        if (!isRetired && endsSoon(certificate))
          context.note(
            `It is valid until ${untilOf(certificate.notAfter)} only: get its successor from your CA before that.`,
          );
      }),
    );
  key
    .command('csr <owner>')
    .description('create a private key and a certification request for a CA (no installation needed)')
    .requiredOption('--key <file>', 'the new private key, PEM; an existing file is not overwritten')
    .option('--out <file>', 'the request, PEM; default: standard output')
    .action(async (owner: string, options: { key: string; out?: string }) => {
      if (options.out !== undefined && path.resolve(options.out) === path.resolve(options.key))
        throw new UsageError('--out and --key name the same file: the request would replace the key.');
      const keys = await createKeyPair();
      const boundTo = owner.includes('@')
        ? { address: parseDirectAddress(owner) }
        : { domain: domainOf(parseDirectAddress(`postmaster@${owner}`)) };
      const request = formatPem('CERTIFICATE REQUEST', createCsr({ boundTo, ...keys }));
      const pem = keys.privateKey.export({ type: 'pkcs8', format: 'pem' });
      await writeFile(options.key, pem, { mode: 0o600, flag: 'wx' });
      if (options.out === undefined) context.print(request.trimEnd());
      else await writeFile(options.out, request);
      context.note(
        `The private key is in ${options.key}. Import it with the certificate: key import ${owner}`,
      );
    });
  key
    .command('list <owner>')
    .description('list the key pairs of a domain or an address')
    .option('--json', 'as JSON')
    .action((owner: string, options: JsonOption) =>
      withTrust(context, async (trust) => {
        await requireHostedOwner(trust, owner);
        const pairs = (await trust.listKeyPairs(owner)).map(({ certificate, ...pair }) => ({
          ...pair,
          ...describeCertificate(certificate),
        }));
        printList(context, options, pairs, (pair) =>
          toRow([
            pair.id,
            pair.status,
            `until ${untilOf(pair.notAfter)}`,
            pair.fingerprint,
            ...describeSchedule(pair),
          ]),
        );
        const domain = owner.slice(owner.lastIndexOf('@') + 1);
        for (const request of await trust.listKeyRequests(domain))
          if (request.owner === owner.toLowerCase())
            context.note(
              `A key made on ${untilOf(request.createdAt)} waits for its certificate: openhisp key renew ${quoteForShell(owner)} prints its request again.`,
            );
      }),
    );
  key
    .command('retire <id>')
    .description('stop signing with a pair; it still decrypts (AS-84)')
    .option('--force', 'allow it for the last valid key of its domain or address')
    .action((id: string, options: { force?: true }) =>
      withTrust(context, (trust) => trust.retireKeyPair(id, { isForced: options.force === true })),
    );
  addRenewCommand(key, context);
}

/** The dates of a renewal that lie ahead, or that nothing has acted on yet. */
function describeSchedule({
  status,
  signsFrom,
  retiresAt,
}: Pick<DomainKeyPair, 'status' | 'signsFrom' | 'retiresAt'>): string[] {
  if (status === 'retired') return [];
  if (retiresAt !== undefined) return [`is retired at ${retiresAt.toISOString()}`];
  return signsFrom !== undefined && signsFrom > systemClock.now()
    ? [`signs from ${signsFrom.toISOString()}`]
    : [];
}

/** An empty list of a misspelt domain would say that there is nothing. Throws TRUST_DOMAIN_UNKNOWN. */
async function requireHostedOwner(trust: Trust, owner: string): Promise<void> {
  await requireHostedDomain(trust, owner.slice(owner.lastIndexOf('@') + 1));
}

/** From here on the service warns of it every day. */
function endsSoon({ notAfter }: Certificate): boolean {
  return notAfter.getTime() - systemClock.now().getTime() < expiryWarningDays * 86_400_000;
}

/** The day, in UTC. */
function untilOf(notAfter: Date): string {
  return notAfter.toISOString().slice(0, 10);
}

const directions: readonly string[] = ['incoming', 'outgoing', 'both'];

/** Adds `anchor`: whom a domain trusts. */
export function addAnchorCommands(anchor: Command, context: CliContext): void {
  anchor
    .command('add <domain> <file>')
    .description('trust certificates issued under this one, for mail of one domain')
    .option('--direction <direction>', `one of ${directions.join(', ')}`, 'both')
    .action((domain: string, file: string, options: { direction: string }) =>
      withTrust(context, async (trust) => {
        if (!directions.includes(options.direction))
          anchor.error(`--direction is one of ${directions.join(', ')}`);
        const anchorCertificate = await readNamedFile(file, readCertificate);
        context.print(
          await trust.addAnchor(domain, anchorCertificate.der, options.direction as AnchorDirection),
        );
        for (const fault of describeAnchorFaults(anchorCertificate, systemClock.now())) context.note(fault);
        if (!anchorCertificate.isCa) context.note('To remove this one: openhisp anchor remove ID.');
      }),
    );
  anchor
    .command('list <domain>')
    .description('list the anchors of a domain')
    .option('--json', 'as JSON')
    .action((domain: string, options: JsonOption) =>
      withTrust(context, async (trust) => {
        await requireHostedDomain(trust, domain);
        const anchors = (await trust.listAnchors(domain)).map(({ id, direction, certificate, bundleId }) => ({
          id,
          direction,
          ...describeCertificate(certificate),
          ...(bundleId !== '' && { bundleId }),
        }));
        printList(context, options, anchors, (one) =>
          toRow([one.id, one.direction, one.fingerprint, one.subject, `until ${untilOf(one.notAfter)}`]),
        );
      }),
    );
  anchor
    .command('remove <id>')
    .description('stop trusting an anchor')
    .action((id: string) => withTrust(context, (trust) => trust.removeAnchor(id)));
}

function formatBundle({
  id,
  domain,
  direction,
  anchorCount,
  refreshedAt,
  lastError,
  url,
}: BundleStatus): string {
  const state = lastError === '' ? (refreshedAt?.toISOString() ?? 'not fetched yet') : `failed: ${lastError}`;
  return toRow([id, domain, direction, `${anchorCount} anchors`, state, url]);
}

interface BundleOptions {
  readonly direction: string;
  readonly signer?: string;
  readonly refreshHours: string;
}

/** Six minutes, to see a change soon; and a month. */
const minRefreshHours = 0.1;
const maxRefreshHours = 720;

/** Adds `bundle`: anchors that others publish, and those that are published here. */
export function addBundleCommands(bundle: Command, context: CliContext): void {
  bundle
    .command('add <domain> <url>')
    .description(
      'trust the anchors of a bundle for mail of one domain; a running server fetches it within a minute',
    )
    .option('--direction <direction>', `one of ${directions.join(', ')}`, 'both')
    .option(
      '--signer <file>',
      'the certificate that must have signed the bundle; without it the URL is https',
    )
    .option(
      '--refresh-hours <hours>',
      `hours between fetches, ${minRefreshHours} to ${maxRefreshHours}`,
      '24',
    )
    .action((domain: string, url: string, options: BundleOptions) =>
      withTrust(context, async (trust) => {
        const hours = readDecimal(options.refreshHours);
        if (!directions.includes(options.direction))
          bundle.error(`--direction is one of ${directions.join(', ')}`);
        if (!(hours >= minRefreshHours && hours <= maxRefreshHours))
          bundle.error(`--refresh-hours is a number from ${minRefreshHours} to ${maxRefreshHours}`);
        const signer =
          options.signer === undefined
            ? {}
            : { signer: (await readNamedFile(options.signer, readCertificate)).der };
        const direction = options.direction as AnchorDirection;
        context.print(
          await trust.addBundle({
            domain,
            url,
            direction,
            refreshSeconds: Math.round(hours * 3600),
            ...signer,
          }),
        );
      }),
    );
  bundle
    .command('list')
    .description('list the bundles with the state of their last refresh')
    .option('--json', 'as JSON')
    .action((options: JsonOption) =>
      withTrust(context, async (trust) =>
        printList(context, options, await trust.listBundles(), formatBundle),
      ),
    );
  bundle
    .command('write <file...>')
    .description('write certificates as a trust bundle for partners (no installation needed)')
    .requiredOption('--out <file>', 'the bundle, PKCS #7 in DER')
    .action(async (files: string[], options: { out: string }) => {
      const anchors = (await Promise.all(files.map((file) => readNamedFile(file, readCertificates)))).flat();
      await writeFile(options.out, writeTrustBundle(anchors));
      anchors.forEach(({ fingerprint, subject }) => context.print(toRow([fingerprint, subject])));
    });
  bundle
    .command('remove <id>')
    .description('remove a bundle and stop trusting its anchors')
    .action((id: string) => withTrust(context, (trust) => trust.removeBundle(id)));
}
