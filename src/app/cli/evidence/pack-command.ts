import { hash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { countOf, errorText, fileErrorText, systemClock } from '../../../core/index.ts';
import type { AuditPeriod, AuditPublicKey } from '../../../service/audit/index.ts';
import type { CliContext } from '../context.ts';
import { UsageError } from '../describe-error.ts';
import { printLines } from '../print-list.ts';
import { readNamedText } from '../read-named-file.ts';
import { readTime, timeForms } from '../read-time.ts';
import { withInstallation } from '../with-installation.ts';

interface PackOptions {
  readonly from: Date;
  readonly to: Date;
}

/** Adds `evidence pack`. */
export function addPackCommand(evidence: Command, context: CliContext): void {
  evidence
    .command('pack <file>')
    .description(
      'write one signed HTML file for an accreditation or a security review: settings, keys, anchors, rights, changes, sign-ins, backups, deliveries, time in service, software',
    )
    .requiredOption('--from <time>', `the first day or moment: ${timeForms()}`, readTime)
    .requiredOption('--to <time>', 'the first day or moment that is not in it', readTime)
    .action((file: string, { from, to }: PackOptions) =>
      writePack(context, file, { since: from, until: to }),
    );
}

async function writePack(context: CliContext, file: string, period: AuditPeriod): Promise<void> {
  if (period.until <= period.since) throw new UsageError('--to: not later than --from.');
  if (period.until > systemClock.now())
    throw new UsageError('--to: in the future. What has not happened yet cannot be signed.');
  await withInstallation(context, async (installation) => {
    const { audit } = installation;
    const { verifyInstallation } = await import('../verify/index.ts');
    const { collectPack, writePackFile } = await import('../../evidence-pack/index.ts');
    const findings = await verifyInstallation(installation, []);
    const pack = await collectPack({ ...installation, findings }, period);
    const page = await writePackFile(audit, pack);
    await writeNew(file, page);
    await audit.recordNow({
      action: 'evidence.pack',
      actor: 'operator',
      outcome: 'ok',
      objects: {
        from: pack.from,
        until: pack.until,
        sha256: hash('sha256', page),
      },
    });
    context.print(
      `${file}: ${countOf(pack.changes.length, 'change')} and ${countOf(pack.domains.length, 'domain')}.`,
    );
    const faults = pack.verification.filter(({ isIntact }) => !isIntact);
    printLines(
      context,
      faults.map(({ check, text }) => `NOT WHOLE  ${check}: ${text}`),
    );
    if (faults.length > 0) context.setExitCode(1);
  });
}

/** For its owner alone, and never over another file. */
async function writeNew(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    throw new UsageError(`${file}: ${fileErrorText(error)}`);
  }
}

/** Checks a pack and prints what it is of. */
export async function verifyPack(
  context: CliContext,
  { file, text }: { readonly file: string; readonly text: string },
  options: { readonly json?: true; readonly key?: string },
): Promise<void> {
  const expected = options.key === undefined ? undefined : await readKey(options.key);
  const { readPackFile } = await import('../../evidence-pack/index.ts');
  const { pack, publicKey, problems } = await readPackFile(text, expected).catch((error: unknown) => {
    throw new UsageError(`${file}: ${errorText(error)}`);
  });
  if (options.json === true) context.print(JSON.stringify({ pack, publicKey, problems }, undefined, 2));
  else
    printLines(context, [
      'Evidence of operation',
      '',
      `Period       ${pack.from} to ${pack.until}`,
      `Software     ${pack.product.name} ${pack.product.version}`,
      `Domains      ${pack.domains.map(({ domain }) => domain).join(' ')}`,
      `Signed by    ${publicKey.kid}${expected === undefined ? ' (compare it: openhisp audit public-key)' : ''}`,
      '',
      problems.length === 0 ? 'The signature is valid.' : 'NOT VALID:',
      ...problems.map((problem) => `  ${problem}`),
    ]);
  if (problems.length > 0) context.setExitCode(1);
}

async function readKey(file: string): Promise<AuditPublicKey> {
  const text = await readNamedText(file);
  try {
    const key = JSON.parse(text) as AuditPublicKey;
    if (typeof key.x === 'string' && typeof key.kid === 'string') return key;
  } catch {
    // Said below.
  }
  throw new UsageError(`--key: ${file} is not a key as "openhisp audit public-key" prints it.`);
}
