import { randomUUID } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { CodedError, systemClock } from '../../../core/index.ts';
import {
  buildXdm,
  readXdm,
  type XdmDocument,
  type XdmPackage,
  type XdmRequest,
} from '../../../lib/xdm/index.ts';
import { oidOfUuid } from '../../../lib/values/index.ts';
import { AgentCommandError } from './command-error.ts';
import { collect } from './files.ts';
import { answering, describeRefusal, type AgentOutput } from './output.ts';

interface PackOptions {
  readonly request?: string;
  readonly document?: readonly string[];
  readonly from?: string;
  readonly to?: readonly string[];
  readonly subject?: string;
  readonly out: string;
}

/** `agent xdm pack` and `agent xdm unpack`. */
export function addXdmCommands(agent: Command, output: AgentOutput): void {
  const xdm = agent.command('xdm').description('pack and unpack XDM packages');
  xdm
    .command('pack')
    .description('make a package of documents with their metadata')
    .option('--document <file[=media/type]>', 'a document; may be repeated', collect)
    .option(
      '--request <file>',
      'JSON with the other fields: patient, patientId, assigningAuthority, loinc, author, subject …',
    )
    .option('--from <address>', "the sender's Direct address")
    .option('--to <address>', 'a recipient; may be repeated', collect)
    .option('--subject <text>', 'title of the submission set')
    .requiredOption('--out <file>', 'the package')
    .action((options: PackOptions) => answering(output, () => runPack(options, output)));
  xdm
    .command('unpack')
    .description('read an XDM package')
    .requiredOption('--in <file>', 'the package')
    .option('--out <folder>', 'write the documents to this folder, with safe file names')
    .action((options: { in: string; out?: string }) => answering(output, () => runUnpack(options, output)));
}

async function runPack(options: PackOptions, output: AgentOutput): Promise<void> {
  const fields = options.request === undefined ? {} : readFields(await readFile(options.request, 'utf8'));
  const messageUuid = fields.messageUuid ?? randomUUID();
  const documents = await Promise.all((options.document ?? []).map(readDocument));
  if (documents.length === 0)
    throw new AgentCommandError('AGENT_OPTION_INVALID', 'give at least one --document');
  const request: XdmRequest = {
    ...fields,
    from: options.from ?? fields.from ?? 'sender@unknown.invalid',
    to: options.to ?? fields.to ?? [],
    messageUuid,
    subject: options.subject ?? fields.subject,
    documents,
    sourceId: fields.sourceId ?? oidOfUuid(randomUUID()),
    at: systemClock.now(),
  };
  const bytes = await buildXdm(request);
  await writeFile(options.out, bytes);
  output(
    { verdict: 'accept', reason: null, messageUuid, documents: documents.length, sizeBytes: bytes.length },
    0,
  );
}

type RequestFields = Partial<Omit<XdmRequest, 'documents' | 'at'>>;

function readFields(text: string): RequestFields {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new AgentCommandError('AGENT_OPTION_INVALID', '--request is not a JSON object');
  }
  return value;
}

const typesByEnding: Readonly<Record<string, string>> = {
  '.xml': 'text/xml',
  '.pdf': 'application/pdf',
  '.txt': 'text/plain',
  '.html': 'text/html',
  '.jpg': 'image/jpeg',
  '.png': 'image/png',
};

async function readDocument(value: string): Promise<XdmRequest['documents'][number]> {
  const [, file = value, givenType] = /^(.+?)(?:=([^=/]+\/[^=/]+))?$/.exec(value) ?? [];
  const mediaType =
    givenType ?? typesByEnding[path.extname(file).toLowerCase()] ?? 'application/octet-stream';
  return { mediaType, content: await readFile(file), fileName: path.basename(file) };
}

async function runUnpack(options: { in: string; out?: string }, output: AgentOutput): Promise<void> {
  const bytes = await readFile(options.in);
  let unpacked: XdmPackage;
  try {
    unpacked = await readXdm(bytes);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    output(describeRefusal(error), 1);
    return;
  }
  const { documents, ...rest } = unpacked;
  const described = documents.map(describeDocument);
  if (options.out !== undefined) {
    await mkdir(options.out, { recursive: true });
    await Promise.all(
      documents.map((document, index) =>
        writeFile(path.join(options.out ?? '', described[index]?.writtenAs ?? ''), document.content),
      ),
    );
  }
  output({ verdict: 'accept', reason: null, ...rest, documents: described }, 0);
}

/**
 * Names inside a package are an outsider's: files are written under numbers, with an ending that names their
 * type.
 */
function describeDocument(
  document: XdmDocument,
  index: number,
): Record<string, unknown> & { writtenAs: string } {
  const { content, ...facts } = document;
  const ending = Object.entries(typesByEnding).find(([, type]) => type === document.mediaType)?.[0] ?? '.bin';
  return { ...facts, sizeBytes: content.length, writtenAs: `document-${index + 1}${ending}` };
}
