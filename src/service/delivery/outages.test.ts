import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../../test/delivery/start-delivery.ts';
import { silentLog } from '../../core/index.ts';
import { watchOutages, type Outages } from './outages.ts';

const everyMs = 200;

/** All of these wait; `makeDue` is called for those whose server has answered. */
function watch(domains: readonly string[], makeDue: (domain: string) => Promise<void>) {
  const tried: string[] = [];
  const reopen = (domain: string): void => void tried.push(domain);
  const queue = {
    findOutages: async () => domains,
    hasOutage: async () => true,
    makeOneDue: async () => 1,
    makeDue: async (domain: string) => {
      await makeDue(domain);
      return undefined;
    },
  };
  const outages: Outages = watchOutages({ queue, log: silentLog, probeWaitsMs: [everyMs], reopen });
  return { tried, outages };
}

test('destinations that come back at once do not hurry the trials of the others', async () => {
  const ended: string[] = [];
  const domains = Array.from({ length: 320 }, (_, index) => `d${index}.example`);
  const { tried, outages } = watch(domains, async (domain) => void ended.push(domain));
  let ends = 0;
  const end = setInterval(() => {
    for (; ends < tried.length; ends++) outages.end(tried[ends] ?? '');
  }, 1);
  await until(() => ended.length > 0, 'an end');
  await sleep(everyMs / 2);
  clearInterval(end);
  await outages.close();
  assert.ok(tried.length >= 32 && tried.length <= 96, `${tried.length} trials`);
});

test('while what waits for one destination becomes due others are tried, and its next end is not lost', async () => {
  const calls: PromiseWithResolvers<void>[] = [];
  const { tried, outages } = watch(['long.example', 'other.example'], () => {
    const call = Promise.withResolvers<void>();
    calls.push(call);
    return call.promise;
  });
  await until(() => tried.length >= 2, 'the first trials');
  outages.end('long.example');
  await until(() => calls.length === 1, 'the end');
  const before = tried.length;
  await until(() => tried.slice(before).includes('other.example'), 'a trial meanwhile');
  outages.note('long.example');
  outages.end('long.example');
  calls[0]?.resolve();
  await until(() => calls.length === 2, 'the second end');
  calls[1]?.reject(new Error('the database is away'));
  await until(() => calls.length === 3, 'one more after an error');
  calls[2]?.resolve();
  await outages.close();
});
