import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileErrorText, type FieldProblem } from '../../core/index.ts';
import { checkTogether, shortestHost } from './check-together.ts';
import { fillDefaults, isObject, listFaults } from './check-values.ts';
import { invalidConfig } from './invalid-config.ts';
import { configSchema, type Config, type Parsed } from './schema.ts';
import { aliases, findStrayVariables, listSettings, type Setting } from './settings.ts';

type Draft = Record<string, unknown>;

/**
 * Reads the configuration: defaults, then the JSON file, then the environment, then flags
 * (`{ 'http.port': '8080' }`); the later wins. Throws PLATFORM_CONFIG_INVALID with every problem at once,
 * each naming its setting and where it came from. This is the only place that reads the environment.
 */
export function loadConfig(
  env: Readonly<Record<string, string | undefined>>,
  file?: string,
  flags: Readonly<Record<string, string>> = {},
): Config {
  const problems: FieldProblem[] = [];
  const origins = new Map<string, string>();
  const draft = readFile(file, problems);
  applyEnvironment(draft, env, origins, problems);
  for (const [name, value] of Object.entries(flags))
    applyText(draft, name, value, `flag ${name}`, origins, problems);
  const filled = fillDefaults(configSchema, draft);
  problems.push(...listProblems(filled, origins));
  if (problems.length === 0) {
    const config = resolvePaths(filled as Parsed);
    problems.push(...checkTogether(config));
    if (problems.length === 0) return resolveHosts(config);
  }
  throw invalidConfig(problems);
}

/** Some editors begin a file with a byte order mark. */
export function readJsonFile(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8').replace(/^\ufeff/, ''));
}

function readFile(file: string | undefined, problems: FieldProblem[]): Draft {
  if (file === undefined) return {};
  try {
    const parsed = readJsonFile(file);
    if (isObject(parsed)) return parsed;
    problems.push({ field: file, reason: 'invalid', detail: 'The configuration file is not a JSON object.' });
  } catch (error) {
    problems.push({
      field: file,
      reason: 'invalid',
      detail: `The configuration file ${file} cannot be read: ${fileErrorText(error)}`,
    });
  }
  return {};
}

function applyEnvironment(
  draft: Draft,
  env: Readonly<Record<string, string | undefined>>,
  origins: Map<string, string>,
  problems: FieldProblem[],
): void {
  for (const name of findStrayVariables(Object.keys(env))) {
    problems.push({
      field: name,
      reason: 'unknown',
      detail: `Unknown setting: ${name} (environment).`,
    });
  }
  for (const [alias, name] of Object.entries(aliases)) {
    const value = env[alias];
    if (value !== undefined && value !== '')
      applyText(draft, name, value, `environment ${alias}`, origins, problems);
  }
  for (const { path: name, variable } of listSettings()) {
    const value = env[variable];
    if (value !== undefined && value !== '')
      applyText(draft, name, value, `environment ${variable}`, origins, problems);
  }
}

function applyText(
  draft: Draft,
  name: string,
  value: string,
  origin: string,
  origins: Map<string, string>,
  problems: FieldProblem[],
): void {
  const setting = listSettings().find((candidate) => candidate.path === name);
  if (setting === undefined) {
    problems.push({ field: name, reason: 'unknown', detail: `Unknown setting ${name} (${origin}).` });
    return;
  }
  origins.set(name, origin);
  assign(draft, name.split('.'), parseText(setting, value));
}

/** A value that does not parse stays a string, so that the schema reports it. */
function parseText(setting: Setting, value: string): unknown {
  switch (setting.kind) {
    case 'text':
      return value;
    case 'integer':
    case 'number':
      return parseNumber(value);
    case 'boolean':
      return parseFlag(value);
    case 'texts':
      return splitList(value);
    case 'numbers':
      return splitList(value).map(parseNumber);
  }
}

function parseNumber(value: string): unknown {
  return /^-?\d+(\.\d+)?$/.test(value.trim()) ? Number(value) : value;
}

function parseFlag(value: string): unknown {
  if (['true', '1', 'yes', 'on'].includes(value.toLowerCase())) return true;
  if (['false', '0', 'no', 'off'].includes(value.toLowerCase())) return false;
  return value;
}

function splitList(value: string): string[] {
  return value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function assign(draft: Draft, [name, ...rest]: readonly string[], value: unknown): void {
  if (name === undefined) return;
  if (rest.length === 0) {
    draft[name] = value;
    return;
  }
  const inner = draft[name];
  const next: Draft = isObject(inner) ? inner : {};
  draft[name] = next;
  assign(next, rest, value);
}

function listProblems(filled: unknown, origins: ReadonlyMap<string, string>): FieldProblem[] {
  return listFaults(configSchema, filled).map(({ field, expected }) => {
    // A wrong value of a list has the place in the list as the last part of its name.
    const origin = origins.get(field.replace(/\.\d+$/, '')) ?? 'configuration file';
    return expected === undefined
      ? { field, reason: 'unknown', detail: `Unknown setting ${field} (${origin}).` }
      : { field, reason: 'invalid', detail: `${field} ${expected} (${origin}).` };
  });
}

/** Sets the settings whose default is a path in the data folder. */
function resolvePaths(config: Parsed): Config {
  const dataDir = path.resolve(config.dataDir);
  return {
    ...config,
    dataDir,
    storage: { ...config.storage, file: config.storage.file ?? path.join(dataDir, 'openhisp.db') },
    audit: {
      ...config.audit,
      checkpointFile: config.audit.checkpointFile ?? path.join(dataDir, 'audit-checkpoints.jws'),
    },
    vault: { ...config.vault, masterKeyFile: config.vault.masterKeyFile ?? path.join(dataDir, 'master.key') },
    directory: {
      ...config.directory,
      snapshotDir: config.directory.snapshotDir ?? path.join(dataDir, 'directory'),
      workDir: config.directory.workDir ?? path.join(dataDir, 'directory-work'),
    },
  };
}

/** IPv6 addresses are compared with those in URLs and DNS answers. */
function resolveHosts(config: Config): Config {
  const allowedHosts = config.webhook.allowedHosts.map((host) => shortestHost(host) ?? host);
  return { ...config, webhook: { ...config.webhook, allowedHosts } };
}
