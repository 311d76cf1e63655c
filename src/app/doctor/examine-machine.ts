import type { X509Certificate } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { isIP } from 'node:net';
import path from 'node:path';
import { errorText } from '../../core/index.ts';
import { isLoopback, type Storage } from '../../platform/index.ts';
import { expiryWarningDays } from '../../service/trust/index.ts';
import { checkWritable, clockToleranceMs, readTlsCertificate } from '../server/index.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { findingsOf, type Finding } from './findings.ts';

const gigabyte = 1_000_000_000;
const littleDiskBytes = 5 * gigabyte;
const noDiskBytes = gigabyte;
const dayMs = 86_400_000;
/** A write-ahead log grows to this size only if something blocks checkpoints. */
const largeLogBytes = 2 * gigabyte;

/** Examines disk, database and TLS files. */
export async function examineMachine(options: DoctorOptions): Promise<readonly Finding[]> {
  return [
    ...(await examineDisks(options)),
    await examineDatabase(options),
    ...examineProxy(options),
    ...examineTlsFile('http', 'the API', options),
    ...examineTlsFile('console', 'the console', options),
    ...examineTlsFile('edge', 'the edges', options),
  ];
}

/** The disk of the data folder, and that of the SQLite file if it is another folder's. */
async function examineDisks(options: DoctorOptions): Promise<readonly Finding[]> {
  const { dataDir, storage } = options.config;
  const folder = path.dirname(storage.file);
  const folders = storage.url === undefined && folder !== dataDir ? [dataDir, folder] : [dataDir];
  return Promise.all(folders.map((one) => examineDisk(one, options)));
}

async function examineDisk(folder: string, { config }: DoctorOptions): Promise<Finding> {
  const finding = findingsOf('disk', folder);
  const { bavail, bsize, blocks } = await statfs(folder);
  const free = bavail * bsize;
  const { minFreeDiskBytes } = config.admission;
  const text = `${(free / gigabyte).toFixed(1)} GB free of ${((blocks * bsize) / gigabyte).toFixed(1)} GB.`;
  if (free < minFreeDiskBytes)
    return finding.error(
      `${text} Mail and sends are refused.`,
      `Free disk space: admission.minFreeDiskBytes requires ${(minFreeDiskBytes / gigabyte).toFixed(1)} GB.`,
    );
  const advice = 'Free disk space: when the disk is full, mail is refused and sends fail.';
  if (free < noDiskBytes) return finding.error(text, advice);
  const little = Math.max(littleDiskBytes, 2 * minFreeDiskBytes);
  return free < little ? finding.warning(text, advice) : finding.ok(text);
}

async function examineDatabase({ config, storage, clock }: DoctorOptions): Promise<Finding> {
  const { file, url } = config.storage;
  const finding = findingsOf('database', url === undefined ? file : 'PostgreSQL');
  try {
    await storage.check();
    await checkWritable(storage);
  } catch (error) {
    return finding.error(
      `It is not writable: ${errorText(error)}`,
      url === undefined
        ? 'Check the owner and mode of the file and its folder, the disk, and whether another program holds it.'
        : 'Check storage.url, the rights of its user, and the log of PostgreSQL.',
    );
  }
  const log = `${file}-wal`;
  const logBytes = url === undefined && existsSync(log) ? statSync(log).size : 0;
  if (logBytes > largeLogBytes) {
    return finding.warning(
      `The write-ahead log has ${(logBytes / gigabyte).toFixed(1)} GB.`,
      'Look for a program that keeps the database open for reading, then restart the server.',
    );
  }
  const host = url === undefined ? undefined : findRemoteHost(url);
  if (host !== undefined && !(await isEncrypted(storage)))
    return finding.warning(
      `The connection to ${host} is not encrypted: the network between can read and change what is stored.`,
      'Add sslmode=verify-full to storage.url, and sslrootcert=FILE if no public authority issued the certificate of the server (docs/operations.md).',
    );
  const seconds = Math.round((clock.now().getTime() - storage.clock.now().getTime()) / 1000);
  if (url !== undefined && Math.abs(seconds) * 1000 > clockToleranceMs)
    return finding.error(
      `Its clock differs from that of this machine by ${Math.abs(seconds)} s.`,
      'Synchronize both by NTP: tokens and sessions of one node end early or late on another.',
    );
  return finding.ok('It responds and is writable.');
}

/** The host of the database; undefined if it is this machine: loopback, or a socket in a folder. */
function findRemoteHost(url: string): string | undefined {
  const { hostname, searchParams } = new URL(url);
  const host = decodeURIComponent(searchParams.get('host') ?? hostname).replaceAll(/[[\]]/g, '');
  return host === '' || host.startsWith('/') || isLoopback(host) ? undefined : host;
}

/** As the server sees it: the URL and PGSSLMODE can both ask for TLS. */
async function isEncrypted(storage: Storage): Promise<boolean> {
  const row = await storage
    .tables<{ pg_stat_ssl: { pid: number; ssl: boolean } }>()
    .selectFrom('pg_stat_ssl')
    .select('ssl')
    .where('pid', '=', ({ fn }) => fn<number>('pg_backend_pid'))
    .executeTakeFirst();
  return row?.ssl === true;
}

function examineProxy({ config }: DoctorOptions): Finding[] {
  const { isBehindTlsProxy, trustedProxies } = config.http;
  if (!isBehindTlsProxy || trustedProxies.length > 0) return [];
  return [
    findingsOf('tls', 'http').warning(
      'http.isBehindTlsProxy is on without http.trustedProxies: every client has the address of the proxy.',
      "Set http.trustedProxies to the proxy's address: limits and audit rows use the client's address.",
    ),
  ];
}

// The certificate of the mail server is examined as peers see it.
function examineTlsFile(
  section: 'http' | 'console' | 'edge',
  name: string,
  { config, clock }: DoctorOptions,
): Finding[] {
  const finding = findingsOf('tls', section);
  try {
    const certificate = readTlsCertificate(config, section);
    if (certificate === undefined) return [];
    const refused = section === 'http' ? findRefused(certificate, config.http.publicUrl) : undefined;
    if (refused !== undefined)
      return [finding.error(refused, 'Use a certificate of a public authority for the name of the API.')];
    const validTo = new Date(certificate.validTo);
    const daysLeft = (validTo.getTime() - clock.now().getTime()) / dayMs;
    const date = validTo.toISOString().slice(0, 10);
    const renew = `Renew the certificate of ${section}.tlsCertificateFile; a renewed file is used within one minute.`;
    if (daysLeft < 0) return [finding.error(`The certificate of ${name} expired on ${date}.`, renew)];
    if (daysLeft < expiryWarningDays)
      return [finding.warning(`The certificate of ${name} expires on ${date}.`, renew)];
    return [finding.ok(`The certificate of ${name} is valid until ${date}.`)];
  } catch (error) {
    return [
      finding.error(errorText(error), `Correct ${section}.tlsKeyFile and ${section}.tlsCertificateFile.`),
    ];
  }
}

/** Why clients refuse the certificate of the API whatever its dates. */
function findRefused(certificate: X509Certificate, publicUrl: string | undefined): string | undefined {
  if (certificate.subject === certificate.issuer && certificate.verify(certificate.publicKey))
    return 'The certificate of the API is self-signed: clients refuse it.';
  if (publicUrl === undefined) return undefined;
  const name = new URL(publicUrl).hostname.replaceAll(/[[\]]/g, '');
  const isNamed = isIP(name) ? certificate.checkIP(name) : certificate.checkHost(name);
  return isNamed === undefined
    ? `The certificate of the API is not for ${name} of http.publicUrl: clients refuse it.`
    : undefined;
}
