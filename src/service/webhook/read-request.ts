import { hasHidden, isLongerThan, type FieldProblem } from '../../core/index.ts';
import { findUrlProblem, normalizeUrl, type TargetRules } from './check-webhook-url.ts';
import { WebhookError } from './errors.ts';
import { eventTypes, isEventType, type EventType } from './events.ts';
import type { WebhookKind } from './tables.ts';

const maxDescriptionLength = 200;
const maxCredentialLength = 200;
/** More problems than this say no more. */
const maxProblems = 100;

export interface BasicCredentials {
  readonly username: string;
  readonly password: string;
}

/** A client's request. */
export interface WebhookRequest {
  readonly url: string;
  readonly kind: WebhookKind;
  readonly description: string;
  readonly eventTypes: readonly EventType[];
  readonly isXdm: boolean;
  readonly basic: BasicCredentials | undefined;
  /** Set by operators alone: see `WebhookRow.edge_account`. */
  readonly edgeAccount?: string;
}

/** A client's changes; absent members stay, `basic: null` removes the credentials. */
export interface WebhookChanges {
  readonly url?: string;
  readonly description?: string;
  readonly eventTypes?: readonly EventType[];
  readonly isXdm?: boolean;
  readonly basic?: BasicCredentials | null;
  readonly isEnabled?: boolean;
}

const createFields = new Set(['url', 'kind', 'description', 'eventTypes', 'xdm', 'basicAuth']);
const changeFields = new Set(['url', 'description', 'eventTypes', 'xdm', 'basicAuth', 'enabled']);

/** Reads the body of a registration. Throws WEBHOOK_REQUEST_INVALID with all problems. */
export function readWebhookRequest(body: unknown, rules: TargetRules): WebhookRequest {
  const reader = createReader(body, createFields, rules);
  const kind = reader.kind();
  const request: WebhookRequest = {
    url: reader.url() ?? reader.missing('url'),
    kind,
    description: reader.description() ?? '',
    eventTypes: reader.eventTypes() ?? (kind === 'inbound' ? ['message.received'] : eventTypes),
    isXdm: reader.flag('xdm') ?? false,
    basic: reader.basic() ?? undefined,
  };
  const problem = findEventTypeProblem(kind, request.eventTypes);
  if (problem !== undefined) reader.refuse(problem.field, problem.reason, problem.detail);
  reader.finish();
  return request;
}

/** An inbound webhook with other events would get nothing. */
function findEventTypeProblem(kind: WebhookKind, types: readonly EventType[]): FieldProblem | undefined {
  if (kind !== 'inbound' || types.every((type) => type === 'message.received')) return undefined;
  return {
    field: 'eventTypes',
    reason: 'invalid',
    detail: 'An inbound webhook takes message.received only.',
  };
}

/** Throws WEBHOOK_REQUEST_INVALID for changes that a webhook of this kind cannot have. */
export function requireFitting(kind: WebhookKind, { eventTypes: types = [] }: WebhookChanges): void {
  const problem = findEventTypeProblem(kind, types);
  if (problem !== undefined)
    throw new WebhookError('WEBHOOK_REQUEST_INVALID', 'the changes do not fit the kind of the webhook', {
      problems: [problem],
    });
}

/** Reads the body of a change. Throws WEBHOOK_REQUEST_INVALID with all problems. */
export function readWebhookChanges(body: unknown, rules: TargetRules): WebhookChanges {
  const reader = createReader(body, changeFields, rules);
  const changes = {
    url: reader.url(),
    description: reader.description(),
    eventTypes: reader.eventTypes(),
    isXdm: reader.flag('xdm'),
    basic: reader.basic(),
    isEnabled: reader.flag('enabled'),
  };
  reader.finish();
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
}

const maxReplayIds = 200;

/** Reads the body of a replay: the events named, or undefined for all. Throws WEBHOOK_REQUEST_INVALID. */
export function readReplayRequest(body: unknown): readonly string[] | undefined {
  const values = isRecord(body) ? body : {};
  const eventIds = values['eventIds'];
  if (body === undefined || body === null || (isRecord(body) && Object.keys(body).length === 0))
    return undefined;
  const isList =
    Array.isArray(eventIds) &&
    eventIds.length <= maxReplayIds &&
    eventIds.every((id) => typeof id === 'string' && !id.includes('\0'));
  if (isList && Object.keys(values).length === 1) return eventIds;
  const problems = [
    {
      field: 'eventIds',
      reason: 'invalid',
      detail: `Must be a list of at most ${maxReplayIds} event ids, and the only field.`,
    },
  ];
  throw new WebhookError('WEBHOOK_REQUEST_INVALID', 'the replay request is faulty', { problems });
}

interface Reader {
  url(): string | undefined;
  kind(): WebhookKind;
  description(): string | undefined;
  eventTypes(): readonly EventType[] | undefined;
  flag(field: string): boolean | undefined;
  basic(): BasicCredentials | null | undefined;
  refuse(field: string, reason: string, detail: string): void;
  missing(field: string): string;
  finish(): void;
}

function createReader(body: unknown, known: ReadonlySet<string>, rules: TargetRules): Reader {
  const problems: FieldProblem[] = [];
  const refuse = (field: string, reason: string, detail: string): void => {
    if (problems.length < maxProblems) problems.push({ field, reason, detail });
  };
  const values = isRecord(body) ? body : {};
  if (!isRecord(body)) refuse('body', 'invalid', 'The body must be a JSON object.');
  for (const field of Object.keys(values)) {
    if (!known.has(field)) refuse(field.slice(0, 100), 'unknown', 'Unknown field.');
  }
  return {
    refuse,
    url: () => readUrl(values['url'], rules, refuse),
    kind: () => readKind(values['kind'], refuse),
    description: () => readDescription(values['description'], refuse),
    eventTypes: () => readEventTypes(values['eventTypes'], refuse),
    flag: (field) => readFlag(field, values[field], refuse),
    basic: () => readBasic(values['basicAuth'], refuse),
    missing(field) {
      if (values[field] === undefined) refuse(field, 'required', 'Required.');
      return '';
    },
    finish() {
      if (problems.length > 0)
        throw new WebhookError('WEBHOOK_REQUEST_INVALID', 'the webhook request has faulty fields', {
          problems,
        });
    },
  };
}

type Refuse = Reader['refuse'];

function readUrl(value: unknown, rules: TargetRules, refuse: Refuse): string | undefined {
  if (value === undefined) return undefined;
  const problem = typeof value === 'string' ? findUrlProblem(value, rules) : 'Must be a text.';
  if (problem !== undefined) refuse('url', 'invalid', problem);
  if (typeof value !== 'string') return undefined;
  return problem === undefined ? normalizeUrl(value) : value;
}

function readKind(value: unknown, refuse: Refuse): WebhookKind {
  if (value === 'inbound') return 'inbound';
  if (value !== undefined && value !== 'status') refuse('kind', 'invalid', 'Must be status or inbound.');
  return 'status';
}

function readDescription(value: unknown, refuse: Refuse): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string' || isLongerThan(value, maxDescriptionLength))
    refuse('description', 'invalid', `Must be a text of at most ${maxDescriptionLength} characters.`);
  else if (hasHidden(value))
    refuse('description', 'control_character', 'Controls and invisible characters are not allowed here.');
  else return value;
  return '';
}

function readEventTypes(value: unknown, refuse: Refuse): readonly EventType[] | undefined {
  if (value === undefined) return undefined;
  if (Array.isArray(value) && value.length > 0 && value.every(isEventType)) return [...new Set(value)];
  refuse('eventTypes', 'invalid', `Must be a list of some of: ${eventTypes.join(', ')}.`);
  return [];
}

function readFlag(field: string, value: unknown, refuse: Refuse): boolean | undefined {
  if (value === undefined || typeof value === 'boolean') return value;
  refuse(field, 'invalid', 'Must be true or false.');
  return undefined;
}

function readBasic(value: unknown, refuse: Refuse): BasicCredentials | null | undefined {
  if (value === undefined || value === null) return value;
  if (isRecord(value) && isCredential(value['username']) && isCredential(value['password'])) {
    // A colon would end the user name early (RFC 7617 §2).
    if (!value['username'].includes(':')) return { username: value['username'], password: value['password'] };
  }
  refuse('basicAuth', 'invalid', 'Must have a username without colon and a password.');
  return undefined;
}

function isCredential(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !isLongerThan(value, maxCredentialLength);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
