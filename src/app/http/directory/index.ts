/**
 * The two addresses of the provider directory (Directory spec: Endpoints): parameters and envelope on the wire.
 *
 * Parameters are judged by service/directory, whose table also makes the API document; the providers array comes from
 * the index as finished JSON and is only framed here.
 */
export { directoryRoutes, type DirectoryRoutesOptions } from './directory-routes.ts';
