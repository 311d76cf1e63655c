/**
 * The evidence pack: one file for an accreditation or a security review that says how this HISP was run in a
 * period, signed, readable in a browser and verifiable offline.
 *
 * Used by the command line, and its bill of materials by `tools/release.ts`. Begin with `pack.ts`, which
 * names the parts; `pack-file.ts` writes and reads the file.
 */
export { collectPack, type EvidencePack } from './pack.ts';
export { readPackFile, isPackFile, writePackFile } from './pack-file.ts';
export { billOfMaterials } from './components.ts';
