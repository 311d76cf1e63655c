/** `node bench/npd/generate.ts FOLDER [--scale 0.1] [--seed 20261122] [--naming numbered|plain|dated]`: writes an invented release. */
import { parseArgs } from 'node:util';
import { loadBuiltInGazetteer } from '../../src/lib/geo/index.ts';
import { expectLinks } from './expected-links.ts';
import { createWorld } from './world.ts';
import { writeRelease, type Naming } from './write-release.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    scale: { type: 'string', default: '0.1' },
    seed: { type: 'string', default: '20261122' },
    naming: { type: 'string', default: 'numbered' },
  },
});
const [folder] = positionals;
if (folder === undefined) throw new Error('name the folder to write to');
const world = createWorld(Number(values.scale), Number(values.seed));
const startMs = performance.now();
await writeRelease({ folder, world, gazetteer: loadBuiltInGazetteer(), naming: values.naming as Naming });
console.log(`${((performance.now() - startMs) / 1000).toFixed(1)} s`);
console.log(JSON.stringify({ ...world.counts, expected: expectLinks(world) }, null, 2));
