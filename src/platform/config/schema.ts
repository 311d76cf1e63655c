import { Type, type Static } from 'typebox';
import { choice, count, flag, optionalText, port, rate, section, text, texts } from './fields.ts';

const megabyte = 1_000_000;
const codedValue = '^[^^]+\\^[^^]*\\^[0-2](\\.[0-9]+)+$';
const relayName = '^[A-Za-z0-9.:-]+$';
const hostAndPort = '^.+:[0-9]{1,5}$';

const http = section('The REST API', {
  host: text('127.0.0.1', 'Address to listen on.'),
  port: port(8080, 'Port to listen on; 0 takes any free one.'),
  tlsKeyFile: optionalText('PEM file of the private key; with it the API speaks HTTPS.'),
  tlsCertificateFile: optionalText('PEM file of the certificate chain.'),
  isBehindTlsProxy: flag(
    false,
    'A proxy in front speaks TLS, so plain HTTP may be served beyond loopback (OAUTH-15).',
  ),
  trustedProxies: texts([], 'Addresses or networks whose X-Forwarded-For is trusted.'),
  publicUrl: optionalText(
    'The address clients use, for metadata and the API document, for example https://hisp.example.org.',
  ),
  maxBodyBytes: count(
    40 * megabyte,
    'Largest request body: 25 MB of attachments as base64, and a margin.',
    1024,
  ),
  metricsHost: text('127.0.0.1', 'Address of the listener for metrics.'),
  metricsPort: port(
    0,
    'Port that answers /metrics and nothing else; the API does not answer it then. 0 leaves it with the API.',
  ),
  exposesMetrics: flag(false, 'Answer /metrics to everybody, not only to this machine.'),
  maxConnections: count(4000, 'Open connections; more are closed at once.'),
  maxRequests: count(512, 'Requests worked on at the same time; more are answered 503 (Decision 0020).'),
  maxRequestsPerAddress: count(256, 'The same for one address; more are answered 429.'),
  maxRequestsPerClient: count(128, 'The same for one client; more are answered 429.'),
  maxUploadBytes: count(
    160 * megabyte,
    'Memory for request bodies; a body beyond it is answered 503 before it is read.',
    1024,
    100_000 * megabyte,
  ),
  maxUploadBytesPerClient: count(
    100 * megabyte,
    'The same for one client, or one address before the client is known; beyond it 429.',
    1024,
    100_000 * megabyte,
  ),
  minUploadBytesPerSecond: count(1000, 'A body that comes more slowly ends the connection; 0 for any.', 0),
  uploadWindowSeconds: rate(20, 'Time over which the upload rate is measured.'),
});

const oauth = section('Tokens and client credentials', {
  acceptsQueryParameters: flag(
    false,
    'Also take grant_type and scope from the query of the token request (Decision 0006).',
  ),
  attemptsPerMinute: count(30, 'Refused token requests per client id and per address before 429.'),
  tokensPerSecond: rate(5, 'Token requests of one client, refill.'),
  tokensBurst: count(50, 'Token requests of one client at once.'),
});

const storage = section('The database', {
  file: optionalText('SQLite file; defaults to openhisp.db in the data folder.'),
  url: optionalText(
    "Address of a PostgreSQL database that is this service's alone, as postgres://user:password@host:5432/database; storage.file is not used then. Give it by the environment if it carries a password.",
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
    'How long to wait for a lock: of another process (SQLite) or another transaction (PostgreSQL).',
    0,
  ),
});

const admission = section('What is refused before work begins (Decision 0020)', {
  minFreeDiskBytes: count(
    500 * megabyte,
    'With less room for the data folder or the database, new messages are refused; 0 switches this off.',
    0,
    1_000_000 * megabyte,
  ),
  maxWaitingMails: count(10_000, 'Inbound messages waiting to be processed; more are deferred (452).'),
  maxWaitingMailsPerNetwork: count(2500, 'The same from one network: a /24 of IPv4, a /64 of IPv6.'),
  maxWaitingMailBytes: count(
    4000 * megabyte,
    'Bytes of inbound messages waiting to be processed; more are deferred (452).',
    1024,
    1_000_000 * megabyte,
  ),
  maxWaitingMailBytesPerNetwork: count(
    1000 * megabyte,
    'The same from one network.',
    1024,
    1_000_000 * megabyte,
  ),
  maxCheckedAddresses: count(1000, 'Addresses being checked by validate; more are answered 503.'),
  maxCheckedAddressesPerClient: count(200, 'The same for one client; more are answered 429.'),
  addressChecks: count(32, 'Certificate discoveries of validate at the same time.'),
  addressChecksPerClient: count(8, 'The same for one client.'),
});

const vault = section('Encryption at rest', {
  masterKey: optionalText('Base64 of 32 bytes. Give it by the environment, never in the file.'),
  masterKeyFile: optionalText('File with the same, mode 0600; defaults to master.key in the data folder.'),
  previousMasterKeyFile: optionalText(
    'File with a second master key that also opens the vault, while several nodes change from one key to the other.',
  ),
});

const log = section('What the program writes', {
  level: choice(['debug', 'info', 'warn', 'error', 'silent'], 'info', 'Least level that is written.'),
});

const audit = section('The audit chain', {
  flushMs: count(250, 'Longest time that a search event waits to be written with others.', 10),
  keepDays: count(2192, 'Events are deleted after this time; six years at least (SEC-04).', 2192),
  checkpointSeconds: count(300, 'How often the end of the chain is signed, if it has moved.', 1, 86_400),
  checkpointFile: optionalText(
    'File to which signed checkpoints are appended, one JWS per line; defaults to audit-checkpoints.jws in the data folder. Keep copies where nobody can write who can write to the database.',
  ),
  checkpointUrl: optionalText(
    'Receiver of your own to which each signed checkpoint is posted (application/jose).',
    '^https?://',
  ),
});

const dns = section('Name lookups and the zones we publish', {
  resolvers: texts(
    [],
    'Recursive resolvers as host:port, in order of use; empty means those of the system.',
    hostAndPort,
  ),
  timeoutMs: count(3000, 'Time for one try.', 50),
  attempts: count(3, 'Tries per lookup over all resolvers.'),
  isServing: flag(false, 'Answer for the hosted domains ourselves (HOST-02).'),
  host: text('127.0.0.1', 'Address the name server listens on.'),
  port: port(5353, 'Port the name server listens on, UDP and TCP.'),
  isBehindRelay: flag(
    false,
    'Something on this machine passes questions on, so the name server may listen on loopback.',
  ),
});

const ldap = section('Certificates by LDAP', {
  isServing: flag(false, 'Publish the hosted certificates by LDAP.'),
  host: text('127.0.0.1', 'Address the responder listens on.'),
  port: port(10_389, 'Port the responder listens on.'),
  timeoutMs: count(5000, 'Time for one lookup at another responder.', 50),
});

const smtp = section('Mail between HISPs', {
  hostname: text('localhost', 'Our name in greetings and in MDNs.'),
  host: text('127.0.0.1', 'Address to listen on.'),
  port: port(2525, 'Port to listen on.'),
  publicAddresses: texts(
    [],
    'Public IP addresses of hostname: printed by "domain records", and answered where hostname lies in a domain that we serve by DNS. Not needed if host is such an address.',
    '^[0-9A-Fa-f:.]+$',
  ),
  isBehindRelay: flag(
    false,
    'A mail gateway on this machine passes mail on, so the server may listen on loopback.',
  ),
  peerPort: port(25, 'Port that other HISPs listen on; not used with relayHost.'),
  relayHost: optionalText(
    'Smart host: name or IP address of a server that takes all outgoing mail, so that no MX is looked up.',
    relayName,
  ),
  relayPort: port(587, 'Its port.'),
  relayTls: choice(
    ['starttls', 'implicit', 'none'],
    'starttls',
    'How the connection to it is protected; its certificate must name relayHost. none is for a relay on this machine only.',
  ),
  relayCaFile: optionalText(
    'PEM file of the authorities of its certificate; those that Node brings if left out.',
  ),
  relayUser: optionalText('User name for it; none if left out.'),
  relayPassword: optionalText('Password of that user. Give it by the environment, never in the file.'),
  relayPasswordFile: optionalText('File with the same, mode 0600.'),
  tlsKeyFile: optionalText('PEM file of the private key; with it STARTTLS is offered.'),
  tlsCertificateFile: optionalText('PEM file of the certificate chain.'),
  maxMessageBytes: count(60 * megabyte, 'Largest message that is taken, as announced by SIZE.', 1024),
  maxConnections: count(200, 'Connections at the same time; beyond it the idlest is closed (Decision 0020).'),
  maxConnectionsPerAddress: count(20, 'The same from one address.'),
  maxConnectionsPerNetwork: count(50, 'The same from one network: a /24 of IPv4, a /64 of IPv6.'),
  maxUselessCommands: count(
    50,
    'Commands that lead to no message, after which a session is closed; a message that is taken starts anew.',
  ),
  maxReceivingBytes: count(
    256 * megabyte,
    'Memory for messages being received; beyond it they are deferred (452) before they are read.',
    1024,
    100_000 * megabyte,
  ),
  maxReceivingBytesPerNetwork: count(128 * megabyte, 'The same from one network.', 1024, 100_000 * megabyte),
  minBytesPerSecond: count(500, 'A message that comes more slowly ends the session; 0 for any.', 0),
  rateWindowSeconds: rate(30, 'Time over which that rate is measured.'),
  timeoutMs: count(60_000, 'Longest silence on a connection, ours or theirs.', 100),
});

const delivery = section('Outbound mail', {
  concurrency: count(
    32,
    'Destinations of messages worked on at the same time; slow ones get half as many on top, one of them a quarter at most.',
  ),
  leaseSeconds: count(120, 'How long a node that says nothing keeps a claimed destination.'),
  retryMinutes: Type.Array(Type.Number({ exclusiveMinimum: 0 }), {
    default: [0.25, 1, 2, 5, 10, 15, 30, 60],
    minItems: 1,
    description: 'Waits between tries, in order; the last one repeats.',
  }),
  probeSeconds: Type.Array(Type.Number({ exclusiveMinimum: 0 }), {
    default: [15, 30, 60],
    minItems: 1,
    description:
      'Waits between probes of a destination that could not be reached, in order; the last one repeats. When it answers, its mail is tried.',
  }),
  giveUpHours: rate(24, 'After this time an undelivered message fails.'),
});

const trust = section('Certificates and trust', {
  keyTransports: texts(
    [],
    'Peers that cannot read RSA-OAEP with SHA-256, as domain=oaep-sha1 or domain=pkcs1 (AS-57).',
    '^[A-Za-z0-9.-]+=(oaep-sha256|oaep-sha1|pkcs1)$',
  ),
  publishedAnchorsFile: optionalText(
    'Certificates (PEM, DER or PKCS #7) that /trust-bundle.p7b gives to partners: the anchors of our own addresses (BUNDLE-06).',
  ),
  failsOnUnknownRevocation: flag(false, 'Refuse a certificate whose revocation state cannot be found out.'),
  allowsPrivateTargets: flag(
    false,
    'Fetch issuers, CRLs and bundles from private addresses and deliver mail there, too: only where partners are in a private network.',
  ),
});

const directory = section('The provider directory', {
  requestsPerSecond: rate(50, 'Searches of one client, refill (Decision 0007).'),
  requestsBurst: count(100, 'Searches of one client at once.'),
  recordsPerDay: count(100_000, 'Records one client may be shown in a day (Decision 0007).'),
  searchThreads: count(2, 'Worker threads that search.', 0, 64),
  snapshotDir: optionalText('Folder of the index snapshot; defaults to directory in the data folder.'),
  workDir: optionalText(
    'Folder of what an import downloads and needs only while it runs; defaults to directory-work in the data folder.',
  ),
  downloadHosts: texts(
    ['npd-east-prod-bulk-site.s3.amazonaws.com'],
    'Hosts that the download of a release may be redirected to, in addition to its own.',
    '^[a-z0-9.-]+$',
  ),
  allowsPrivateTargets: flag(
    false,
    'Download releases by plain HTTP and from private addresses, too: only from a server of your own.',
  ),
});

const verification = section(
  'Verification of the directory; it runs only after "openhisp directory verification start"',
  {
    domain: optionalText(
      'The hosted domain whose anchors decide; the first one by name without it (Decision 0027).',
    ),
    intervalDays: rate(30, 'From one check of an address to the next.'),
    retryMinutes: rate(
      60,
      'After a check in which a domain did not answer; twice as long each time, up to intervalDays.',
    ),
    spreadHours: rate(
      24,
      'Domains that are new in the directory are checked within this time, if the rates allow.',
    ),
    queriesPerSecond: rate(10, 'Questions of all nodes together, whoever is asked.'),
    queriesPerSecondPerServer: rate(
      4,
      'The same to the name servers of one operator, or to one LDAP or web server.',
    ),
    queriesPerSecondPerDomain: rate(2, 'The same about one domain.'),
    samples: count(
      20,
      'Addresses of a domain with a certificate that are asked for one of their own in each check, others each time.',
    ),
    slots: count(8, 'Domains that one node works on at once.', 1, 1000),
  },
);

const messaging = section('The messaging API', {
  facilityType: optionalText(
    'Kind of facility that sends, for XDM metadata, as code^name^scheme OID. Full metadata needs it and the next one.',
    codedValue,
  ),
  practiceSetting: optionalText('Practice setting, for XDM metadata, as code^name^scheme OID.', codedValue),
  sendsPerSecond: rate(20, 'Sends of one client, refill (Decision 0007).'),
  sendsBurst: count(40, 'Sends of one client at once.'),
  maxAttachmentBytes: count(
    25 * megabyte,
    'All attachments of one message together, decoded (Decision 0010).',
  ),
  maxAttachments: count(20, 'Attachments of one message.', 0),
  maxRecipients: count(50, 'Recipients of one message.'),
  maxSubjectCharacters: count(255, 'Length of a subject.'),
  deniedMediaTypes: texts(
    [],
    'Media types that are never sent, in place of the built-in list of executables (Decision 0010).',
  ),
  processedWindowMinutes: rate(60, 'Time for the processed MDN before a recipient expires (Decision 0012).'),
  dispatchedWindowMinutes: rate(60, 'Time for the dispatched MDN, when asked for (Decision 0012).'),
  inboxDays: count(
    30,
    'After this time the operator is told of inbound mail that nobody acknowledged; it is kept.',
  ),
  acknowledgedDays: count(30, 'Inbound mail is deleted this long after its acknowledgement.'),
  detailsDays: count(
    30,
    'What a send said in addition to its status is deleted after this time; status and history stay (SEC-08).',
  ),
  messageDays: count(
    400,
    'Sent messages are deleted after this time, with status, history, attempts and evidence.',
    2,
  ),
  deadLetterDays: count(90, 'Inbound mail that could not be processed is deleted after this time.'),
  registerDays: count(
    400,
    'How long a message received is known, so that a replay is not accepted again (Decision 0014).',
  ),
  maxMailAgeDays: rate(30, 'Inbound mail dated or signed earlier than this is rejected (Decision 0014).'),
  maxMailAheadHours: rate(24, 'Inbound mail dated or signed later than this is rejected.'),
  maxWaitingPerSenderDomain: count(
    1000,
    'Inbound mail of one claimed sender domain that may wait; more is deferred (452).',
  ),
  maxUndecidedPerNetwork: count(
    200,
    'Inbound mail of unknown senders from one network that may wait to be looked into; more is deferred (452).',
  ),
});

const webhook = section('Notifications to clients', {
  disableAfterDays: rate(3, 'A webhook that fails this long is switched off.'),
  concurrency: count(32, 'Calls at the same time; slow webhooks get half as many on top (Decision 0023).'),
  deadLetterDays: count(
    90,
    'Notifications that were given up, or wait for a disabled webhook, are deleted after this time.',
  ),
  attemptDays: count(30, 'Failed attempts are listed for this time.'),
  allowsPrivateTargets: flag(false, 'Allow plain HTTP and private addresses: sandbox and tests only.'),
});

const console = section('The console and its API for operators (docs/console.md)', {
  isServing: flag(true, 'Serve the console.'),
  host: text('127.0.0.1', 'Address to listen on.'),
  port: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 65_535,
      description:
        'Port to listen on; 0 takes any free one. Without it 8090, or any free one if 8090 is in use or http.port is 0.',
    }),
  ),
  publicUrl: optionalText(
    'The address that browsers use, for example https://console.example.org; passkeys belong to its host name. http://localhost with the port if left out.',
    '^https?://[a-z0-9.-]+(:[0-9]{1,5})?$',
  ),
  tlsKeyFile: optionalText('PEM file of the private key; with it the console speaks HTTPS.'),
  tlsCertificateFile: optionalText('PEM file of the certificate chain.'),
  isBehindTlsProxy: flag(false, 'A proxy in front speaks TLS, so plain HTTP may be served beyond loopback.'),
  trustedProxies: texts([], 'Addresses or networks whose X-Forwarded-For is trusted.'),
  idleMinutes: count(30, 'A session ends when nothing was done in it for this time.', 1, 1440),
  sessionHours: count(12, 'A session ends after this time, whatever is done in it.', 1, 720),
  attemptsPerMinute: count(20, 'Failed sign-ins per network before 429.'),
});

/** Everything that an operator can set. The environment's names follow from it: `OPENHISP_HTTP_PORT` is `http.port`. */
export const configSchema = Type.Object(
  {
    dataDir: text('data', 'Folder of everything that is kept.'),
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
    delivery,
    trust,
    directory,
    verification,
    messaging,
    webhook,
    console,
  },
  { additionalProperties: false },
);

type Parsed = Static<typeof configSchema>;

/** The checked configuration; places that default to the data folder are filled in. */
export type Config = Parsed & {
  readonly storage: { readonly file: string };
  readonly vault: { readonly masterKeyFile: string };
  readonly audit: { readonly checkpointFile: string };
  readonly directory: { readonly snapshotDir: string; readonly workDir: string };
};
