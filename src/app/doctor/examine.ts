import type { DoctorOptions } from './doctor-options.ts';
import { examineClock } from './examine-clock.ts';
import { examineConsole } from './examine-console.ts';
import { examineDns } from './examine-dns.ts';
import { examineEdges } from './examine-edges.ts';
import { examineListeners } from './examine-listeners.ts';
import { examineMachine } from './examine-machine.ts';
import { examineMail } from './examine-mail.ts';
import { examineOrganizations } from './examine-organizations.ts';
import { examineRelay } from './examine-relay.ts';
import { examineSender } from './examine-sender.ts';
import { examineServices } from './examine-services.ts';
import { examineTrust } from './examine-trust.ts';
import { findingsOf, type Finding } from './findings.ts';
import { quoteForShell } from '../../core/index.ts';

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
