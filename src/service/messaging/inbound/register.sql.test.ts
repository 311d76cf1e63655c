/** The register of received mail, used by two nodes at once and compared with a map. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fc } from '../../../../test/support/fast-check.ts';
import { createMigratedDatabase } from '../../../../test/support/storage.ts';
import { createManualClock, type ManualClock } from '../../../core/index.ts';
import { parseDirectAddress } from '../../../lib/values/index.ts';
import type { Storage } from '../../../platform/index.ts';
import type { MessagingTables } from '../tables.ts';
import { hashForRecipient, mayAnswerIn, registerIn, type Identity } from './register.ts';

const hour = 3_600_000;
const senders = ['bob@direct.beta.example', 'Bob@Direct.Beta.Example', 'eve@direct.beta.example'].map(
  (text) => parseDirectAddress(text),
);
const recipients = ['alice@direct.alpha.example', 'anna@direct.alpha.example'].map((text) =>
  parseDirectAddress(text),
);

let clock: ManualClock;
let nodes: readonly Storage[];

before(async () => {
  const database = await createMigratedDatabase();
  clock = createManualClock(new Date('2026-06-01T12:00:00Z'));
  const open = async (): Promise<Storage> => {
    const storage = await database.open({ clock, busyTimeoutMs: 60_000 });
    await storage.migrate();
    return storage;
  };
  nodes = [await open(), await open()];
});
after(async () => {
  for (const storage of nodes) await storage.close();
});

/** What makes a message the same one: few values, so that they meet. */
const mail = fc.record({
  sender: fc.nat(2),
  wireId: fc.constantFrom(undefined, '<1@x>', '<2@x>'),
  content: fc.constantFrom('aa', 'bb'),
  signedName: fc.constantFrom(undefined, undefined, 'n'),
  recipient: fc.nat(1),
} as const);
type Mail = typeof mail extends fc.Arbitrary<infer T> ? T : never;

const step = fc.record({
  mail,
  /** Copies that arrive at the same moment, in turn at each node. */
  copies: fc.integer({ min: 1, max: 4 }),
  /** The transaction fails after the register was asked. */
  fails: fc.constantFrom(false, false, false, true),
  waitMs: fc.constantFrom(0, 0, 1, hour - 1, hour, 400 * 24 * hour),
});

/**
 * Written without the code under test: the address counts without case, and a signed name instead of
 * Message-ID and content.
 */
const keyOf = ({ sender, wireId, content, signedName, recipient }: Mail): string =>
  (signedName === undefined
    ? [sender === 2 ? 'eve' : 'bob', `${wireId ?? ''}/${content}`, recipient]
    : // Of a header that is not signed the domain alone counts.
      ['their domain', signedName, recipient]
  ).join(' ');

const identityOf = ({ sender, wireId, content, signedName }: Mail): Identity => ({
  sender: senders[sender] ?? assert.fail(),
  wireId,
  idOctets: wireId,
  contentHash: content,
  signedName,
});

test('whatever arrives at two nodes, in any order and at once: each message is new once, and answered again once an hour', () =>
  fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30, size: 'max' }), async (steps) => {
      await nodes[0]?.tables<MessagingTables>().deleteFrom('received_register').execute();
      const answeredAt = new Map<string, number>();
      for (const { mail: one, copies, fails, waitMs } of steps) {
        clock.advance(waitMs);
        const results = await Promise.all(
          Array.from({ length: copies }, (_, index) =>
            receive(nodes[index % 2] ?? assert.fail(), one, fails),
          ),
        );
        if (fails) {
          assert.ok(results.every((result) => result === 'failed'));
          continue;
        }
        const key = keyOf(one);
        const now = clock.now().getTime();
        const last = answeredAt.get(key);
        const mayAnswer = last === undefined ? copies > 1 : now - last >= hour;
        const count = (wanted: string): number => results.filter((result) => result === wanted).length;
        assert.equal(count('new'), last === undefined ? 1 : 0, 'new');
        assert.equal(count('answered'), mayAnswer ? 1 : 0, 'answered');
        // A message is answered when it is new, which does not count.
        answeredAt.set(key, mayAnswer ? now : (last ?? -Infinity));
      }
    }),
    { numRuns: 30 },
  ));

function receive(
  storage: Storage,
  one: Mail,
  fails: boolean,
): Promise<'new' | 'answered' | 'repeated' | 'failed'> {
  const failure = new Error('the transaction fails');
  return storage
    .transaction(async (tx) => {
      const hash = hashForRecipient(identityOf(one), recipients[one.recipient] ?? assert.fail());
      const isNew = await registerIn(tx, { storage }, hash, clock.now());
      const isAnswered = !isNew && (await mayAnswerIn(tx, { storage, clock }, hash));
      if (fails) throw failure;
      if (isNew) return 'new';
      return isAnswered ? 'answered' : 'repeated';
    })
    .catch((error: unknown) => {
      if (error === failure) return 'failed' as const;
      throw error;
    });
}
