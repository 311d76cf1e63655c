import { isIPv4, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';
import { SmtpError } from './errors.ts';
import { maxDomainOctets, maxLocalPartOctets, maxPathOctets } from './limits.ts';

const dotString = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
// qtextSMTP and quoted pairs, without the angle brackets that would end the path for a careless reader.
const quotedString = /^"(?:[ !#-;=?-[\]-~]|\\[ -;=?-~])*"$/;
const domainName =
  /^(?=.{1,255}$)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;

/** True if the text can stand between the brackets of MAIL FROM or RCPT TO (RFC 5321 §4.1.2), ASCII only. */
export function isMailbox(text: string): boolean {
  const at = text.lastIndexOf('@');
  const local = text.slice(0, at);
  const domain = text.slice(at + 1);
  return (
    at > 0 &&
    text.length <= maxPathOctets &&
    local.length <= maxLocalPartOctets &&
    domain.length <= maxDomainOctets &&
    (dotString.test(local) || quotedString.test(local)) &&
    isHostOrLiteral(domain)
  );
}

/** True for a host name or an address literal such as `[192.0.2.1]`, as EHLO wants it. */
export function isHostOrLiteral(text: string): boolean {
  const literal = /^\[(?<address>[^\]]+)\]$/.exec(text)?.groups?.['address'];
  if (literal === undefined) return domainName.test(text);
  return isIPv4(literal) || (/^IPv6:/i.test(literal) && !literal.includes('%') && isIPv6(literal.slice(5)));
}

/**
 * Refuses addresses that could smuggle commands or parameters (SEC-12). '' is the null sender, allowed as
 * `mailFrom` only.
 */
export function checkEnvelope(mailFrom: string, recipients: readonly string[]): void {
  if (mailFrom !== '' && !isMailbox(mailFrom))
    throw invalid('The sender is not an address that SMTP can carry');
  if (recipients.length === 0) throw invalid('no recipients');
  if (!recipients.every(isMailbox)) throw invalid('A recipient is not an address that SMTP can carry');
}

export function checkHostname(hostname: string): void {
  if (!isHostOrLiteral(hostname))
    throw invalid('The name for EHLO is neither a host name nor an address literal');
}

/**
 * A received address with its domain as on the wire (the library turns `xn--` into Unicode). Undefined if not
 * ASCII.
 */
export function readPath(address: string): string | undefined {
  const at = address.lastIndexOf('@') + 1;
  const domain = address.slice(at);
  const wire = address.slice(0, at) + (isAscii(domain) ? domain : domainToASCII(domain));
  return isAscii(wire) ? wire : undefined;
}

function isAscii(text: string): boolean {
  return /^[ -~]*$/.test(text);
}

function invalid(what: string): SmtpError {
  return new SmtpError('SMTP_ADDRESS_INVALID', what);
}
