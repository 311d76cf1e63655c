import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../../test/support/fast-check.ts';
import { createBudget, type Reservation } from './budget.ts';
import { createByteCollector } from './byte-collector.ts';
import { createRateWatch } from './rate-watch.ts';

function held(result: ReturnType<ReturnType<typeof createBudget>['reserve']>): Reservation {
  assert.ok(typeof result !== 'string', 'refused');
  return result;
}

test('a budget says whether the caller or everybody has had their share, and takes nothing then', () => {
  const budget = createBudget({ total: 10, perCaller: 6 });
  const first = held(budget.reserve('a', 4));
  assert.equal(budget.reserve('a', 3), 'caller');
  held(budget.reserve('b', 5));
  assert.equal(budget.reserve('c', 2), 'total');
  assert.equal(budget.used, 9);
  assert.equal(first.grow(2), 'total');
  assert.equal(first.grow(1), undefined);
  assert.equal(budget.used, 10);
  first.release();
  first.release();
  assert.equal(budget.used, 5);
  held(budget.reserve('c', 5));
});

test('the first caller is served regardless of the amount', () => {
  const budget = createBudget({ total: 10, perCaller: 6 });
  const large = held(budget.reserve('a', 100));
  assert.equal(large.grow(100), undefined);
  assert.equal(budget.reserve('b', 1), 'total');
  large.release();
  held(budget.reserve('b', 7));
});

test('small amounts have an eighth for themselves when large ones hold the rest, and no more of it when they have grown', () => {
  const budget = createBudget({ total: 80, smallAmount: 4 });
  const large = held(budget.reserve('a', 100));
  assert.equal(budget.reserve('b', 5), 'total');
  const small = [4, 3].map((amount) => held(budget.reserve('b', amount)));
  assert.equal(budget.reserve('b', 4), 'total');
  assert.equal(small[0]?.grow(1), 'total');
  assert.equal(budget.used, 107);
  small[1]?.release();
  assert.equal(small[0]?.grow(-2), undefined);
  held(budget.reserve('b', 4));
  large.release();
  assert.equal(budget.used, 6);
  assert.equal(small[0]?.grow(70), undefined);
});

test('a reservation that is refused more keeps what it has, also when small ones exceed the total', () => {
  const budget = createBudget({ total: 80, smallAmount: 4 });
  const [large, ...small] = [76, 4, 4].map((amount, index) => held(budget.reserve(`c${index}`, amount)));
  assert.equal(large?.grow(1), 'total');
  assert.equal(budget.used, 84);
  for (const one of [large, ...small]) one?.release();
  assert.equal(budget.used, 0);
});

test('after any reservations and releases a budget knows the total', () => {
  const step = fc.record({
    caller: fc.constantFrom('a', 'b', 'c'),
    amount: fc.integer({ min: 1, max: 8 }),
    what: fc.constantFrom('reserve', 'grow', 'release'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.constantFrom(0, 2), (steps, smallAmount) => {
      const budget = createBudget({ total: 20, perCaller: 10, smallAmount });
      const open: { caller: string; reservation: Reservation }[] = [];
      for (const { caller, amount, what } of steps) {
        if (what === 'release') open.shift()?.reservation.release();
        else if (what === 'grow') open[0]?.reservation.grow(amount);
        else {
          const result = budget.reserve(caller, amount);
          if (typeof result !== 'string') open.push({ caller, reservation: result });
        }
        const amounts = open.map(({ reservation }) => reservation.amount);
        assert.equal(
          budget.used,
          amounts.reduce((sum, one) => sum + one, 0),
        );
        assert.ok(open.length === 1 || smallAmount > 0 || budget.used <= 20);
      }
      for (const { reservation } of open) reservation.release();
      assert.equal(budget.used, 0);
      // What is left for small ones is all there again.
      held(budget.reserve('a', 20));
      if (smallAmount > 0) held(budget.reserve('b', 2));
    }),
  );
});

test('a collector returns the bytes in order, in separate memory, for any expected size', () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 200_000 }), { maxLength: 5 }),
      fc.integer({ min: 0, max: 300_000 }),
      (chunks, expected) => {
        const collector = createByteCollector(expected, 250_000);
        for (const chunk of chunks) {
          const capacity = collector.capacityFor(chunk.length);
          collector.add(chunk);
          assert.equal(collector.capacity, capacity);
        }
        const whole = Buffer.concat(chunks);
        assert.deepEqual(collector.peek(), whole);
        const taken = collector.take();
        assert.deepEqual(taken, whole);
        assert.ok(taken.buffer.byteLength <= Math.max(64, whole.length / 0.9));
        assert.equal(collector.length, 0);
      },
    ),
    { numRuns: 50 },
  );
});

test('a collector that was told some bytes too few of a large content takes a quarter more, not twice', () => {
  const collector = createByteCollector(36_000_000);
  assert.equal(collector.capacityFor(36_000_002), 45_000_000);
});

test('a collector releases dropped bytes at once', () => {
  const collector = createByteCollector(1000);
  collector.add(Buffer.alloc(10));
  const view = collector.peek();
  collector.drop();
  assert.equal(view.buffer.byteLength, 0);
  assert.deepEqual([collector.length, collector.capacity], [0, 0]);
});

test('ends a transfer that is too slow once, and no transfer that is fast enough or has ended', async () => {
  const watch = createRateWatch({ minBytesPerSecond: 1000, windowMs: 100 });
  let fast = 0;
  const feeding = setInterval(() => (fast += 1000), 10);
  const slow: string[] = [];
  watch.watch(
    () => fast,
    () => slow.push('fast'),
  );
  const end = watch.watch(
    () => 0,
    () => slow.push('ended'),
  );
  end();
  await new Promise<void>((resolve) => {
    watch.watch(
      () => 0,
      () => {
        slow.push('slow');
        resolve();
      },
    );
  });
  clearInterval(feeding);
  assert.deepEqual(slow, ['slow']);
});
