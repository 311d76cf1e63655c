import { CodedError, errorText, findFileFault, hasHidden, oneLine } from '../../core/index.ts';
import { FileContentError } from './read-named-file.ts';

/** Wrong words on the command line that the parser lets pass. */
export class UsageError extends Error {}

/** The next step after an error, by its code. */
const nextSteps: Readonly<Record<string, string>> = {
  TRUST_DOMAIN_UNKNOWN:
    'List the hosted domains: openhisp domain list. Host one: openhisp domain add DOMAIN.',
  ORGANIZATION_UNKNOWN: 'List the organizations: openhisp organization list.',
  MESSAGING_MESSAGE_NOT_FOUND:
    'Search: openhisp message find --address ADDRESS, openhisp inbound list, or openhisp mail list for dead letters.',
  TRUST_KEY_UNKNOWN: 'List the key pairs: openhisp key list DOMAIN.',
  OAUTH_CLIENT_UNKNOWN: 'List the clients: openhisp client list.',
  OAUTH_SECRET_UNKNOWN: 'List the secrets of a client: openhisp client show CLIENT_ID.',
  OAUTH_SECRET_LAST: 'Issue another one first (openhisp client rotate-secret CLIENT_ID), or add --force.',
  EDGES_ACCOUNT_UNKNOWN: 'List the edge accounts: openhisp edge list.',
  EDGES_PASSWORD_UNKNOWN: 'List the passwords of an account: openhisp edge show USERNAME.',
  PLATFORM_DATA_DIR_BUSY: 'Stop it first, or name another folder: --data-dir.',
  WEBHOOK_NOT_FOUND: 'List the webhooks: openhisp webhook list.',
  OPERATORS_UNKNOWN: 'List the operators: openhisp operator list.',
  TRUST_ANCHOR_UNKNOWN: 'List the anchors of a domain: openhisp anchor list DOMAIN.',
  TRUST_BUNDLE_UNKNOWN: 'List the bundles: openhisp bundle list.',
  DIRECTORY_LOAD_RUNNING: 'Begin again when it has ended: openhisp directory status.',
  DIRECTORY_LOAD_UNKNOWN: 'List the loads: openhisp directory status.',
  DIRECTORY_TOO_MANY_LOST: 'All counts: openhisp directory report.',
  DIRECTORY_TOO_MANY_REFUSED: 'The reasons and the lines: openhisp directory report.',
  AUDIT_CHAIN_BROKEN:
    'After a restore from a backup: openhisp audit restart --reason TEXT. Otherwise keep a copy, and find out who can write to the database.',
  PKI_CERTIFICATE_MALFORMED:
    'The file must contain one X.509 certificate, PEM or DER. The first one of a chain: openssl x509 -in CHAIN.pem. From a .p12 or .pfx file: openssl pkcs12 -in FILE -clcerts -nokeys.',
  PKI_KEY_MALFORMED:
    'The file must contain one private key that is not encrypted, PEM or DER (PKCS #8). To decrypt one: openssl pkey -in FILE. From a .p12 or .pfx file: openssl pkcs12 -in FILE -nocerts -nodes.',
};

/**
 * An error for the operator at the terminal: the text and, where there is one, the next step. Lines of a list
 * are indented; any other line begins within a value that the text quotes, and is shown as a part of it.
 */
export function describeError(error: unknown): string {
  return describe(error).replaceAll(/\r?\n(?! {2}\S)/g, oneLine);
}

function describe(error: unknown): string {
  if (error instanceof FileContentError) return `${error.file}: ${describe(error.cause)}`;
  const file = describeFileError(findFileError(error));
  if (file !== undefined) return file;
  const text = withProblems(errorText(error), error);
  const step = error instanceof CodedError ? nextSteps[error.code] : undefined;
  if (step === undefined) return text;
  return `${/[.!?]$/.test(text) ? text : `${text}.`} ${step}`;
}

/** With each fault that the text does not name, by its field. */
function withProblems(text: string, error: unknown): string {
  if (!(error instanceof CodedError)) return text;
  const details = error.problems
    .filter(({ detail }) => !text.includes(detail))
    .map(({ field, detail }) => (field === '' || detail.includes(field) ? detail : `${field}: ${detail}`));
  return details.length === 0 ? text : `${text.replace(/[.!?]$/, '')}: ${details.join(' ')}`;
}

/** True for errors that an operator can cause and correct, as opposed to faults of the program. */
export function isExpected(error: unknown): boolean {
  if (error instanceof FileContentError) return isExpected(error.cause);
  return error instanceof CodedError || error instanceof UsageError || describeFileError(error) !== undefined;
}

/**
 * The reports of loads, which the console shows, name files without their folders; whoever typed the path
 * needs it.
 */
function findFileError(error: unknown): unknown {
  return error instanceof CodedError && error.code === 'DIRECTORY_FILE_UNREADABLE' ? error.cause : error;
}

function describeFileError(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('path' in error)) return undefined;
  const fault = findFileFault(error);
  return fault === undefined ? undefined : `${String(error.path)}: ${fault}`;
}

/** A name or reason that is stored. Throws a UsageError unless it is one line of visible characters. */
export function requireVisible(option: string, text: string): string {
  if (!hasHidden(text)) return text;
  throw new UsageError(`${option}: must be one line of visible characters.`);
}
