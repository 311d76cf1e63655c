import { execFileSync } from 'node:child_process';

/** A self-signed certificate for `name` with its key, as PEM in one text. */
export function makeTlsCertificate(name: string, days = 2): string {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', '-'];
  const names = ['-subj', '/CN=test', '-addext', `subjectAltName=DNS:${name}`];
  return execFileSync('openssl', ['req', '-x509', '-days', String(days), ...key, ...names], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}
