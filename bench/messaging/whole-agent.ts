/** The agent as the service has it, with its stored keys and anchors, and nothing of the service around it. */
import { createPrivateKey, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openTestStorage } from '../../test/support/storage.ts';
import { silentLog, systemClock } from '../../src/core/index.ts';
import type { Discovery } from '../../src/lib/direct/index.ts';
import { createGuardedFetch } from '../../src/lib/fetch/index.ts';
import { createIssuerFetcher, createRevocationChecker, readCertificate } from '../../src/lib/pki/index.ts';
import { domainOf, parseDirectAddress, type DirectAddress } from '../../src/lib/values/index.ts';
import { loadMasterKey, openVault } from '../../src/platform/index.ts';
import { createAgent, type Agent } from '../../src/service/agent/index.ts';
import { createAudit } from '../../src/service/audit/index.ts';
import { createTrust } from '../../src/service/trust/index.ts';
import type { AgentParties, AgentParty } from './agent-alone.ts';

/** All of one side's work on a message: from its bytes to those that are sent, or back. */
export interface WholeAgent {
  /** Finds and judges the recipient's certificates, seals, opens, and judges the sender. */
  carry(message: Uint8Array, from: DirectAddress, to: DirectAddress): Promise<void>;
}

/** Of both parties. CRLs come from their authority; certificates are at hand, as they are when DNS has answered before. */
export async function openWholeAgent({ from, to, anchor }: AgentParties): Promise<WholeAgent> {
  const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-bench-agent-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const clock = systemClock;
  const storage = await openTestStorage();
  const masterKey = loadMasterKey({ file: path.join(folder, 'key'), createsFile: true });
  const vault = await openVault({ storage, masterKey, clock });
  const trust = createTrust({
    storage,
    vault,
    clock,
    audit: createAudit({ storage, vault, clock, log: silentLog }),
  });
  for (const { address, certificate, privateKey } of [from, to]) {
    const domain = domainOf(parseDirectAddress(address));
    await trust.addDomain(domain);
    await trust.addKeyPair(domain, bytes(certificate), readKey(privateKey));
    await trust.addAnchor(domain, bytes(anchor));
  }
  const fetch = createGuardedFetch({ timeoutMs: 10_000, maxBytes: 1_000_000, allowPrivate: true });
  const agent = createAgent({
    trust,
    clock,
    discovery: discoveryOf([from, to]),
    fetchIssuers: createIssuerFetcher({ fetch, now: () => clock.now() }),
    checkRevocation: createRevocationChecker({ fetch }),
  });
  return { carry: (message, sender, recipient) => carry(agent, message, sender, recipient) };
}

async function carry(
  agent: Agent,
  message: Uint8Array,
  from: DirectAddress,
  to: DirectAddress,
): Promise<void> {
  const { usable, refused } = await agent.resolveRecipients(from, [to]);
  if (usable.length !== 1) throw new Error(`the agent refuses ${to}: ${refused[0]?.text}`);
  const sealed = await agent.seal(from, Uint8Array.from(message), usable);
  await agent.openIncoming({ mailFrom: from, recipients: [to], message: sealed });
}

function discoveryOf(parties: readonly AgentParty[]): Discovery {
  const found = new Map(
    parties.map(({ address, certificate }) => [address, readCertificate(bytes(certificate))]),
  );
  return {
    async discover(address) {
      const certificate = found.get(address);
      if (certificate === undefined) throw new Error(`${address} is no party`);
      const certificates = [certificate];
      return {
        outcome: 'found',
        source: 'dns-domain',
        certificates,
        steps: [],
        isTransient: false,
        isFromCache: true,
      };
    },
  };
}

function bytes(base64: string): Buffer {
  return Buffer.from(base64, 'base64');
}

function readKey(base64: string): KeyObject {
  return createPrivateKey({ key: bytes(base64), format: 'der', type: 'pkcs8' });
}
