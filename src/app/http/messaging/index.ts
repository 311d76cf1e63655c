/**
 * The routes of the messaging service and its webhooks, for tokens of the scope `messaging.api`.
 * Used by `app/http`.
 * Begin with `messaging-routes.ts`; schemas and names on the wire are in `schemas.ts` and `format-
 * answers.ts`.
 */
export { messagingRoutes, type MessagingRoutesOptions } from './messaging-routes.ts';
