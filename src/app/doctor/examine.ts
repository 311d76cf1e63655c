import type { DoctorOptions } from './doctor-options.ts';
import { examineConsole } from './examine-console.ts';
import { examineDns } from './examine-dns.ts';
import { examineEdges } from './examine-edges.ts';
import { examineListeners } from './examine-listeners.ts';
import { examineMachine } from './examine-machine.ts';
import { examineMail } from './examine-mail.ts';
import { examineSender } from './examine-sender.ts';
import { examineServices } from './examine-services.ts';
import { examineTrust } from './examine-trust.ts';
import { findingsOf, type Finding } from './findings.ts';
import { quoteForShell, errorText } from '../../core/index.ts';
import { askTime } from './ask-time.ts';
import { adviceForNearLimit, describeNearLimit } from '../../service/organizations/index.ts';
import { resolveRelay } from '../../lib/smtp/index.ts';
import { createOutgoingMail } from '../server/index.ts';

/** Domains examined at the same time. */
const concurrentDomains = 4;

/** Runs every check. A check that fails by itself is a finding, never an exception. */
export async function examine(options: DoctorOptions): Promise<readonly Finding[]> {
  const { trust, domain: only } = options;
  const hosted = await trust.listDomains();
  const domains = only === undefined ? hosted : hosted.filter((domain) => domain === only.toLowerCase());
  const findings: Finding[] = [];
  if (domains.length === 0) findings.push(nothingHosted(only));
  const installation = [
    examineListeners,
    examineConsole,
    examineEdges,
    examineMachine,
    examineClock,
    examineRelay,
    examineSender,
    examineServices,
    examineOrganizations,
  ] as const;
  findings.push(...(await Promise.all(installation.map((check) => check(options, hosted)))).flat());
  for (let start = 0; start < domains.length; start += concurrentDomains) {
    const batch = domains.slice(start, start + concurrentDomains);
    const found = await Promise.all(batch.map((domain) => examineDomain(domain, options)));
    findings.push(...found.flat());
  }
  return findings;
}

/** The checks of one hosted domain. */
export async function examineDomain(domain: string, options: DoctorOptions): Promise<readonly Finding[]> {
  const [dates] = await options.trust.findKeyDates(domain);
  if (dates?.isInUse === false) return [outOfUse(domain)];
  const checks = [examineTrust, examineDns, examineMail] as const;
  return (await Promise.all(checks.map((check) => check(domain, options)))).flat();
}

function outOfUse(domain: string): Finding {
  return findingsOf('domain', domain).note(
    'Out of use: all its addresses are disabled. All mail to it is refused, and nothing else of it is examined.',
    `openhisp address add name@${quoteForShell(domain)} enables an address again.`,
  );
}

function nothingHosted(only: string | undefined): Finding {
  return only === undefined
    ? findingsOf('domain').warning(
        'No domain is hosted.',
        'Add yours: openhisp domain add direct.example.org, then key import and anchor add (docs/operations.md).',
      )
    : findingsOf('domain', only).error(
        `${only} is not hosted here.`,
        `openhisp domain list shows the hosted domains; openhisp domain add ${quoteForShell(only)} adds this one.`,
      );
}

const warningMs = 5_000;
const errorMs = 60_000;

/** This machine's clock, compared with a time server. */
async function examineClock({
  clock,
  dns,
  timeServer,
  timeoutMs,
}: DoctorOptions): Promise<readonly Finding[]> {
  const finding = findingsOf('clock', timeServer.host);
  try {
    const offsetMs = await askTime({ ...timeServer, clock, dns, timeoutMs });
    const seconds = `${(Math.abs(offsetMs) / 1000).toFixed(1)} s ${offsetMs > 0 ? 'slow' : 'fast'}`;
    const advice =
      'Synchronize it by NTP (systemd-timesyncd or chrony): certificates, tokens and windows depend on it.';
    if (Math.abs(offsetMs) > errorMs) return [finding.error(`The clock is ${seconds}.`, advice)];
    if (Math.abs(offsetMs) > warningMs) return [finding.warning(`The clock is ${seconds}.`, advice)];
    return [finding.ok(`The clock is accurate to ${(Math.abs(offsetMs) / 1000).toFixed(1)} s.`)];
  } catch (error) {
    return [
      finding.note(
        `The clock could not be compared: ${errorText(error)}.`,
        'Name a time server that can be reached with --time-server, or check with timedatectl.',
      ),
    ];
  }
}

/** Limits of organizations that are reached, or nearly so. */
async function examineOrganizations({ organizations, trust }: DoctorOptions): Promise<readonly Finding[]> {
  const near = (await organizations?.findNearLimits(trust.countActiveAddresses)) ?? [];
  return near.map((limit) =>
    findingsOf('organization', limit.organizationId).warning(
      describeNearLimit(limit),
      adviceForNearLimit(limit),
    ),
  );
}

/** Examines the smart host, if there is one: reachability, certificate name and credentials. */
async function examineRelay({ config, dns, timeoutMs }: DoctorOptions): Promise<readonly Finding[]> {
  const { relayHost, relayPort, relayTls } = config.smtp;
  if (relayHost === undefined) return [];
  const place = `${relayHost} port ${relayPort}`;
  const finding = findingsOf('relay', relayHost);
  try {
    const { smtp, port } = createOutgoingMail({ ...config, smtp: { ...config.smtp, timeoutMs } });
    for (const { address } of (await resolveRelay(relayHost, dns)).hosts)
      await smtp.check({ host: address, port });
    return [finding.ok(`${place} accepts our mail (TLS: ${relayTls}).`)];
  } catch (error) {
    return [
      finding.error(
        `No mail can be sent: ${errorText(error)}`,
        'Check smtp.relayHost, relayPort, relayTls, relayCaFile and the credentials, and the log of the relay.',
      ),
    ];
  }
}
