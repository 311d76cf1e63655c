import type { CertificateFinding } from '../../agent/index.ts';
import { isFailureReason, stateTexts, type FailureReason } from '../reasons.ts';
import type { Attempt } from '../evidence/attempts.ts';
import type { HistoryEntry, RecipientStatus } from '../status/find-status.ts';

export type StationId = 'accepted' | 'certificate' | 'trust' | 'sent' | 'processed' | 'dispatched';

/** `current`: the message is here; `not-needed`: the sender did not request it. */
export type StationState = 'ok' | 'current' | 'failed' | 'not-reached' | 'not-needed';

/** One stage in the delivery of a message to one recipient. */
export interface Station {
  readonly id: StationId;
  readonly state: StationState;
  readonly at: Date | undefined;
  /** One sentence; empty if it was not reached. */
  readonly text: string;
}

export interface StationFacts {
  readonly recipient: RecipientStatus;
  readonly acceptedAt: Date;
  readonly requestsFinalDelivery: boolean;
  /** At the recipient's destination, oldest first. */
  readonly attempts: readonly Attempt[];
}

const order: readonly StationId[] = ['accepted', 'certificate', 'trust', 'sent', 'processed', 'dispatched'];

/** The stage at which a message stops, by reason. */
const stops: Readonly<Record<FailureReason, StationId>> = {
  'no-certificate': 'certificate',
  'sender-certificate': 'certificate',
  untrusted: 'trust',
  'certificate-expired': 'trust',
  'unknown-recipient': 'sent',
  'domain-not-found': 'sent',
  'no-mail-host': 'sent',
  'dns-failed': 'sent',
  unreachable: 'sent',
  'tls-failed': 'sent',
  'gateway-unavailable': 'sent',
  'smtp-deferred': 'sent',
  'smtp-rejected': 'sent',
  'remote-failed': 'processed',
  'no-processed-mdn': 'processed',
  'no-dispatched-mdn': 'dispatched',
  cancelled: 'sent',
  internal: 'sent',
};

/** The stages of a message to one recipient, each with its known facts. Pure. */
export function findStations(facts: StationFacts): readonly Station[] {
  const { recipient } = facts;
  const here = findHere(facts);
  const at = order.indexOf(here.id);
  return order.map((id, position) => {
    if (id === 'dispatched' && isUnneeded(facts)) return { id, state: 'not-needed', at: undefined, text: '' };
    if (position > at) return { id, state: 'not-reached', at: undefined, text: '' };
    if (position < at || here.state === 'ok') return { id, state: 'ok', ...passed(id, facts) };
    const since = here.state === 'failed' || id !== 'accepted' ? recipient.at : facts.acceptedAt;
    return { id, state: here.state, at: since, text: recipient.text };
  });
}

function isUnneeded({ recipient, requestsFinalDelivery }: StationFacts): boolean {
  return !requestsFinalDelivery && recipient.state !== 'dispatched';
}

interface Here {
  readonly id: StationId;
  readonly state: 'ok' | 'current' | 'failed';
}

function findHere(facts: StationFacts): Here {
  const { recipient, requestsFinalDelivery } = facts;
  switch (recipient.state) {
    case 'queued':
      return { id: stopOf(facts) ?? 'certificate', state: 'current' };
    case 'sent':
      return { id: 'processed', state: 'current' };
    case 'processed':
      return requestsFinalDelivery
        ? { id: 'dispatched', state: 'current' }
        : { id: 'processed', state: 'ok' };
    case 'dispatched':
      return { id: 'dispatched', state: 'ok' };
    case 'failed':
    case 'expired':
      return { id: stopOf(facts) ?? 'sent', state: 'failed' };
  }
}

/** The stage of a reason. */
function stopOf(facts: StationFacts): StationId | undefined {
  const { recipient, attempts } = facts;
  if (!isFailureReason(recipient.reason)) return undefined;
  const { reason } = recipient;
  // A place of the certificate lookup did not answer, or the mail servers could not be resolved.
  if (reason === 'dns-failed' && attempts.at(-1)?.code === 'DIRECT_RECIPIENT_UNDECIDED') return 'certificate';
  if (reason === 'cancelled' && attempts.length === 0) return 'certificate';
  if (reason === 'remote-failed' && findEvent(facts, 'processed') !== undefined) return 'dispatched';
  const stop = stops[reason];
  return stop === 'sent' && wasTaken(facts) ? 'processed' : stop;
}

/**
 * True if the recipient's mail server accepted the message; its HISP's MDN may be stored before the SMTP
 * reply.
 */
function wasTaken({ recipient }: StationFacts): boolean {
  return recipient.history.some(({ event }) => event === 'sent' || event === 'failure-reported');
}

function findEvent({ recipient }: StationFacts, event: string): HistoryEntry | undefined {
  return recipient.history.find((entry) => entry.event === event && !entry.isLate);
}

/** The time and text of a passed stage. */
function passed(
  id: StationId,
  facts: StationFacts,
): { readonly at: Date | undefined; readonly text: string } {
  const { recipient, attempts, acceptedAt } = facts;
  const lookup = attempts.find(({ certificates }) =>
    certificates.some((one) => concerns(one, recipient.address)),
  );
  const tried = (lookup ?? attempts[0])?.startedAt;
  const finding = lookup?.certificates.find((one) => concerns(one, recipient.address));
  switch (id) {
    case 'accepted':
      return { at: acceptedAt, text: 'Accepted and stored.' };
    case 'certificate':
      return { at: tried, text: describePlace(finding as CertificatePlace | undefined) };
    case 'trust':
      return { at: tried, text: "It is valid and chains to an anchor of the sender's domain." };
    case 'sent':
      return passedSent(facts);
    case 'processed':
      return { at: findEvent(facts, 'processed')?.time ?? recipient.at, text: stateTexts.processed.text };
    case 'dispatched':
      return { at: findEvent(facts, 'dispatched')?.time ?? recipient.at, text: stateTexts.dispatched.text };
  }
}

type CertificatePlace = Partial<Pick<CertificateFinding, 'source' | 'isCached'>>;

const places: Readonly<Record<NonNullable<CertificatePlace['source']>, string>> = {
  'dns-address': 'for the address in DNS',
  'dns-domain': 'for the domain in DNS',
  'ldap-address': 'for the address in LDAP',
  'ldap-domain': 'for the domain in LDAP',
};

/** Attempts of earlier versions name no source. */
function describePlace({ source, isCached }: CertificatePlace = {}): string {
  if (source === undefined || !Object.hasOwn(places, source)) return 'A certificate was found.';
  return `A certificate was found ${places[source]}${isCached === true ? ' earlier, and the answer is still valid' : ''}.`;
}

function passedSent(facts: StationFacts) {
  const sent = findEvent(facts, 'sent');
  const attempt = facts.attempts.findLast(({ outcome }) => outcome === 'sent' || outcome === 'partial');
  const how = attempt === undefined || attempt.tls === '' ? '' : ` over ${attempt.tls}`;
  const text =
    attempt === undefined || attempt.host === ''
      ? stateTexts.sent.text
      : `${attempt.host} accepted the message${how}.`;
  return { at: sent?.time ?? attempt?.startedAt, text };
}

/** True if the data about a certificate belongs to an address. */
export function concerns(finding: unknown, address: string): boolean {
  return typeof finding === 'object' && finding !== null && 'to' in finding && finding.to === address;
}
