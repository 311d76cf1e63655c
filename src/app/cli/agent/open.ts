import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { CodedError } from '../../../core/index.ts';
import {
  openMessage,
  verifySender,
  type Envelope,
  type OpenedMessage,
  type VerifiedSender,
} from '../../../lib/direct/index.ts';
import { readCertificate } from '../../../lib/pki/index.ts';
import { describeCertificate, describePath } from './describe-certificate.ts';
import { readAddresses } from './addresses.ts';
import { collect, readKeyPairs, writeResult, type KeyOptions } from './files.ts';
import { answering, describeRefusal, type AgentOutput } from './output.ts';
import { addTrustOptions, readTrust, type TrustOptions } from './trust-options.ts';

interface OpenOptions extends TrustOptions, KeyOptions {
  readonly in: string;
  readonly rcpt?: readonly string[];
  readonly mailFrom?: string;
  readonly out?: string;
  readonly requireWrapped?: boolean;
}

/** `agent open`: decrypts one message, verifies it and validates its sender. */
export function addOpenCommand(agent: Command, output: AgentOutput): void {
  const command = agent
    .command('open')
    .description('decrypt and verify a received message and check whether its sender is trusted')
    .requiredOption('--in <file>', 'the message as received (RFC 5322)')
    .requiredOption('--key <file>', "a recipient's private key; may be repeated", collect)
    .requiredOption(
      '--cert <file>',
      'the certificate of the key; may be repeated, in the same order',
      collect,
    )
    .option('--rcpt <address>', 'RCPT TO address, which must be in the message; may be repeated', collect)
    .option(
      '--mail-from <address>',
      'MAIL FROM address, which must be in the message; empty for the null path',
    )
    .option('--out <file>', 'write the inner message to this file if it is accepted')
    .option('--require-wrapped', 'refuse messages without the message/rfc822 wrapper');
  addTrustOptions(command).action((options: OpenOptions) =>
    answering(output, () => runOpen(options, output)),
  );
}

async function runOpen(options: OpenOptions, output: AgentOutput): Promise<void> {
  const message = readFileSync(options.in);
  const keys = readKeyPairs(options);
  const trust = readTrust(options);
  const envelope = readEnvelope(options);
  let opened: OpenedMessage | undefined;
  try {
    opened = openMessage({
      message,
      keys,
      policy: { acceptUnwrapped: options.requireWrapped !== true },
      // As in the service: a key opens only messages for a recipient that it is bound to.
      recipients: envelope.recipients.length > 0 ? envelope.recipients : 'visible',
    });
    const verified = await verifySender(opened, envelope, trust);
    if (options.out !== undefined) writeResult(options.out, opened.inner);
    output(describeAccepted(opened, verified), 0);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    output({ ...describeRefusal(error), ...(opened && describeOpened(opened)) }, 1);
  }
}

/** Data of a message whose sender was refused, with the certificate, for the operator. */
function describeOpened(opened: OpenedMessage): Record<string, unknown> {
  const signers = opened.signers.map((signer) =>
    signer.outcome === 'valid'
      ? { outcome: signer.outcome, ...describeCertificate(readCertificate(signer.certificate)) }
      : signer,
  );
  return { signers, algorithms: opened.algorithms, wasWrapped: opened.wasWrapped };
}

function readEnvelope(options: OpenOptions): Envelope {
  return {
    ...(options.mailFrom !== undefined && { mailFrom: options.mailFrom.replace(/^<(.*)>$/, '$1') }),
    recipients: readAddresses('--rcpt', options.rcpt ?? []),
  };
}

function describeAccepted(opened: OpenedMessage, verified: VerifiedSender): Record<string, unknown> {
  const { signer, path } = verified;
  return {
    verdict: 'accept',
    reason: null,
    sender: verified.sender,
    recipients: verified.recipients,
    signer: {
      ...describeCertificate(readCertificate(signer.certificate)),
      digestAlgorithm: signer.digestAlgorithm,
      signatureAlgorithm: signer.signatureAlgorithm,
      signingTime: signer.signingTime?.toISOString(),
    },
    ...describePath(path),
    algorithms: opened.algorithms,
    wasWrapped: opened.wasWrapped,
    signerCount: opened.signers.length,
    sizeBytes: opened.inner.length,
  };
}
