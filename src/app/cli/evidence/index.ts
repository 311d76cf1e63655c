/** Evidence of delivery, checked offline, and the evidence pack for an accreditation. */
import type { Command } from 'commander';
import { errorText } from '../../../core/index.ts';
import type { CliContext } from '../context.ts';
import { describeError, UsageError } from '../describe-error.ts';
import { readNamedText } from '../read-named-file.ts';
import { addPackCommand, verifyPack } from './pack-command.ts';
import { verifyEvidence, type VerifiedEvidence } from './verify-evidence.ts';
import { printLines } from '../print-list.ts';

/** Adds `evidence verify` and `evidence pack`. */
export function addEvidenceCommands(evidence: Command, context: CliContext): void {
  addPackCommand(evidence, context);
  evidence
    .command('verify <file>')
    .description(
      'check a document of "message evidence" (its signature, and that of each MDN in it) or a file of "evidence pack" offline; ends with 1 if one is invalid',
    )
    .option(
      '--key <file>',
      'of an evidence pack: the key that must have signed it, as "audit public-key" prints it',
    )
    .option('--json', 'as JSON')
    .action(async (file: string, options: { json?: true; key?: string }) => {
      try {
        const text = await readNamedText(file);
        const { isPackFile } = await import('../../evidence-pack/index.ts');
        if (isPackFile(text)) return await verifyPack(context, { file, text }, options);
        const verified = await verifyFile(file, text);
        if (options.json === true) context.print(JSON.stringify(verified, undefined, 2));
        else printLines(context, formatPage(verified));
        if (verified.problems.length > 0) context.setExitCode(1);
      } catch (error) {
        context.note(describeError(error));
        context.setExitCode(1);
      }
    });
}

/**
 * Rejects with an error that names the file for one that is not evidence.
 */
async function verifyFile(file: string, text: string): Promise<VerifiedEvidence> {
  try {
    return await verifyEvidence(text);
  } catch (error) {
    throw new UsageError(`${file}: ${errorText(error)}`);
  }
}

/** A page to print. */
function formatPage({ document, signer, recipients, problems }: VerifiedEvidence): string[] {
  return [
    'Evidence of delivery',
    '',
    `Message      ${document.messageId}`,
    `Message-ID   ${document.wireMessageId}`,
    `From         ${document.fromDirectAddress}`,
    `Accepted     ${document.acceptedTime}`,
    `Created      ${document.createdTime}`,
    `Signed by    ${signer.subject}`,
    `Fingerprint  ${signer.fingerprint} (SHA-256)`,
    ...recipients.flatMap((recipient) => [
      '',
      `To           ${recipient.address}`,
      `Status       ${recipient.status} since ${recipient.statusTime}`,
      ...recipient.sent.map(({ time, host, sha256 }) => `Sent         ${time} to ${host}, SHA-256 ${sha256}`),
      ...recipient.mdns.flatMap((mdn) => [
        `MDN          ${mdn.disposition}, received ${mdn.receivedTime}`,
        `  signed by  ${mdn.signer}`,
        `  path       ${mdn.signerPath.join(' ')}${mdn.isPathValidated ? '' : ' (not in the document)'}`,
      ]),
    ]),
    '',
    problems.length === 0 ? 'All signatures are valid.' : 'NOT VALID:',
    ...problems.map((problem) => `  ${problem}`),
  ];
}
