import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../../../test/support/fast-check.ts';
import type { FairItem, FairLimits } from './fair-items.ts';
import { createParties } from './parties.ts';
import { isBackingOff, type Party } from './party.ts';

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
function answerOne(parties: ReturnType<typeof createParties<FairItem>>, party: string): void {
  parties.add(only(party));
  const next = parties.next(0) ?? assert.fail('nothing may start');
  parties.begin(next.party, next.item, 0);
  parties.end(next.party, next.item.id, 'ok', 1);
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

for (const [whose, name, bytes] of [
  ['others', 'large', 1_000],
  ['its own party', 'a', 40],
] as const)
  test(`a large item is not kept out by a steady stream of smaller ones of ${whose}`, () => {
    const parties = createParties<FairItem>({ ...lanes, maxBytes: 100, slowMaxBytes: 50 });
    for (const one of ['a', 'b', 'large']) answerOne(parties, one);
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
    }
    assert.ok(startedAt !== undefined && startedAt >= 11_000 && startedAt <= 13_000, `at ${startedAt}`);
    for (const { party, item: ended } of running) parties.end(party, ended.id, 'ok', startedAt);
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

/** The limits of each kind of worker, small enough that random work meets them. */
const kinds: Readonly<Record<string, FairLimits>> = {
  destinations: {
    slots: 4,
    share: 2,
    slowSlots: 2,
    slowShare: 2,
    isSlowUntilAnswered: true,
    slowAfterMs: 1_000,
    waiting: 1_000,
    failuresBeforeBackOff: 3,
    backOffMs: 2_000,
    maxBackOffMs: 4_000,
  },
  'webhooks of clients': {
    slots: 4,
    share: 2,
    groupShare: 3,
    slowSlots: 2,
    slowShare: 2,
    slowGroupShare: 1,
    slowAfterMs: 1_000,
    waiting: 1_000,
    failuresBeforeBackOff: 3,
    backOffMs: 2_000,
    maxBackOffMs: 4_000,
  },
};

const move = fc.record({
  does: fc.constantFrom('add', 'add', 'add', 'start', 'start', 'end', 'end', 'watch', 'drop', 'return'),
  index: fc.nat(6),
  verdict: fc.constantFrom('ok', 'ok', 'ok', 'failing', 'untried'),
  ms: fc.constantFrom(0, 0, 10, 1_500, 12_000, 70_000),
} as const);

for (const [kind, some] of Object.entries(kinds))
  test(`each lane, party and group stays within its share, in the order of its items, and none is skipped (${kind})`, () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 120, size: 'max' }), (moves) => {
        const model = modelOf(some);
        for (const one of moves) model.run(one);
      }),
      { numRuns: 400 },
    );
  });

interface Running {
  readonly party: Party<FairItem>;
  readonly id: string;
}

/**
 * Random work on parties, and what must hold whenever an attempt begins; written without the code under test.
 */
function modelOf(some: FairLimits) {
  const parties = createParties<FairItem>(some);
  const running: Running[] = [];
  /** By party: its items, oldest first, and the party as it was last seen. */
  const queues = new Map<string, FairItem[]>();
  const seen = new Map<string, Party<FairItem>>();
  /**
   * Who was served while a party, or a group, might have begun in the same lane, since it was served there
   * itself.
   */
  const passedBy = new Map<string, Set<string>>();
  let now = 0;

  const groupOf = (index: number): string | undefined =>
    some.groupShare === undefined ? undefined : `g${index % 3}`;
  const queueOf = (name: string): FairItem[] => queues.get(name) ?? [];
  const runningIn = (counts: (party: Party<FairItem>) => boolean): number =>
    running.filter(({ party }) => counts(party)).length;
  const isSlow = (party: Party<FairItem>): boolean => party.lane === 'slow';

  function shareOf(party: Party<FairItem>): number {
    if (!isSlow(party)) return some.share;
    return some.isSlowUntilAnswered === true && !party.hasAnswered ? 1 : some.slowShare;
  }

  function mayBegin(party: Party<FairItem>): boolean {
    const own = runningIn((other) => other === party);
    if (isBackingOff(party, now) || (party.backOffs > 0 && own > 0) || own >= shareOf(party)) return false;
    if (party.group.name === undefined) return true;
    const most = isSlow(party) ? some.slowGroupShare : some.groupShare;
    return (
      runningIn((other) => other.group === party.group && other.lane === party.lane) < (most ?? Infinity)
    );
  }

  const slotsOf = (lane: Party<FairItem>['lane']): number => (lane === 'slow' ? some.slowSlots : some.slots);

  /**
   * Those that wait and may begin; a party of which nothing is in memory may be forgotten, and is another one
   * when it is back.
   */
  const contenders = (): Party<FairItem>[] => {
    const known = new Set([...seen.values()].flatMap((party) => [party, ...party.group.parties]));
    return [...known].filter(
      (party) =>
        party.waiting.length > 0 && party.waiting.length === queueOf(party.name).length && mayBegin(party),
    );
  };

  /** Who does not wait any more, or may not begin, has been passed by nobody. */
  function forgetPassed(contending = contenders()): void {
    const keys = new Set(contending.flatMap(keysOf));
    for (const key of passedBy.keys()) if (!keys.has(key)) passedBy.delete(key);
  }

  function startOne(): boolean {
    const contending = contenders();
    forgetPassed(contending);
    const next = parties.next(now);
    if (next === undefined) return false;
    const { party, item: begun } = next;
    seen.set(party.name, party);
    const expected = queueOf(party.name).shift();
    assert.equal(begun, expected, 'the oldest item of its party');
    assert.ok(mayBegin(party), `${party.name} has its share`);
    assert.ok(runningIn(({ lane }) => lane === party.lane) < slotsOf(party.lane), `${party.lane} has a slot`);
    notePassed(contending, party);
    parties.begin(party, begun, now);
    running.push({ party, id: begun.id });
    return true;
  }

  const groupNameOf = ({ name, group }: Party<FairItem>): string => group.name ?? name;
  const keyOfParty = (party: Party<FairItem>): string => `${party.lane} ${groupNameOf(party)} ${party.name}`;
  const keyOfGroup = (party: Party<FairItem>): string => `${party.lane} ${groupNameOf(party)}`;
  const keysOf = (party: Party<FairItem>): string[] => [keyOfParty(party), keyOfGroup(party)];

  /** Groups take turns, and in each its parties do. */
  function notePassed(contending: readonly Party<FairItem>[], served: Party<FairItem>): void {
    for (const key of keysOf(served)) passedBy.delete(key);
    const passed = new Map<string, string>();
    for (const party of contending) {
      if (party === served || party.lane !== served.lane) continue;
      if (party.group === served.group) passed.set(keyOfParty(party), served.name);
      else passed.set(keyOfGroup(party), groupNameOf(served));
    }
    for (const [key, by] of passed) {
      const before = passedBy.get(key) ?? new Set<string>();
      assert.ok(!before.has(by), `${by} was served twice while ${key} waited`);
      passedBy.set(key, before.add(by));
    }
  }

  function take(from: Running[], index: number): Running | undefined {
    return from.splice(index % Math.max(1, from.length), 1)[0];
  }

  return {
    run({
      does,
      index,
      verdict,
      ms,
    }: {
      does: string;
      index: number;
      verdict: 'ok' | 'failing' | 'untried';
      ms: number;
    }): void {
      const before = now;
      now += ms;
      // The worker watches often, and so finds a back-off that has ended.
      if ([...seen.values()].some((party) => isBackingOff(party, before) && !isBackingOff(party, now)))
        parties.watch(now);
      const name = `p${index}`;
      if (does === 'add') {
        const group = groupOf(index);
        const added = group === undefined ? only(name) : item(group, name);
        parties.add(added);
        queues.set(name, [...queueOf(name), added]);
      } else if (does === 'start') while (startOne());
      else if (does === 'watch') parties.watch(now);
      else if (does === 'drop') {
        const dropped = queueOf(name).pop();
        if (dropped !== undefined) assert.ok(parties.dropWaiting(dropped));
        forgetPassed();
      } else if (does === 'return') {
        const returned = new Set(parties.takeExcess());
        for (const [party, queue] of queues)
          queues.set(
            party,
            queue.filter((one) => !returned.has(one)),
          );
        forgetPassed();
      } else {
        const one = take(running, index);
        if (one === undefined) return;
        parties.end(one.party, one.id, verdict, now);
        if (isBackingOff(one.party, now)) {
          parties.takeWaiting(one.party);
          queues.set(one.party.name, []);
          forgetPassed();
        }
      }
    },
  };
}
