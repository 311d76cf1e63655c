import { hasHidden, type FieldProblem } from '../../core/index.ts';
import { findDirectAddress, isQualifiedDomain } from '../../lib/values/index.ts';
import type { ClientLimits } from './client.ts';
import { OauthError } from './errors.ts';
import { isScope, scopeNames } from './scopes.ts';
import { isGenerated } from './secrets.ts';
import type { OauthTables } from './tables.ts';

/** Settings of a client. */
export interface ClientSettings {
  /** Whose domains its addresses are of; the operator's own if absent. */
  readonly organizationId?: string;
  readonly name?: string;
  readonly scopes?: readonly string[];
  /** `user@domain` or `@domain`. */
  readonly directAddresses?: readonly string[];
  readonly limits?: ClientLimits;
  readonly requestFinalDelivery?: boolean;
  /** When the data-use rule was accepted (Directory spec: What the service does). */
  readonly dataUseAcceptedAt?: Date;
}

interface Chosen {
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  readonly isNew?: boolean;
}

const shortestSecret = 16;
const limitNames: readonly (keyof ClientLimits)[] = [
  'directoryRequestsPerSecond',
  'directoryRequestsBurst',
  'directoryRecordsPerDay',
  'sendsPerSecond',
  'sendsBurst',
];

/** The settings as columns. Throws OAUTH_CLIENT_SETTINGS_INVALID naming every field at fault. */
export function checkSettings(
  settings: ClientSettings,
  chosen: Chosen = {},
): Partial<Omit<OauthTables['oauth_client'], 'mac'>> {
  const problems = [
    ...checkChosen(chosen),
    ...checkName(settings),
    ...checkScopes(settings),
    ...checkAddresses(settings),
    ...checkLimits(settings),
  ];
  if (problems.length > 0) {
    const text = `the settings of the client are not valid: ${problems.map((problem) => problem.detail).join(' ')}`;
    throw new OauthError('OAUTH_CLIENT_SETTINGS_INVALID', text, { problems });
  }
  return toColumns(settings);
}

function toColumns(settings: ClientSettings): Partial<Omit<OauthTables['oauth_client'], 'mac'>> {
  const { organizationId, name, scopes, directAddresses } = settings;
  const { limits, requestFinalDelivery, dataUseAcceptedAt } = settings;
  return {
    ...(organizationId === undefined ? {} : { organization_id: organizationId }),
    ...(name === undefined ? {} : { name }),
    ...(scopes === undefined ? {} : { scopes: [...new Set(scopes)].join(' ') }),
    ...(directAddresses === undefined
      ? {}
      : { direct_addresses: JSON.stringify(directAddresses.map((own) => own.toLowerCase())) }),
    ...(limits === undefined ? {} : { limits: JSON.stringify(limits) }),
    ...(requestFinalDelivery === undefined ? {} : { requests_final_delivery: Number(requestFinalDelivery) }),
    ...(dataUseAcceptedAt === undefined ? {} : { data_use_accepted_at: dataUseAcceptedAt.getTime() }),
  };
}

function checkChosen({ clientId, clientSecret }: Chosen): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (clientId !== undefined && !/^[A-Za-z0-9][A-Za-z0-9._-]{2,63}$/.test(clientId)) {
    problems.push(
      problem('clientId', 'A client id has 3 to 64 letters, digits, dots, hyphens or underscores.'),
    );
  }
  if (clientSecret !== undefined && (clientSecret.length < shortestSecret || clientSecret.length > 256)) {
    problems.push(problem('clientSecret', `A chosen secret has ${shortestSecret} to 256 characters.`));
  }
  if (clientSecret !== undefined && isGenerated(clientSecret))
    problems.push(problem('clientSecret', 'A chosen secret does not begin as generated ones do.'));
  return problems;
}

function checkName({ name }: ClientSettings): FieldProblem[] {
  if (name === undefined || (name.trim() !== '' && name.length <= 200 && !hasHidden(name))) return [];
  return [problem('name', 'A name has 1 to 200 visible characters in one line.')];
}

function checkScopes({ scopes }: ClientSettings): FieldProblem[] {
  if (scopes === undefined || scopes.every(isScope)) return [];
  return [problem('scopes', `The scopes are ${scopeNames.join(', ')}.`)];
}

function checkAddresses({ directAddresses = [] }: ClientSettings): FieldProblem[] {
  return directAddresses
    .filter((own) =>
      own.startsWith('@') ? !isQualifiedDomain(own.slice(1)) : findDirectAddress(own) === undefined,
    )
    .map((own) => problem('directAddresses', `"${own}" is neither a Direct address nor @domain.`));
}

function checkLimits({ limits = {} }: ClientSettings): FieldProblem[] {
  return Object.entries(limits)
    .filter(([name, value]) => !(limitNames as readonly string[]).includes(name) || !isPositive(value))
    .map(([name]) => problem(`limits.${name}`, `limits.${name} is unknown or not a number above zero.`));
}

function isPositive(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value > 0;
}

function problem(field: string, detail: string): FieldProblem {
  return { field, reason: 'invalid', detail };
}
