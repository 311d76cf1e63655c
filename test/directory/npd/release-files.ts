/** Small releases of the national directory, written by hand: only what a test is about, in the true shape. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { formatManifest } from '../../../bench/npd/write-release.ts';

/** Lines of each file: resources, or texts for what is not a resource. */
export type ReleaseLines = Partial<Record<ResourceType, readonly (object | string)[]>>;

type ResourceType = (typeof types)[number];
const types = ['Organization', 'Location', 'Endpoint', 'Practitioner', 'PractitionerRole'] as const;

export interface WriteOptions {
  readonly nameOf?: (type: string) => string;
  /** Instead of the newline at the end of each file. */
  readonly ending?: string;
}

/** Writes the files and their manifest. A resource without lines gets one that nobody needs. */
export async function writeLines(
  folder: string,
  lines: ReleaseLines,
  options: WriteOptions = {},
): Promise<void> {
  const { nameOf = (type: string) => `0-${type}.ndjson`, ending = '\n' } = options;
  await mkdir(folder, { recursive: true });
  const written = [];
  for (const type of types) {
    const texts = (lines[type] ?? [{ resourceType: type, id: `${type}-nobody` }]).map((line) =>
      typeof line === 'string' ? line : JSON.stringify(line),
    );
    const content = Buffer.from(texts.join('\n') + ending);
    const packed = zstdCompressSync(content);
    await writeFile(path.join(folder, `${nameOf(type)}.zst`), packed);
    written.push({ key: nameOf(type), originalBytes: content.length, compressedBytes: packed.length });
  }
  await writeFile(path.join(folder, 'manifest.json'), formatManifest(written, 'zstd'));
}

const npiSystem = 'http://terminology.hl7.org/NamingSystem/npi';

export function endpoint(id: string, address: string, more: object = {}): object {
  return {
    resourceType: 'Endpoint',
    id: `Endpoint-${id}`,
    status: 'active',
    connectionType: {
      system: 'http://terminology.hl7.org/CodeSystem/endpoint-connection-type',
      code: 'direct-project',
    },
    name: 'Direct Messaging Address',
    address,
    ...more,
  };
}

export function practitioner(id: string, npi: string, more: object = {}): object {
  return {
    resourceType: 'Practitioner',
    id: `Practitioner-${id}`,
    active: true,
    identifier: [{ system: npiSystem, value: npi }],
    name: [{ use: 'official', family: `FAMILY${id.toUpperCase()}`, given: ['GIVEN', 'K'] }],
    ...more,
  };
}

export function organization(id: string, name: string, more: object = {}): object {
  return {
    resourceType: 'Organization',
    id: `Organization-${id}`,
    active: true,
    identifier: [{ system: npiSystem, value: '1234567893' }],
    type: [{ text: 'Healthcare Provider' }],
    name,
    ...more,
  };
}

export function location(id: string, more: object = {}): object {
  return { resourceType: 'Location', id: `Location-${id}`, status: 'active', ...more };
}

export function role(id: string, more: object): object {
  return { resourceType: 'PractitionerRole', id: `PractitionerRole-${id}`, active: true, ...more };
}

export function to(type: ResourceType, id: string): { reference: string } {
  return { reference: `${type}/${type}-${id}` };
}

/** An address in a town of the gazetteer. */
export function address(street: string, more: object = {}): object {
  return {
    use: 'work',
    type: 'physical',
    line: [street],
    city: 'ALBANY',
    state: 'NY',
    postalCode: '12207',
    ...more,
  };
}

export const phone = (value: string): object => ({ system: 'phone', value, use: 'work' });
