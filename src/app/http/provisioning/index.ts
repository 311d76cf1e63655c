/**
 * The routes by which an organization's own clients keep its addresses, for tokens of the scope
 * `provisioning` (Decision 0037). Used by `app/http`. Begin with `provisioning-routes.ts`.
 */
export { provisioningRoutes, type ProvisioningRoutesOptions } from './provisioning-routes.ts';
