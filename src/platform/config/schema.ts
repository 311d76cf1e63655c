/**
 * The configuration: schema, reading, rules that concern several settings.
 * Used by `platform`; others by its `index.ts`.
 * Begin with this schema, which is all that an operator can set; `load-config.ts` reads it.
 */
import { fillDefaults } from './check-values.ts';
import {
  choice,
  count,
  flag,
  optionalPort,
  optionalText,
  port,
  rate,
  rates,
  section,
  text,
  texts,
  type Schema,
} from './fields.ts';

const megabyte = 1_000_000;
/** The longest wait: work that is due in more than two years was changed in the database, and is done now. */
const yearDays = 366;
const codedValue = '^[^^]+\\^[^^]*\\^[0-2](\\.[0-9]+)+$';
const relayName = '^[A-Za-z0-9.:-]+$';
const hostAndPort = '^.+:[0-9]{1,5}$';

const http = section('The REST API', {
  host: text('127.0.0.1', 'Address to listen on.'),
  port: port(8080, 'Port to listen on; 0 selects a free port.'),
  tlsKeyFile: optionalText('PEM file of the private key; with it the API uses HTTPS.'),
  tlsCertificateFile: optionalText('PEM file of the certificate chain.'),
  isBehindTlsProxy: flag(
    false,
    'A proxy terminates TLS, so plain HTTP is allowed on addresses other than loopback (OAUTH-15).',
  ),
  trustedProxies: texts([], 'Addresses or networks whose X-Forwarded-For is trusted.'),
  publicUrl: optionalText(
    'The URL that clients use, for metadata and the API document, for example https://hisp.example.org.',
  ),
  maxBodyBytes: count(
    40 * megabyte,
    'Largest request body, except of send_ccda, whose limit follows from messaging.maxAttachmentBytes.',
    1024,
  ),
  metricsHost: text('127.0.0.1', 'Address of the listener for metrics.'),
  metricsPort: port(
    0,
    'Port that serves only /metrics, which the API then does not serve. With 0 the API serves it.',
  ),
  exposesMetrics: flag(false, 'Serve /metrics to all addresses, not only to this machine.'),
  maxConnections: count(
    4000,
    'Open connections; at the limit one that asks for nothing is closed, of the address with the most (Decision 0020).',
  ),
  maxConnectionsPerAddress: count(
    1000,
    'Open connections per address; raise it for a proxy that keeps more (Decision 0020).',
  ),
  maxRequests: count(512, 'Concurrent requests; further ones get 503 (Decision 0020).'),
  maxRequestsPerAddress: count(256, 'Concurrent requests per address; further ones get 429.'),
  maxRequestsPerClient: count(128, 'Concurrent requests per client; further ones get 429.'),
  maxUploadBytes: count(
    160 * megabyte,
    'Memory in bytes for request bodies and for large answers that were not taken yet; what exceeds it gets 503 before it is read. Lowered to a sixteenth of the memory of the process.',
    1024,
    100_000 * megabyte,
  ),
  maxUploadBytesPerClient: count(
    100 * megabyte,
    'The same per client, or per address before the client is known; a body that exceeds it gets 429.',
    1024,
    100_000 * megabyte,
  ),
  minUploadBytesPerSecond: count(
    1000,
    'Minimum rate of request bodies, and of taking large answers; a slower one ends the connection. 0 disables this.',
    0,
  ),
  uploadWindowSeconds: rate(20, 'Time over which the upload rate is measured.'),
  unauthenticatedAnswerSeconds: rate(
    60,
    'Time in which a caller without a valid token must take its answer; then its connection is closed.',
  ),
});

const oauth = section('Tokens and client credentials', {
  acceptsQueryParameters: flag(
    false,
    'Also accept grant_type and scope in the query of the token request (Decision 0006).',
  ),
  attemptsPerMinute: count(30, 'Refused token requests per client id and per address before 429.'),
  tokensPerSecond: rate(5, 'Token requests per second and client.'),
  tokensBurst: count(50, 'Burst of token requests per client.'),
});

const storage = section('The database', {
  file: optionalText('SQLite file; defaults to openhisp.db in the data folder.'),
  url: optionalText(
    'URL of a PostgreSQL database for this service only, as postgres://user:password@host:5432/database; storage.file is then not used. If it contains a password, set it in the environment.',
    '^postgres(ql)?://[^/]*/[^/?]+',
  ),
  maxConnections: count(
    12,
    'PostgreSQL: connections of this node for transactions; reads, streams and locks need up to 10 more.',
    2,
    1000,
  ),
  busyTimeoutMs: count(
    10_000,
    'Longest wait for a lock of another process (SQLite) or transaction (PostgreSQL).',
    0,
  ),
  startWaitSeconds: count(
    600,
    'PostgreSQL: longest wait of a start for a database that does not answer; then the start fails. 0 to fail at once.',
    0,
    86_400,
  ),
  backupWarningDays: count(
    3,
    'SQLite: days without "openhisp backup" after which operators are warned. 0 if the database is backed up by other means.',
    0,
    10_000,
  ),
});

const admission = section('Limits for new work (Decision 0020)', {
  minFreeDiskBytes: count(
    500 * megabyte,
    'Minimum free disk space of the data folder and the database; with less, new messages are refused. 0 disables this.',
    0,
    1_000_000 * megabyte,
  ),
  maxWaitingMails: count(
    10_000,
    'Inbound messages waiting to be processed; further ones are deferred (452).',
  ),
  maxWaitingMailsPerNetwork: count(2500, 'The same per network: an IPv4 /24 or an IPv6 /64.'),
  maxWaitingMailBytes: count(
    4000 * megabyte,
    'Bytes of inbound messages waiting to be processed; further ones are deferred (452).',
    1024,
    1_000_000 * megabyte,
  ),
  maxWaitingMailBytesPerNetwork: count(1000 * megabyte, 'The same per network.', 1024, 1_000_000 * megabyte),
  maxCheckedAddresses: count(1000, 'Addresses that validate checks at the same time; further ones get 503.'),
  maxCheckedAddressesPerClient: count(200, 'The same per client; further ones get 429.'),
  addressChecks: count(32, 'Concurrent certificate discoveries of validate.'),
  addressChecksPerClient: count(8, 'The same for one client.'),
});

const vault = section('Encryption at rest', {
  masterKey: optionalText('Base64 of 32 bytes. Set it in the environment, not in the file.'),
  masterKeyFile: optionalText(
    'File with the master key, mode 0600; defaults to master.key in the data folder.',
  ),
  previousMasterKeyFile: optionalText(
    'File with a second master key that also decrypts, for changing the key on several nodes.',
  ),
});

const log = section('What the program writes', {
  level: choice(['debug', 'info', 'warn', 'error', 'silent'], 'info', 'Lowest level that is logged.'),
});

const audit = section('The audit chain', {
  flushMs: count(250, 'Longest time in milliseconds that a search event waits for a batch.', 10),
  keepDays: count(2192, 'Events are deleted after this time; at least six years (SEC-04).', 2192),
  checkpointSeconds: count(
    300,
    'Interval at which the end of the chain is signed, if it has changed.',
    1,
    86_400,
  ),
  checkpointFile: optionalText(
    'File to which signed checkpoints are appended, one JWS per line; defaults to audit-checkpoints.jws in the data folder. Keep copies where those who can write to the database cannot write.',
  ),
  checkpointUrl: optionalText(
    'URL of your receiver, to which each signed checkpoint is posted (application/jose).',
    '^https?://',
  ),
});

const dns = section('Name lookups and the zones we publish', {
  resolvers: texts(
    [],
    'Recursive resolvers as host:port, in order of use; if empty, the resolvers of the system.',
    hostAndPort,
  ),
  timeoutMs: count(3000, 'Timeout of one query to one resolver.', 50),
  attempts: count(3, 'Rounds over all resolvers per lookup.'),
  isServing: flag(false, 'Serve the zones of the hosted domains (HOST-02).'),
  host: text('127.0.0.1', 'Address the name server listens on.'),
  port: port(5353, 'Port the name server listens on, UDP and TCP.'),
  isBehindRelay: flag(
    false,
    'A gateway on this machine forwards queries, so the name server may listen on loopback.',
  ),
});

const ldap = section('Certificates by LDAP', {
  isServing: flag(false, 'Publish the hosted certificates by LDAP.'),
  host: text('127.0.0.1', 'Address the responder listens on.'),
  port: port(10_389, 'Port the responder listens on.'),
  timeoutMs: count(5000, 'Timeout of one lookup at another responder.', 50),
});

const smtp = section('Mail between HISPs', {
  hostname: text('localhost', 'Host name in SMTP greetings and in MDNs.'),
  host: text('127.0.0.1', 'Address to listen on.'),
  port: port(2525, 'Port to listen on.'),
  publicAddresses: texts(
    [],
    'Public IP addresses of hostname: printed by "domain records", and served by DNS if hostname is in a hosted domain. Not needed if host is such an address.',
    '^[0-9A-Fa-f:.]+$',
  ),
  isBehindRelay: flag(
    false,
    'A mail gateway on this machine forwards mail, so the server may listen on loopback.',
  ),
  peerPort: port(25, 'SMTP port of other HISPs; not used with relayHost.'),
  relayHost: optionalText(
    'Smart host: name or IP address of a server for all outgoing mail; MX records are not looked up.',
    relayName,
  ),
  relayPort: port(587, 'Its port.'),
  relayTls: choice(
    ['starttls', 'implicit', 'none'],
    'starttls',
    'Encryption of the connection to relayHost; its certificate must contain relayHost. "none" is only for a relay on this machine.',
  ),
  relayCaFile: optionalText(
    'PEM file of the authorities for its certificate; defaults to the authorities in Node.',
  ),
  relayUser: optionalText('User name for relayHost, if it requires one.'),
  relayPassword: optionalText('Password of relayUser. Set it in the environment, not in the file.'),
  relayPasswordFile: optionalText('File with the password of relayUser, mode 0600.'),
  tlsKeyFile: optionalText('PEM file of the private key; with it STARTTLS is offered.'),
  tlsCertificateFile: optionalText('PEM file of the certificate chain.'),
  maxMessageBytes: count(60 * megabyte, 'Largest accepted message, announced by SIZE.', 1024),
  maxConnections: count(
    200,
    'Concurrent connections; at the limit one that brings nothing is closed, of the address with the most (Decision 0020).',
  ),
  maxConnectionsPerAddress: count(20, 'Concurrent connections per address.'),
  maxConnectionsPerNetwork: count(50, 'The same per network: an IPv4 /24 or an IPv6 /64.'),
  maxUselessCommands: count(
    50,
    'Commands without a message after which a session is closed; an accepted message resets the count.',
  ),
  maxReceivingBytes: count(
    256 * megabyte,
    'Memory in bytes for messages being received; further ones are deferred (452) before they are read. Lowered to a thirteenth of the memory of the process.',
    1024,
    100_000 * megabyte,
  ),
  maxReceivingBytesPerNetwork: count(128 * megabyte, 'The same per network.', 1024, 100_000 * megabyte),
  minBytesPerSecond: count(
    500,
    'Minimum rate of incoming messages; a slower one ends the session. 0 disables this.',
    0,
  ),
  rateWindowSeconds: rate(30, 'Time over which the rate is measured.'),
  idleTimeoutMs: count(
    300_000,
    'Longest silence of a peer on an incoming connection; RFC 5321 §4.5.3.2.7 asks for at least five minutes.',
    100,
  ),
  timeoutMs: count(60_000, 'Longest silence of a peer on an outgoing connection.', 100),
  messageReplyTimeoutMs: count(
    600_000,
    'Longest wait for the reply to a whole message on an outgoing connection; RFC 5321 §4.5.3.2.6 names ten minutes. A slow peer may accept a message of which a second copy is sent after a shorter wait.',
    100,
  ),
});

const edge = section('Edges for software that speaks no REST (docs/edges.md)', {
  isServing: flag(false, 'Serve the edge protocols.'),
  host: text('127.0.0.1', 'Address to listen on.'),
  hostname: optionalText('Host name in greetings; defaults to smtp.hostname.'),
  protocols: texts(
    ['line', 'smtps', 'submission', 'imaps', 'imap', 'pop3s', 'pop3'],
    'Which of them are served; those with s begin with TLS, the others by STARTTLS or STLS.',
    '^(line|smtps|submission|imaps|imap|pop3s|pop3)$',
  ),
  tlsKeyFile: optionalText('PEM file of the private key; required, since every edge uses TLS.'),
  tlsCertificateFile: optionalText('PEM file of the certificate chain.'),
  linePort: port(32_541, 'Port of the line edge; here and below 0 selects a free port.'),
  smtpsPort: port(465, 'Port of submission with TLS.'),
  submissionPort: port(587, 'Port of submission with STARTTLS.'),
  imapsPort: port(993, 'Port of IMAP with TLS.'),
  imapPort: port(143, 'Port of IMAP with STARTTLS.'),
  pop3sPort: port(995, 'Port of POP3 with TLS.'),
  pop3Port: port(110, 'Port of POP3 with STLS.'),
  maxConnections: count(
    1000,
    'Concurrent connections of each listener; at the limit one that has not signed in is closed first, of the address with the most.',
  ),
  maxConnectionsPerAddress: count(100, 'The same per address.'),
  maxContentBytes: count(
    128 * megabyte,
    'Memory in bytes for messages that edge clients send or fetch; beyond it, and beyond half of it for one account, further ones wait or are deferred. Lowered to a sixteenth of the memory of the process.',
    1024,
    100_000 * megabyte,
  ),
  maxMailboxBytes: count(
    240 * megabyte,
    'Memory in bytes for the lists of messages of open mailboxes, 200 per message; beyond it, and beyond seven eighths of it for one account, a mailbox is refused for now. Lowered to a sixteenth of the memory of the process.',
    1024,
    100_000 * megabyte,
  ),
  attemptsPerMinute: count(
    20,
    'Failed sign-ins per network, and per user name there, over all edges together; further ones are refused.',
  ),
});

const delivery = section('Outbound mail', {
  concurrency: count(
    32,
    'Attempts at the same time at destinations that answer in time. Of others (new, slow, dead) sixteen times as many are tried on top (Decision 0023).',
  ),
  leaseSeconds: count(120, 'Lease of a claimed destination, after which another node takes over.', 1, 86_400),
  retryMinutes: rates(
    [0.25, 1, 2, 5, 10, 15, 30, 60],
    'Waits between attempts, in order; the last one repeats.',
    yearDays * 24 * 60,
  ),
  probeSeconds: rates(
    [15, 30, 60],
    'Waits between trials of an unreachable destination with one message, in order; the last one repeats. When it answers, all its mail is sent.',
    yearDays * 86_400,
  ),
  giveUpHours: rate(24, 'After this time an undelivered message fails.'),
});

const trust = section('Certificates and trust', {
  keyTransports: texts(
    [],
    'Peers that do not support RSA-OAEP with SHA-256, as domain=oaep-sha1 or domain=pkcs1 (AS-57).',
    '^[A-Za-z0-9.-]+=(oaep-sha256|oaep-sha1|pkcs1)$',
  ),
  publishedAnchorsFile: optionalText(
    'Certificates (PEM, DER or PKCS #7) that /trust-bundle.p7b publishes for partners: the anchors of the hosted addresses (BUNDLE-06).',
  ),
  failsOnUnknownRevocation: flag(false, 'Refuse a certificate whose revocation state is unknown.'),
  discoveryTimeoutMs: count(
    25_000,
    'Time limit of the search for the certificates of one address, all places together (DISC-11).',
    100,
  ),
  requiresWrapping: flag(
    false,
    'Refuse received messages whose signed part has no message/rfc822 wrapper, as peers of the 2015 edition send them (VER-02).',
  ),
  wrappedDomains: texts(
    [],
    'Sender domains whose messages are refused without a message/rfc822 wrapper, in lower case. Those that have sent wrapped ones alone for a week need not be named.',
    '^[0-9a-z.-]+$',
  ),
  unwrappedDomains: texts(
    [],
    'Sender domains whose messages may come without a wrapper although others of theirs had one, in lower case.',
    '^[0-9a-z.-]+$',
  ),
  acceptsSha1Signatures: flag(false, 'Accept received messages that are signed with SHA-1 (AS-52).'),
  acceptsSha1Certificates: flag(
    false,
    'Accept certificates, other than anchors, that are signed with SHA-1 (AS-20).',
  ),
  requiresSubjectMatch: flag(
    false,
    'Refuse a certificate whose subject has an emailAddress other than the address or its domain, as the 2015 edition does (AS-12).',
  ),
  requiresDirectTrustPolicies: flag(
    false,
    'Refuse a certificate without key usage, a DirectTrust level of assurance and an entity category (AS-19).',
  ),
  allowsPrivateTargets: flag(
    false,
    'Also use private addresses for issuers, CRLs, bundles and mail delivery: only if partners are in a private network.',
  ),
});

const directory = section('The provider directory', {
  requestsPerSecond: rate(50, 'Searches per second and client (Decision 0007).'),
  requestsBurst: count(100, 'Burst of searches per client.'),
  recordsPerDay: count(100_000, 'Records per client and day (Decision 0007).'),
  searchThreads: count(2, 'Worker threads for searches.', 0, 64),
  snapshotDir: optionalText('Folder of the index snapshot; defaults to directory in the data folder.'),
  workDir: optionalText(
    'Folder for downloads and temporary files of an import; defaults to directory-work in the data folder.',
  ),
  downloadHosts: texts(
    ['npd-east-prod-bulk-site.s3.amazonaws.com'],
    'Hosts to which the download of a release may be redirected, in addition to the first host.',
    '^[a-z0-9.-]+$',
  ),
  allowsPrivateTargets: flag(
    false,
    'Allow downloads of releases over plain HTTP and from private addresses: only from your own server.',
  ),
});

const verification = section(
  'Verification of the directory; it runs only after "openhisp directory verification start"',
  {
    domain: optionalText(
      'The hosted domain whose anchors are used; defaults to the first one by name (Decision 0027).',
    ),
    intervalDays: rate(30, 'Days between checks of an address.', yearDays),
    retryMinutes: rate(
      60,
      'Wait after a check in which a domain did not answer; doubled each time, up to intervalDays.',
    ),
    spreadHours: rate(
      24,
      'Period in which new domains of the directory are checked, if the rates allow.',
      yearDays * 24,
    ),
    queriesPerSecond: rate(10, 'Queries per second of all nodes together.'),
    queriesPerSecondPerServer: rate(
      4,
      'Queries per second to the name servers of one operator, or to one LDAP or web server.',
    ),
    queriesPerSecondPerDomain: rate(2, 'Queries per second about one domain.'),
    samples: count(
      20,
      'Addresses per domain with a certificate that are checked for an address-bound certificate; each check uses other addresses.',
    ),
    processedDays: count(
      1098,
      'The month in which a message to an address was last processed is kept for this time; older ones say nothing about it.',
    ),
    slots: count(8, 'Domains that one node checks at the same time.', 1, 1000),
  },
);

const messaging = section('The messaging API', {
  facilityType: optionalText(
    'Type of the sending facility, for XDM metadata, as code^name^scheme OID. Full metadata needs it and practiceSetting.',
    codedValue,
  ),
  practiceSetting: optionalText('Practice setting, for XDM metadata, as code^name^scheme OID.', codedValue),
  sendsPerSecond: rate(20, 'Sends per second and client (Decision 0007).'),
  sendsBurst: count(40, 'Burst of sends per client.'),
  maxAttachmentBytes: count(
    25 * megabyte,
    'Size of all attachments of one message, decoded (Decision 0010).',
  ),
  maxAttachments: count(20, 'Attachments of one message.', 0),
  maxRecipients: count(50, 'Recipients of one message.'),
  maxSubjectCharacters: count(255, 'Length of a subject.'),
  deniedMediaTypes: texts(
    [],
    'Media types that are never sent; replaces the built-in list of executables (Decision 0010).',
  ),
  processedWindowMinutes: rate(
    60,
    'Time to wait for the processed MDN before a recipient expires (Decision 0012).',
  ),
  dispatchedWindowMinutes: rate(60, 'Time to wait for a requested dispatched MDN (Decision 0012).'),
  inboxDays: count(
    30,
    'After this time the operator is notified of inbound mail that no client acknowledged; it is kept.',
  ),
  refusesUnreadMail: flag(
    false,
    'Refuse mail to a hosted address that no enabled client may fetch: its sender gets a failure DSN. Otherwise it is kept, and the operator is warned.',
  ),
  acknowledgedDays: count(30, 'Inbound mail is deleted this long after its acknowledgement.'),
  detailsDays: count(30, 'Details of a send are deleted after this time; status and history stay (SEC-08).'),
  messageDays: count(
    400,
    'Sent messages are deleted after this time, with status, history, attempts and evidence.',
    2,
  ),
  deadLetterDays: count(90, 'Inbound mail that could not be processed is deleted after this time.'),
  registerDays: count(
    400,
    'Time for which received messages are remembered, so that a replay is not accepted (Decision 0014).',
  ),
  maxMailAgeDays: rate(30, 'Inbound mail dated or signed earlier than this is rejected (Decision 0014).'),
  maxMailAheadHours: rate(24, 'Inbound mail dated or signed later than this is rejected.'),
  maxWaitingPerSenderDomain: count(
    1000,
    'Waiting inbound mail per claimed sender domain; further mail is deferred (452).',
  ),
  maxUndecidedPerNetwork: count(
    200,
    'Waiting inbound mail of unknown senders per network; further mail is deferred (452).',
  ),
  maxWorkBytes: count(
    288 * megabyte,
    'Memory in bytes for messages above 256 kB that are being sent, as much for those being opened, and half of it for those being pushed to webhooks; further ones wait. Lowered to a twelfth of the memory of the process.',
    1024,
    100_000 * megabyte,
  ),
});

const webhook = section('Notifications to clients', {
  disableAfterDays: rate(3, 'A webhook that fails for this time is disabled.'),
  concurrency: count(
    32,
    'Concurrent calls; slow webhooks get half as many additional slots (Decision 0023).',
  ),
  deadLetterDays: count(
    90,
    'Dead letters, and notifications that wait for a disabled webhook, are deleted after this time.',
  ),
  attemptDays: count(30, 'Failed attempts are listed for this time.'),
  allowedHosts: texts(
    [],
    'Host names or addresses of your own receivers, which may be private: ehr.internal, 10.1.2.3. In lower case; they need HTTPS, too. Mail stores of edge accounts must be among them.',
    '^[0-9a-z.:_-]*[0-9a-z:]$',
  ),
  allowsPrivateTargets: flag(false, 'Allow plain HTTP and private addresses: sandbox and tests only.'),
});

const console = section('The console and its API for operators (docs/console.md)', {
  isServing: flag(true, 'Serve the console.'),
  host: text('127.0.0.1', 'Address to listen on.'),
  port: optionalPort(
    'Port to listen on; 0 takes any free one. Without it 8090, or any free one if 8090 is in use or http.port is 0.',
  ),
  publicUrl: optionalText(
    'The address that browsers use, for example https://console.example.org; passkeys belong to its host name. http://localhost with the port if left out.',
    '^https?://[a-z0-9.-]+(:[0-9]{1,5})?$',
  ),
  tlsKeyFile: optionalText('PEM file of the private key; with it the console speaks HTTPS.'),
  tlsCertificateFile: optionalText('PEM file of the certificate chain.'),
  isBehindTlsProxy: flag(false, 'A proxy in front speaks TLS, so plain HTTP may be served beyond loopback.'),
  trustedProxies: texts([], 'Addresses or networks whose X-Forwarded-For is trusted.'),
  idleMinutes: count(30, 'A session ends after this time without activity.', 1, 1440),
  sessionHours: count(12, 'A session ends after this time, even if it is in use.', 1, 720),
  attemptsPerMinute: count(20, 'Failed sign-ins per network before 429.'),
  oidc: section('Sign-in by an OpenID provider', {
    issuer: optionalText('Issuer of an OpenID provider by which operators may sign in.', '^https?://'),
    name: text('your organization', 'What the sign-in page calls it.'),
    clientId: optionalText(
      'Client id at the provider; its redirect URI is publicUrl/admin/v1/sign-in/oidc/callback.',
    ),
    clientSecretFile: optionalText('File with the client secret, mode 0600; without it a public client.'),
    scopes: texts(['openid', 'profile', 'email'], 'Scopes to ask for.'),
    rolesClaim: text('groups', 'Claim of the ID token, or of userinfo, with roles or groups.'),
    roleMap: texts(
      [],
      'What the claim may say and the role that it gives, as value=role or, inside an organization, value=role@organization; the first that fits. Without one nobody gets in.',
      '^.+=(help-desk|operator|auditor|(administrator|help-desk|auditor)@[a-z0-9-]+)$',
    ),
  }),
});

/**
 * Everything that an operator can set. The environment's names follow from it: `OPENHISP_HTTP_PORT` is
 * `http.port`.
 */
export const configSchema = section('The configuration', {
  dataDir: text('data', 'Folder of all persistent data.'),
  http,
  oauth,
  storage,
  admission,
  vault,
  log,
  audit,
  dns,
  ldap,
  smtp,
  edge,
  delivery,
  trust,
  directory,
  verification,
  messaging,
  webhook,
  console,
});

/** A configuration that fits the schema. */
export type Parsed = typeof configSchema extends Schema<infer T> ? T : never;

/**
 * Every setting that has a default, with it. Services take the defaults of their options from here, so that
 * each is stated once.
 */
export const defaultSettings = fillDefaults(configSchema, {}) as Parsed;

/** The checked configuration; places that default to the data folder are filled in. */
export type Config = Parsed & {
  readonly storage: { readonly file: string };
  readonly vault: { readonly masterKeyFile: string };
  readonly audit: { readonly checkpointFile: string };
  readonly directory: { readonly snapshotDir: string; readonly workDir: string };
};
