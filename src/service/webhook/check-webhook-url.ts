import { BlockList, isIP } from 'node:net';
import { isPublicAddress } from '../../lib/fetch/index.ts';

const maxUrlLength = 2048;

/** Remote login, mail and directory services: they could execute a request as commands. */
const blockedPorts = new Set(
  '21 22 23 25 53 109 110 119 139 143 220 389 445 465 563 587 636 993 995 2525'.split(' '),
);

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Which targets may be other than HTTPS on public hosts. */
export interface TargetRules {
  /** Also `http:` and loopback: for the sandbox only. */
  readonly isLoopbackAllowed: boolean;
  /** Host names or addresses of the operator's own receivers, which may be private; in lower case. */
  readonly allowedHosts: readonly string[];
}

/**
 * The fault of a target, in one sentence, or undefined (HOOK-03). Names are resolved and checked again at
 * each attempt by the guarded fetch; this refuses URLs early that can never be valid.
 */
export function findUrlProblem(
  text: string,
  { isLoopbackAllowed, allowedHosts }: TargetRules,
): string | undefined {
  if (text.length > maxUrlLength) return `The URL is longer than ${maxUrlLength} characters.`;
  if (/[\p{Cc}\s\\]/u.test(text)) return 'The URL contains a control character, white space or a backslash.';
  if (!URL.canParse(text)) return 'Not an absolute URL.';
  const url = new URL(text);
  if (url.username !== '' || url.password !== '')
    return 'Credentials do not belong in the URL; use basicAuth.';
  if (url.hash !== '') return 'A fragment does not belong in the URL.';
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'The URL must begin with https://.';
  if (blockedPorts.has(url.port)) return `Port ${url.port} is not for webhooks.`;
  const host = hostOf(url);
  if (allowedHosts.includes(host)) return findSchemeProblem(url, isLoopbackAllowed);
  if (isLoopbackHost(host))
    return isLoopbackAllowed ? findSchemeProblem(url, true) : 'The host is not public.';
  return isPublicHost(host) ? findSchemeProblem(url, false) : 'The host is not public.';
}

/**
 * The URL as it is stored and called: host in lower case and without the dot at its end, no default port. To
 * be called for a text that {@link findUrlProblem} finds no fault with.
 */
export function normalizeUrl(text: string): string {
  const url = new URL(text);
  url.hostname = url.hostname.replace(/\.+$/, '');
  return url.href;
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '');
}

function findSchemeProblem(url: URL, isHttpAllowed: boolean): string | undefined {
  if (url.protocol === 'https:' || (isHttpAllowed && url.protocol === 'http:')) return undefined;
  return 'The URL must begin with https://.';
}

function isLoopbackHost(host: string): boolean {
  const version = isIP(host);
  if (version === 0) return host === 'localhost' || host.endsWith('.localhost');
  return loopback.check(host, version === 4 ? 'ipv4' : 'ipv6');
}

function isPublicHost(host: string): boolean {
  const version = isIP(host);
  if (version !== 0) return isPublicAddress(host);
  return host.includes('.') && !/\.(?:local|internal|home|lan|localdomain)$/.test(host);
}
