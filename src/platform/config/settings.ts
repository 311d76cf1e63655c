import type { Schema } from './fields.ts';
import { configSchema } from './schema.ts';

/** One leaf of the configuration schema. */
export interface Setting {
  /** `section.name`, or the bare name of a top-level setting. */
  readonly path: string;
  /** `OPENHISP_SECTION_NAME`. */
  readonly variable: string;
  readonly kind: 'text' | 'integer' | 'number' | 'boolean' | 'texts' | 'numbers';
  readonly description: string;
  readonly fallback: unknown;
}

/** Short names: the one that hosting platforms set, and those of the master key. */
export const aliases: Readonly<Record<string, string>> = {
  PORT: 'http.port',
  OPENHISP_MASTER_KEY: 'vault.masterKey',
  OPENHISP_MASTER_KEY_FILE: 'vault.masterKeyFile',
};

/** All settings, in the order of the schema. */
export function listSettings(schema: Schema = configSchema): readonly Setting[] {
  return leavesOf(schema, []);
}

/**
 * Variables that look like settings of a known section and are none: a slip of the pen that must not go
 * unnoticed.
 */
export function findStrayVariables(names: readonly string[]): readonly string[] {
  const settings = listSettings();
  const known = new Set(settings.map((setting) => setting.variable));
  const sections = new Set(
    settings
      .filter(({ path }) => path.includes('.'))
      .map(({ path }) => `OPENHISP_${toVariablePart(path.split('.')[0] ?? '')}_`),
  );
  return names.filter(
    (name) => !known.has(name) && [...sections].some((section) => name.startsWith(section)),
  );
}

/** Variables of ours that are no settings. */
const otherVariables: ReadonlySet<string> = new Set([
  'OPENHISP_CONFIG',
  'OPENHISP_DEBUG',
  'OPENHISP_OPERATOR',
  'OPENHISP_STARTED_BY_OLDER_NODE',
]);

/**
 * Variables that begin as settings do and have no effect, such as OPENHISP_SMPT_HOSTNAME. They are not
 * refused, since others may make them: Kubernetes names its services in such variables.
 */
export function findIgnoredVariables(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const known = new Set([...listSettings().map(({ variable }) => variable), ...Object.keys(aliases)]);
  return Object.keys(env).filter(
    (name) => /^OPENHISP_(?!TEST_|SERVICE_|PORT)/.test(name) && !known.has(name) && !otherVariables.has(name),
  );
}

function leavesOf(node: Schema, names: readonly string[]): Setting[] {
  if (node.properties !== undefined) {
    return Object.entries(node.properties).flatMap(([name, child]) => leavesOf(child, [...names, name]));
  }
  return [
    {
      path: names.join('.'),
      variable: ['OPENHISP', ...names.map(toVariablePart)].join('_'),
      kind: kindOf(node),
      description: node.description ?? '',
      fallback: node.default,
    },
  ];
}

function kindOf(node: Schema): Setting['kind'] {
  if (node.type === 'array') return node.items?.type === 'string' ? 'texts' : 'numbers';
  if (node.type === 'integer' || node.type === 'number' || node.type === 'boolean') return node.type;
  return 'text';
}

function toVariablePart(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}
