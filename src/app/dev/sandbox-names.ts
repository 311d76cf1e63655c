import { parseDirectAddress, type DirectAddress } from '../../lib/values/index.ts';

/** The sandbox and its peers. Every name is under the reserved top-level domain `example` (RFC 2606 §2). */
export const domains = {
  /** Hosted by this HISP. */
  own: 'direct.riverside.example',
  /** Hosted by the partner HISP, whose authority this HISP trusts. */
  partner: 'direct.lakeside.example',
  /** Its mail server takes every message and never answers. */
  silent: 'direct.silent.example',
  /** Its certificate is from an authority that nobody here trusts. */
  untrusted: 'direct.stranger.example',
  /** It has a mail server and no certificate. */
  uncertified: 'direct.uncertified.example',
} as const;

export const mailHosts = {
  own: 'mx.direct.riverside.example',
  partner: 'mx.direct.lakeside.example',
  silent: 'mx.direct.silent.example',
} as const;

/**
 * Each HISP has its own loopback address, so that all mail servers can share one port as they do in the
 * world.
 */
export const loopbackAddresses = { own: '127.0.0.2', partner: '127.0.0.3', silent: '127.0.0.4' } as const;

/** The edge client's own address. */
export const demoAddress = parseDirectAddress(`demo@${domains.own}`);

/** What software that speaks no REST signs in as. */
export const edgeAddress = parseDirectAddress(`edge@${domains.own}`);

/** The outcome of a message depends on its recipient. */
export type PartnerOutcome =
  | 'processed'
  | 'dispatched'
  | 'failed'
  | 'expired'
  | 'untrusted'
  | 'noCertificate';

export const partners: Readonly<Record<PartnerOutcome, DirectAddress>> = {
  processed: parseDirectAddress(`processed@${domains.partner}`),
  /** Its edge takes its mail at once, so a dispatched MDN comes when one was asked for. */
  dispatched: parseDirectAddress(`dispatched@${domains.partner}`),
  /** A disabled mailbox: the partner answers with a failure DSN. */
  failed: parseDirectAddress(`failed@${domains.partner}`),
  expired: parseDirectAddress(`expired@${domains.silent}`),
  untrusted: parseDirectAddress(`untrusted@${domains.untrusted}`),
  noCertificate: parseDirectAddress(`no-certificate@${domains.uncertified}`),
};

/** Answers every message with a message, so that there is something in the inbox. */
export const echoAddress = parseDirectAddress(`echo@${domains.partner}`);
