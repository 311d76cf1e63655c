import { isIP } from 'node:net';
import type { FieldProblem } from '../../core/index.ts';
import type { Config } from './schema.ts';

/** Rules that concern several settings. */
export function checkTogether(config: Config): readonly FieldProblem[] {
  return [
    ...pairOf(config.http, 'http'),
    ...pairOf(config.smtp, 'smtp'),
    ...pairOf(config.console, 'console'),
    ...pairOf(config.edge, 'edge'),
    ...edgeProblems(config.edge),
    ...plainHttp('http', config.http),
    ...plainHttp('console', config.console),
    ...proxyProblems('http', config.http),
    ...proxyProblems('console', config.console),
    ...publicUrlProblems(config.http),
    ...consoleProblems(config.console),
    ...providerProblems(config.console.oidc),
    ...relayProblems(config.smtp),
    ...addressProblems(config.smtp),
    ...receiverProblems(config.webhook),
    ...findMissingKey(config),
    ...registerOutlivesMail(config),
  ];
}

function pairOf(section: { tlsKeyFile?: string; tlsCertificateFile?: string }, name: string): FieldProblem[] {
  if ((section.tlsKeyFile === undefined) === (section.tlsCertificateFile === undefined)) return [];
  const field = section.tlsKeyFile === undefined ? `${name}.tlsKeyFile` : `${name}.tlsCertificateFile`;
  return [
    {
      field,
      reason: 'required',
      detail: `${field} is missing: a TLS key and its certificate come as a pair.`,
    },
  ];
}

function edgeProblems({ isServing, tlsKeyFile }: Config['edge']): FieldProblem[] {
  if (!isServing || tlsKeyFile !== undefined) return [];
  const detail = 'edge.tlsKeyFile is missing: passwords and messages go over TLS alone.';
  return [{ field: 'edge.tlsKeyFile', reason: 'required', detail }];
}

// Plain HTTP would carry credentials and patients' documents in the clear (OAUTH-15, SEC-07).
function plainHttp(name: 'http' | 'console', section: Config['http'] | Config['console']): FieldProblem[] {
  if (section.tlsKeyFile !== undefined || section.isBehindTlsProxy || isLoopback(section.host)) return [];
  const detail =
    `${name}.host ${section.host} is not a loopback address: set ${name}.tlsKeyFile and ${name}.tlsCertificateFile, ` +
    `or ${name}.isBehindTlsProxy if a proxy in front speaks TLS.`;
  return [{ field: `${name}.host`, reason: 'invalid', detail }];
}

const namedNetworks: readonly string[] = ['loopback', 'linklocal', 'uniquelocal'];

function proxyProblems(
  name: 'http' | 'console',
  { trustedProxies }: { trustedProxies: string[] },
): FieldProblem[] {
  const field = `${name}.trustedProxies`;
  return trustedProxies
    .filter((text) => !namedNetworks.includes(text) && !isNetwork(text))
    .map((text) => ({
      field,
      reason: 'invalid',
      detail: `${field}: ${text} is not an IP address or a network such as 10.0.0.0/8.`,
    }));
}

function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  if (bits === undefined || (version === 4 && isIP(bits) === 4)) return true;
  return /^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128);
}

// Clients would get it as the address of the token endpoint.
function publicUrlProblems({ publicUrl }: Config['http']): FieldProblem[] {
  const field = 'http.publicUrl';
  if (publicUrl === undefined || /^https?:$/.test(URL.parse(publicUrl)?.protocol ?? '')) return [];
  return [{ field, reason: 'invalid', detail: `${field} is not a URL such as https://hisp.example.org.` }];
}

// Origin, cookies and passkeys hang on the address that browsers use.
function consoleProblems({ publicUrl, tlsKeyFile, isBehindTlsProxy }: Config['console']): FieldProblem[] {
  const field = 'console.publicUrl';
  const speaksTls = tlsKeyFile !== undefined || isBehindTlsProxy;
  if (publicUrl === undefined) {
    if (!speaksTls) return [];
    return [
      { field, reason: 'required', detail: `${field} is missing: with TLS, browsers need to know the name.` },
    ];
  }
  if (!URL.canParse(publicUrl)) return [{ field, reason: 'invalid', detail: `${field} is not a URL.` }];
  const { protocol, hostname } = new URL(publicUrl);
  // Browsers take both for this machine, also as a place for passkeys.
  const isThisMachine = hostname === 'localhost' || hostname.endsWith('.localhost');
  if (protocol === 'https:' ? speaksTls : isThisMachine && !speaksTls) return [];
  const detail =
    protocol === 'https:'
      ? `${field} is https: set console.tlsKeyFile and console.tlsCertificateFile, or console.isBehindTlsProxy.`
      : `${field} must be https; http is for localhost, or a name that ends in .localhost, without TLS.`;
  return [{ field, reason: 'invalid', detail }];
}

function addressProblems({ publicAddresses }: Config['smtp']): FieldProblem[] {
  return publicAddresses
    .filter((address) => isIP(address) === 0)
    .map((address) => ({
      field: 'smtp.publicAddresses',
      reason: 'invalid',
      detail: `smtp.publicAddresses: ${address} is not an IP address.`,
    }));
}

// A host that no URL can have would never match: host:port, 10.1.2.03.
function receiverProblems({ allowedHosts }: Config['webhook']): FieldProblem[] {
  const field = 'webhook.allowedHosts';
  return allowedHosts
    .filter((host) => shortestHost(host) === undefined)
    .map((host) => ({
      field,
      reason: 'invalid',
      detail: `${field}: ${host} is not a host name or an IP address. A port does not belong here.`,
    }));
}

/**
 * The host as URLs have it: an IPv6 address in its shortest form (RFC 5952); undefined for one that a URL
 * cannot have.
 */
export function shortestHost(host: string): string | undefined {
  if (isIP(host) === 6) return new URL(`http://[${host}]`).hostname.slice(1, -1);
  return URL.parse(`http://${host}`)?.hostname === host ? host : undefined;
}

// Credentials, and who writes to whom, must not cross a network in the clear.
function relayProblems(smtp: Config['smtp']): FieldProblem[] {
  const { relayHost, relayTls, relayUser, relayPassword, relayPasswordFile } = smtp;
  const problem = (
    name: keyof Config['smtp'],
    reason: FieldProblem['reason'],
    detail: string,
  ): FieldProblem => ({
    field: `smtp.${name}`,
    reason,
    detail: `smtp.${name} ${detail}`,
  });
  if (relayHost === undefined) {
    const stray = (['relayUser', 'relayPassword', 'relayPasswordFile', 'relayCaFile'] as const).find(
      (name) => smtp[name] !== undefined,
    );
    return stray === undefined ? [] : [problem(stray, 'invalid', 'is set, and smtp.relayHost is not.')];
  }
  const problems: FieldProblem[] = [];
  if (relayTls === 'none' && !isLoopback(relayHost))
    problems.push(
      problem(
        'relayTls',
        'invalid',
        `is none, and ${relayHost} is not on this machine: set starttls or implicit.`,
      ),
    );
  if (relayPassword !== undefined && relayPasswordFile !== undefined)
    problems.push(problem('relayPasswordFile', 'invalid', 'and smtp.relayPassword are both set: keep one.'));
  const hasPassword = relayPassword !== undefined || relayPasswordFile !== undefined;
  if (relayUser !== undefined && !hasPassword)
    problems.push(
      problem('relayPasswordFile', 'required', 'or smtp.relayPassword is missing for smtp.relayUser.'),
    );
  if (relayUser === undefined && hasPassword)
    problems.push(problem('relayUser', 'required', 'is missing for the password of the relay.'));
  return problems;
}

function findMissingKey({ storage, vault }: Config): FieldProblem[] {
  if (storage.file !== vault.masterKeyFile) return [];
  return [
    { field: 'vault.masterKeyFile', reason: 'invalid', detail: 'vault.masterKeyFile is the database file.' },
  ];
}

// A replay of mail that is young enough to be accepted must still be known.
function registerOutlivesMail({ messaging }: Config): FieldProblem[] {
  const leastDays = messaging.maxMailAgeDays + messaging.maxMailAheadHours / 24;
  if (messaging.registerDays > leastDays) return [];
  const detail = `messaging.registerDays must be more than maxMailAgeDays and maxMailAheadHours together (${leastDays} days).`;
  return [{ field: 'messaging.registerDays', reason: 'invalid', detail }];
}

function providerProblems({ issuer, clientId, roleMap }: Config['console']['oidc']): FieldProblem[] {
  if (issuer === undefined) return [];
  const missing = (name: string, why: string): FieldProblem => {
    const field = `console.oidc.${name}`;
    return { field, reason: 'required', detail: `${field} is missing: ${why}` };
  };
  const problems: FieldProblem[] = [];
  if (clientId === undefined) problems.push(missing('clientId', 'console.oidc.issuer is set.'));
  if (roleMap.length === 0) problems.push(missing('roleMap', 'nobody could get in by the provider.'));
  if (!URL.canParse(issuer) || (issuer.startsWith('http:') && !isLoopback(new URL(issuer).hostname)))
    problems.push({
      field: 'console.oidc.issuer',
      reason: 'invalid',
      detail: 'console.oidc.issuer must be an https URL.',
    });
  return problems;
}

/** True for names and addresses that only this machine can reach, also as the host of a URL is written. */
export function isLoopback(host: string): boolean {
  if (/^(?:localhost\.?|::1|\[::1\])$/.test(host)) return true;
  return isIP(host) === 4 && host.startsWith('127.');
}
