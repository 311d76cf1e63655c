import { X509Certificate } from 'node:crypto';
import { quoteForShell } from '../../core/index.ts';
import { readTlsFiles } from '../../platform/index.ts';
import { canSendAs } from '../../service/oauth/index.ts';
import { findDirectAddress } from '../../lib/values/index.ts';
import type { EdgeAccount } from '../../service/edges/index.ts';
import { askPort } from './ask-port.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { findingsOf, type Finding } from './findings.ts';

/** Checks that the edges answer with their own certificate, and that their accounts can sign in and act. */
export async function examineEdges(options: DoctorOptions): Promise<readonly Finding[]> {
  const accounts = (await options.edgeAccounts?.list()) ?? [];
  const active = accounts.filter(({ disabledAt }) => disabledAt === undefined);
  const faults = (await Promise.all(active.map((account) => examineAccount(account, options)))).flat();
  if (options.config.edge.isServing) return [...(await examineListeners(options)), ...faults];
  if (active.length === 0) return [];
  const text = `No edge is served by these settings, for ${active.length} active accounts.`;
  const advice = 'Correct if another node serves them; else set edge.isServing.';
  return [findingsOf('edge').note(text, advice), ...faults];
}

const ports = {
  line: ['linePort', true],
  smtps: ['smtpsPort', true],
  submission: ['submissionPort', false],
  imaps: ['imapsPort', true],
  imap: ['imapPort', false],
  pop3s: ['pop3sPort', true],
  pop3: ['pop3Port', false],
} as const;

async function examineListeners({ config, timeoutMs }: DoctorOptions): Promise<Finding[]> {
  const { edge } = config;
  const files = readTlsFiles('edge', edge);
  const own = files && new X509Certificate(files.cert).fingerprint256;
  const found = await Promise.all(
    Object.entries(ports).map(async ([name, [setting, isTls]]): Promise<Finding[]> => {
      const port = edge[setting];
      // With port 0 the running server has chosen one that nobody else knows.
      if (!edge.protocols.includes(name) || port === 0) return [];
      const finding = findingsOf('edge', name);
      const answer = await askPort({ host: edge.host, port, isTls, timeoutMs });
      if ('problem' in answer)
        return [
          finding.error(
            `Nothing answers at ${edge.host} port ${port}: ${answer.problem}.`,
            'Start the server: openhisp serve. If it runs, read its log: another program may have the port.',
          ),
        ];
      if (isTls && answer.fingerprint !== own)
        return [
          finding.error(
            `What answers at ${edge.host} port ${port} has another certificate than edge.tlsCertificateFile.`,
            `Another program has the port: end it, or choose another edge.${setting}. A renewed file is used within one minute.`,
          ),
        ];
      return [finding.ok(`${edge.host} port ${port} answers.`)];
    }),
  );
  return found.flat();
}

async function examineAccount(account: EdgeAccount, { clients, trust }: DoctorOptions): Promise<Finding[]> {
  const finding = findingsOf('edge', account.username);
  const shown = quoteForShell(account.username);
  const client = await clients.get(account.clientId);
  const findings: Finding[] = [];
  if (account.passwords.length === 0)
    findings.push(
      finding.error('It has no password: nobody can sign in.', `openhisp edge rotate-password ${shown}`),
    );
  if (client.disabledAt !== undefined)
    findings.push(
      finding.warning(
        `Its client ${account.clientId} is disabled: nobody can sign in.`,
        `openhisp edge disable ${shown}, or enable the client.`,
      ),
    );
  if (!client.scopes.includes('messaging.api'))
    findings.push(
      finding.error(
        `Its client ${account.clientId} has no scope messaging.api: nobody can sign in.`,
        'Give the client the scope.',
      ),
    );
  const lost = account.addresses.filter((own) => {
    const address = own.startsWith('@') ? undefined : findDirectAddress(own);
    return address === undefined ? !client.directAddresses.includes(own) : !canSendAs(client, address);
  });
  if (lost.length === account.addresses.length)
    findings.push(
      finding.error(
        'None of its addresses belongs to its client: it can neither send nor receive.',
        `openhisp edge update ${shown} --address …, with addresses of the client.`,
      ),
    );
  else if (lost.length > 0)
    findings.push(
      finding.warning(
        `${lost.join(', ')}: no address of its client.`,
        `openhisp edge update ${shown} --address …`,
      ),
    );
  for (const own of account.addresses) {
    const address = own.startsWith('@') ? undefined : findDirectAddress(own);
    if (address === undefined || lost.includes(own)) continue;
    if ((await trust.findAddress(address))?.status !== 'active')
      findings.push(
        finding.error(
          `${address} is no active address here: mail to it and from it is refused.`,
          `openhisp address add ${quoteForShell(address)}`,
        ),
      );
  }
  return findings;
}
