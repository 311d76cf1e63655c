/**
 * The two addresses of the provider directory (Directory spec: Endpoints): parameters and envelope on the
 * wire.
 *
 * Parameters are checked by service/directory, whose table also makes the API document; the answer comes from
 * the index as finished JSON.
 */
export { directoryRoutes, type DirectoryRoutesOptions } from './directory-routes.ts';
