import { describeUnread, listUnread } from '../../service/messaging/index.ts';
import { describeKeyWarning, expiryWarningDays, type BundleStatus } from '../../service/trust/index.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { findingsOf, type Finding } from './findings.ts';
import { countOf, quoteForShell } from '../../core/index.ts';

const dayMs = 86_400_000;
/** A CA issues a certificate within days. */
const waitingDays = 14;

/** Keys and their dates, addresses, anchors and bundles of one domain. */
export async function examineTrust(domain: string, options: DoctorOptions): Promise<readonly Finding[]> {
  const { trust } = options;
  const [proofings, keys, renewals, anchors, mailboxes, addresses, bundles] = await Promise.all([
    examineProofings(domain, options),
    examineKeys(domain, options),
    examineRenewals(domain, options),
    examineAnchors(domain, options),
    examineMailboxes(domain, options),
    trust.listAddresses(domain),
    trust.listBundles(),
  ]);
  const active = addresses.filter(({ status }) => status === 'active').length;
  const finding = findingsOf('address', domain);
  return [
    ...keys,
    ...renewals,
    ...anchors,
    active > 0
      ? finding.ok(`${active} active ${active === 1 ? 'address' : 'addresses'}.`)
      : finding.warning(
          'No active address: all mail to the domain is refused.',
          `openhisp address add name@${quoteForShell(domain)}`,
        ),
    ...mailboxes,
    ...proofings,
    ...bundles.filter((bundle) => bundle.domain === domain).map((bundle) => describeBundle(bundle, options)),
  ];
}

/** What comes for a mailbox that nobody reads is answered as processed, so its sender does not wonder. */
async function examineMailboxes(domain: string, options: DoctorOptions): Promise<readonly Finding[]> {
  const unread = await listUnread(options, domain);
  if (unread.length === 0) return [];
  const fate = options.config.messaging.refusesUnreadMail
    ? 'Mail to it is refused.'
    : 'Mail to it is answered as processed, and waits here for ever.';
  return [
    findingsOf('mailbox', domain).warning(
      `${describeUnread(domain, unread)} ${fate}`,
      'Give it to the client that should read it: openhisp client update CLIENT_ID --address … (all addresses of the client); or openhisp client enable CLIENT_ID, or openhisp address disable ADDRESS.',
    ),
  ];
}

/** Addresses that are named in a finding. */
const shownProofings = 5;

/** Proofing that has expired, or will within the time in which keys are warned of. */
async function examineProofings(
  domain: string,
  { trust, clock }: DoctorOptions,
): Promise<readonly Finding[]> {
  const now = clock.now();
  const ending = await trust.findExpiringProofings(
    domain,
    new Date(now.getTime() + expiryWarningDays * dayMs),
  );
  if (ending.length === 0) return [];
  const today = now.toISOString().slice(0, 10);
  const expired = ending.filter(({ expires }) => expires < today).length;
  const names = ending
    .slice(0, shownProofings)
    .map(({ address, expires }) => `${address} (${expires})`)
    .join(', ');
  return [
    findingsOf('proofing', domain).warning(
      `Identity proofing: ${expired} expired, ${ending.length - expired} within ${expiryWarningDays} days: ${names}${ending.length > shownProofings ? ', …' : ''}.`,
      'Prove the identities again and import the new records: openhisp address import FILE, with the columns proofing_….',
    ),
  ];
}

async function examineKeys(domain: string, { trust }: DoctorOptions): Promise<readonly Finding[]> {
  const finding = findingsOf('key', domain);
  const [dates] = await trust.findKeyDates(domain);
  const warnings = dates?.warnings ?? [];
  if (warnings.length === 0) return [finding.ok(`Valid for ${Math.floor(dates?.daysLeft ?? 0)} more days.`)];
  return warnings.map((warning) => {
    const renew = `Get a certificate for ${warning.owner} from your CA: openhisp key renew ${quoteForShell(warning.owner)} makes the request, and takes the certificate with --cert FILE`;
    const text = describeKeyWarning(warning);
    return warning.problem === 'expires-soon' ? finding.warning(text, renew) : finding.error(text, renew);
  });
}

/** A server retires a replaced key within a minute. */
const retireMs = 3_600_000;

/** What waits in the renewal of a key: a certificate, the switch, the end of the overlap. */
async function examineRenewals(domain: string, { trust, clock }: DoctorOptions): Promise<readonly Finding[]> {
  const finding = findingsOf('renewal', domain);
  const now = clock.now().getTime();
  const requests = (await trust.listKeyRequests(domain)).map(({ owner, createdAt }) => {
    const days = Math.floor((now - createdAt.getTime()) / dayMs);
    const add = days >= waitingDays ? finding.warning : finding.note;
    return add(
      `A key of ${owner} has waited ${countOf(days, 'day')} for its certificate.`,
      `Give your CA the request that "openhisp key renew ${quoteForShell(owner)}" prints, then: openhisp key renew ${quoteForShell(owner)} --cert FILE`,
    );
  });
  const keys = (await trust.listDomainKeys(domain)).filter(({ status }) => status === 'active');
  const planned = keys.flatMap(({ id, owner, signsFrom, retiresAt }) => {
    if (signsFrom !== undefined && signsFrom.getTime() > now)
      return [
        finding.note(
          `The new key of ${owner} is published and signs from ${signsFrom.toISOString()}.`,
          'Nothing to do, if the new certificate is published (see cert).',
        ),
      ];
    if (retiresAt === undefined || retiresAt.getTime() + retireMs > now) return [];
    return [
      finding.warning(
        `The overlap of a replaced key of ${owner} ended on ${retiresAt.toISOString()}, and it is still active: no server has run since, or ${owner} has no other valid key for one of its uses.`,
        `openhisp key retire ${quoteForShell(id)} retires it, or says what is missing.`,
      ),
    ];
  });
  return [...requests, ...planned];
}

async function examineAnchors(domain: string, { trust, clock }: DoctorOptions): Promise<readonly Finding[]> {
  const finding = findingsOf('anchor', domain);
  const now = clock.now().getTime();
  const findings: Finding[] = [];
  for (const direction of ['incoming', 'outgoing'] as const) {
    const anchors = await trust.findAnchors(domain, direction);
    const valid = anchors.filter(({ notAfter }) => notAfter.getTime() >= now);
    if (valid.length > 0) continue;
    findings.push(
      finding.error(
        anchors.length === 0
          ? `No anchor for ${direction} mail: none of it is trusted.`
          : `All ${anchors.length} anchors for ${direction} mail have expired: none of it is trusted.`,
        `openhisp anchor add ${quoteForShell(domain)} FILE, or openhisp bundle add ${quoteForShell(domain)} URL`,
      ),
    );
  }
  for (const { id, certificate, bundleId } of await trust.listAnchors(domain)) {
    const daysLeft = (certificate.notAfter.getTime() - now) / dayMs;
    if (daysLeft > expiryWarningDays) continue;
    const date = certificate.notAfter.toISOString().slice(0, 10);
    const text = `The anchor ${certificate.subject} ${daysLeft < 0 ? 'expired' : 'expires'} on ${date}.`;
    findings.push(
      bundleId === ''
        ? finding.warning(text, `Add its successor, then: openhisp anchor remove ${quoteForShell(id)}`)
        : finding.note(text, `It is part of a bundle, whose publisher replaces it: openhisp bundle list`),
    );
  }
  return findings.length > 0 ? findings : [finding.ok('Anchors for both directions.')];
}

function describeBundle(bundle: BundleStatus, { clock }: DoctorOptions): Finding {
  const finding = findingsOf('bundle', bundle.domain);
  const { refreshedAt, anchorCount, lastError, url, health } = bundle;
  const age =
    refreshedAt === undefined
      ? 'was never fetched'
      : `last refreshed ${((clock.now().getTime() - refreshedAt.getTime()) / dayMs).toFixed(1)} days ago, ${anchorCount} anchors`;
  if (lastError !== '') {
    const add = health.level === 'failed' ? finding.error : finding.warning;
    return add(
      `${url} ${age}: ${lastError}`,
      `Fetch ${url} by hand from this machine, and check --signer; the server retries every 15 minutes.`,
    );
  }
  const start = 'Start the server: it fetches bundles that are due within one minute.';
  if (health.level === 'ok') return finding.ok(`${url} ${age}.`);
  return health.level === 'waiting'
    ? finding.note(`${url} ${age}.`, start)
    : finding.warning(`${url} ${age}.`, start);
}
