import { existsSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { X509Certificate } from 'node:crypto';
import { errorText } from '../../core/index.ts';
import { readTlsFiles } from '../../platform/index.ts';
import { expiryWarningDays } from '../../service/trust/index.ts';
import { checkWritable } from '../server/index.ts';
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
  return [await examineDisk(options), await examineDatabase(options), ...examineTlsFile(options)];
}

async function examineDisk({ config }: DoctorOptions): Promise<Finding> {
  const report = findingsOf('disk', config.dataDir);
  const { bavail, bsize, blocks } = await statfs(config.dataDir);
  const free = bavail * bsize;
  const text = `${(free / gigabyte).toFixed(1)} GB free of ${((blocks * bsize) / gigabyte).toFixed(1)} GB.`;
  const advice = 'Free disk space: when the disk is full, mail is refused and sends fail.';
  if (free < noDiskBytes) return report.error(text, advice);
  return free < littleDiskBytes ? report.warning(text, advice) : report.ok(text);
}

async function examineDatabase({ config, storage }: DoctorOptions): Promise<Finding> {
  const { file, url } = config.storage;
  const report = findingsOf('database', url === undefined ? file : 'PostgreSQL');
  try {
    await storage.check();
    await checkWritable(storage);
  } catch (error) {
    return report.error(
      `It is not writable: ${errorText(error)}`,
      url === undefined
        ? 'Check the owner and mode of the file and its folder, the disk, and whether another program holds it.'
        : 'Check storage.url, the rights of its user, and the log of PostgreSQL.',
    );
  }
  const log = `${file}-wal`;
  const logBytes = url === undefined && existsSync(log) ? statSync(log).size : 0;
  if (logBytes > largeLogBytes) {
    return report.warning(
      `The write-ahead log has ${(logBytes / gigabyte).toFixed(1)} GB.`,
      'Look for a program that keeps the database open for reading, then restart the server.',
    );
  }
  return report.ok('It responds and is writable.');
}

function examineTlsFile({ config, clock }: DoctorOptions): Finding[] {
  const { tlsCertificateFile, isBehindTlsProxy, trustedProxies } = config.http;
  const report = findingsOf('tls', 'http');
  if (isBehindTlsProxy && trustedProxies.length === 0) {
    return [
      report.warning(
        'http.isBehindTlsProxy is on without http.trustedProxies: every client has the address of the proxy.',
        "Set http.trustedProxies to the proxy's address: limits and audit rows use the client's address.",
      ),
    ];
  }
  if (tlsCertificateFile === undefined) return [];
  try {
    const validTo = new Date(new X509Certificate(readTlsFiles('http', config.http)?.cert ?? '').validTo);
    const daysLeft = (validTo.getTime() - clock.now().getTime()) / dayMs;
    const date = validTo.toISOString().slice(0, 10);
    const renew =
      'Renew the certificate of http.tlsCertificateFile; a renewed file is used within one minute.';
    if (daysLeft < 0) return [report.error(`The certificate of the API expired on ${date}.`, renew)];
    if (daysLeft < expiryWarningDays)
      return [report.warning(`The certificate of the API expires on ${date}.`, renew)];
    return [report.ok(`The certificate of the API is valid until ${date}.`)];
  } catch (error) {
    return [report.error(errorText(error), 'Correct http.tlsKeyFile and http.tlsCertificateFile.')];
  }
}
