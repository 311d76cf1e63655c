import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { findConsolePort, isLoopback } from '../../platform/index.ts';
import { measureOperators } from '../../service/operators/index.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { findingsOf, type Finding } from './findings.ts';

const finding = findingsOf('console');
const shownNames = 5;

/** Checks that operators can reach the console and sign in, and that others cannot reach it. */
export async function examineConsole(options: DoctorOptions): Promise<readonly Finding[]> {
  if (!options.config.console.isServing)
    return [finding.note('The console is disabled.', 'console.isServing enables it.')];
  const [listener, operators] = await Promise.all([examineListener(options), examineOperators(options)]);
  return [...listener, ...examineExposure(options), ...operators];
}

async function examineListener({ config, timeoutMs }: DoctorOptions): Promise<Finding[]> {
  const { host, port: wanted, tlsKeyFile } = config.console;
  const port = findConsolePort(config.dataDir) ?? wanted;
  // Nothing says that it runs, and which port it would take.
  if (port === undefined || port === 0) return [];
  const answer = await ask({ host, port, isHttps: tlsKeyFile !== undefined, timeoutMs }, config.console);
  if (typeof answer === 'string')
    return [
      finding.warning(
        `The console does not answer at ${host} port ${port}: ${answer}.`,
        'Start the server: openhisp serve. If it runs, read its log.',
      ),
    ];
  const findings = [
    answer === 503
      ? finding.warning(
          'The pages of the console are not built: only its API answers.',
          'In a checkout: npm ci, then node tools/build-console.ts. The package comes built: install it again.',
        )
      : finding.ok(`The console answers at ${host} port ${port}.`),
  ];
  if (wanted !== undefined && wanted !== port)
    findings.push(
      finding.note(
        `It listens on port ${port}, and console.port is ${wanted}.`,
        'Restart the server to use the setting.',
      ),
    );
  return findings;
}

function examineExposure({ config: { console } }: DoctorOptions): Finding[] {
  const { host, isBehindTlsProxy, trustedProxies, oidc } = console;
  const findings: Finding[] = [];
  if (!isLoopback(host))
    findings.push(
      finding.note(
        `The console listens on ${host}: whoever reaches it can try to sign in${oidc.issuer === undefined ? ', by passkey or link' : ''}.`,
        'Keep it inside your network or behind a VPN: no other HISP needs it.',
      ),
    );
  if (isBehindTlsProxy && trustedProxies.length === 0)
    findings.push(
      finding.warning(
        'Behind the TLS proxy all sign-ins seem to come from one address: failures of one caller lock out everybody.',
        "Set console.trustedProxies to the proxy's address.",
      ),
    );
  return findings;
}

async function examineOperators({ config, storage, clock }: DoctorOptions): Promise<Finding[]> {
  const { ableOperators, shutOut } = await measureOperators(storage, clock, config.console.oidc.issuer);
  const findings: Finding[] = [];
  const givesRole = config.console.oidc.roleMap.some((entry) => entry.endsWith('=operator'));
  if (ableOperators === 0 && !(config.console.oidc.issuer !== undefined && givesRole))
    findings.push(
      finding.note(
        'Nobody with the role operator can sign in to the console.',
        'openhisp operator create NAME --role operator prints a link for the first passkey.',
      ),
    );
  if (shutOut.length > 0) {
    const more = shutOut.length > shownNames ? ` and ${shutOut.length - shownNames} more` : '';
    findings.push(
      finding.note(
        `No passkey and no link that is still good: ${shutOut.slice(0, shownNames).join(', ')}${more}.`,
        'openhisp operator link NAME prints a new link; openhisp operator disable NAME if they are not to come.',
      ),
    );
  }
  return findings;
}

interface Target {
  readonly host: string;
  readonly port: number;
  readonly isHttps: boolean;
  readonly timeoutMs: number;
}

/** The status of the first page, requested with the Host header that browsers send; or the error text. */
function ask(
  { host, port, isHttps, timeoutMs }: Target,
  { publicUrl }: { readonly publicUrl?: string | undefined },
): Promise<number | string> {
  const own = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const name = publicUrl === undefined ? `localhost:${port}` : new URL(publicUrl).host;
  return new Promise((resolve) => {
    const request = (isHttps ? httpsRequest : httpRequest)(
      {
        host: own,
        port,
        path: '/',
        timeout: timeoutMs,
        agent: false,
        headers: { host: name },
        // The server's identity does not matter here: browsers check the certificate.
        rejectUnauthorized: false,
      },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    request.once('timeout', () => request.destroy(new Error('no answer in time')));
    request.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    request.end();
  });
}
