/** Verification states of addresses in searches: shown, filtered and sorted on request, and in no other answer. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Storage } from '../../src/platform/index.ts';
import type { AddressStates } from '../../src/service/directory/index.ts';
import { createAddressStates } from '../../src/service/verification/index.ts';
import type { VerificationTables, VerifiedState } from '../../src/service/verification/tables.ts';
import { startTestDirectory, type TestDirectory } from '../directory/start-directory.ts';
import { createDeadline } from '../support/time-scale.ts';
import { statesFreshMs } from './stored-states.ts';

const path = '/provider-directory/v2/providers';
/** In order, with right check digits. */
const npis = ['1000000004', '1000000012', '1000000020', '1000000038', '1000000046', '1000000053'];
const names = ['Ann', 'Ben', 'Cat', 'Dan', 'Eve', 'Fay'];
const found: Readonly<Record<string, VerifiedState>> = {
  Ann: 'trusted',
  Ben: 'expired',
  Cat: 'trusted',
  Dan: 'unreachable',
  Fay: 'discoverable',
};
const addressOf = (name: string): string => `${name}@Direct.${name}.example`;

interface Provider {
  readonly prov_first_name: string;
  readonly verification?: { readonly state: string };
}

/** Rows of which the slots were looked up. */
let lookedUp = 0;

function countingStates(storage: Storage): AddressStates {
  const states = createAddressStates(storage);
  return {
    ...states,
    get isEmpty() {
      return states.isEmpty;
    },
    putSlots(addresses, from, slots) {
      lookedUp += slots.length;
      states.putSlots(addresses, from, slots);
    },
  };
}

describe('searches by verification', () => {
  let directory: TestDirectory;
  let search: (query: string) => Promise<{ names: string; total: string; providers: readonly Provider[] }>;

  async function store(name: string, state: VerifiedState): Promise<void> {
    const row = {
      address_key: addressOf(name).toLowerCase(),
      domain: `direct.${name}.example`.toLowerCase(),
      state,
      reason: state === 'expired' ? 'PKI_EXPIRED' : '',
      checked_at: Date.UTC(2026, 5, 1, 12),
      changed_at: directory.storage.clock.now().getTime(),
    };
    await directory.storage
      .tables<VerificationTables>()
      .insertInto('verification_address')
      .values(row)
      .onConflict((conflict) => conflict.column('address_key').doUpdateSet(row))
      .execute();
  }

  before(async () => {
    directory = await startTestDirectory({ states: countingStates });
    const rows = names.map((name, at) => `${npis[at]},${addressOf(name)},${name},Miller,7870${at}`);
    await directory.load(
      ['prov_npi,serv_direct_addr,prov_first_name,prov_last_name,org_zip', ...rows].join('\n'),
    );
    for (const [name, state] of Object.entries(found)) await store(name, state);
    await directory.storage
      .tables<VerificationTables>()
      .insertInto('verification_processed')
      .values({
        address_key: addressOf('Cat').toLowerCase(),
        month: 202605,
        changed_at: directory.storage.clock.now().getTime(),
      })
      .execute();
    await sleep(statesFreshMs);
    search = async (query) => {
      const { status, body } = await directory.get(`${path}?${query}`);
      assert.equal(status, 200, JSON.stringify(body));
      const { providers, totalCount } = body as unknown as { providers: Provider[]; totalCount: string };
      return { names: providers.map((one) => one.prov_first_name).join(' '), total: totalCount, providers };
    };
  });
  after(() => directory.close());

  test('an answer that does not ask for it keeps its shape', async () => {
    const { providers, total } = await search('prov_last_name=Miller');
    assert.equal(total, '6');
    assert.ok(providers.every((one) => !('verification' in one)));
  });

  test('an empty parameter is as if it were absent', async () => {
    const { providers } = await search('verification=');
    assert.ok(providers.length > 0 && providers.every((one) => !('verification' in one)));
  });

  test('shows state, reason, date and month', async () => {
    const { providers } = await search('verification=show');
    assert.deepEqual(
      providers.map(({ verification }) => verification),
      names.map((name) => ({
        state: found[name] ?? 'unverified',
        reason: name === 'Ben' ? 'PKI_EXPIRED' : '',
        checkedTime: name === 'Eve' ? null : '2026-06-01T12:00:00.000Z',
        lastProcessedMonth: name === 'Cat' ? '2026-05' : null,
      })),
    );
  });

  test('Directory spec: Provider record: the distance stays the last field, and is the same as without the state', async () => {
    const query = 'org_zip=78701&radius=25';
    const [plain, shown] = [await search(query), await search(`${query}&verification=show`)];
    assert.ok(shown.providers.length > 2);
    for (const provider of shown.providers) {
      assert.deepEqual(Object.keys(provider).slice(-2), ['verification', 'distance']);
      assert.ok(provider.verification?.state);
    }
    assert.deepEqual(
      shown.providers.map(({ verification: _state, ...rest }) => rest),
      plain.providers,
    );
  });

  test('filters by states together with other filters, with exact totals and pages', async () => {
    assert.equal((await search('verification=trusted')).names, 'Ann Cat');
    assert.equal((await search('verification=expired,unverified')).names, 'Ben Eve');
    assert.equal((await search('verification=trusted&prov_first_name=C')).names, 'Cat');
    const page = await search('verification=trusted,unreachable&limit=1&offset=1');
    assert.deepEqual([page.names, page.total], ['Cat', '3']);
    const none = await search('verification=trusted&offset=10');
    assert.deepEqual([none.names, none.total], ['', '2']);
  });

  test('sorts by state first, then as asked', async () => {
    const ascending = await search('verification=show&sort_by=verification');
    assert.equal(ascending.names, 'Ann Cat Fay Ben Dan Eve');
    const mixed = await search(
      'verification=show&sort_by=verification,prov_first_name&sort_order=ascending,descending',
    );
    assert.equal(mixed.names, 'Cat Ann Fay Ben Dan Eve');
    const descending = await search('verification=show&sort_by=verification&sort_order=descending&limit=2');
    assert.equal(descending.names, 'Eve Dan');
  });

  test('follows new results and new records', async () => {
    await store('Eve', 'trusted');
    const deadline = createDeadline(20_000);
    while ((await search('verification=trusted')).names !== 'Ann Cat Eve')
      assert.ok(!deadline.isOver(), 'the new state was not shown');
    await directory.directory.provision({ npi: '1234567893', directAddress: 'new@direct.new.example' });
    await directory.directory.refresh();
    assert.equal((await search('verification=unverified')).total, '1');
  });

  test('a new generation comes into service with its addresses looked up', async () => {
    const rows = names.map((name) => `${addressOf(name)},${name}`);
    await sleep(statesFreshMs);
    lookedUp = 0;
    await directory.load(
      ['serv_direct_addr,prov_first_name', ...rows, 'zoe@direct.zoe.example,Zoe'].join('\n'),
    );
    // With Zoe's and the hosted one's.
    const all = names.length + 2;
    assert.equal(lookedUp, all);
    assert.equal((await search('verification=trusted&prov_first_name=A')).names, 'Ann');
    assert.equal(lookedUp, all, 'a search finds them looked up');
  });

  test('refuses unknown states, repetitions and sorting without it', async () => {
    for (const query of [
      'verification=good',
      'verification=trusted&verification=show',
      'sort_by=verification',
      'verification=show&sort_by=prov_npi,verification',
    ])
      assert.equal((await directory.get(`${path}?${query}`)).status, 400, query);
  });
});
