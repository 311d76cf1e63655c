import { Type, type Static } from 'typebox';
import { level, nullable, time, named } from './common.ts';

/** A process that serves from this database (Decision 0022). */
export const node = named('Node', {
  id: Type.String(),
  isThis: Type.Boolean({ description: 'It gave this answer.' }),
  host: Type.String(),
  version: Type.String(),
  isRunning: Type.Boolean(),
  level,
  /** The state, in one sentence. */
  text: Type.String(),
  serves: Type.Array(Type.String({ description: 'api, mail, console, edge, dns or ldap' })),
  directory: Type.Object({
    generation: nullable(
      Type.Integer({ description: 'Id of the load whose data it serves; null without data.' }),
    ),
    isActive: Type.Boolean({ description: 'False while the node still takes over newer data.' }),
  }),
  startedAt: time,
  heartbeatAt: time,
});
export type Node = Static<typeof node>;

/** `GET /admin/v1/nodes`: those of the last day that did not end in order, running ones first. */
export const nodeList = named('NodeList', { result: Type.Array(node) });
export type NodeList = Static<typeof nodeList>;
