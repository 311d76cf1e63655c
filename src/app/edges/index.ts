/**
 * The edges for software that speaks no REST: the line edge of OpenEMR and LibreHealth EHR, and mail
 * submission. One edge account signs in to all of them, and they show the same messages and states.
 *
 * Standards: RFC 6409, RFC 8314, RFC 4954. Not here: acceptance, states and the inbox (service/messaging),
 * accounts (service/edges), mail of other HISPs (app/smtp). Called by the composition root.
 */
export { createMailStores } from './mail-stores.ts';
export {
  createEdgeBudgets,
  type EdgeBudgets,
  startEdges,
  type EdgeName,
  type EdgesOptions,
  type RunningEdges,
} from './start-edges.ts';
