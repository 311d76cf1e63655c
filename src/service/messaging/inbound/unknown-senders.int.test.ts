/** Mail of unknown senders whose servers say nothing, next to mail of a trusted one, with the real agent. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { createGuardedFetch } from '../../../lib/fetch/index.ts';
import { createIssuerFetcher, type Certificate } from '../../../lib/pki/index.ts';
import { parseDirectAddress, type DirectAddress } from '../../../lib/values/index.ts';
import { addIssuedDomain, createIssuer } from '../../../../test/messaging/issued-domains.ts';
import {
  alice,
  startTestMessaging,
  waitUntil,
  type TestMessaging,
} from '../../../../test/messaging/start-messaging.ts';
import { createDeadline } from '../../../../test/support/time-scale.ts';
import { createAgent, type Agent } from '../../agent/index.ts';

const messageCount = 60;
const validity = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2028-01-01T00:00:00Z') };
const friend = parseDirectAddress('friend@direct.friend.example');
const unknownSender = parseDirectAddress('eve@direct.stranger.example');
const network = '192.0.2.0/24';

let world: TestMessaging;
let agent: Agent;
let silent: Server;
let ours: Certificate;
const connections = new Set<Socket>();

async function sealFrom(sender: DirectAddress, id: string): Promise<Uint8Array> {
  const body = 'A referral of some length. '.repeat(60);
  const plain = `From: ${sender}\r\nTo: ${alice}\r\nDate: Sat, 21 Nov 2026 12:00:00 +0000\r\nMessage-ID: <${id}@x.example>\r\nMIME-Version: 1.0\r\n\r\n${body}\r\n`;
  return agent.seal(sender, Buffer.from(plain), [{ address: alice, certificates: [ours.der] }]);
}

before(async () => {
  silent = createServer((socket) => {
    connections.add(socket);
    socket.on('error', () => {}).on('close', () => connections.delete(socket));
  });
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  world = await startTestMessaging();
  const [trusted, unknown] = [
    await createIssuer('trusted', validity),
    await createIssuer('unknown', validity),
  ];
  ours = await addIssuedDomain(world, 'direct.alpha.example', { issuer: trusted, ...validity });
  await addIssuedDomain(world, 'direct.friend.example', { issuer: trusted, ...validity });
  await addIssuedDomain(world, 'direct.stranger.example', {
    issuer: unknown,
    caIssuerUrls: [`http://127.0.0.1:${port}/ca.cer`],
    ...validity,
  });
  await world.trust.addAnchor('direct.alpha.example', trusted.certificate.der, 'incoming');
  const fetch = createGuardedFetch({ timeoutMs: 10_000, maxBytes: 1_000_000, allowPrivate: true });
  agent = createAgent({
    trust: world.trust,
    clock: world.clock,
    discovery: {
      discover: async () => ({
        outcome: 'absent',
        certificates: [],
        steps: [],
        isTransient: false,
        isFromCache: false,
      }),
    },
    fetchIssuers: createIssuerFetcher({ fetch, now: () => world.clock.now() }),
    checkRevocation: async () => ({ status: 'good' }),
    threads: 1,
  });
  world.setOpenIncoming((envelope, options) => agent.openIncoming(envelope, options));
});
after(async () => {
  for (const socket of connections) socket.destroy();
  silent.close();
  await world.close();
  await agent.close();
});

describe('mail of unknown senders', () => {
  it('60 messages whose AIA server never answers delay no trusted message by more than 5 seconds', async () => {
    const sealed = await Promise.all(
      Array.from({ length: messageCount }, (_, index) => sealFrom(unknownSender, `unknownSender-${index}`)),
    );
    assert.ok(sealed.every(({ length }) => length > 4_000 && length < 9_000));
    const good = await sealFrom(friend, 'friend');
    const accepted = Promise.all(
      sealed.map((message) =>
        world.messaging.acceptInbound({ mailFrom: unknownSender, recipients: [alice], message }, network),
      ),
    );
    await accepted;
    await waitUntil(() => connections.size > 0, 'a fetch that is not answered');
    const limit = createDeadline(5_000);
    await world.messaging.acceptInbound({ mailFrom: friend, recipients: [alice], message: good }, network);
    const { messages } = await world.messaging.listInbox(world.clinic, {});
    assert.deepEqual(
      messages.map(({ sender }) => sender),
      [friend],
    );
    assert.ok(!limit.isOver());
    const waiting = await world.db.selectFrom('inbound_mail').select(['needs_fetch', 'state']).execute();
    assert.deepEqual([...new Set(waiting.map((row) => `${row.state} ${row.needs_fetch}`))], ['waiting 1']);
    assert.ok(waiting.length > messageCount / 2, `${waiting.length} still wait`);
  });
});
