/**
 * The directory as FHIR R4 under `/fhir` (Decision 0028): routes, media types and OperationOutcome.
 *
 * Resources, parameters and bundles are made by service/directory. Not in the API document: a FHIR client
 * reads `/fhir/metadata`.
 */
export { fhirRoutes, type FhirRoutesOptions } from './fhir-routes.ts';
