/** A nation in small: every state is reached, exactly where it must be, and no operator's name servers are flooded. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { needsPrograms } from '../support/processes.ts';
import { openTestStorage } from '../support/storage.ts';
import { verifyNation } from './national.ts';

test(
  'two hundred domains of five operators: every state, few questions, a bounded rate',
  needsPrograms('named', 'slapd', 'slapadd'),
  async () => {
    const storage = await openTestStorage();
    const figures = await verifyNation(storage, {
      domains: 200,
      largest: 400,
      domainsPerOperator: 40,
      changes: { slots: 16, rates: { total: 10_000, perServer: 50, perDomain: 10_000, judged: 1_000_000 } },
      withinMs: 120_000,
    });
    await storage.close();
    assert.deepEqual(figures.states, figures.expected);
    assert.equal(Object.keys(figures.states).length, 5);
    // NS at the domain and at its zone, CERT at the domain; SRV and addresses where there is none, samples where there is one.
    assert.ok(figures.questions / 200 < 9, `${figures.questions / 200} questions per domain`);
    // Questions about who answers are asked before it is known.
    assert.ok(figures.busiestSecond <= 50 + 120, `${figures.busiestSecond} in a second`);
  },
);
