import { errorText } from '../../core/index.ts';
import { resolveRelay } from '../../lib/smtp/index.ts';
import { createOutgoingMail } from '../server/index.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { findingsOf, type Finding } from './findings.ts';

/** Examines the smart host, if there is one: reachability, certificate name and credentials. */
export async function examineRelay({ config, dns, timeoutMs }: DoctorOptions): Promise<readonly Finding[]> {
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
