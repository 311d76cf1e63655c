import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { packageRoot } from '../../core/index.ts';

/** A part of the bill of materials (CycloneDX 1.6, component). */
export interface Component {
  readonly type: 'library';
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses: readonly { readonly expression: string }[];
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: unknown;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Every package that is installed beneath this one to run it, by name and version. */
export function listComponents(): readonly Component[] {
  const found = new Map<string, Component>();
  const seen = new Set<string>();
  const waiting = [packageRoot];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    if (seen.has(folder)) continue;
    seen.add(folder);
    const manifest = readManifest(folder);
    if (seen.size > 1) {
      const component = describe(manifest);
      found.set(component.purl, component);
    }
    for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) {
      const place = findInstalled(folder, name);
      if (place !== undefined) waiting.push(place);
    }
  }
  return [...found.values()].sort((a, b) => (a.purl < b.purl ? -1 : 1));
}

/** This program and its components (CycloneDX 1.6), without anything of the time or the machine. */
export function billOfMaterials(): Readonly<Record<string, unknown>> {
  const { name, version, license } = readManifest(packageRoot);
  const self = describe({ name, version, license });
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { ...self, type: 'application', 'bom-ref': self.purl } },
    components: listComponents().map((component) => ({ ...component, 'bom-ref': component.purl })),
  };
}

const readManifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as Manifest;

/** As Node resolves it; undefined for one that is not installed, such as one for another platform. */
function findInstalled(from: string, name: string): string | undefined {
  for (let folder = from; ; folder = path.dirname(folder)) {
    const place = path.join(folder, 'node_modules', name);
    if (existsSync(path.join(place, 'package.json'))) return place;
    if (folder === path.dirname(folder)) return undefined;
  }
}

function describe({ name, version, license }: Manifest): Component {
  const expression = typeof license === 'string' ? license : 'NOASSERTION';
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  return { type: 'library', name, version, purl, licenses: [{ expression }] };
}
