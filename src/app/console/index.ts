/**
 * The console: its listener, the API for operators under `/admin/v1`, and the front end that
 * `tools/build-console.ts` has built.
 *
 * A separate listener, so that the API's public port never serves it (Decision 0030). Handlers contain no
 * business rules: they call the services. Called by the composition root.
 */
export { startConsole } from './listen.ts';
export type {
  CheckedRecord,
  ConsoleApp,
  ConsoleServices,
  DomainChecks,
  ExpectedRecord,
  PlaygroundPort,
} from './types.ts';
