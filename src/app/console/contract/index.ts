/**
 * Every answer and request of the admin API under `/admin/v1`, as TypeBox schemas and their types. The front
 * end imports the types from here, and nothing else of the program. Times are ISO 8601 in UTC. An absent
 * value is null or an empty string; no field is omitted.
 */
export * from './common.ts';
export * from './session.ts';
export * from './sign-in.ts';
export * from './now.ts';
export * from './legal-holds.ts';
export * from './messages.ts';
export * from './trust-paths.ts';
export * from './queue.ts';
export * from './inbound.ts';
export * from './address-checks.ts';
export * from './directory.ts';
export * from './webhooks.ts';
export * from './domains.ts';
export * from './addresses.ts';
export * from './edge-accounts.ts';
export * from './clients.ts';
export * from './audit.ts';
export * from './nodes.ts';
export * from './operators.ts';
export * from './organizations.ts';
export * from './usage.ts';
export * from './playground.ts';
