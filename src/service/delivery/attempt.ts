import { hashInSlices, type Clock, type Log } from '../../core/index.ts';
import {
  SmtpError,
  requirePublicHosts,
  resolveMailHosts,
  resolveRelay,
  type MailHost,
  type MailHosts,
  type SendOutcome,
  type SmtpClient,
} from '../../lib/smtp/index.ts';
import type { DnsResolver } from '../../lib/dns/index.ts';
import { addressKey, type DirectAddress } from '../../lib/values/index.ts';
import { isLeaseLost } from '../../platform/index.ts';
import {
  isOutage,
  isOwnFault,
  problemOf,
  readFailure,
  readRefusal,
  readRejection,
  readRelayFailure,
  readRelayRejection,
  type Failure,
} from './failures.ts';
import type { PathCertificate } from '../agent/index.ts';
import type { AttemptRecord, ClaimedDestination, LastServer } from './queue-items.ts';
import type { DeliveryProblem, RecipientDecision } from './request.ts';
import type { SealedShare, SharedSeals } from './shared-seal.ts';

export interface AttemptDependencies {
  readonly clock: Clock;
  readonly dns: DnsResolver;
  readonly log: Log;
  readonly smtp: SmtpClient;
  readonly seals: SharedSeals;
  /** The port of every peer's mail server, 25 unless this is a sandbox; or that of the relay. */
  readonly peerPort: number;
  /** Mail servers on private addresses are used, too. */
  readonly allowsPrivateHosts: boolean;
  /** The smart host for all mail, instead of each destination's mail server. */
  readonly relayHost?: string | undefined;
  /** The server of the item's last attempt, if there was one. */
  readonly findLastServer: (item: ClaimedDestination) => Promise<LastServer | undefined>;
  /** Throws PLATFORM_LEASE_LOST: then nothing may be sent. */
  readonly confirmLease: (item: ClaimedDestination) => Promise<void>;
  /** True when the service ends: no further mail server is asked. */
  readonly isClosing: () => boolean;
}

/** The result of one attempt: decisions for some recipients, and why the others wait. */
export interface AttemptResult {
  readonly decisions: readonly RecipientDecision[];
  readonly problem?: DeliveryProblem | undefined;
  /** Why some recipients were not sent to; undefined if all were. */
  readonly failure?: DeliveryProblem | undefined;
  /** The destination could not be reached, so that its other mail may wait as well. */
  readonly isOutage: boolean;
  /** The destination could not be asked, for a reason that is not its own. */
  readonly isOwnFault: boolean;
  readonly attempt: AttemptRecord;
  /** The certificates that it sealed for, with those of their paths. */
  readonly pathCertificates: readonly PathCertificate[];
}

/** The outcome of each recipient, and the mail server of the attempt. */
interface Findings {
  readonly sent: readonly DirectAddress[];
  readonly failures: ReadonlyMap<DirectAddress, Failure>;
  readonly peer?: Pick<AttemptRecord, 'host' | 'address' | 'tls' | 'reply'>;
  readonly sentHash?: string;
}

/** No further mail server is tried after this time; the lease is renewed until then. */
const askNextWithinMs = 5 * 60_000;

/**
 * Servers of one attempt that take no recipient now: a domain may have dozens, and greylisting makes each of
 * them say so.
 */
const maxDeferrals = 2;

/**
 * Makes one attempt at one destination: get its share of the sealed message, then hand that to one of the
 * destination's mail servers. Recipients without a decision are to be retried. `onHandedOver` is called when
 * a server has all of the message and owes its reply, for which it may take ten minutes
 * (RFC 5321 §4.5.3.2.6): the attempt keeps no content from then on.
 */
export async function attemptDestination(
  item: ClaimedDestination,
  deps: AttemptDependencies,
  onHandedOver?: () => void,
): Promise<AttemptResult> {
  const startedAt = deps.clock.now();
  const began = performance.now();
  let certificates = '';
  let pathCertificates: readonly PathCertificate[] = [];
  let findings: Findings;
  try {
    const share = await deps.seals.get(item);
    certificates = listCertificates(share);
    pathCertificates = share.usable.flatMap((one) => one.pathCertificates ?? []);
    findings = mergeRefused(share, await carry(item, share, deps, onHandedOver));
  } catch (error) {
    if (isLeaseLost(error)) throw error;
    findings = failAll(item.recipients, readFailure(error), {});
  }
  if (item.kind !== 'message') findings = awaitOwnKey(findings);
  const times = { certificates, startedAt, durationMs: performance.now() - began };
  return { ...readFindings(findings, times), pathCertificates };
}

function readFindings(
  { sent, failures, peer, sentHash = '' }: Findings,
  times: Pick<AttemptRecord, 'certificates' | 'startedAt' | 'durationMs'>,
): Omit<AttemptResult, 'pathCertificates'> {
  const all = [...failures];
  const waiting = all.find(([, failure]) => failure.isTransient)?.[1];
  const worst = waiting ?? all[0]?.[1];
  return {
    decisions: [
      ...sent.map((recipient) => ({ recipient, outcome: 'sent' as const })),
      ...all
        .filter(([, failure]) => !failure.isTransient)
        .map(([recipient, failure]) => ({ recipient, outcome: 'failed' as const, ...problemOf(failure) })),
    ],
    problem: waiting && problemOf(waiting),
    failure: worst && problemOf(worst),
    isOutage: sent.length === 0 && waiting !== undefined && isOutage(waiting),
    isOwnFault: sent.length === 0 && waiting !== undefined && isOwnFault(waiting),
    attempt: {
      host: peer?.host ?? '',
      address: peer?.address ?? '',
      tls: peer?.tls ?? '',
      reply: peer?.reply || (worst?.text ?? ''),
      code: worst === undefined ? '' : worst.code || worst.reason,
      sentHash,
      ...times,
    },
  };
}

function mergeRefused({ refused }: SealedShare, findings: Findings): Findings {
  if (refused.length === 0) return findings;
  const failures = new Map(findings.failures);
  for (const refusal of refused) failures.set(refusal.recipient, readRefusal(refusal));
  return { ...findings, failures };
}

/**
 * An MDN or DSN waits until this service's expired key is renewed, because nobody can send it again. A
 * message fails at once instead: its client sees the reason and can send it again.
 */
function awaitOwnKey(findings: Findings): Findings {
  const failures = [...findings.failures].map(([recipient, failure]) => {
    const isOwn = failure.reason === 'sender-certificate';
    return [recipient, isOwn ? { ...failure, isTransient: true } : failure] as const;
  });
  return { ...findings, failures: new Map(failures) };
}

/** The agent's findings about the recipients' certificates: fingerprints, anchors and codes. */
function listCertificates({ usable, refused }: SealedShare): string {
  const list = [...usable, ...refused].flatMap((one) =>
    (one.findings ?? []).map((finding) => ({
      to: 'address' in one ? one.address : one.recipient,
      ...finding,
    })),
  );
  return list.length === 0 ? '' : JSON.stringify(list);
}

async function carry(
  item: ClaimedDestination,
  share: SealedShare,
  deps: AttemptDependencies,
  onHandedOver?: () => void,
): Promise<Findings> {
  const recipients = share.usable.map(({ address }) => address);
  if (share.sealed === undefined) return { sent: [], failures: new Map() };
  let found: MailHosts;
  let lastServer: LastServer | undefined;
  try {
    found = await findHosts(item.party, deps);
    const last = item.attempts > 0 ? await deps.findLastServer(item) : undefined;
    if (found.hosts.some(({ name }) => name === last?.host)) lastServer = last;
    if (lastServer !== undefined) found = beginElsewhere(found, lastServer);
  } catch (error) {
    return failAll(recipients, readHostFailure(error, deps), {});
  }
  let sentHash: Promise<string> | undefined;
  const findings = await askHosts(
    item,
    {
      recipients,
      found,
      lastServer,
      // Suspended functions keep their variables, so that only the share refers to the bytes.
      message() {
        if (share.sealed === undefined) throw new Error('a message that a server has was asked for again');
        return share.sealed;
      },
      isHeld: () => share.sealed !== undefined,
      afterData() {
        if (share.sealed === undefined) return;
        sentHash = hashInSlices(share.sealed);
        share.sealed = undefined;
        onHandedOver?.();
      },
    },
    deps,
  );
  if (findings.sent.length === 0 || sentHash === undefined) return findings;
  return { ...findings, sentHash: await sentHash };
}

/** The mail hosts of a domain, in order of preference. */
async function findHosts(
  domain: string,
  {
    dns,
    relayHost,
    allowsPrivateHosts,
  }: Pick<AttemptDependencies, 'dns' | 'relayHost' | 'allowsPrivateHosts'>,
): Promise<MailHosts> {
  if (relayHost !== undefined) return resolveRelay(relayHost, dns);
  const found = await resolveMailHosts(domain, dns);
  return allowsPrivateHosts ? found : requirePublicHosts(domain, found);
}

/** The server whose attempt did not succeed comes last, and another address of it before it. */
function beginElsewhere(found: MailHosts, last: LastServer): MailHosts {
  const rank = (host: MailHost): number =>
    isElsewhere(host, last) ? 0 : host.address === last.address ? 2 : 1;
  const [first, ...others] = found.hosts.toSorted((a, b) => rank(a) - rank(b));
  return first === undefined ? found : { ...found, hosts: [first, ...others] };
}

const isElsewhere = ({ name }: MailHost, last: LastServer | undefined): boolean =>
  last !== undefined && name !== last.host;

function readHostFailure(error: unknown, { relayHost }: AttemptDependencies): Failure {
  return relayHost === undefined ? readFailure(error) : readRelayFailure(error);
}

interface Load {
  readonly recipients: readonly DirectAddress[];
  readonly message: () => Uint8Array;
  /** False once a server has the whole message. */
  readonly isHeld: () => boolean;
  readonly afterData: () => void;
  readonly found: MailHosts;
  /** That of the last attempt, if it is among those that are found: it is asked last. */
  readonly lastServer: LastServer | undefined;
}

async function askHosts(
  item: ClaimedDestination,
  { recipients, message, isHeld, afterData, found, lastServer }: Load,
  deps: AttemptDependencies,
): Promise<Findings> {
  const until = performance.now() + askNextWithinMs;
  const mayAskNext = (): boolean => performance.now() <= until && !deps.isClosing();
  const deferredBy = new Set<string>();
  let isRefusedElsewhere = false;
  let deferral: Findings | undefined;
  let last: Findings | undefined;
  for (const host of found.hosts) {
    // Another address of the same server has nothing else to say.
    if (deferredBy.has(host.name)) continue;
    if (isRefusedElsewhere && isElsewhere(host, lastServer)) continue;
    try {
      const outcome = await deps.smtp.send({
        host: host.address,
        port: deps.peerPort,
        mailFrom: item.sender,
        recipients,
        message,
        beforeData: () => deps.confirmLease(item),
        afterData,
      });
      const read = deps.relayHost === undefined ? readRejection : readRelayRejection;
      const findings = readOutcome(recipients, host, outcome, read);
      if (findings.sent.length > 0) return findings;
      // What the message waits for is the reply of the server that has deferred it.
      if (isElsewhere(host, lastServer) && !isAllTransient(findings) && isHeld() && mayAskNext()) {
        isRefusedElsewhere = true;
        continue;
      }
      // A server that takes nobody after another one has deferred does not make that final.
      deferral ??= isAllTransient(findings) ? findings : undefined;
      deferredBy.add(host.name);
      const isDecided = deferral === undefined || !isHeld();
      if (isDecided || deferredBy.size >= maxDeferrals || !mayAskNext()) return deferral ?? findings;
    } catch (error) {
      if (!(error instanceof SmtpError)) throw error;
      const failure = readHostFailure(error, deps);
      deps.log.debug(
        { messageId: item.messageId, host: host.name, address: host.address, code: failure.code },
        'a mail server could not be used',
      );
      const findings = failAll(recipients, failure, {
        host: host.name,
        address: host.address,
        tls: '',
        reply: failure.text,
      });
      // Even a server that refuses everything speaks for itself only: the domain's next one is asked. A
      // failure that may pass goes before one that does not.
      if (last === undefined || !isTransient(last) || failure.isTransient) last = findings;
      // A server that was not asked must not count as unreachable because of another one that is.
      if (isOwnFault(failure)) return deferral ?? findings;
      // The server may have accepted the message: it must not be sent to another one now.
      if (error.fields['hasSentAll'] === true || !mayAskNext()) break;
    }
  }
  // What a server says of the message counts more than that another one could not be asked.
  if (deferral !== undefined) return deferral;
  // A host whose address is not known at present may take what the others refuse.
  if (last === undefined || (!isTransient(last) && found.unresolved !== undefined))
    return failAll(recipients, readHostFailure(found.unresolved, deps), {});
  return last;
}

function isAllTransient({ failures }: Findings): boolean {
  return [...failures.values()].every((failure) => failure.isTransient);
}

function isTransient({ failures }: Findings): boolean {
  return [...failures.values()].some((failure) => failure.isTransient);
}

function failAll(
  recipients: readonly DirectAddress[],
  failure: Failure,
  peer: Partial<NonNullable<Findings['peer']>>,
): Findings {
  return {
    sent: [],
    failures: new Map(recipients.map((recipient) => [recipient, failure])),
    peer: { host: '', address: '', tls: '', reply: '', ...peer },
  };
}

function readOutcome(
  recipients: readonly DirectAddress[],
  host: MailHost,
  outcome: SendOutcome,
  read: typeof readRejection,
): Findings {
  const rejected = new Map(outcome.rejected.map((entry) => [entry.address.toLowerCase(), entry]));
  const failures = new Map<DirectAddress, Failure>();
  const sent: DirectAddress[] = [];
  for (const recipient of recipients) {
    const rejection = rejected.get(addressKey(recipient));
    if (rejection === undefined) sent.push(recipient);
    else failures.set(recipient, read(rejection));
  }
  const { tls = '', reply = '' } = outcome;
  return { sent, failures, peer: { host: host.name, address: host.address, tls, reply } };
}
