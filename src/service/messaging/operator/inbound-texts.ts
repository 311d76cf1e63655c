/** The meaning of each code of incoming mail, and advice for the operator. */
export interface InboundText {
  readonly text: string;
  readonly advice: string;
}

const contactSender =
  "Contact the sender's HISP, and give the code and the time. The sender can send the message again after they have fixed it.";

const thenRetry = (advice: string): string => `${advice} Then retry it: openhisp mail retry, or the console.`;

/** Without advice of their own: `contactSender`. */
const texts: readonly (readonly [pattern: RegExp, text: string, advice?: string])[] = [
  [
    /^(?:DIRECT_SENDER_UNTRUSTED|PKI_NO_ANCHORS|PKI_ISSUER_NOT_FOUND)$/,
    "The sender's certificate does not chain to an anchor of the recipient's domain.",
    'To trust the sender, add the anchor or trust bundle of their HISP to the domain; then ask them to send it again.',
  ],
  [
    /^ORGANIZATION_CLOSED$/,
    'The organization of the address is closed.',
    'Nothing to do: the mail server of the sender was told. To open it again: openhisp organization reopen ID.',
  ],
  [/^PKI_EXPIRED$/, "The sender's certificate, or a CA certificate above it, is expired."],
  [/^PKI_NOT_YET_VALID$/, "The sender's certificate is not valid yet."],
  [/^PKI_REVOKED$/, "The sender's certificate, or a CA certificate above it, is revoked."],
  [
    /^(?:PKI_CRL_|PKI_REVOCATION_)/,
    "The revocation status of the sender's certificate could not be determined.",
    "Check the URL of the CA's revocation list: it is unreachable or out of date. Their CA must fix it.",
  ],
  [/^PKI_NOT_BOUND$/, 'The signature is not by the named sender.'],
  [
    /^DIRECT_ENVELOPE_SENDER_MISMATCH$/,
    'It was sent by another address (MAIL FROM) than its From and Sender fields name.',
    `${contactSender} Mailing lists and forwarding change the one, and not the others.`,
  ],
  [/^DIRECT_SENDER_CERTIFICATE_MISSING$/, 'It does not contain the certificate of its signer.'],
  [
    /^PKI_(?:ISSUER_UNAVAILABLE|FETCH_)/,
    'Trust in the sender could not be decided in time: a CA certificate could not be fetched.',
    'A server of their CA did not answer, or too much had to be fetched. Retry the mail when the server is reachable.',
  ],
  [
    /^PKI_KEY_(?:ALGORITHM|TOO_WEAK|INVALID)$/,
    "The key of the sender's certificate, or of a CA certificate above it, is too weak, damaged or of a kind that is not accepted.",
  ],
  [
    /^PKI_(?:KEY_USAGE|EXTENDED_KEY_USAGE|END_ENTITY_IS_CA)$/,
    "The sender's certificate, or a CA certificate above it, is not meant for this use.",
  ],
  [
    /^PKI_(?:ISSUER_NOT_CA|ISSUER_KEY_USAGE|PATH_LENGTH|NAME_CONSTRAINT)$/,
    "A CA certificate above the sender's may not issue what it issued.",
  ],
  [
    /^PKI_PATH_TOO_(?:LONG|BROAD)$/,
    'There are more possible CA certificates above the certificate of the sender than this service tries.',
  ],
  [
    /^PKI_POLICY_MISSING$/,
    "The sender's certificate lacks a certificate policy that is required.",
    `${contactSender} trust.requiresDirectTrustPolicies requires those of DirectTrust; a CA certificate can require others.`,
  ],
  [
    /^PKI_CRITICAL_EXTENSION$/,
    "The sender's certificate, or a CA certificate above it, has a critical extension that this service does not know.",
  ],
  [
    /^PKI_SIGNATURE_ALGORITHM$/,
    "The sender's certificate, or a CA certificate above it, is signed with an algorithm that is not accepted.",
    `${contactSender} Until then trust.acceptsSha1Certificates accepts SHA-1.`,
  ],
  [
    /^PKI_SIGNATURE_INVALID$/,
    "The sender's certificate, or a CA certificate above it, is not signed by the CA that it names.",
  ],
  [
    /^PKI_(?:CERTIFICATE_MALFORMED|NAME_MALFORMED)$|^DIRECT_SENDER_CERTIFICATE_UNREADABLE$/,
    "The sender's certificate, or a CA certificate above it, is malformed.",
  ],
  [
    /^(?:DIRECT_UNKNOWN_RECIPIENT|SMIME_NO_RECIPIENT_KEY|SMIME_DECRYPTION_FAILED)$/,
    'It is not encrypted to a key of this service.',
    "Check that the domain publishes its current certificate. The sender's HISP may use an old one: ask them to look it up again.",
  ],
  [
    /^AGENT_NO_DECRYPTION_KEY$/,
    'None of its recipients has a key here.',
    'Add a key pair for the domain or the address if it is to receive mail; then ask the sender to send it again.',
  ],
  [
    /^DIRECT_ENCRYPTION_NOT_ALLOWED$/,
    'It is encrypted in a way that is not accepted, for example with Triple DES.',
  ],
  [
    /^SMIME_(?:DIGEST_MISMATCH|SIGNATURE_INVALID)$/,
    'It was changed after it was signed.',
    `${contactSender} A gateway between the two, for example one that adds a footer or rewrites links, must not touch signed mail.`,
  ],
  [
    /^SMIME_TRAILING_DATA$/,
    'Something was added to it on its way: bytes follow the signed or encrypted data.',
  ],
  [
    /^SMIME_(?:CMS_MALFORMED|ENCRYPTED_CONTENT_MISSING|SIGNED_CONTENT_MISSING|MULTIPART_SIGNED_MALFORMED|SIGNER_MALFORMED|TRANSFER_ENCODING_INVALID)$|^DIRECT_(?:MESSAGE_MALFORMED|ENCRYPTION_INVALID)$/,
    'Its signed or encrypted data is cut or damaged.',
    `${contactSender} Mail servers with a size limit cut messages like this.`,
  ],
  [/^SMIME_CONTENT_TYPE_UNEXPECTED$/, 'What its signed or encrypted data holds is not what its type says.'],
  [
    /^(?:SMIME_TOO_MANY_|MIME_TOO_DEEP$|MIME_TOO_MANY_)/,
    'It has more levels, parts, signers, recipients or certificates than this service reads.',
  ],
  [
    /^SMIME_PARTLY_ENCRYPTED$/,
    'It is encrypted, but another part that is not encrypted stands next to the encrypted one.',
    `${contactSender} A gateway adds such parts as a footer or a disclaimer.`,
  ],
  [
    /^SMIME_(?:CONTENT_CIPHER|KEY_MANAGEMENT)_(?:UNSUPPORTED|NOT_ALLOWED)$/,
    'It is encrypted with an algorithm that is not accepted.',
  ],
  [
    /^SMIME_DIGEST_(?:UNSUPPORTED|NOT_ALLOWED)$/,
    'It is signed with a digest that is not accepted, for example SHA-1.',
    `${contactSender} Until then trust.acceptsSha1Signatures accepts SHA-1.`,
  ],
  [
    /^SMIME_(?:SIGNATURE_ALGORITHM_UNSUPPORTED|SIGNATURE_ALGORITHM_MISMATCH|ALGORITHM_PROTECTION_MISMATCH)$/,
    'It is signed with an algorithm that is not accepted, or names another one than was used.',
  ],
  [/^SMIME_SIGNER_KEY_NOT_ALLOWED$/, 'The key that signed it is too weak or not meant for signatures.'],
  [
    /^SMIME_(?:CERTIFICATES_MISSING|SIGNER_CERTIFICATE_MISSING)$/,
    'It does not contain the certificate of its signer.',
  ],
  [/^SMIME_CERTIFICATE_MALFORMED$/, "Its signer's certificate cannot be read."],
  [/^SMIME_COMPRESS/, 'Its content is compressed in a way that is not accepted, or unpacks to too much.'],
  [
    /^SMIME_SIGNED_/,
    'What its signature vouches for is missing, doubled or something else than its content.',
  ],
  [/^(?:DIRECT_NOT_ENCRYPTED|SMIME_NOT_ENCRYPTED)$/, 'It is not an encrypted message.'],
  [
    /^(?:DIRECT_NOT_SIGNED|SMIME_NOT_SIGNED|DIRECT_SENDER_SIGNATURE_MISSING|DIRECT_SIGNATURE_INVALID)$/,
    'Its signature is missing or invalid.',
  ],
  [
    /^DIRECT_SIGNATURE_NOT_ALLOWED$/,
    'It is signed with an algorithm or a key that is not accepted, for example with SHA-1.',
    `${contactSender} Until then trust.acceptsSha1Signatures accepts SHA-1.`,
  ],
  [
    /^DIRECT_NOT_WRAPPED$/,
    'Its signed part is not a whole message (message/rfc822).',
    `${contactSender} It would be accepted without trust.requiresWrapping and trust.wrappedDomains, and if its sender's domain, which has sent wrapped messages, is among trust.unwrappedDomains.`,
  ],
  [
    /^recipients-changed$/,
    'Its header is not signed, and the same signed part came before for other recipients: somebody may have changed the header on its way.',
    `${contactSender} Their messages need a message/rfc822 wrapper.`,
  ],
  [
    /^domain-not-hosted$/,
    'Its recipient is in a domain that is not hosted here.',
    'If the domain is one of yours, host it: openhisp domain add, or the console. Otherwise it is an attempt to relay mail, which is refused.',
  ],
  [
    /^no-reader$/,
    'No enabled client may fetch the mail of its recipient.',
    'Give the address to a client: openhisp client update; or enable its client. messaging.refusesUnreadMail decides whether such mail is refused.',
  ],
  [
    /^storage-full$/,
    'The organization of its recipient has no storage left.',
    'Raise the limit: openhisp organization edit ID --limit storageOctets=NUMBER; or let its clients acknowledge what they have, which is then deleted after messaging.acknowledgedDays.',
  ],
  [/^DIRECT_(?:SENDER_AMBIGUOUS|NO_SENDER)$/, 'Its From and Sender fields do not name one sender.'],
  [/^DIRECT_NO_RECIPIENTS$/, 'Its To and Cc fields name no recipient.'],
  [
    /^DIRECT_ENVELOPE_RECIPIENT_MISMATCH$/,
    'It was sent to a recipient that its To and Cc fields do not name.',
  ],
  [
    /^date-too-old$/,
    'Its date, or the time of its signature, is too long ago.',
    'If the clock of this service is right, ask the sender to send it again. The limit is messaging.maxMailAgeDays.',
  ],
  [
    /^date-in-future$/,
    'Its date, or the time of its signature, is in the future.',
    `If the clock of this service is right, theirs is wrong. ${contactSender} The limit is messaging.maxMailAheadHours.`,
  ],
  [
    /^(?:DIRECT|SMIME)_UNSIGNED_NOT_TEXT$/,
    'It has bytes outside its signature that are not UTF-8 text, so somebody may have changed it on its way.',
  ],
  [
    /^(?:DIRECT_SENDER_UNDECIDED|DIRECT_SENDER_NEEDS_FETCH)$/,
    'Trust in the sender could not be decided in time.',
    'A server of their CA did not answer. Retry the mail when the server is reachable.',
  ],
  [
    /_TOO_LARGE$/,
    'It is larger than this service accepts.',
    'Ask the sender to send less, or several messages.',
  ],
  [
    /^PLATFORM_(?:STORAGE_|LEASE_LOST|DISK_LOW)/,
    'It could not be stored: the database or its disk did not take it.',
    thenRetry('Look at the database and the disk (openhisp doctor).'),
  ],
  [
    /^PLATFORM_(?:SEAL_|MASTER_KEY_|MAC_|KEY_FILE_)/,
    'A key or a row of this service cannot be decrypted, or was changed.',
    thenRetry(
      'The master key of before is missing, or the database was changed: openhisp verify tells what.',
    ),
  ],
  [
    /^PLATFORM_CONTENT_MISSING$/,
    'Its octets are missing from the store of large contents.',
    'Restore the store from the backup of the same time as the database, or ask the sender to send it again.',
  ],
  [
    /^THREAD_/,
    'A worker thread or process ended while it was opened, for example for lack of memory.',
    thenRetry('Give the service more memory if this repeats.'),
  ],
  [
    /^(?:AGENT_|TRUST_)/,
    'The keys or anchors of its recipient could not be used.',
    thenRetry('Look at the keys of the domain (openhisp domain list).'),
  ],
  [/^(?:DIRECT_|SMIME_|MIME_|PKI_)/, 'It is not a valid Direct message.'],
];

/** The text of a code. */
export function inboundTextOf(code: string): InboundText {
  const found = texts.find(([pattern]) => pattern.test(code));
  if (found !== undefined) return { text: found[1], advice: found[2] ?? contactSender };
  return {
    text: 'It could not be processed: this service failed.',
    advice: 'Search the log of this service for the code and the time, and report the fault.',
  };
}
