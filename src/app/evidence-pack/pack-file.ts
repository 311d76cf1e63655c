import { hash } from 'node:crypto';
import { errorText } from '../../core/index.ts';
import {
  readStatement,
  statementTypes,
  toJwk,
  type Audit,
  type AuditPublicKey,
} from '../../service/audit/index.ts';
import type { EvidencePack } from './pack.ts';
import { renderPage, statementEnd, statementStart } from './page.ts';

/** What the key of the audit trail signs: the pack, and the page as it is read. */
interface PackStatement {
  readonly pack: EvidencePack;
  /** SHA-256 of the page without its statement, hex. */
  readonly pageHash: string;
}

/** A pack that was read, and its faults. */
export interface VerifiedPack {
  readonly pack: EvidencePack;
  /** The reader compares it with the key that the operator published before. */
  readonly publicKey: AuditPublicKey;
  /** Empty if the signature holds, the page is the one that was signed, and all was whole. */
  readonly problems: readonly string[];
}

/** The file: a page with its signed statement inside. */
export async function writePackFile(audit: Pick<Audit, 'signPack'>, pack: EvidencePack): Promise<string> {
  const page = renderPage(pack);
  const statement = await audit.signPack({ pack, pageHash: hash('sha256', page) } satisfies PackStatement);
  return page.replace(statementStart, () => statementStart + statement);
}

/** True for a file that means to be a pack. */
export const isPackFile = (file: string): boolean => file.includes(statementStart);

/**
 * Verifies a file with the key that it names, which must be `expected` if that is given. Rejects with a
 * SyntaxError for anything that is not a pack.
 */
export async function readPackFile(file: string, expected?: AuditPublicKey): Promise<VerifiedPack> {
  const { page, statement } = split(file);
  const { pack, pageHash } = readUnverified(statement);
  const raw = Buffer.from(pack.publicKey?.x ?? '', 'base64url');
  if (raw.length !== 32) throw new SyntaxError('it names no key of 32 bytes');
  const publicKey = toJwk(raw);
  const problems: string[] = [];
  try {
    await readStatement(statementTypes.pack, statement, raw);
  } catch (error) {
    problems.push(`the signature is invalid: ${errorText(error)}`);
  }
  if (expected !== undefined && expected.x !== publicKey.x)
    problems.push(`it is signed by the key ${publicKey.kid}, not by ${expected.kid}`);
  if (hash('sha256', page) !== pageHash) problems.push('the page is not the one that was signed');
  for (const { check, isIntact, text } of pack.verification)
    if (!isIntact) problems.push(`when it was made, stored data was not whole: ${check}: ${text}`);
  return { pack, publicKey, problems };
}

/** Exactly one statement, where a page has it, so that nothing else can be shown. */
function split(file: string): { readonly page: string; readonly statement: string } {
  const start = file.indexOf(statementStart) + statementStart.length;
  const end = file.indexOf(statementEnd, start);
  const statement = file.slice(start, end);
  if (end < 0 || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(statement))
    throw new SyntaxError('not a file of "openhisp evidence pack": it has no signed statement');
  return { page: file.slice(0, start) + file.slice(end), statement };
}

/** Nothing of it counts before the signature holds. */
function readUnverified(statement: string): PackStatement {
  try {
    const payload = Buffer.from(statement.split('.')[1] ?? '', 'base64url').toString();
    const read = JSON.parse(payload) as PackStatement;
    if (
      read.pack.type === 'openhisp-evidence-pack' &&
      read.pack.version === 1 &&
      Array.isArray(read.pack.verification)
    )
      return read;
  } catch {
    // Said below.
  }
  throw new SyntaxError('its statement is not one of an evidence pack, version 1');
}
