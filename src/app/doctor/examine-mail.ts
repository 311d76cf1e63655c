import { errorText } from '../../core/index.ts';
import { resolveMailHosts, SmtpError, type MailHost } from '../../lib/smtp/index.ts';
import { expiryWarningDays } from '../../service/trust/index.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { resolverAdvice } from './examine-dns.ts';
import { findingsOf, type Finding } from './findings.ts';
import { probeSmtp } from './probe-smtp.ts';

const dayMs = 86_400_000;

/** Examines the mail hosts of a domain: reachability, SMTP banner and TLS certificate. */
export async function examineMail(domain: string, options: DoctorOptions): Promise<readonly Finding[]> {
  let hosts: readonly MailHost[];
  try {
    hosts = (await resolveMailHosts(domain, options.dns)).hosts;
  } catch (error) {
    const finding = findingsOf('smtp', domain);
    return [
      error instanceof SmtpError
        ? finding.error(
            `No mail host has an address: ${errorText(error)}`,
            `Publish an MX record and an A or AAAA record of its name (smtp.hostname is ${options.config.smtp.hostname}).`,
          )
        : finding.error(`The mail hosts cannot be looked up: ${errorText(error)}`, resolverAdvice(options)),
    ];
  }
  return (await Promise.all(hosts.map((host) => examineHost(domain, host, options)))).flat();
}

async function examineHost(
  domain: string,
  { name, address }: MailHost,
  { config, worldPorts, timeoutMs, clock }: DoctorOptions,
): Promise<readonly Finding[]> {
  const place = `${name} (${address}) port ${worldPorts.smtp}`;
  const finding = findingsOf('smtp', domain);
  const tls = findingsOf('tls', domain);
  const { hostname } = config.smtp;
  const probe = await probeSmtp({ host: address, port: worldPorts.smtp, hostname, timeoutMs }).catch(
    errorText,
  );
  if (typeof probe === 'string') {
    return [
      finding.error(
        `${place} cannot be reached: ${probe}`,
        `Open the port in the firewall, forward it to ${config.smtp.host} port ${config.smtp.port}, and check that the server is running.`,
      ),
    ];
  }
  const findings: Finding[] = [];
  if (!probe.greeting.startsWith('220')) {
    findings.push(
      finding.error(`${place} refuses sessions: ${probe.greeting}`, 'Read the log of the server there.'),
    );
  } else if (probe.greeting.slice(4).split(' ')[0]?.toLowerCase() !== hostname.toLowerCase()) {
    findings.push(
      finding.warning(
        `${place} greets with "${probe.greeting}", not as ${hostname}.`,
        'If that is a mail gateway that forwards mail to this server, keep it; else correct the MX record or smtp.hostname.',
      ),
    );
  } else findings.push(finding.ok(`${place} answers.`));
  if (!probe.offersStartTls) {
    findings.push(
      tls.warning(
        `${place} does not offer STARTTLS: mail to it is sent without TLS.`,
        'Set smtp.tlsKeyFile and smtp.tlsCertificateFile.',
      ),
    );
    return findings;
  }
  if (probe.tlsError !== undefined || probe.certificate === undefined) {
    findings.push(
      tls.error(
        `${place}: the TLS handshake fails: ${probe.tlsError ?? 'no certificate'}`,
        'Check smtp.tlsKeyFile and smtp.tlsCertificateFile.',
      ),
    );
    return findings;
  }
  const { validTo, namesHost } = probe.certificate(name);
  const daysLeft = (validTo.getTime() - clock.now().getTime()) / dayMs;
  const until = validTo.toISOString().slice(0, 10);
  const renew = 'Renew the certificate of smtp.tlsCertificateFile; a renewed file is used within one minute.';
  if (daysLeft < 0) findings.push(tls.error(`${place}: the TLS certificate expired on ${until}.`, renew));
  else if (daysLeft < expiryWarningDays)
    findings.push(tls.warning(`${place}: the TLS certificate expires on ${until}.`, renew));
  if (!namesHost)
    findings.push(
      tls.warning(
        `${place}: the TLS certificate is not for ${name}.`,
        `Use a certificate that names ${name}.`,
      ),
    );
  if (daysLeft >= expiryWarningDays && namesHost)
    findings.push(tls.ok(`${place}: STARTTLS, valid until ${until}.`));
  return findings;
}
