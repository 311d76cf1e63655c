/**
 * `openhisp agent …`, the security and trust agent as a tool, without installation or database
 * (docs/agent-tool.md).
 * Used by `app/cli/agent.ts`.
 * Begin with this file; each command has a file of its name, over `lib/direct`, `lib/mdn` and `lib/xdm`.
 */
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { CodedError, errorText } from '../../../core/index.ts';
import { sealMessage } from '../../../lib/direct/index.ts';
import { MimeError, parseEntity, readMailboxes } from '../../../lib/mime/index.ts';
import { isBoundTo, validatePath, type Certificate, type ValidatedPath } from '../../../lib/pki/index.ts';
import { checkEnvelopeRecipient, type KeyTransport, type SendingCipher } from '../../../lib/smime/index.ts';
import { addressKey, findDirectAddress, type DirectAddress } from '../../../lib/values/index.ts';
import { readAddresses } from './addresses.ts';
import { AgentCommandError } from './command-error.ts';
import { collect, readCertificateFiles, readKeyPairs, writeResult, type KeyOptions } from './files.ts';
import { answering, describeRefusal, reasonOf, type AgentOutput } from './output.ts';
import { addTrustOptions, readTrust, type ToolTrust, type TrustOptions } from './trust-options.ts';

interface SealOptions extends TrustOptions, KeyOptions {
  readonly in: string;
  readonly recipientCert: readonly string[];
  readonly rcpt?: readonly string[];
  readonly out: string;
  readonly keyTransport?: string;
  readonly cipher?: string;
}

/** `agent seal`: wraps, signs and encrypts one message to those recipients that can be trusted. */
export function addSealCommand(agent: Command, output: AgentOutput): void {
  const command = agent
    .command('seal')
    .description('make a Direct message from a plain message')
    .requiredOption('--in <file>', 'the plain message (RFC 5322)')
    .requiredOption('--key <file>', "a sender's private key; may be repeated", collect)
    .requiredOption(
      '--cert <file>',
      'the certificate of the key; may be repeated, in the same order',
      collect,
    )
    .requiredOption('--recipient-cert <file>', "recipients' certificates; may be repeated", collect)
    .requiredOption('--out <file>', 'write the sealed message to this file')
    .option(
      '--rcpt <address>',
      'seal for this recipient only, not for all of To and Cc; may be repeated',
      collect,
    )
    .option('--key-transport <name>', 'oaep-sha256 (default), oaep-sha1 or pkcs1')
    .option('--cipher <name>', 'aes-256-cbc (default), aes-128-cbc, aes-192-cbc, aes-128-gcm or aes-256-gcm');
  addTrustOptions(command).action((options: SealOptions) =>
    answering(output, () => runSeal(options, output)),
  );
}

async function runSeal(options: SealOptions, output: AgentOutput): Promise<void> {
  const message = readFileSync(options.in);
  const signers = readKeyPairs(options);
  const trust = readTrust(options);
  const certificates = readCertificateFiles(options.recipientCert);
  const { keyTransport, contentCipher } = readAlgorithms(options);
  const addresses = options.rcpt ? readAddresses('--rcpt', options.rcpt) : recipientsOf(message);
  const outcomes = await Promise.all(addresses.map((address) => judge(address, certificates, trust)));
  const described = outcomes.map((outcome) => outcome.described);
  try {
    const usable = outcomes.filter(({ paths }) => paths.length > 0);
    const sealed = sealMessage({
      message,
      signers,
      recipients: usable.map(({ address, paths }) => ({
        address,
        certificates: paths.map((path) => path.certificates[0]),
        ...(keyTransport && { keyTransport }),
      })),
      at: trust.at,
      ...(trust.candidates && { extraCertificates: trust.candidates }),
      ...(contentCipher && { contentCipher }),
    });
    writeResult(options.out, sealed.message);
    output(
      {
        verdict: 'accept',
        reason: null,
        sender: sealed.sender,
        recipients: described,
        sizeBytes: sealed.message.length,
      },
      0,
    );
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    output({ ...describeRefusal(error), recipients: described }, 1);
  }
}

/** None if the message cannot be read: sealing it reports the fault. */
function recipientsOf(message: Uint8Array): DirectAddress[] {
  try {
    const entity = parseEntity(message);
    const all = [...entity.headers('to'), ...entity.headers('cc')]
      .flatMap(readMailboxes)
      .flatMap(({ address }) => findDirectAddress(address) ?? []);
    return [...new Map(all.map((address) => [addressKey(address), address])).values()];
  } catch (error) {
    if (error instanceof MimeError) return [];
    throw error;
  }
}

interface RecipientOutcome {
  readonly address: DirectAddress;
  /** Empty if refused. */
  readonly paths: readonly ValidatedPath[];
  /** For the answer: `outcome` usable or refused, with reason. */
  readonly described: Readonly<Record<string, unknown>>;
}

async function judge(
  address: DirectAddress,
  all: readonly Certificate[],
  trust: ToolTrust,
): Promise<RecipientOutcome> {
  const bound = all.filter((certificate) => isBoundTo(certificate, address) !== undefined);
  const paths: ValidatedPath[] = [];
  let refusal: CodedError | undefined;
  for (const certificate of bound) {
    try {
      const path = await validatePath(certificate, 'encryption', { ...trust, address });
      checkEnvelopeRecipient(certificate);
      paths.push(path);
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      refusal ??= error;
    }
  }
  const certificates = paths.map((path) => path.certificates[0].fingerprint);
  if (paths.length > 0) {
    return { address, paths, described: { address, outcome: 'usable', reason: null, certificates } };
  }
  const reason = refusal === undefined ? 'DIRECT_RECIPIENT_CERTIFICATE_MISSING' : reasonOf(refusal);
  const text =
    refusal === undefined ? 'none of the certificates is bound to the address' : errorText(refusal);
  return { address, paths, described: { address, outcome: 'refused', reason, text, certificates } };
}

const keyTransports: readonly string[] = ['oaep-sha256', 'oaep-sha1', 'pkcs1'] satisfies KeyTransport[];
const ciphers: readonly string[] = [
  'aes-128-cbc',
  'aes-192-cbc',
  'aes-256-cbc',
  'aes-128-gcm',
  'aes-256-gcm',
];

function readAlgorithms(options: SealOptions): {
  keyTransport?: KeyTransport;
  contentCipher?: SendingCipher;
} {
  const { keyTransport, cipher } = options;
  if (keyTransport !== undefined && !keyTransports.includes(keyTransport))
    throw invalid('--key-transport', keyTransports);
  if (cipher !== undefined && !ciphers.includes(cipher)) throw invalid('--cipher', ciphers);
  return {
    ...(keyTransport !== undefined && { keyTransport: keyTransport as KeyTransport }),
    ...(cipher !== undefined && { contentCipher: cipher as SendingCipher }),
  };
}

function invalid(option: string, names: readonly string[]): AgentCommandError {
  return new AgentCommandError('AGENT_OPTION_INVALID', `${option} is one of ${names.join(', ')}`);
}
