import { Type, type Static } from 'typebox';
import { level, nullable, oneOf, time, named, bodyOf } from './common.ts';

export const domainSummary = named('DomainSummary', {
  domain: Type.String(),
  addressCount: Type.Integer(),
  anchorCount: Type.Integer(),
  level,
  text: Type.String(),
  /** Days until the first key expires; negative afterwards; null without keys. */
  daysLeft: nullable(Type.Number()),
});
export type DomainSummary = Static<typeof domainSummary>;

/** `GET /admin/v1/domains` */
export const domainList = named('DomainList', { result: Type.Array(domainSummary) });
export type DomainList = Static<typeof domainList>;

export const certificateFacts = Type.Object({
  fingerprint: Type.String(),
  subject: Type.String(),
  issuer: Type.String(),
  serialNumber: Type.String(),
  notBefore: time,
  notAfter: time,
  algorithm: Type.String({ description: 'For example RSA 2048.' }),
});
export type CertificateFacts = Static<typeof certificateFacts>;

export const domainKey = named('DomainKey', {
  id: Type.String(),
  /** The domain, or an address with its own key. */
  owner: Type.String(),
  status: oneOf(['active', 'retired', 'requested']),
  level,
  text: Type.String(),
  /** Null while the key waits for its certificate. */
  certificate: nullable(certificateFacts),
  uses: Type.Array(oneOf(['signing', 'encryption'])),
  daysLeft: nullable(Type.Number()),
  createdAt: nullable(time),
  /** The request for the CA; empty unless `requested`. */
  csr: Type.String(),
  /** False if the domain would be left without a valid key. */
  canRetire: Type.Boolean(),
});
export type DomainKey = Static<typeof domainKey>;

export const domainAnchor = named('DomainAnchor', {
  id: Type.String(),
  direction: oneOf(['incoming', 'outgoing', 'both']),
  /** The bundle that it comes from; empty if an operator added it. */
  bundleId: Type.String(),
  level,
  certificate: certificateFacts,
  createdAt: time,
});
export type DomainAnchor = Static<typeof domainAnchor>;

export const domainBundle = named('DomainBundle', {
  id: Type.String(),
  url: Type.String(),
  direction: oneOf(['incoming', 'outgoing', 'both']),
  anchorCount: Type.Integer(),
  level,
  text: Type.String(),
  refreshedAt: nullable(time),
  nextRefreshAt: time,
  lastError: Type.String(),
  /** Changes by refreshes, newest first. */
  changes: Type.Array(
    Type.Object({
      at: time,
      added: Type.Array(Type.String()),
      removed: Type.Array(Type.String()),
    }),
  ),
});
export type DomainBundle = Static<typeof domainBundle>;

export const dnsRecord = named('DnsRecord', {
  name: Type.String(),
  type: Type.String(),
  ttl: Type.Integer(),
  /** The record's data as in a zone file. */
  expected: Type.String(),
  /** The whole line, to copy. */
  line: Type.String(),
  /** The answer of the DNS for the name and type; null if it was not queried or did not answer. */
  actual: nullable(Type.Array(Type.String())),
  state: oneOf(['ok', 'missing', 'different', 'unknown']),
  level,
  text: Type.String(),
});
export type DnsRecord = Static<typeof dnsRecord>;

/** A finding of the doctor. */
export const finding = named('Finding', {
  check: Type.String(),
  subject: Type.String(),
  severity: oneOf(['ok', 'note', 'warning', 'error']),
  level,
  text: Type.String(),
  advice: Type.String(),
});
export type Finding = Static<typeof finding>;

/** `GET /admin/v1/domains/:domain`; makes no network requests. */
export const domainDetails = named('DomainDetails', {
  domain: Type.String(),
  level,
  text: Type.String(),
  keys: Type.Array(domainKey),
  anchors: Type.Array(domainAnchor),
  bundles: Type.Array(domainBundle),
  addresses: Type.Array(Type.Object({ address: Type.String(), status: oneOf(['active', 'disabled']) }), {
    description: 'The first 500.',
  }),
  addressCount: Type.Integer(),
  unread: Type.Object(
    { count: Type.Integer(), addresses: Type.Array(Type.String()), text: Type.String() },
    {
      description:
        'Active addresses whose mail no enabled client may fetch: how many, the first 500, and a sentence for operators, empty without any.',
    },
  ),
});
export type DomainDetails = Static<typeof domainDetails>;

/** `GET /admin/v1/domains/:domain/records`: queries the DNS; takes up to several seconds. */
export const domainRecords = named('DomainRecords', {
  records: Type.Array(dnsRecord),
  /** Notes about the records. */
  notes: Type.Array(Type.String()),
  checkedAt: time,
});
export type DomainRecords = Static<typeof domainRecords>;

/**
 * `GET /admin/v1/domains/:domain/findings`: the doctor's findings for this domain; takes up to several
 * seconds.
 */
export const domainFindings = named('DomainFindings', { findings: Type.Array(finding), checkedAt: time });
export type DomainFindings = Static<typeof domainFindings>;

/**
 * `POST /admin/v1/domains/:domain/csr`: makes a key, stores it encrypted, and answers the request for the CA.
 */
export const csrRequest = bodyOf('CsrRequest', {
  /** The domain itself if absent, or an address under it. */
  owner: Type.Optional(Type.String({ maxLength: 255 })),
  organization: Type.Optional(Type.String({ maxLength: 100 })),
});
export type CsrRequest = Static<typeof csrRequest>;
export const csrAnswer = named('CsrAnswer', {
  keyId: Type.String(),
  owner: Type.String(),
  csr: Type.String({ description: 'PEM.' }),
});
export type CsrAnswer = Static<typeof csrAnswer>;

/**
 * `POST /admin/v1/domains/:domain/keys`: installs the certificate that the CA issued for a requested key.
 * Answers the key.
 */
export const installRequest = bodyOf('InstallRequest', {
  certificate: Type.String({ maxLength: 20_000, description: 'PEM; a chain may follow.' }),
});
export type InstallRequest = Static<typeof installRequest>;

/** `POST /admin/v1/domains/:domain/keys/:id/retire`. Answers `Done`. */
export const retireRequest = bodyOf('RetireRequest', { isForced: Type.Optional(Type.Boolean()) });
export type RetireRequest = Static<typeof retireRequest>;

/** `POST /admin/v1/domains`. Answers `Done`. */
export const newDomain = bodyOf('NewDomain', {
  domain: Type.String({ minLength: 1, maxLength: 255 }),
  organization: Type.Optional(
    Type.String({ maxLength: 64, description: "Whose it is; without it the operator's own." }),
  ),
});
export type NewDomain = Static<typeof newDomain>;

/** `GET /admin/v1/domains/:domain/removal` */
export const domainRemoval = named('DomainRemoval', {
  domain: Type.String(),
  organizationId: Type.String(),
  addresses: Type.Integer(),
  activeAddresses: Type.Integer(),
  keys: Type.Integer(),
  keyRequests: Type.Integer(),
  anchors: Type.Integer(),
  bundles: Type.Integer(),
  unread: Type.Integer({ description: 'Received messages that no client has acknowledged; they stay.' }),
  deadLetters: Type.Integer(),
  obstacles: Type.Array(Type.String(), {
    description: 'Sentences about what is in the way; without any it can be removed.',
  }),
});
export type DomainRemoval = Static<typeof domainRemoval>;

/** `POST /admin/v1/domains/:domain/remove`. Answers `Done`. */
export const removeRequest = bodyOf('RemoveRequest', {
  domain: Type.String({ maxLength: 255, description: 'The name again, so that it is meant.' }),
});
export type RemoveRequest = Static<typeof removeRequest>;

const direction = oneOf(['incoming', 'outgoing', 'both']);

/** `POST /admin/v1/domains/:domain/anchors`; with `preview` nothing is changed. Answers the anchor. */
export const newAnchor = bodyOf('NewAnchor', {
  certificate: Type.String({ maxLength: 20_000, description: 'PEM.' }),
  direction,
  preview: Type.Boolean(),
});
export type NewAnchor = Static<typeof newAnchor>;
export const anchorAnswer = named('AnchorAnswer', {
  certificate: certificateFacts,
  warning: Type.String(),
  sentence: Type.String(),
});
export type AnchorAnswer = Static<typeof anchorAnswer>;

/** `POST /admin/v1/domains/:domain/bundles`. Answers `Done`. */
export const newBundle = bodyOf('NewBundle', {
  url: Type.String({ minLength: 1, maxLength: 2000 }),
  direction,
  refreshHours: Type.Number({ minimum: 0.1, maximum: 720 }),
  signer: Type.Optional(
    Type.String({ maxLength: 20_000, description: 'PEM; without it the URL must be https.' }),
  ),
});
export type NewBundle = Static<typeof newBundle>;
