import type { FieldProblem } from '../../core/index.ts';
import { isLoopback, PlatformError, type Config } from '../../platform/index.ts';
import { publicAddressesOf } from './public-addresses.ts';

/**
 * Refuses to start as a HISP that nobody could reach, or that could not distinguish its clients. Throws
 * PLATFORM_CONFIG_INVALID, which names the settings. Without hosted domains there is nothing to reach yet.
 */
export function refuseUnreachable(config: Config, hostedDomains: readonly string[]): void {
  const problems = [
    ...findProxyProblems(config),
    ...(hostedDomains.length > 0 ? findHostingProblems(config) : []),
    ...findAddressProblems(config, hostedDomains),
  ];
  if (problems.length === 0) return;
  const lines = problems.map(({ detail }) => `  ${detail}`).join('\n');
  throw new PlatformError('PLATFORM_CONFIG_INVALID', `The server is not started:\n${lines}`, { problems });
}

function findProxyProblems({ http }: Config): FieldProblem[] {
  if (!http.isBehindTlsProxy || http.trustedProxies.length > 0) return [];
  return [
    {
      field: 'http.trustedProxies',
      reason: 'required',
      detail:
        "http.trustedProxies is missing: behind a TLS proxy (http.isBehindTlsProxy) set it to the proxy's address; " +
        'otherwise all clients share one address in limits and audit.',
    },
  ];
}

function findHostingProblems({ smtp, dns }: Config): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (smtp.hostname === 'localhost') {
    problems.push({
      field: 'smtp.hostname',
      reason: 'invalid',
      detail: "smtp.hostname is localhost: set it to this server's public name, to which MX records point.",
    });
  }
  if (isLoopback(smtp.host) && !smtp.isBehindRelay)
    problems.push(loopbackProblem('smtp', smtp.host, 'deliver mail'));
  if (dns.isServing && isLoopback(dns.host) && !dns.isBehindRelay)
    problems.push(loopbackProblem('dns', dns.host, 'find our certificates'));
  return problems;
}

// Only this program can answer for the address: it is the name server of the zone that contains it.
function findAddressProblems(config: Config, hostedDomains: readonly string[]): FieldProblem[] {
  const hostname = config.smtp.hostname.toLowerCase();
  const zone = hostedDomains.find((domain) => hostname === domain || hostname.endsWith(`.${domain}`));
  if (!config.dns.isServing || zone === undefined || publicAddressesOf(config).length > 0) return [];
  return [
    {
      field: 'smtp.publicAddresses',
      reason: 'required',
      detail:
        `smtp.publicAddresses is missing: ${hostname} lies in ${zone}, for which this server answers (dns.isServing), ` +
        'so nobody else can resolve its address.',
    },
  ];
}

function loopbackProblem(section: string, host: string, need: string): FieldProblem {
  return {
    field: `${section}.host`,
    reason: 'invalid',
    detail:
      `${section}.host is ${host}, so no other HISP can ${need}: set it to 0.0.0.0 or a public address, ` +
      `or set ${section}.isBehindRelay if something on this machine passes traffic on.`,
  };
}
