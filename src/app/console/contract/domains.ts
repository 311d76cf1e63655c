import { Type, type Static } from 'typebox';
import { level, nullable, oneOf, time } from './common.ts';

export const domainSummary = Type.Object(
  {
    domain: Type.String(),
    addressCount: Type.Integer(),
    anchorCount: Type.Integer(),
    level,
    text: Type.String(),
    /** Days until the first key expires; negative afterwards; null without keys. */
    daysLeft: nullable(Type.Number()),
  },
  { title: 'DomainSummary' },
);
export type DomainSummary = Static<typeof domainSummary>;

/** `GET /admin/v1/domains` */
export const domainList = Type.Object({ result: Type.Array(domainSummary) }, { title: 'DomainList' });
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

export const domainKey = Type.Object(
  {
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
  },
  { title: 'DomainKey' },
);
export type DomainKey = Static<typeof domainKey>;

export const domainAnchor = Type.Object(
  {
    id: Type.String(),
    direction: oneOf(['incoming', 'outgoing', 'both']),
    /** The bundle that it comes from; empty if an operator added it. */
    bundleId: Type.String(),
    level,
    certificate: certificateFacts,
    createdAt: time,
  },
  { title: 'DomainAnchor' },
);
export type DomainAnchor = Static<typeof domainAnchor>;

export const domainBundle = Type.Object(
  {
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
  },
  { title: 'DomainBundle' },
);
export type DomainBundle = Static<typeof domainBundle>;

export const dnsRecord = Type.Object(
  {
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
  },
  { title: 'DnsRecord' },
);
export type DnsRecord = Static<typeof dnsRecord>;

/** A finding of the doctor. */
export const finding = Type.Object(
  {
    check: Type.String(),
    subject: Type.String(),
    severity: oneOf(['ok', 'note', 'warning', 'error']),
    level,
    text: Type.String(),
    advice: Type.String(),
  },
  { title: 'Finding' },
);
export type Finding = Static<typeof finding>;

/** `GET /admin/v1/domains/:domain`; makes no network requests. */
export const domainDetails = Type.Object(
  {
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
  },
  { title: 'DomainDetails' },
);
export type DomainDetails = Static<typeof domainDetails>;

/** `GET /admin/v1/domains/:domain/records`: queries the DNS; takes up to several seconds. */
export const domainRecords = Type.Object(
  {
    records: Type.Array(dnsRecord),
    /** Notes about the records. */
    notes: Type.Array(Type.String()),
    checkedAt: time,
  },
  { title: 'DomainRecords' },
);
export type DomainRecords = Static<typeof domainRecords>;

/**
 * `GET /admin/v1/domains/:domain/findings`: the doctor's findings for this domain; takes up to several
 * seconds.
 */
export const domainFindings = Type.Object(
  { findings: Type.Array(finding), checkedAt: time },
  { title: 'DomainFindings' },
);
export type DomainFindings = Static<typeof domainFindings>;

/**
 * `POST /admin/v1/domains/:domain/csr`: makes a key, stores it encrypted, and answers the request for the CA.
 */
export const csrRequest = Type.Object(
  {
    /** The domain itself if absent, or an address under it. */
    owner: Type.Optional(Type.String({ maxLength: 255 })),
    organization: Type.Optional(Type.String({ maxLength: 100 })),
  },
  { title: 'CsrRequest', additionalProperties: false },
);
export type CsrRequest = Static<typeof csrRequest>;
export const csrAnswer = Type.Object(
  { keyId: Type.String(), owner: Type.String(), csr: Type.String({ description: 'PEM.' }) },
  { title: 'CsrAnswer' },
);
export type CsrAnswer = Static<typeof csrAnswer>;

/**
 * `POST /admin/v1/domains/:domain/keys`: installs the certificate that the CA issued for a requested key.
 * Answers the key.
 */
export const installRequest = Type.Object(
  { certificate: Type.String({ maxLength: 20_000, description: 'PEM; a chain may follow.' }) },
  { title: 'InstallRequest', additionalProperties: false },
);
export type InstallRequest = Static<typeof installRequest>;

/** `POST /admin/v1/domains/:domain/keys/:id/retire`. Answers `Done`. */
export const retireRequest = Type.Object(
  { isForced: Type.Optional(Type.Boolean()) },
  { title: 'RetireRequest', additionalProperties: false },
);
export type RetireRequest = Static<typeof retireRequest>;

/** `POST /admin/v1/domains`. Answers `Done`. */
export const newDomain = Type.Object(
  {
    domain: Type.String({ minLength: 1, maxLength: 255 }),
    organization: Type.Optional(
      Type.String({ maxLength: 64, description: "Whose it is; without it the operator's own." }),
    ),
  },
  { title: 'NewDomain', additionalProperties: false },
);
export type NewDomain = Static<typeof newDomain>;

/** `GET /admin/v1/domains/:domain/removal` */
export const domainRemoval = Type.Object(
  {
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
  },
  { title: 'DomainRemoval' },
);
export type DomainRemoval = Static<typeof domainRemoval>;

/** `POST /admin/v1/domains/:domain/remove`. Answers `Done`. */
export const removeRequest = Type.Object(
  { domain: Type.String({ maxLength: 255, description: 'The name again, so that it is meant.' }) },
  { title: 'RemoveRequest', additionalProperties: false },
);
export type RemoveRequest = Static<typeof removeRequest>;

const direction = oneOf(['incoming', 'outgoing', 'both']);

/** `POST /admin/v1/domains/:domain/anchors`; with `preview` nothing is changed. Answers the anchor. */
export const newAnchor = Type.Object(
  {
    certificate: Type.String({ maxLength: 20_000, description: 'PEM.' }),
    direction,
    preview: Type.Boolean(),
  },
  { title: 'NewAnchor', additionalProperties: false },
);
export type NewAnchor = Static<typeof newAnchor>;
export const anchorAnswer = Type.Object(
  { certificate: certificateFacts, warning: Type.String(), sentence: Type.String() },
  { title: 'AnchorAnswer' },
);
export type AnchorAnswer = Static<typeof anchorAnswer>;

/** `POST /admin/v1/domains/:domain/bundles`. Answers `Done`. */
export const newBundle = Type.Object(
  {
    url: Type.String({ minLength: 1, maxLength: 2000 }),
    direction,
    refreshHours: Type.Number({ minimum: 0.1, maximum: 720 }),
    signer: Type.Optional(
      Type.String({ maxLength: 20_000, description: 'PEM; without it the URL must be https.' }),
    ),
  },
  { title: 'NewBundle', additionalProperties: false },
);
export type NewBundle = Static<typeof newBundle>;
