/** Several messages with one Message-ID, as operators see them. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { parseDirectAddress } from '../../../lib/values/index.ts';
import {
  alice,
  anna,
  bob,
  carol,
  startTestMessaging,
  type TestMessaging,
} from '../../../../test/messaging/start-messaging.ts';
import type { Owned } from '../../organizations/index.ts';
import { createMessagingOperator, type MessagingOperator } from './operator.ts';

const wireId = '<0190d9c8-0000-7000-8000-00000000abcd@host.example>';
const stranger = parseDirectAddress('eve@direct.delta.example');

let world: TestMessaging;
let operator: MessagingOperator;
/** Of the first and the second transaction, and of another tenant. */
let own: readonly [string, string];
let others: string;

before(async () => {
  world = await startTestMessaging({ isStarted: false });
  operator = createMessagingOperator({ ...world, emit: () => {}, operator: 'operator:dana' });
  await world.trust.addDomain('direct.delta.example');
  await world.trust.putAddress(stranger);
  const submit = async (from: string, to: readonly string[], requestId: string) => {
    const client = from === alice ? world.clinic : { ...world.otherClient, directAddresses: [stranger] };
    const message = `From: ${from}\r\nTo: ${bob}, ${carol}, ${anna}\r\nMessage-ID: ${wireId}\r\n\r\nText\r\n`;
    await world.messaging.submit(client, { from, to, message: Buffer.from(message) }, { requestId });
    return world.deliveries.at(-1)?.deliveryId ?? '';
  };
  own = [await submit(alice, [bob, carol], 'first'), await submit(alice, [anna], 'second')];
  others = await submit(stranger, [anna], 'strange');
  for (const [deliveryId, recipient] of [
    [own[0], bob],
    [own[0], carol],
    [own[1], anna],
    [others, anna],
  ] as const)
    await world.report({
      deliveryId,
      messageId: wireId,
      recipient,
      outcome: 'sent',
      sender: deliveryId === others ? stranger : alice,
    });
});
after(() => world.close());

const ownedBy = (client: string, domain: string): Owned => ({
  organizationId: 'some',
  organizations: new Set(['some']),
  domains: new Set([domain]),
  clients: new Set([client]),
});

test('each is opened by its own id and by that of the API, and all are shown by the one that they have', async () => {
  const all = await operator.show(wireId);
  assert.deepEqual(
    new Set(all.map(({ deliveryId }) => deliveryId)),
    new Set([...own, others]),
    'by the Message-ID',
  );
  for (const { deliveryId, message } of all)
    for (const name of [deliveryId, `urn:uuid:${deliveryId}`, message.messageId])
      assert.deepEqual(
        (await operator.show(name)).map((one) => one.deliveryId).filter((id) => id === deliveryId),
        [deliveryId],
        name,
      );
  for (const id of [...own, others]) {
    const shown = await operator.explain(id);
    assert.ok(shown.direction === 'out');
    assert.equal(shown.deliveryId, id);
    await operator.retry(id);
    await operator.fail(id);
  }
});

test('an action on several changes none, and names the ids to choose from', async () => {
  const ids = (await operator.show(wireId)).map(({ message }) => message.messageId);
  for (const act of [operator.explain, operator.retry, operator.fail, operator.getEvidence])
    await assert.rejects(act(wireId), ({ code, message }: { code: string; message: string }) => {
      assert.equal(code, 'MESSAGING_SEARCH_INVALID');
      for (const id of ids) assert.ok(message.includes(id), message);
      assert.ok(message.endsWith(`openhisp message find --id '${wireId}'`), message);
      return !message.includes('\n');
    });
});

test('an organization has no trouble with what another sends under its ids', async () => {
  const theirs = operator.within(ownedBy(world.otherClient.clientId, 'direct.delta.example'));
  assert.equal((await theirs.show(wireId)).length, 1);
  await theirs.retry(wireId);
  const mine = operator.within(ownedBy(world.clinic.clientId, 'direct.alpha.example'));
  await assert.rejects(mine.retry(wireId), ({ message }: Error) => !message.includes(others));
  const { items } = await mine.search({ text: wireId, limit: 50 });
  assert.equal(items.length, 3);
});

test('a legal hold by the Message-ID is on all of them', async () => {
  const hold = await operator.addLegalHold({ messageId: wireId }, 'Case 1');
  assert.equal(hold.subject, wireId);
  for (const { legalHolds } of await operator.show(wireId)) assert.deepEqual(legalHolds, [hold]);
  await operator.releaseLegalHold(hold.id, 'Settled');
});

test('each has its own request and audit rows, and is found by its own digits and request', async () => {
  for (const [id, requestId, recipients] of [
    [own[0], 'first', [bob, carol]],
    [own[1], 'second', [anna]],
    [others, 'strange', [anna]],
  ] as const) {
    const shown = await operator.explain(id);
    assert.ok(shown.direction === 'out');
    assert.equal(shown.requestId, requestId);
    const actions = shown.audit.filter(({ action }) => action.startsWith('message.'));
    // Searches by the Message-ID are of all of them.
    const named = actions.flatMap(({ objects }) => objects['deliveryId'] ?? []);
    assert.deepEqual(new Set(named), new Set([id]));
    const sent = actions.filter(({ action }) => action === 'message.sent');
    assert.deepEqual(
      sent.map(({ objects }) => objects['to']),
      recipients,
    );
    const digits = shown.message.messageId.slice('urn:uuid:'.length, -1);
    for (const text of [`request:${requestId}`, digits]) {
      const { items } = await operator.search({ text, limit: 50, direction: 'out' });
      const found: string[] = items.filter(({ from }) => from === shown.message.sender).map(({ to }) => to);
      assert.deepEqual(found.toSorted(), [...recipients].toSorted(), text);
    }
  }
});
