import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../../../test/support/fast-check.ts';
import { createParties, type FairItem, type FairLimits, type Party } from './parties.ts';

const limits: FairLimits = {
  slots: 8,
  share: 4,
  slowSlots: 4,
  slowShare: 2,
  groupShare: 4,
  slowGroupShare: 1,
  slowAfterMs: 1000,
  waiting: 1000,
  failuresBeforeBackOff: 100,
  backOffMs: 1000,
  maxBackOffMs: 1000,
};

let ids = 0;
const item = (group: string, party: string): FairItem => ({ id: String(++ids), token: 't', party, group });

/** Starts all that may start, and reports them. */
function startAll(parties: ReturnType<typeof createParties<FairItem>>, now = 0): string[] {
  const started: string[] = [];
  for (let next = parties.next(now); next !== undefined; next = parties.next(now)) {
    parties.begin(next.party, next.item, now);
    started.push(next.party.name);
  }
  return started;
}

test('a group with enough in progress is claimed no further, and forgotten when it is done', () => {
  const parties = createParties<FairItem>(limits);
  for (let count = 0; count < 16; count++) parties.add(item('full', `full${count}`));
  assert.deepEqual(parties.excludedGroups(), ['full']);
  assert.equal(parties.hasRoom('full99', 0, 'full'), false);
  assert.equal(parties.hasRoom('other', 0, 'other'), true);
  for (let next = parties.next(0); next !== undefined; next = parties.next(0)) {
    parties.begin(next.party, next.item, 0);
    parties.end(next.party, next.item.id, 'ok', 1);
  }
  assert.deepEqual(parties.excludedGroups(), []);
  assert.equal(parties.hasRoom('full99', 0, 'full'), true);
});

test('dropped and returned items free their room', () => {
  const parties = createParties<FairItem>({ ...limits, groupShare: 1 });
  const items = [1, 2, 3, 4].map((index) => item('g', `p${index}`));
  for (const one of items) parties.add(one);
  assert.equal(parties.hasRoom('p9', 0, 'g'), false);
  assert.equal(parties.dropWaiting(items[0] as FairItem), true);
  assert.equal(parties.dropWaiting(items[0] as FairItem), false);
  assert.equal(parties.hasRoom('p9', 0, 'g'), true);
  assert.equal(parties.takeAllWaiting().length, 3);
  assert.deepEqual(startAll(parties), []);
});

const lanes: FairLimits = { ...limits, isSlowUntilAnswered: true };
const only = (party: string, bytes = 0): FairItem => ({ id: String(++ids), token: 't', party, bytes });

/** One attempt that is answered at once. */
function answerOne(parties: ReturnType<typeof createParties<FairItem>>, party: string, tookMs = 1): void {
  parties.add(only(party));
  const next = parties.next(0) ?? assert.fail('nothing may start');
  parties.begin(next.party, next.item, 0);
  parties.end(next.party, next.item.id, 'ok', tookMs);
}

test('parties that have not answered yet have one attempt each in the slow slots, and those that have all others', () => {
  const parties = createParties<FairItem>({ ...lanes, slowSlots: 10 });
  answerOne(parties, 'known');
  for (let index = 0; index < 20; index++)
    for (let count = 0; count < 3; count++) parties.add(only(`new${index}`));
  assert.deepEqual(
    startAll(parties),
    Array.from({ length: 10 }, (_, index) => `new${index}`),
  );
  for (let count = 0; count < 5; count++) parties.add(only('known'));
  assert.deepEqual(startAll(parties), ['known', 'known', 'known', 'known']);
});

test('a party that takes long leaves its slots, and is back after an answer in time', () => {
  const parties = createParties<FairItem>({ ...lanes, slots: 2, share: 2, slowSlots: 20, slowShare: 1 });
  for (const name of ['known', 'other']) answerOne(parties, name);
  const begun = [only('known'), only('known')];
  let known: Party<FairItem> | undefined;
  for (const one of begun) {
    parties.add(one);
    known = parties.next(0)?.party ?? assert.fail();
    parties.begin(known, one, 0);
  }
  parties.add(only('other'));
  assert.deepEqual(startAll(parties), []);
  assert.equal(parties.watch(2_000), true);
  assert.deepEqual(startAll(parties, 2_000), ['other']);
  for (let count = 0; count < 4; count++) parties.add(only('known'));
  assert.deepEqual(startAll(parties, 2_000), [], 'two of it are running, more than a slow one may have');
  for (const { id } of begun) parties.end(known ?? assert.fail(), id, 'ok', 3_000);
  const next = parties.next(3_000) ?? assert.fail();
  parties.begin(next.party, next.item, 3_000);
  assert.deepEqual(startAll(parties, 3_000), [], 'its answers took long');
  parties.end(next.party, next.item.id, 'ok', 3_010);
  assert.deepEqual(startAll(parties, 3_010), ['known'], 'in the slots, of which the other has one');
  const { party } = next;
  for (const id of party.running.keys()) parties.end(party, id, 'ok', 3_020);
  for (let one = parties.next(3_020); one !== undefined; one = parties.next(3_020)) {
    parties.begin(one.party, one.item, 3_020);
    parties.end(one.party, one.item.id, 'ok', 3_030);
  }
  parties.add(only('known'));
  assert.notEqual(parties.next(3_030)?.party, party, 'one without work is forgotten when it is no more slow');
});

test('while parties that do not answer fill their half of the memory, only those that do are claimed', () => {
  const parties = createParties<FairItem>({ ...lanes, waiting: 40 });
  answerOne(parties, 'known');
  for (let index = 0; index < 14; index++) parties.add(only(`dead${index}`));
  startAll(parties);
  assert.deepEqual(parties.claimable(0).only, ['known']);
  assert.equal(parties.hasRoom('dead99', 0), true, 'what is stored now does not wait for a backlog');
  for (let index = 20; index < 30; index++) parties.add(only(`dead${index}`));
  assert.equal(parties.hasRoom('dead99', 0), false);
  assert.equal(parties.hasRoom('known', 0), true);
});

test('of a party with enough in memory a claim brings nothing more', () => {
  const parties = createParties<FairItem>(lanes);
  const added = Array.from({ length: 6 }, () => parties.addClaimed(only('dead')));
  assert.deepEqual(added, [true, true, true, true, false, false]);
  assert.deepEqual(parties.claimable(0).excluded, ['dead']);
});

test('large items share their memory, and small ones of the same party do not wait for it', () => {
  const parties = createParties<FairItem>({ ...lanes, maxBytes: 100, slowMaxBytes: 50 });
  for (const name of ['a', 'b']) answerOne(parties, name);
  for (const name of ['a', 'a', 'b', 'b']) parties.add(only(name, 40));
  parties.add(only('a'));
  assert.deepEqual(startAll(parties), ['a', 'b', 'a'], 'one large item of each, and the small one');
  // Of a party that does not answer the memory of those that do is not used, however much it needs.
  for (const name of ['dead', 'mute']) parties.add(only(name, 1_000));
  assert.deepEqual(startAll(parties), ['dead']);
});

for (const [whose, name, bytes, maxBytes, tookMs] of [
  ['others', 'large', 1_000, 100, 1],
  ['its own party', 'a', 40, 100, 1],
  ['its own party, one that is slow', 'a', 40, 1, 2_000],
] as const)
  test(`a large item is not kept out by a steady stream of smaller ones of ${whose}`, () => {
    const parties = createParties<FairItem>({ ...lanes, maxBytes, slowMaxBytes: 101 - maxBytes });
    for (const one of ['a', 'b', 'large']) answerOne(parties, one);
    if (tookMs > lanes.slowAfterMs) for (const one of ['a', 'b']) answerOne(parties, one, tookMs);
    const large = only(name, bytes);
    let running: { party: Party<FairItem>; item: FairItem }[] = [];
    let startedAt: number | undefined;
    // Of each one is always in memory: what was added begins before what runs has ended.
    for (let now = 0; now < 30_000 && startedAt === undefined; now += 500) {
      for (const one of ['a', 'b']) parties.add(only(one, 20));
      if (now === 1_000) parties.add(large);
      const before = running;
      running = [];
      for (let next = parties.next(now); next !== undefined; next = parties.next(now)) {
        parties.begin(next.party, next.item, now);
        running.push(next);
        if (next.item === large) startedAt = now;
      }
      for (const { party, item: ended } of before) parties.end(party, ended.id, 'ok', now);
      if (name === 'a')
        assert.ok(
          running.some(({ party }) => party.name === 'b'),
          'others do not wait for it',
        );
    }
    assert.ok(startedAt !== undefined && startedAt >= 11_000 && startedAt <= 13_000, `at ${startedAt}`);
    for (const { party, item: ended } of running) parties.end(party, ended.id, 'ok', startedAt + 500);
    assert.ok(startAll(parties, startedAt).length >= 2, 'the others go on');
  });

test('memory that an attempt gives back is used before its end', () => {
  const parties = createParties<FairItem>({ ...lanes, slowMaxBytes: 50 });
  parties.add(only('a', 40));
  parties.add(only('b', 40));
  const first = parties.next(0) ?? assert.fail();
  parties.begin(first.party, first.item, 0);
  assert.deepEqual(startAll(parties), []);
  assert.equal(parties.freeBytes(first.party, first.item.id), true);
  assert.equal(parties.freeBytes(first.party, first.item.id), false);
  assert.deepEqual(startAll(parties), ['b']);
});

test('while more parties back off than a statement can name, those that answer are claimed alone', () => {
  const parties = createParties<FairItem>({ ...lanes, failuresBeforeBackOff: 1 });
  answerOne(parties, 'well');
  for (let index = 0; index <= 10_000; index++) {
    parties.add(only(`away${index}`));
    const { party, item: begun } = parties.next(0) ?? assert.fail();
    parties.begin(party, begun, 0);
    parties.end(party, begun.id, 'failing', 0);
  }
  assert.deepEqual(parties.claimable(0).only, ['well']);
  assert.equal(parties.claimable(limits.backOffMs).only, undefined);
});

test('no item is overlooked: each is started once a slot of its lane and its shares are free', () => {
  const step = fc.record({
    does: fc.constantFrom('add', 'add', 'start', 'end', 'watch', 'resume', 'reopen'),
    index: fc.nat(5),
    bytes: fc.constantFrom(0, 0, 20, 40, 60, 200),
    verdict: fc.constantFrom('ok', 'ok', 'failing', 'untried'),
    ms: fc.constantFrom(0, 10, 500, 1_500, 20_000),
  } as const);
  // Rests would need time.
  const some = { ...lanes, failuresBeforeBackOff: Infinity, maxBytes: 100, slowMaxBytes: 50 };
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const parties = createParties<FairItem>(some);
      const running: { party: Party<FairItem>; id: string }[] = [];
      let now = 0;
      let left = 0;
      const startThem = (): void => {
        for (let next = parties.next(now); next !== undefined; next = parties.next(now)) {
          parties.begin(next.party, next.item, now);
          running.push({ party: next.party, id: next.item.id });
          left--;
        }
      };
      for (const { does, index, bytes, verdict, ms } of steps) {
        now += ms;
        if (does === 'add') {
          // Every other party is in a group of three.
          parties.add(
            index % 2 === 0 ? only(`p${index}`, bytes) : { ...item(`g${index % 3}`, `p${index}`), bytes },
          );
          left++;
        } else if (does === 'start') startThem();
        else if (does === 'watch') parties.watch(now);
        else if (does === 'resume') parties.resume(`p${index}`);
        else if (does === 'reopen') parties.reopen(`p${index}`);
        else {
          const [one] = running.splice(index % Math.max(1, running.length), 1);
          if (one !== undefined) parties.end(one.party, one.id, verdict, now);
        }
      }
      for (let count = 0; count < 300 && (left > 0 || running.length > 0); count++) {
        for (const { party, id } of running.splice(0)) parties.end(party, id, 'ok', now);
        startThem();
      }
      assert.equal(left, 0);
    }),
    { numRuns: 300 },
  );
});

test('groups take turns, in each its parties do, and a group has its share', () => {
  const parties = createParties<FairItem>(limits);
  for (const [group, party] of [
    ['g', 'p1'],
    ['g', 'p2'],
    ['h', 'p3'],
  ] as const)
    for (let count = 0; count < 3; count++) parties.add(item(group, party));
  assert.deepEqual(startAll(parties), ['p1', 'p3', 'p2', 'p3', 'p1', 'p3', 'p2']);
});

test('a slow party has more than one attempt once it has answered', () => {
  const parties = createParties<FairItem>(lanes);
  answerOne(parties, 'known');
  parties.add(only('known'));
  const { party, item: begun } = parties.next(0) ?? assert.fail();
  parties.begin(party, begun, 0);
  parties.end(party, begun.id, 'ok', 2_000);
  for (let count = 0; count < 3; count++) parties.add(only('known'));
  assert.deepEqual(startAll(parties, 2_000), ['known', 'known']);
});

test('items of parties that turn slow beyond half of the memory go back, the newest of each', () => {
  const parties = createParties<FairItem>({ ...lanes, waiting: 40 });
  const items = Array.from({ length: 30 }, (_, index) => only(`dead${index % 10}`));
  for (const one of items) parties.add(one);
  assert.deepEqual(
    parties
      .takeExcess()
      .map(({ id }) => id)
      .toSorted(),
    items
      .slice(20)
      .map(({ id }) => id)
      .toSorted(),
  );
  assert.equal(parties.takeExcess().length, 0);
});
