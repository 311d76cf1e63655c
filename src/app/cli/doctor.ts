import { InvalidArgumentError, type Command } from 'commander';
import { errorText, readDecimal, systemClock } from '../../core/index.ts';
import { createDnsResolver } from '../../lib/dns/index.ts';
import type { Config } from '../../platform/index.ts';
import { createEdges } from '../../service/edges/index.ts';
import { createOauth } from '../../service/oauth/index.ts';
import { createOrganizations } from '../../service/organizations/index.ts';
import { createTrust } from '../../service/trust/index.ts';
import {
  examine,
  isHealthy,
  readWorldPorts,
  usualTimeServer,
  type Finding,
  type Severity,
} from '../doctor/index.ts';
import { resolversOf } from '../server/index.ts';
import type { CliContext } from './context.ts';
import { describeError } from './describe-error.ts';
import { isInstalled, refuseUnreadable } from './find-installation.ts';
import { withInstallation } from './with-installation.ts';
import { printLines } from './print-list.ts';

interface DoctorFlags {
  readonly json?: true;
  readonly all?: true;
  readonly timeServer?: { readonly host: string; readonly port: number };
  readonly smtpPort?: number;
  readonly dnsPort?: number;
  readonly timeout: number;
}

/** Adds `doctor`, which finds faults of the installation and names the remedies. */
export function addDoctorCommand(doctor: Command, context: CliContext): void {
  doctor
    .option('--json', 'all findings as JSON')
    .option('--all', 'also list checks that passed')
    .option(
      '--time-server <host[:port]>',
      `compare the clock with it by SNTP (default: ${usualTimeServer.host})`,
      readServer,
    )
    .option('--smtp-port <port>', 'the port to which other HISPs deliver mail (default: 25)', readPort)
    .option('--dns-port <port>', 'the port of the public name servers (default: 53)', readPort)
    .option('--timeout <seconds>', 'timeout of one answer', readSeconds, 10)
    .action(async (domain: string | undefined, flags: DoctorFlags) => {
      const findings = await runExamination(context, domain, flags);
      if (flags.json === true) printJson(context, findings);
      else printFindings(context, findings, flags.all === true);
      if (!isHealthy(findings)) context.setExitCode(1);
    });
}

async function runExamination(
  context: CliContext,
  domain: string | undefined,
  flags: DoctorFlags,
): Promise<readonly Finding[]> {
  let config: Config;
  try {
    config = await context.loadConfig();
  } catch (error) {
    return [invalidSettings(error)];
  }
  let findings: readonly Finding[] = [];
  try {
    if (!isInstalled(config)) {
      refuseUnreadable(config.dataDir);
      return [missingInstallation(config)];
    }
    await withInstallation(context, async (installation) => {
      findings = await examineInstallation({ ...installation, domain, flags });
    });
    return findings;
  } catch (error) {
    return [...findings, unusableInstallation(config, error)];
  }
}

async function examineInstallation({
  domain,
  flags,
  ...installation
}: Parameters<Parameters<typeof withInstallation>[1]>[0] & {
  readonly domain: string | undefined;
  readonly flags: DoctorFlags;
}): Promise<readonly Finding[]> {
  const { config, storage } = installation;
  const timeoutMs = flags.timeout * 1000;
  const worldPorts = await readWorldPorts(config.dataDir);
  const { clients } = createOauth({ ...installation, clock: systemClock });
  const dns = createDnsResolver({ servers: resolversOf(config), timeoutMs, attempts: 2, cache: false });
  try {
    return await examine({
      config,
      storage,
      trust: createTrust({ ...installation, clock: systemClock }),
      clients,
      edgeAccounts: createEdges({
        ...installation,
        clock: systemClock,
        clients,
        attemptsPerMinute: config.edge.attemptsPerMinute,
      }).accounts,
      organizations: createOrganizations({ ...installation, clock: systemClock }),
      clock: systemClock,
      dns,
      openResolver: (server) =>
        createDnsResolver({ servers: [server], timeoutMs, attempts: 1, cache: false }),
      domain,
      worldPorts: { smtp: flags.smtpPort ?? worldPorts.smtp, dns: flags.dnsPort ?? worldPorts.dns },
      timeServer: flags.timeServer ?? usualTimeServer,
      timeoutMs,
    });
  } finally {
    await dns.close();
  }
}

function invalidSettings(error: unknown): Finding {
  return {
    check: 'installation',
    subject: 'settings',
    severity: 'error',
    text: errorText(error),
    advice: 'Correct the settings named; docs/configuration.md has all of them.',
  };
}

function missingInstallation({ dataDir }: Config): Finding {
  return {
    check: 'installation',
    subject: dataDir,
    severity: 'error',
    text: `There is no installation in ${dataDir}.`,
    advice: 'Name its folder with --data-dir or OPENHISP_DATA_DIR, or create an installation: openhisp init.',
  };
}

function unusableInstallation({ dataDir, storage }: Config, error: unknown): Finding {
  return {
    check: 'installation',
    subject: dataDir,
    severity: 'error',
    text: `The installation in ${dataDir} cannot be opened: ${describeError(error)}`,
    advice: `${
      storage.url === undefined
        ? 'Check the free space of its disk, the owner and mode of its files'
        : 'Check that PostgreSQL runs and storage.url names it'
    }, and that the master key of this database is configured.`,
  };
}

function printJson(context: CliContext, findings: readonly Finding[]): void {
  context.print(JSON.stringify({ healthy: isHealthy(findings), findings }, undefined, 2));
}

const marks: Readonly<Record<Severity, string>> = {
  ok: 'ok',
  note: 'note',
  warning: 'WARNING',
  error: 'ERROR',
};
const order: readonly Severity[] = ['error', 'warning', 'note', 'ok'];

function printFindings(context: CliContext, findings: readonly Finding[], showsAll: boolean): void {
  for (const severity of order) {
    if (severity === 'ok' && !showsAll) continue;
    for (const { check, subject, text, advice } of findings.filter((one) => one.severity === severity)) {
      printLines(context, [
        `${marks[severity].padEnd(8)}${check}${subject === '' ? '' : ` ${subject}`}: ${text}`,
        ...(advice === '' ? [] : [`        -> ${advice}`]),
      ]);
    }
  }
  const count = (severity: Severity): number => findings.filter((one) => one.severity === severity).length;
  context.print(`${count('error')} errors, ${count('warning')} warnings, ${count('ok')} passed.`);
}

function readPort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new InvalidArgumentError('It must be a port from 1 to 65535.');
}

function readSeconds(text: string): number {
  const seconds = readDecimal(text);
  if (seconds >= 0.1 && seconds <= 300) return seconds;
  throw new InvalidArgumentError('It must be a number of seconds from 0.1 to 300.');
}

function readServer(text: string): { host: string; port: number } {
  const [, host = '', port] = /^([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(?::(\d{1,5}))?$/.exec(text) ?? [];
  if (host === '') throw new InvalidArgumentError('It must be host or host:port.');
  return {
    host: host.replace(/^\[|\]$/g, ''),
    port: port === undefined ? usualTimeServer.port : readPort(port),
  };
}
