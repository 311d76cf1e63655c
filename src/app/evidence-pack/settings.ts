import { defaultSettings, type Config } from '../../platform/index.ts';

/** A setting as it is when the pack is made. */
export interface PackSetting {
  readonly name: string;
  /** `set` or `not set` for what is, names or may contain a secret. */
  readonly value: string;
  readonly isDefault: boolean;
}

/** Names whose values stay out: secrets, and places. */
const concealed = /(?:password|secret|masterkey|file|dir|url|user)$/i;

/** All settings, by name. */
export function listSettings(config: Config): readonly PackSetting[] {
  const defaults = new Map(flatten('', defaultSettings));
  return flatten('', config)
    .map(([name, value]) => ({
      name,
      value: concealed.test(name) ? (value === undefined ? 'not set' : 'set') : show(value),
      isDefault: show(value) === show(defaults.get(name)),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

const show = (value: unknown): string =>
  value === undefined ? 'not set' : typeof value === 'string' ? value : JSON.stringify(value);

function flatten(prefix: string, value: object): [string, unknown][] {
  return Object.entries(value).flatMap(([name, part]: [string, unknown]): [string, unknown][] =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? flatten(`${prefix}${name}.`, part)
      : [[prefix + name, part]],
  );
}

/** How long what is kept. */
export interface RetentionRule {
  readonly data: string;
  readonly setting: string;
  readonly days: number;
}

export function listRetention({ messaging, audit, webhook }: Config): readonly RetentionRule[] {
  return [
    { data: 'Audit trail', setting: 'audit.keepDays', days: audit.keepDays },
    {
      data: 'Sent messages: status, history, attempts, evidence of delivery',
      setting: 'messaging.messageDays',
      days: messaging.messageDays,
    },
    {
      data: 'Details of sent messages, which are encrypted',
      setting: 'messaging.detailsDays',
      days: messaging.detailsDays,
    },
    {
      data: 'Inbound mail, after its acknowledgement; before it, inbound mail is kept',
      setting: 'messaging.acknowledgedDays',
      days: messaging.acknowledgedDays,
    },
    {
      data: 'Inbound mail that could not be processed',
      setting: 'messaging.deadLetterDays',
      days: messaging.deadLetterDays,
    },
    {
      data: 'Register of received messages, against replays',
      setting: 'messaging.registerDays',
      days: messaging.registerDays,
    },
    {
      data: 'Notifications that no webhook took',
      setting: 'webhook.deadLetterDays',
      days: webhook.deadLetterDays,
    },
    { data: 'Failed attempts of webhooks', setting: 'webhook.attemptDays', days: webhook.attemptDays },
  ];
}
