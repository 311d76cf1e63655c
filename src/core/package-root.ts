import path from 'node:path';

/** The folder of this package. Built files are in `dist/program/` (tools/build.ts), as deep as this one. */
export const packageRoot = path.resolve(import.meta.dirname, '../..');
