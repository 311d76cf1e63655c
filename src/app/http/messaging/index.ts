/** The routes of the messaging service and its webhooks, for tokens of the scope `messaging.api`. */
export { messagingRoutes, type MessagingRoutesOptions } from './messaging-routes.ts';
