import { isIP } from 'node:net';
import type { FieldProblem } from '../../core/index.ts';
import type { Config } from './schema.ts';

/** What no single setting can tell: rules over several of them. */
export function checkTogether(config: Config): readonly FieldProblem[] {
  return [
    ...pairOf(config.http, 'http'),
    ...pairOf(config.smtp, 'smtp'),
    ...plainHttp(config.http),
    ...keyBesideDatabase(config),
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

// Plain HTTP would carry credentials and patients' documents in the clear (OAUTH-15, SEC-07).
function plainHttp(http: Config['http']): FieldProblem[] {
  if (http.tlsKeyFile !== undefined || http.isBehindTlsProxy || isLoopback(http.host)) return [];
  const detail =
    `http.host ${http.host} is not a loopback address: set http.tlsKeyFile and http.tlsCertificateFile, ` +
    'or http.isBehindTlsProxy if a proxy in front speaks TLS.';
  return [{ field: 'http.host', reason: 'invalid', detail }];
}

function keyBesideDatabase({ storage, vault }: Config): FieldProblem[] {
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

/** True for names and addresses that only this machine can reach. */
export function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true;
  return isIP(host) === 4 && host.startsWith('127.');
}
