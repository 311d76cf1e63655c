/** Measures the agent alone, per message, in a process with the options of a serving one (`agent-process.ts`). */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { servingEnvironment, servingOptions } from '../../bin/node-options.js';
import type { Party, ProcessWorld } from '../../test/processes/world.ts';

export interface AgentTimes {
  /**
   * Processor time of all four operations (seal and open the message, seal and open its MDN), in milliseconds: keys and anchors
   * looked up, the recipient's certificates and the sender's signature judged.
   */
  readonly cpuMs: number;
  /** S/MIME alone, without any decision about trust. */
  readonly smimeMs: number;
  /** Of one RSA-2048 signature. */
  readonly signMs: number;
}

export interface AgentParty {
  readonly address: string;
  /** Base64 of DER. */
  readonly certificate: string;
  readonly privateKey: string;
}

/** The arguments of the process, as JSON. */
export interface AgentParties {
  readonly from: AgentParty;
  readonly to: AgentParty;
  /** Base64 of DER. */
  readonly anchor: string;
}

export interface AgentAlone {
  /** For a message with an attachment of this size. */
  measure(sizeBytes: number): Promise<AgentTimes>;
  close(): Promise<void>;
}

export function startAgentAlone({ sender, receiver, anchor }: ProcessWorld): AgentAlone {
  const parties: AgentParties = {
    from: asText(sender.party),
    to: asText(receiver.party),
    anchor: Buffer.from(anchor).toString('base64'),
  };
  const child = fork(path.join(import.meta.dirname, 'agent-process.ts'), [JSON.stringify(parties)], {
    execArgv: servingOptions(),
    env: { ...servingEnvironment, ...process.env },
  });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the agent's process ended with ${String(code)}`);
  });
  ended.catch(() => {});
  return {
    async measure(sizeBytes) {
      child.send(sizeBytes);
      const [times] = await Promise.race([once(child, 'message'), ended]);
      return times as AgentTimes;
    },
    async close() {
      child.disconnect();
      await ended.catch(() => {});
    },
  };
}

function asText({ address, certificate, privateKey }: Party): AgentParty {
  return {
    address,
    certificate: Buffer.from(certificate).toString('base64'),
    privateKey: privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64'),
  };
}
