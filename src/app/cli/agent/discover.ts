import { getServers } from 'node:dns';
import type { Command } from 'commander';
import { readDecimal, systemClock } from '../../../core/index.ts';
import { createDiscovery, resolveRecipient } from '../../../lib/direct/index.ts';
import { queryTimeoutMs, createDnsResolver, type DnsServerAddress } from '../../../lib/dns/index.ts';
import { createLdapClient } from '../../../lib/ldap/index.ts';
import { readAddress } from './addresses.ts';
import { AgentCommandError } from './command-error.ts';
import { describeCertificate, describePath } from './describe-certificate.ts';
import { collect } from './files.ts';
import { answering, type AgentOutput } from './output.ts';
import { addTrustOptions, createToolFetch, readTrust, type TrustOptions } from './trust-options.ts';

const maxTimeoutMs = 300_000;

interface DiscoverOptions extends TrustOptions {
  readonly dns?: readonly string[];
  readonly timeoutMs?: string;
}

/**
 * `agent discover`: where the certificates of an address were looked for, what was there, and whether it is
 * trusted.
 */
export function addDiscoverCommand(agent: Command, output: AgentOutput): void {
  const command = agent
    .command('discover <address>')
    .description("find a recipient's certificates and decide whether they can be used")
    .option('--dns <host:port>', "DNS server to query; may be repeated; default the system's", collect)
    .option('--timeout-ms <number>', 'timeout of one exchange with one DNS server', String(queryTimeoutMs));
  addTrustOptions(command).action((address: string, options: DiscoverOptions) =>
    answering(output, () => runDiscover(address, options, output)),
  );
}

async function runDiscover(text: string, options: DiscoverOptions, output: AgentOutput): Promise<void> {
  const address = readAddress('the address', text);
  const servers = (options.dns ?? getServers()).map(readServer);
  const resolver = createDnsResolver({ servers, timeoutMs: readTimeout(options.timeoutMs ?? '') });
  try {
    const ldap = createLdapClient({ dns: resolver, allowPrivate: options.allowPrivate === true });
    const fetch = createToolFetch(options);
    const discovery = createDiscovery({ dns: resolver, ldap, fetch, clock: systemClock });
    const resolved = await resolveRecipient(address, { ...readTrust(options), discovery });
    const common = {
      address,
      source: resolved.source ?? null,
      steps: resolved.steps,
      refused: resolved.refused,
    };
    if (resolved.outcome === 'usable') {
      const certificates = resolved.certificates.map((path) => ({
        ...describeCertificate(path.certificates[0]),
        ...describePath(path),
      }));
      output({ verdict: 'accept', reason: null, ...common, certificates }, 0);
    } else {
      const { code, reason, statusCode, text: sentence, isTransient } = resolved;
      const cause = resolved.refused[0]?.code ?? code;
      output(
        {
          verdict: 'reject',
          reason: cause,
          code,
          word: reason,
          statusCode,
          text: sentence,
          isTransient,
          ...common,
          certificates: [],
        },
        1,
      );
    }
  } finally {
    await resolver.close();
  }
}

function readTimeout(text: string): number {
  const timeoutMs = readDecimal(text);
  if (!(timeoutMs >= 1 && timeoutMs <= maxTimeoutMs))
    throw new AgentCommandError(
      'AGENT_OPTION_INVALID',
      `--timeout-ms: a number of milliseconds from 1 to ${maxTimeoutMs}`,
    );
  return timeoutMs;
}

/** `192.0.2.1`, `192.0.2.1:53`, `[2001:db8::1]:53` or a bare IPv6 address. */
function readServer(text: string): DnsServerAddress {
  const bracketed = /^\[([^\]]+)\](?::(\d+))?$/.exec(text);
  const plain = /^([^:]+)(?::(\d+))?$/.exec(text);
  const [, host = text, portText = '53'] = bracketed ?? plain ?? [];
  const port = Number(portText);
  if (!(port >= 1 && port <= 65_535))
    throw new AgentCommandError('AGENT_OPTION_INVALID', '--dns: invalid port');
  return { host, port };
}
