/**
 * The REST edge: one Fastify application with the functions that all routes share (tokens, error envelope,
 * request ids, headers, limits, overload, API document, health, metrics) and the routes of each service in
 * its own folder.
 *
 * Standards: RFC 9110, RFC 6750 §3, RFC 6749 §5; Directory spec: Errors; Decision 0005 for bodies and
 * statuses. Handlers parse, call one service function and format; a status is chosen in `envelope.ts` and
 * nowhere else. Called by the composition root, which passes in the services.
 */
export { createHttpApp } from './app.ts';
export { sendRefusal } from './error-map.ts';
export { limitConnections } from './limit-connections.ts';
export { createJsonParser } from './json-parser.ts';
export { addRequestId, chooseRequestId } from './request-id.ts';
export { refuseAmbiguousRequests } from './refuse-ambiguous.ts';
export { refuseWhileClosing } from './refuse-while-closing.ts';
export { addSecurityHeaders } from './security-headers.ts';
export { compileValidator } from './validation.ts';
export { readParameters } from './directory-request.ts';
export { buildErrorEnvelope, errorResponses, jsonMediaType, type ErrorEnvelope } from './envelope.ts';
export { refuseWhileStuck } from './refuse-while-stuck.ts';
export { setRateLimitHeaders } from './rate-limit-headers.ts';
export { trustBundleRoute } from './trust-bundle-route.ts';
export type { ExampleAddresses } from './document/index.ts';
export type { DegradedComponent, ReadinessChecks } from './health-routes.ts';
export type { HispFastify, RouteModule } from './types.ts';
export { directoryRoutes } from './directory/index.ts';
export { fhirRoutes } from './fhir/index.ts';
export { provisioningRoutes } from './provisioning/index.ts';
export { messagingRoutes } from './messaging/index.ts';
export { bodyOf, named, queryOf } from './named.ts';
