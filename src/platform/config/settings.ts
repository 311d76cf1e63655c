import type { TSchema } from 'typebox';
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

/** Short names that hosting platforms set. */
export const aliases: Readonly<Record<string, string>> = { DATA_DIR: 'dataDir', PORT: 'http.port' };

interface SchemaNode {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly items?: SchemaNode;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly description?: string;
  readonly default?: unknown;
}

/** All settings, in the order of the schema. */
export function listSettings(schema: TSchema = configSchema): readonly Setting[] {
  return leavesOf(schema as SchemaNode, []);
}

function leavesOf(node: SchemaNode, names: readonly string[]): Setting[] {
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

function kindOf(node: SchemaNode): Setting['kind'] {
  if (node.type === 'array') return node.items?.type === 'string' ? 'texts' : 'numbers';
  if (node.type === 'integer' || node.type === 'number' || node.type === 'boolean') return node.type;
  return 'text';
}

function toVariablePart(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}
