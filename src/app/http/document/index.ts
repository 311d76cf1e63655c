/**
 * Completes the API document (OpenAPI): headers, refusals and webhooks, which no single route can know.
 * Used by `app/http`; what belongs to one route stays in the schema of that route.
 * Begin with `add-document.ts`.
 */
export { addDocument, type ExampleAddresses } from './add-document.ts';
