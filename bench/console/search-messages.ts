/**
 * Measures the first page of the console's searches over many messages, on SQLite.
 *
 * Usage: `node bench/console/search-messages.ts [MESSAGES]`; 1,000,000 by default. Makes a database in a temporary folder and deletes it.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { silentLog, systemClock } from '../../src/core/index.ts';
import { createVault, openStorage, type StoredValue } from '../../src/platform/index.ts';
import { createAudit } from '../../src/service/audit/index.ts';
import { createMessagingOperator, type SearchQuery } from '../../src/service/messaging/index.ts';

const count = Number(process.argv[2] ?? 1_000_000);
const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-search-'));
const storage = await openStorage({ file: path.join(folder, 'openhisp.db') });
const begin = Date.now() - 30 * 86_400_000;
const step = (30 * 86_400_000) / count;
const clients = 20;
const senders = 2_000;
const recipients = 50_000;
const domains = 500;

/** Of a hundred: few fail, and fewer wait. */
const stateOf = (n: number): readonly [string, string] => {
  const place = n % 1000;
  if (place < 4) return ['failed', 'untrusted'];
  if (place < 8) return ['failed', 'no-certificate'];
  if (place < 10) return ['expired', 'no-processed-mdn'];
  if (place < 11) return ['sent', ''];
  return ['processed', ''];
};
const recipientOf = (n: number): string => {
  const at = (n * 7919) % recipients;
  return `r${at}@d${at % domains}.example`;
};

function* messages(): Iterable<readonly StoredValue[]> {
  for (let n = 0; n < count; n++) {
    const id = `m${String(n).padStart(10, '0')}`;
    const uuid = n === count - 1000 ? '2f0a6c1e-6d1b-4a53-9f0f-3b1f6f0a7c11' : randomUUID();
    const sender = `s${n % senders}@own${n % 10}.example`;
    const at = Math.floor(begin + n * step);
    yield [
      id,
      `client-${n % clients}`,
      uuid,
      `<${uuid}@own${n % 10}.example>`,
      sender,
      sender,
      '',
      '',
      0,
      0,
      0,
      null,
      at,
    ];
  }
}

function* rows(): Iterable<readonly StoredValue[]> {
  for (let n = 0; n < count; n++) {
    const id = `m${String(n).padStart(10, '0')}`;
    const [state, reason] = stateOf(n);
    const at = Math.floor(begin + n * step);
    yield [`r${id}`, id, 0, recipientOf(n), recipientOf(n), state, 0, reason, '', at, null, 1, at];
  }
}

try {
  await storage.migrate();
  const began = performance.now();
  await storage.transaction(async (tx) => {
    await storage.bulkInsert(tx, {
      table: 'message',
      columns: [
        'id',
        'client_id',
        'uuid',
        'wire_id',
        'sender',
        'sender_key',
        'request_hash',
        'response',
        'is_xdm',
        'is_asm_enabled',
        'requests_final_delivery',
        'sealed_details',
        'created_at',
      ],
      rows: messages(),
    });
    await storage.bulkInsert(tx, {
      table: 'message_recipient',
      columns: [
        'id',
        'message_id',
        'position',
        'address',
        'address_key',
        'state',
        'has_dispatched_notice',
        'reason',
        'status_code',
        'status_at',
        'deadline_at',
        'event_count',
        'created_at',
      ],
      rows: rows(),
    });
  });
  console.log(`${count} messages in ${((performance.now() - began) / 1000).toFixed(0)} s`);
  const vault = createVault(randomBytes(32));
  const audit = createAudit({ storage, vault, clock: systemClock, log: silentLog });
  const operator = createMessagingOperator({
    storage,
    vault,
    clock: systemClock,
    log: silentLog,
    audit,
    trust: { findSigningKeys: async () => [], listAnchors: async () => [] },
    webhooks: { notifyIn: async () => {} },
    operator: 'operator:bench',
  });
  const searches: readonly (readonly [string, Omit<SearchQuery, 'limit'>])[] = [
    ['newest of all', {}],
    ['message id', { text: '2f0a6c1e-6d1b-4a53-9f0f-3b1f6f0a7c11' }],
    ['wire id', { text: '<2f0a6c1e-6d1b-4a53-9f0f-3b1f6f0a7c11@own0.example>' }],
    ['recipient', { text: recipientOf(5) }],
    ['sender', { text: 's7@own7.example' }],
    ['recipient domain', { text: '@d7.example' }],
    ['own domain', { text: '@own3.example' }],
    ['unknown address', { text: 'nobody@nowhere.example' }],
    ['last hour', { text: '<-1h' }],
    ['failed', { state: 'failed' }],
    ['reason', { reason: 'untrusted' }],
    ['client', { clientId: 'client-3' }],
    ['client, failed', { clientId: 'client-3', state: 'failed' }],
    ['recipient, failed', { text: recipientOf(1000), state: 'failed' }],
    ['domain, failed', { text: '@d7.example', state: 'failed' }],
    ['domain, failed, last day', { text: '@d7.example <-1d', state: 'failed' }],
    ['processed', { state: 'processed' }],
  ];
  for (const [name, query] of searches) {
    const times: number[] = [];
    let found = 0;
    for (let run = 0; run < 5; run++) {
      const start = performance.now();
      found = (await operator.search({ ...query, limit: 50 }, { isRefresh: true })).items.length;
      times.push(performance.now() - start);
    }
    const sorted = times.toSorted((a, b) => a - b);
    console.log(
      `${name.padEnd(26)} ${String(found).padStart(3)} rows, median ${sorted[2]?.toFixed(1)} ms, first ${times[0]?.toFixed(1)} ms`,
    );
  }
  await audit.close();
} finally {
  await storage.close();
  await rm(folder, { recursive: true, force: true });
}
