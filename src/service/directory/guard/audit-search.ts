import type { Audit, AuditEvent } from '../../audit/index.ts';

/** The caller: a client or an operator. */
export interface QueryOrigin {
  readonly actor: string;
  readonly requestId?: string | undefined;
  readonly remoteAddress?: string | undefined;
}

/** The result of a query, for the audit row. */
export interface QueryOutcome {
  readonly outcome: AuditEvent['outcome'];
  readonly shown?: number;
  readonly totalCount?: number;
  /** The code of a refusal. */
  readonly code?: string;
  /** The kind of FHIR resource that was asked for. */
  readonly resource?: string | undefined;
}

/**
 * The audit row of a query (DIR-04): client or operator, request, which parameters, how many records; values
 * only as hashes with a secret (32 bytes, as text), by which equal searches can be recognized but not read.
 */
export function auditQuery(
  audit: Audit,
  secret: string,
  origin: QueryOrigin,
  parameters: Iterable<readonly [string, string]>,
  result: QueryOutcome,
): Promise<void> {
  const objects: Record<string, string | number> = {};
  const values: (readonly [string, string])[] = [];
  for (const parameter of parameters) {
    const [name, value] = parameter;
    if (auditedPlainly.has(name)) objects[name] = value.slice(0, 40);
    else if (/^[A-Za-z_0-9:-]{1,40}$/.test(name)) values.push(parameter);
  }
  if (result.resource !== undefined) objects['resource'] = result.resource;
  if (result.shown !== undefined) objects['shown'] = result.shown;
  if (result.totalCount !== undefined) objects['total'] = result.totalCount;
  if (result.code !== undefined) objects['code'] = result.code;
  return audit.record({
    action: 'directory.search',
    actor: origin.actor,
    outcome: result.outcome,
    objects,
    concealed: { secret, values },
    requestId: origin.requestId,
    remoteAddress: origin.remoteAddress,
  });
}

/** Parameters that say nothing about whom is looked for. */
const auditedPlainly: ReadonlySet<string> = new Set([
  'offset',
  'limit',
  'sort_by',
  'sort_order',
  'radius',
  'verified',
  'kind',
  '_count',
  '_offset',
  '_include',
  '_revinclude',
]);
