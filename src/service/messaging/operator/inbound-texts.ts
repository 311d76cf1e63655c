/** The meaning of each code of incoming mail, and advice for the operator. */
export interface InboundText {
  readonly text: string;
  readonly advice: string;
}

const tellSender =
  "Tell the sender's HISP, with the code and the time; the sender sends it again once that is mended.";

const texts: readonly (readonly [pattern: RegExp, text: string, advice: string])[] = [
  [
    /^(?:DIRECT_SENDER_UNTRUSTED|PKI_NO_ANCHORS|PKI_ISSUER_NOT_FOUND)$/,
    "The sender's certificate leads to no anchor of the recipient's domain.",
    'If the sender is to be trusted, add the anchor or trust bundle of their HISP to the domain; then ask them to send it again.',
  ],
  [/^PKI_EXPIRED$/, "The sender's certificate is expired.", tellSender],
  [/^PKI_NOT_YET_VALID$/, "The sender's certificate is not valid yet.", tellSender],
  [/^PKI_REVOKED$/, "The sender's certificate is revoked.", tellSender],
  [
    /^(?:PKI_CRL_|PKI_REVOCATION_)/,
    "Whether the sender's certificate is revoked could not be found out.",
    "Look at the address of the CA's revocation list: it is unreachable or out of date. Their CA must mend it.",
  ],
  [
    /^PKI_NOT_BOUND$|^DIRECT_ENVELOPE_SENDER_MISMATCH$/,
    'The signature is not the one of the sender named.',
    tellSender,
  ],
  [
    /^(?:PKI_|DIRECT_SENDER_CERTIFICATE_)/,
    "The sender's certificate, or one above it, breaks a rule.",
    tellSender,
  ],
  [
    /^(?:DIRECT_UNKNOWN_RECIPIENT|SMIME_NO_RECIPIENT_KEY|SMIME_DECRYPTION_FAILED)$/,
    'It is not encrypted to a key of this service.',
    "Check that the domain publishes its present certificate. The sender's HISP may use an old one: tell them to look it up again.",
  ],
  [/^(?:DIRECT_NOT_ENCRYPTED|SMIME_NOT_ENCRYPTED)$/, 'It is not an encrypted message.', tellSender],
  [
    /^(?:DIRECT_NOT_SIGNED|SMIME_NOT_SIGNED|DIRECT_SENDER_SIGNATURE_MISSING|DIRECT_SIGNATURE_INVALID)$/,
    'Its signature is missing or wrong.',
    tellSender,
  ],
  [
    /^(?:DIRECT_SENDER_UNDECIDED|DIRECT_SENDER_NEEDS_FETCH)$/,
    'Whether the sender is trusted could not be decided in time.',
    'A server of their CA did not answer. Retry it once that is reachable.',
  ],
  [
    /_TOO_LARGE$/,
    'It is larger than this service takes.',
    'Tell the sender to send less, or in several messages.',
  ],
  [/^(?:DIRECT_|SMIME_|MIME_)/, 'It is not a valid Direct message.', tellSender],
];

/** The text of a code; of an unknown one the code itself. */
export function inboundTextOf(code: string): InboundText {
  const found = texts.find(([pattern]) => pattern.test(code));
  if (found !== undefined) return { text: found[1], advice: found[2] };
  return {
    text: code === '' ? 'It could not be processed.' : `It could not be processed (${code}).`,
    advice: 'Look for the code in the log of this service.',
  };
}
