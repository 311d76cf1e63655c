import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { FairItem, FairLimits } from './fair-items.ts';
import { createParties, type Party } from './parties.ts';

const limits: FairLimits = {
  slots: 8,
  share: 4,
  slowSlots: 4,
  slowShare: 2,
  groupShare: 4,
  slowGroupShare: 1,
  slowAfterMs: 1000,
  waiting: 1000,
  failuresBeforeRest: 100,
  restMs: 1000,
  maxRestMs: 1000,
};

let ids = 0;
const item = (group: string, party: string): FairItem => ({ id: String(++ids), token: 't', party, group });

/** Starts all that may start, and reports them. */
function startAll(parties: ReturnType<typeof createParties<FairItem>>, now = 0): string[] {
  const started: string[] = [];
  for (let next = parties.next(now); next !== undefined; next = parties.next(now)) {
    parties.begin(next.party, next.item.id, now);
    started.push(next.party.name);
  }
  return started;
}

test('all parties of a group together use no more than its share', () => {
  const parties = createParties<FairItem>(limits);
  for (let index = 0; index < 15; index++) parties.add(item('greedy', `greedy${index}`));
  assert.equal(startAll(parties).length, 4);
  parties.add(item('other', 'other0'));
  assert.deepEqual(startAll(parties), ['other0']);
});

test('groups take turns, however many parties each has', () => {
  const parties = createParties<FairItem>({ ...limits, slots: 4 });
  for (let index = 0; index < 10; index++) parties.add(item('many', `many${index}`));
  for (let count = 0; count < 4; count++) parties.add(item('one', 'one'));
  assert.deepEqual(startAll(parties), ['many0', 'one', 'many1', 'one']);
});

test('slow parties of one group use few of the slow slots, and leave the ordinary ones', () => {
  const parties = createParties<FairItem>(limits);
  for (let count = 0; count < 4; count++)
    for (let index = 0; index < 4; index++) parties.add(item('slow', `slow${index}`));
  assert.equal(startAll(parties).length, 4);
  assert.equal(parties.watch(2000), true);
  // Four are running in slow slots by now, more than the group may begin.
  assert.deepEqual(startAll(parties, 2000), []);
  for (let index = 0; index < 8; index++) parties.add(item(`g${index}`, `p${index}`));
  assert.equal(startAll(parties, 2000).length, 8);
});

test('a group with enough in progress is claimed no further, and forgotten when it is done', () => {
  const parties = createParties<FairItem>(limits);
  for (let count = 0; count < 16; count++) parties.add(item('full', `full${count}`));
  assert.deepEqual(parties.excludedGroups(), ['full']);
  assert.equal(parties.hasRoom('full99', 0, 'full'), false);
  assert.equal(parties.hasRoom('other', 0, 'other'), true);
  for (let next = parties.next(0); next !== undefined; next = parties.next(0)) {
    parties.begin(next.party, next.item.id, 0);
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

const lanes: FairLimits = {
  ...limits,
  newSlots: 8,
  silent: { afterMs: 10_000, slots: 3 },
};
const only = (party: string): FairItem => ({ id: String(++ids), token: 't', party });

/** Begins an attempt of a party, which has answered before if it is `known`. */
function beginOne(
  parties: ReturnType<typeof createParties<FairItem>>,
  party: string,
  past: 'new' | 'known' = 'new',
) {
  if (past === 'known') answerOne(parties, party);
  const first = only(party);
  parties.add(first);
  const next = parties.next(0) ?? assert.fail();
  parties.begin(next.party, first.id, 0);
  return { party: next.party, id: first.id };
}

/** One attempt that is answered at once. */
function answerOne(parties: ReturnType<typeof createParties<FairItem>>, party: string): void {
  parties.add(only(party));
  const next = parties.next(0);
  if (next === undefined) throw new Error('nothing may start');
  parties.begin(next.party, next.item.id, 0);
  parties.end(next.party, next.item.id, 'ok', 1);
}

test('parties that have not answered yet have one attempt each, in separate slots', () => {
  const parties = createParties<FairItem>(lanes);
  answerOne(parties, 'known');
  for (let index = 0; index < 20; index++)
    for (let count = 0; count < 3; count++) parties.add(only(`new${index}`));
  assert.deepEqual(
    startAll(parties),
    Array.from({ length: 8 }, (_, index) => `new${index}`),
  );
  for (let count = 0; count < 5; count++) parties.add(only('known'));
  assert.deepEqual(startAll(parties), ['known', 'known', 'known', 'known']);
});

test('parties that never answered leave the new slots for silent ones, up to a number, and take none of the slow ones', () => {
  const parties = createParties<FairItem>(lanes);
  answerOne(parties, 'late');
  for (let index = 0; index < 8; index++)
    for (let count = 0; count < 3; count++) parties.add(only(`silent${index}`));
  assert.equal(startAll(parties).length, 8);
  assert.equal(parties.watch(2000), true);
  for (let index = 0; index < 4; index++) parties.add(only(`new${index}`));
  assert.deepEqual(
    startAll(parties, 2000),
    ['new0', 'new1', 'new2'],
    'none of the silent ones has a second attempt',
  );
  assert.equal(parties.watch(4000), false, 'no silent slot is free');
  const late = beginOne(parties, 'late');
  parties.end(late.party, late.id, 'ok', 2000);
  assert.equal(late.party.lane, 'slow');
  for (let count = 0; count < 4; count++) parties.add(only('late'));
  assert.deepEqual(startAll(parties, 4000), ['late', 'late']);
  assert.equal(parties.takeExcess().length, 6, 'what waits for silent parties leaves the memory');
  assert.equal(parties.hasRoom('silent0', 4000), false);
});

test('slow parties without work take nothing of the memory that those with work share', () => {
  const parties = createParties<FairItem>(lanes);
  for (let index = 0; index < 600; index++) {
    const { party, id } = beginOne(parties, `idle${index}`);
    parties.end(party, id, 'failing', 0);
  }
  const { party, id } = beginOne(parties, 'slow', 'known');
  for (let count = 0; count < 7; count++) parties.add(only('slow'));
  assert.equal(parties.watch(2000), true);
  assert.equal(party.lane, 'slow');
  assert.deepEqual(parties.takeExcess(), []);
  parties.end(party, id, 'ok', 2000);
  assert.deepEqual(startAll(parties, 2000), ['slow', 'slow']);
});

test('however many slow parties have work, what waits for them fits into half of the memory', () => {
  const parties = createParties<FairItem>({ ...limits, groupShare: Infinity, waiting: 10 });
  for (let index = 0; index < 4; index++) parties.add(item('g', `slow${index}`));
  startAll(parties);
  for (let index = 0; index < 4; index++)
    for (let count = 0; count < 2; count++) parties.add(item('g', `slow${index}`));
  assert.equal(parties.watch(2000), true);
  assert.equal(parties.takeExcess().length, 4, 'one of each is left');
  for (let index = 4; index < 8; index++) parties.add(item('h', `slow${index}`));
  startAll(parties, 2000);
  for (let index = 4; index < 8; index++) parties.add(item('h', `slow${index}`));
  assert.equal(parties.watch(4000), true);
  assert.equal(parties.takeExcess().length, 3, 'five are left');
});

test('known parties that stay silent leave the slow slots to slow parties, up to a number', () => {
  const parties = createParties<FairItem>(lanes);
  const begun = Array.from({ length: 4 }, (_, index) => beginOne(parties, `silent${index}`, 'known'));
  assert.equal(parties.watch(2000), true);
  const slow = beginOne(parties, 'slow', 'known');
  parties.end(slow.party, slow.id, 'ok', 2000);
  parties.add(only('slow'));
  assert.deepEqual(startAll(parties, 2000), [], 'the slow slots are taken');
  assert.equal(parties.watch(11_000), true);
  assert.deepEqual(
    begun.map(({ party }) => party.lane),
    ['silent', 'silent', 'silent', 'slow'],
  );
  assert.deepEqual(startAll(parties, 11_000), ['slow']);
});

test('a silent party is tried from the silent slots until it answers', () => {
  const parties = createParties<FairItem>({ ...lanes, failuresBeforeRest: 100 });
  const { party, id: first } = beginOne(parties, 'p');
  const [second, third] = [only('p'), only('p')];
  parties.watch(11_000);
  parties.end(party, first, 'failing', 12_000);
  assert.equal(party.lane, 'silent');
  parties.add(second);
  parties.add(third);
  assert.deepEqual(startAll(parties, 12_000), ['p']);
  parties.end(party, second.id, 'ok', 12_100);
  assert.equal(party.lane, 'ordinary');
  assert.deepEqual(startAll(parties, 12_100), ['p']);
});

test('a party that has failed after a long silence takes no slot of others until it answers, however long ago', () => {
  const parties = createParties<FairItem>(lanes);
  const { party, id: first } = beginOne(parties, 'dead');
  parties.watch(2000);
  parties.end(party, first, 'failing', 6000);
  const hourLater = 3_600_000;
  parties.watch(hourLater);
  for (let count = 0; count < 4; count++) parties.add(only('dead'));
  assert.deepEqual(startAll(parties, hourLater), ['dead'], 'one attempt, not a share');
  assert.equal(party.lane, 'silent');
  const [id = ''] = party.running.keys();
  parties.end(party, id, 'ok', hourLater + 10);
  assert.deepEqual(startAll(parties, hourLater + 10), ['dead', 'dead', 'dead']);
});

test('half of the silent slots are left to attempts that turn silent', () => {
  const parties = createParties<FairItem>({ ...lanes, silent: { afterMs: 10_000, slots: 8 } });
  const dead = Array.from({ length: 8 }, (_, index) => only(`dead${index}`));
  for (const item of dead) parties.add(item);
  const begun = dead.map(({ id }) => {
    const next = parties.next(0) ?? assert.fail();
    parties.begin(next.party, id, 0);
    return next.party;
  });
  for (const [index, party] of begun.entries()) parties.end(party, dead[index]?.id ?? '', 'failing', 6000);
  for (const { party } of dead) parties.add(only(party));
  assert.equal(startAll(parties, 6000).length, 4);
});

test('an attempt that says nothing about its party changes nothing', () => {
  const parties = createParties<FairItem>(lanes);
  const { party, id } = beginOne(parties, 'held');
  parties.end(party, id, 'untried', 1);
  for (let count = 0; count < 3; count++) parties.add(only('held'));
  assert.deepEqual(startAll(parties, 1), ['held'], 'it has not answered yet');
});

test('parties that have not answered fill a quarter of the memory, claims half of that; then only those that have are claimed', () => {
  const parties = createParties<FairItem>({ ...lanes, waiting: 64 });
  for (const name of ['known', 'full']) answerOne(parties, name);
  assert.deepEqual(parties.claimable(0), { limit: 8, excluded: [] });
  for (let count = 0; count < 8; count++) parties.add(only(`new${count}`));
  assert.deepEqual(parties.claimable(0).only?.toSorted(), ['full', 'known']);
  assert.equal(parties.hasRoom('another', 0), true, 'one that is stored now');
  for (let count = 8; count < 16; count++) parties.add(only(`new${count}`));
  for (let count = 0; count < 16; count++) parties.add(only('full'));
  const { limit, only: named } = parties.claimable(0);
  assert.deepEqual([limit, named], [20, ['known']]);
  assert.equal(parties.hasRoom('another', 0), false);
  assert.equal(parties.hasRoom('known', 0), true);
  assert.equal(startAll(parties).length, 12, 'eight new ones and four of the full one');
  assert.equal(parties.hasRoom('another', 0), true);
});

test('of parties that have not answered claims bring one item each, so that all new slots are used', () => {
  const parties = createParties<FairItem>({ ...lanes, waiting: 32 });
  for (let index = 0; index < 8; index++)
    for (let count = 0; count < 4; count++)
      assert.equal(parties.addClaimed(only(`new${index}`)), count === 0, `${index}/${count}`);
  assert.equal(startAll(parties).length, 8);
  assert.equal(parties.addClaimed(only('new0')), false);
  assert.equal(parties.claimable(0).limit, 4);
  assert.equal(parties.claimable(0).excluded.length, 8);
});

test("a new party whose only item in memory is another node's by now is claimed again, also while an attempt waits for memory", () => {
  const parties = createParties<FairItem>({ ...limits, newSlots: 4 });
  const [first, second] = [item('g', 'new'), item('g', 'new')];
  parties.add(first);
  const next = parties.next(0);
  assert.ok(next);
  parties.begin(next.party, first.id, 0);
  parties.pause(next.party, first.id);
  parties.add(second);
  assert.equal(parties.addClaimed(item('g', 'new')), false);
  assert.deepEqual(parties.claimable(0).excluded, ['new']);
  assert.equal(parties.dropWaiting(second), true);
  assert.deepEqual(parties.claimable(0).excluded, []);
});

test('an attempt that waits for something else takes no slot, and does not make its party slow', () => {
  const parties = createParties<FairItem>(lanes);
  const { party, id } = beginOne(parties, 'p');
  parties.add(only('p'));
  assert.deepEqual(startAll(parties), [], 'one attempt until it answers');
  parties.pause(party, id);
  assert.deepEqual(startAll(parties), ['p']);
  const [other = ''] = party.running.keys();
  parties.end(party, other, 'ok', 10);
  const hours = 4 * 3_600_000;
  assert.equal(parties.watch(hours), false);
  assert.equal(party.lane, 'ordinary');
  parties.begin(party, id, hours);
  assert.equal(parties.watch(hours + 500), false);
  parties.end(party, id, 'ok', hours + 500);
  parties.add(only('p'));
  assert.equal(
    parties.next(hours + 500)?.party === party,
    false,
    'it was forgotten, with nothing in progress',
  );
});

for (const [name, some] of Object.entries({ 'with slots for new ones': lanes, 'without them': limits }))
  test(`a party without work is forgotten two hours after its last failure, not before (${name})`, () => {
    const parties = createParties<FairItem>({ ...some, failuresBeforeRest: 2 });
    const failOnce = (party: string, now: number): readonly string[] => {
      parties.add(only(party));
      const next = parties.next(now) ?? assert.fail();
      parties.begin(next.party, next.item.id, now);
      parties.end(next.party, next.item.id, 'failing', now);
      return parties.resting(now).map((one) => one.party);
    };
    failOnce('recent', 0);
    failOnce('old', 0);
    const twoHours = 2 * 3_600_000;
    parties.watch(twoHours);
    assert.deepEqual(failOnce('recent', twoHours), ['recent'], 'its second failure');
    parties.watch(twoHours + 1001);
    assert.deepEqual(failOnce('old', twoHours + 1001), [], 'its first one');
    assert.deepEqual(failOnce('old', twoHours + 1002), ['old']);
  });

test('while more parties rest than a statement can name, those that answer are claimed alone', () => {
  const parties = createParties<FairItem>({ ...lanes, failuresBeforeRest: 1 });
  answerOne(parties, 'well');
  for (let index = 0; index <= 10_000; index++) {
    if (index === 10_000) assert.equal(parties.claimable(0).excluded.length, 10_000);
    const { party, id } = beginOne(parties, `away${index}`);
    parties.end(party, id, 'failing', 0);
  }
  assert.deepEqual(parties.claimable(0), { limit: 20, excluded: [], only: ['well'] });
  assert.deepEqual(parties.claimable(limits.restMs).excluded, []);
});

test('no item is overlooked: each is started once a slot of its lane and its shares are free', () => {
  const step = fc.record({
    does: fc.constantFrom('add', 'add', 'start', 'end', 'watch', 'resume', 'reopen'),
    index: fc.nat(5),
    verdict: fc.constantFrom('ok', 'ok', 'failing', 'untried'),
    ms: fc.constantFrom(0, 10, 500, 1_500, 20_000),
  } as const);
  // Rests would need time.
  const some = { ...lanes, failuresBeforeRest: Infinity };
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const parties = createParties<FairItem>(some);
      const running: { party: Party<FairItem>; id: string }[] = [];
      let now = 0;
      let left = 0;
      const startThem = (): void => {
        for (let next = parties.next(now); next !== undefined; next = parties.next(now)) {
          parties.begin(next.party, next.item.id, now);
          running.push({ party: next.party, id: next.item.id });
          left--;
        }
      };
      for (const { does, index, verdict, ms } of steps) {
        now += ms;
        if (does === 'add') {
          // Every other party is in a group of three.
          parties.add(index % 2 === 0 ? only(`p${index}`) : item(`g${index % 3}`, `p${index}`));
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
  'destinations, with slots for new and silent ones': {
    slots: 4,
    share: 2,
    slowSlots: 2,
    slowShare: 2,
    newSlots: 3,
    silent: { afterMs: 10_000, slots: 4 },
    slowAfterMs: 1_000,
    waiting: 1_000,
    failuresBeforeRest: 3,
    restMs: 2_000,
    maxRestMs: 4_000,
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
    failuresBeforeRest: 3,
    restMs: 2_000,
    maxRestMs: 4_000,
  },
};

const move = fc.record({
  does: fc.constantFrom(
    'add',
    'add',
    'add',
    'start',
    'start',
    'end',
    'end',
    'pause',
    'begin',
    'watch',
    'drop',
    'return',
  ),
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

/** Random work on parties, and what must hold whenever an attempt begins; written without the code under test. */
function modelOf(some: FairLimits) {
  const parties = createParties<FairItem>(some);
  const running: Running[] = [];
  const paused: Running[] = [];
  /** By party: its items, oldest first, and the party as it was last seen. */
  const queues = new Map<string, FairItem[]>();
  const seen = new Map<string, Party<FairItem>>();
  /** Who was served while a party, or a group, might have begun in the same lane, since it was served there itself. */
  const passedBy = new Map<string, Set<string>>();
  let now = 0;

  const groupOf = (index: number): string | undefined =>
    some.groupShare === undefined ? undefined : `g${index % 3}`;
  const queueOf = (name: string): FairItem[] => queues.get(name) ?? [];
  const runningIn = (counts: (party: Party<FairItem>) => boolean): number =>
    running.filter(({ party }) => counts(party)).length;
  const isCautious = (party: Party<FairItem>): boolean => party.lane === 'slow' || party.lane === 'silent';

  function shareOf(party: Party<FairItem>): number {
    if (party.lane === 'new' || party.lane === 'silent') return 1;
    if (party.lane === 'ordinary') return some.share;
    return some.silent !== undefined && !party.hasAnswered ? 1 : some.slowShare;
  }

  function mayBegin(party: Party<FairItem>): boolean {
    const own = runningIn((other) => other === party);
    if (party.restUntil > now || (party.rests > 0 && own > 0) || own >= shareOf(party)) return false;
    if (party.group.name === undefined) return true;
    const most = isCautious(party) ? some.slowGroupShare : some.groupShare;
    return (
      runningIn((other) => other.group === party.group && other.lane === party.lane) < (most ?? Infinity)
    );
  }

  const slotsOf = (lane: Party<FairItem>['lane']): number =>
    ({
      ordinary: some.slots,
      new: some.newSlots ?? 0,
      slow: some.slowSlots,
      silent: Math.ceil((some.silent?.slots ?? 0) / 2),
    })[lane];

  /** Those that wait and may begin; a party of which nothing is in memory may be forgotten, and is another one when it is back. */
  const contenders = (): Party<FairItem>[] => {
    const known = new Set([...seen.values()].flatMap((party) => [party, ...party.group.parties]));
    return [...known].filter(
      (party) =>
        party.waiting.length > 0 && party.waiting.length === queueOf(party.name).length && mayBegin(party),
    );
  };

  function startOne(): boolean {
    const contending = contenders();
    const keys = new Set(contending.flatMap(keysOf));
    for (const key of passedBy.keys()) if (!keys.has(key)) passedBy.delete(key);
    const next = parties.next(now);
    if (next === undefined) return false;
    const { party, item: begun } = next;
    seen.set(party.name, party);
    const expected = queueOf(party.name).shift();
    assert.equal(begun, expected, 'the oldest item of its party');
    assert.ok(mayBegin(party), `${party.name} has its share`);
    assert.ok(runningIn(({ lane }) => lane === party.lane) < slotsOf(party.lane), `${party.lane} has a slot`);
    notePassed(contending, party);
    parties.begin(party, begun.id, now);
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
      now += ms;
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
      } else if (does === 'return') {
        const returned = new Set(parties.takeExcess());
        for (const [party, queue] of queues)
          queues.set(
            party,
            queue.filter((one) => !returned.has(one)),
          );
      } else if (does === 'pause') {
        const one = take(running, index);
        if (one === undefined) return;
        parties.pause(one.party, one.id);
        paused.push(one);
      } else if (does === 'begin') {
        const one = take(paused, index);
        if (one === undefined) return;
        parties.begin(one.party, one.id, now);
        running.push(one);
      } else {
        const one = take(running, index);
        if (one === undefined) return;
        parties.end(one.party, one.id, verdict, now);
        if (parties.isResting(one.party, now)) {
          parties.takeWaiting(one.party);
          queues.set(one.party.name, []);
        }
      }
    },
  };
}
