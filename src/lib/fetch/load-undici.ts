import { createRequire } from 'node:module';
import type * as Undici from 'undici';

/** Loaded when the first client is made: most commands make none, and start sooner. */
export const loadUndici = (): typeof Undici => createRequire(import.meta.url)('undici') as typeof Undici;
