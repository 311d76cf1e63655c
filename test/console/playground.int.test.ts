/** The playground's API: sends as the sandbox's client, and tells what went over the wire. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { partners } from '../../src/app/dev/index.ts';
import { openTestSandbox, waitFor, type TestSandbox } from '../system/sandbox-fixture.ts';

interface Event {
  readonly id: number;
  readonly at: string;
  readonly kind: string;
  readonly from: string;
  readonly to: string;
  readonly text: string;
}

interface Exchange {
  readonly state: string;
  readonly isComplete: boolean;
  readonly events: readonly Event[];
  readonly last: number;
}

describe('the playground', () => {
  let world: TestSandbox;
  const tokens = new Map<string, string>();
  before(async () => {
    world = await openTestSandbox();
    const { operators } = world.sandbox.world.hisp;
    for (const role of ['operator', 'help-desk'] as const) {
      const operator = await operators.store.create(`script ${role}`, role);
      const issued = await operators.tokens.create(operator, { label: 'test', lifetimeMs: 3_600_000 });
      tokens.set(role, issued.token);
    }
  });
  after(() => world.close());

  async function call(method: string, target: string, body?: unknown, role = 'operator') {
    const response = await fetch(`${world.sandbox.world.hisp.consoleUrl}/admin/v1/playground${target}`, {
      method,
      headers: {
        authorization: `Bearer ${tokens.get(role)}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  }

  async function exchangeOf(to: string): Promise<Exchange & { messageId: string }> {
    const sent = await call('POST', '/send', { to, sample: 'referral-note' });
    assert.equal(sent.status, 200, sent.text);
    const { messageId } = JSON.parse(sent.text) as { messageId: string };
    return waitFor(
      async () =>
        JSON.parse((await call('GET', `/exchange/${messageId}`)).text) as Exchange & { messageId: string },
      ({ isComplete }) => isComplete,
      60,
    );
  }

  const textsOf = ({ events }: Exchange, kind: string): string =>
    events
      .filter((event) => event.kind === kind)
      .map(({ from, to, text }) => `${from} > ${to}: ${text}`)
      .join('\n');

  it('names a partner for each outcome, and documents to send', async () => {
    const { partners, samples } = JSON.parse((await call('GET', '')).text) as {
      partners: { outcome: string }[];
      samples: { id: string; bytes: number }[];
    };
    assert.deepEqual(
      partners.map(({ outcome }) => outcome),
      ['processed', 'dispatched', 'failed', 'expired', 'untrusted', 'noCertificate'],
    );
    assert.ok(samples.length >= 3 && samples.every(({ bytes }) => bytes > 3000));
  });

  it('shows the questions, the mail, the MDN and the webhook calls of a message, and nothing of its content', async () => {
    const seen = await exchangeOf('processed@direct.lakeside.example');
    assert.equal(seen.state, 'processed');
    assert.match(textsOf(seen, 'dns'), /this HISP > DNS: CERT direct\.lakeside\.example\?/);
    assert.match(textsOf(seen, 'dns'), /DNS > this HISP: 1 CERT record/);
    assert.match(
      textsOf(seen, 'smtp'),
      /this HISP > partner HISP: RCPT TO:<processed@direct\.lakeside\.example>/,
    );
    assert.match(textsOf(seen, 'smtp'), /this HISP > partner HISP: message, [\d.]+ kB, encrypted/);
    assert.match(
      textsOf(seen, 'smtp'),
      /partner HISP > this HISP: RCPT TO:<demo@direct\.riverside\.example>/,
    );
    assert.match(textsOf(seen, 'mdn'), /partner HISP > this HISP: MDN: processed/);
    assert.match(textsOf(seen, 'webhook'), /this HISP > webhook: POST message\.processed/);
    assert.doesNotMatch(JSON.stringify(seen), /Ottilie|Quarry|Referral Note|A sample of the playground/);
    const ids = seen.events.map(({ id }) => id);
    assert.deepEqual(
      ids,
      ids.toSorted((a, b) => a - b),
    );
    assert.equal(ids.at(-1), seen.last);
  });

  it('shows why a message to an untrusted recipient was not sent', async () => {
    const seen = await exchangeOf('untrusted@direct.stranger.example');
    assert.equal(seen.state, 'failed');
    assert.match(textsOf(seen, 'state'), /refused: untrusted/);
    assert.equal(textsOf(seen, 'smtp'), '');
  });

  it('returns only events after a given one', async () => {
    const seen = await exchangeOf('no-certificate@direct.uncertified.example');
    assert.match(textsOf(seen, 'dns'), /no such name|no CERT record/);
    const { last, messageId } = seen;
    const rest = await call('GET', `/exchange/${messageId}?after=${last - 1}`);
    assert.deepEqual(
      (JSON.parse(rest.text) as Exchange).events.map(({ id }) => id),
      [last],
    );
  });

  it('refuses an unknown document, an address that is none, an unknown message, and the help desk', async () => {
    const to = 'processed@direct.lakeside.example';
    assert.equal((await call('POST', '/send', { to, sample: 'nothing' })).status, 400);
    assert.equal((await call('POST', '/send', { to: 'nobody', sample: 'referral-note' })).status, 400);
    assert.equal((await call('GET', '/exchange/urn:uuid:00000000-0000-4000-8000-000000000000')).status, 404);
    assert.equal((await call('GET', '', undefined, 'help-desk')).status, 403);
  });

  it('goes on with a new token when the one that it has was ended', async () => {
    await exchangeOf(partners.failed);
    const { clients } = world.sandbox.world.hisp.oauth;
    for (const { clientId } of await clients.list()) {
      await clients.disable(clientId);
      await clients.enable(clientId);
    }
    assert.notEqual((await exchangeOf(partners.failed)).events.length, 0);
  });
});
