/**
 * The sandbox and the tests' world: two HISPs, the DNS they ask, authorities, a silent mail server and a
 * webhook receiver in one process on loopback, talking to each other by real packets.
 *
 * Called by `openhisp sandbox` and by the system tests; nothing of production imports it.
 */
export { startSandbox, type Sandbox } from './sandbox.ts';
export { edgeCommands, formatBanner } from './banner.ts';
export { createEdgeClient, type EdgeClient, type EdgeCredentials } from './edge-client.ts';
export { ensureClient } from './sandbox-clients.ts';
export { choosePort } from './ports.ts';
export { createOutsideZone } from './sandbox-zones.ts';
export {
  demoAddress,
  domains,
  edgeAddress,
  mailHosts,
  partners,
  type PartnerOutcome,
} from './sandbox-names.ts';
export { openAuthority, type SandboxAuthority } from './authority.ts';
