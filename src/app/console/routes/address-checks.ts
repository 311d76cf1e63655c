import { Readable } from 'node:stream';
import { errorText } from '../../../core/index.ts';
import { findDirectAddress, type DirectAddress } from '../../../lib/values/index.ts';
import {
  isDomainMissing,
  reasonOfRefusal,
  type DiscoveryStep,
  type RecipientVerdict,
} from '../../../service/agent/index.ts';
import {
  adviceFor,
  buildRefusedPath,
  buildTrustedPath,
  failureReasons,
} from '../../../service/messaging/index.ts';
import { addressCheckRequest, type AddressCheckEvent, type CertificatePath } from '../contract/index.ts';
import { ConsoleError, invalidField } from '../errors.ts';
import { route, streamOf } from '../route.ts';
import type { ConsoleRoutes, ConsoleServices } from '../types.ts';
import type { Acting } from './acting.ts';
import { isoTime, toCertificatePath } from './formats.ts';

const places = [
  { source: 'dns-address', title: 'DNS, for the address' },
  { source: 'dns-domain', title: 'DNS, for the domain' },
  { source: 'ldap-address', title: 'LDAP, for the address' },
  { source: 'ldap-domain', title: 'LDAP, for the domain' },
] as const;

/** Concurrent checks per operator and in total: each queries servers of other organizations. */
const maxAtOnce = 2;
const maxTotal = 20;

/** Streams, step by step, the discovery and the trust decision of a send to an address. */
export function addressCheckRoutes(services: ConsoleServices, acting: Acting): ConsoleRoutes {
  const running: string[] = [];
  return (app) => {
    route(app, 'post', '/address-checks', {
      needs: 'addresses.check',
      about: [
        'addresses',
        'Check an address',
        'NDJSON: one event per step as it is done, the decision last.',
      ],
      body: addressCheckRequest,
      answer: streamOf('application/x-ndjson'),
      refuses: [429],
      handle: async (request, reply) => {
        const address = findDirectAddress(request.body.address);
        if (address === undefined) throw invalidField('address', 'Not a Direct address (local@domain).');
        const hosted = await services.trust.listDomains();
        const fromDomain = request.body.fromDomain?.toLowerCase() ?? hosted[0];
        if (fromDomain === undefined || !hosted.includes(fromDomain))
          throw invalidField('fromDomain', 'Not one of the hosted domains.');
        const { actor } = request.operator;
        if (running.length >= maxTotal || running.filter((one) => one === actor).length >= maxAtOnce)
          throw new ConsoleError('CONSOLE_BUSY', 'too many address checks at once');
        running.push(actor);
        const stream = new Readable({ objectMode: false, read() {} });
        const send = (event: AddressCheckEvent): void => void stream.push(`${JSON.stringify(event)}\n`);
        // Nobody else's servers are asked for a reader who has gone.
        const reader = new AbortController();
        reply.raw.once('close', () => reader.abort());
        const record = (
          outcome: 'ok' | 'failed',
          objects: { readonly canSend: string; readonly code: string },
        ): Promise<void> =>
          acting(request).audit.recordNow({
            action: 'address.check',
            actor: 'operator',
            outcome,
            objects: { to: address, fromDomain, ...objects },
          });
        check(services, { address, fromDomain }, send, reader.signal)
          .then(async ({ canSend, code }) => record('ok', { canSend: String(canSend), code }))
          .catch(async (error: unknown) => {
            if (reader.signal.aborted) return record('failed', { canSend: 'unknown', code: 'ABORTED' });
            services.log.warn({ problem: errorText(error) }, 'an address check failed');
            send({ type: 'failed', text: 'The check failed; look at the log of this service.' });
          })
          .catch((error: unknown) => {
            services.log.warn({ problem: errorText(error) }, 'an address check could not be audited');
          })
          .finally(() => {
            running.splice(running.indexOf(actor), 1);
            stream.push(null);
          });
        return reply.type('application/x-ndjson; charset=utf-8').send(stream);
      },
    });
  };
}

interface Asked {
  readonly address: DirectAddress;
  readonly fromDomain: string;
}

async function check(
  { agent, clock, config }: ConsoleServices,
  { address, fromDomain }: Asked,
  send: (event: AddressCheckEvent) => void,
  signal: AbortSignal,
): Promise<{ readonly canSend: boolean; readonly code: string }> {
  const began = performance.now();
  send({ type: 'started', address, fromDomain, at: isoTime(clock.now()), places: [...places] });
  const verdict = await agent.explainRecipient(fromDomain, address, (step) => send(toStep(step)), signal);
  for (const path of pathsOf(verdict)) send({ type: 'certificate', path });
  const canSend = verdict.outcome === 'usable';
  const decided = decide(verdict);
  send({
    type: 'decision',
    canSend,
    ...decided,
    letter: canSend
      ? ''
      : writeLetter({ address, fromDomain, hostname: config.smtp.hostname, verdict, at: clock.now() }),
    elapsedMs: performance.now() - began,
  });
  return { canSend, code: decided.code };
}

const stepTexts = {
  found: 'A certificate is published here, so no other place is queried.',
  absent: 'Nothing is published here.',
  unavailable: 'It did not answer, so the result for this place is unknown.',
} as const;

function toStep({
  source,
  query,
  outcome,
  via,
  certificateCount,
  unreadableCount,
  ttlSeconds,
  detail,
  isNameMissing,
  elapsedMs,
}: DiscoveryStep): AddressCheckEvent {
  return {
    type: 'step',
    source,
    title: places.find((place) => place.source === source)?.title ?? source,
    query,
    outcome,
    level: outcome === 'found' ? 'ok' : outcome === 'absent' ? 'none' : 'warning',
    text:
      isNameMissing === true && source === 'dns-domain' ? 'The domain does not exist.' : stepTexts[outcome],
    via: via ?? '',
    certificateCount,
    unreadableCount,
    ttlSeconds,
    detail: detail ?? '',
    elapsedMs,
  };
}

function pathsOf(verdict: RecipientVerdict): readonly CertificatePath[] {
  const ways = verdict.outcome === 'usable' ? verdict.certificates : [];
  const known = new Map(
    ways.flatMap(({ certificates }) => certificates).map((one) => [one.fingerprint, one] as const),
  );
  return [
    ...ways.map(({ certificates }) =>
      buildTrustedPath(
        certificates.map(({ fingerprint }) => fingerprint),
        known,
      ),
    ),
    ...verdict.refused.map(({ fingerprint, code, text, failedAt, ...names }) =>
      buildRefusedPath({ fingerprint, code, text, failedAt, names }, known),
    ),
  ].map(toCertificatePath);
}

function decide(verdict: RecipientVerdict) {
  if (verdict.outcome === 'usable')
    return {
      level: 'ok' as const,
      sentence: 'A message would be sent: the certificate is valid and trusted.',
      whatToDo: '',
      reason: '',
      code: '',
      statusCode: '',
      isTransient: false,
    };
  const isMissing = !verdict.isTransient && isDomainMissing(verdict.steps);
  const reason = reasonOfRefusal(verdict, verdict.refused);
  return {
    level: verdict.isTransient ? ('warning' as const) : ('failed' as const),
    sentence: verdict.isTransient
      ? `It cannot be decided now; a message would wait and be retried. ${failureReasons[reason].text}`
      : `A message would fail. ${failureReasons[isMissing ? 'domain-not-found' : reason].text}`,
    whatToDo: adviceFor(isMissing ? 'domain-not-found' : reason, !verdict.isTransient),
    reason,
    code: verdict.code,
    statusCode: verdict.statusCode,
    isTransient: verdict.isTransient,
  };
}

/** A letter to the operator of the other HISP, with the queries, their results and the missing data. */
function writeLetter(
  facts: Asked & { readonly hostname: string; readonly verdict: RecipientVerdict; readonly at: Date },
): string {
  const { address, fromDomain, hostname, verdict, at } = facts;
  const lines = [
    `We cannot send Direct messages from ${fromDomain} to ${address}.`,
    `Checked at ${isoTime(at)} by ${hostname}:`,
    ...verdict.steps.map(
      ({ query, outcome, detail }) => `- ${query}: ${outcome}${detail === undefined ? '' : ` (${detail})`}`,
    ),
    ...verdict.refused.map(
      ({ fingerprint, subject, code, text }) =>
        `- certificate ${subject}, SHA-256 ${fingerprint}: ${code}, ${text}`,
    ),
    verdict.outcome === 'refused' ? `Result: ${verdict.code}. ${verdict.text}` : '',
    verdict.refused.length === 0
      ? 'Please publish a certificate for the address or its domain in DNS (CERT, RFC 4398) or LDAP.'
      : 'Please send us your trust anchor or trust bundle, or renew the certificate.',
  ];
  return `${lines.join('\n')}\n`;
}
