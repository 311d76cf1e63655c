import { isLoopback } from '../../platform/index.ts';
import { askPort } from './ask-port.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { findingsOf, type Finding } from './findings.ts';

interface Listener {
  readonly name: 'http' | 'smtp' | 'dns' | 'ldap';
  readonly host: string;
  readonly port: number;
  /** The consequence if only this machine can reach it; undefined where a proxy in front is usual. */
  readonly need: string | undefined;
}

/** Examines whether the server runs, and whether other machines can reach its listeners. */
export async function examineListeners(
  { config, timeoutMs }: DoctorOptions,
  hosted: readonly string[],
): Promise<readonly Finding[]> {
  const { http, smtp, dns, ldap } = config;
  const listeners: Listener[] = [
    { name: 'http', host: http.host, port: http.port, need: undefined },
    {
      name: 'smtp',
      host: smtp.host,
      port: smtp.port,
      need: smtp.isBehindRelay ? undefined : 'no other HISP can deliver mail',
    },
    ...(dns.isServing
      ? [
          {
            name: 'dns' as const,
            host: dns.host,
            port: dns.port,
            need: dns.isBehindRelay ? undefined : 'peers cannot find our certificates',
          },
        ]
      : []),
    ...(ldap.isServing
      ? [
          {
            name: 'ldap' as const,
            host: ldap.host,
            port: ldap.port,
            need: 'peers cannot find our certificates by LDAP',
          },
        ]
      : []),
  ];
  const findings = await Promise.all(
    listeners.map((one) => examineListener(one, hosted.length > 0, timeoutMs)),
  );
  const name = findingsOf('listen', 'smtp.hostname');
  const isNameless = smtp.hostname === 'localhost' || !smtp.hostname.includes('.');
  if (hosted.length > 0 && isNameless) {
    findings.push([
      name.error(
        `smtp.hostname is ${smtp.hostname}: peers refuse such a name, and MX and NS records cannot point at it.`,
        "Set smtp.hostname to this server's public name, for example mx.direct.example.org.",
      ),
    ]);
  }
  return findings.flat();
}

async function examineListener(
  { name, host, port, need }: Listener,
  isHosting: boolean,
  timeoutMs: number,
): Promise<Finding[]> {
  const finding = findingsOf('listen', name);
  const findings: Finding[] = [];
  if (isHosting && isLoopback(host)) {
    const text = `${name}.host is ${host}: only this machine can reach it`;
    findings.push(
      need === undefined
        ? finding.note(`${text}.`, 'Correct behind a proxy on this machine, or for clients on it.')
        : finding.warning(
            `${text}, so ${need}.`,
            `Set ${name}.host to 0.0.0.0 or this machine's public address${name === 'ldap' ? '' : `; or set ${name}.isBehindRelay if a gateway on this machine forwards traffic`}.`,
          ),
    );
  }
  // With port 0 the running server has chosen one that nobody else knows.
  if (port === 0) return findings;
  const answer = await askPort({ host, port, timeoutMs });
  if ('problem' in answer) {
    findings.push(
      finding.error(
        `Nothing answers at ${host} port ${port}: ${answer.problem}.`,
        'Start the server: openhisp serve. If it runs, read its log.',
      ),
    );
  } else if (findings.length === 0) findings.push(finding.ok(`${host} port ${port} answers.`));
  return findings;
}
