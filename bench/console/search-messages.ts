/**
 * Measures the first page of the console's searches over many messages, and shows how the engine finds them:
 * `node bench/console/search-messages.ts [--messages 10000000] [--engine sqlite|postgresql] [--file FILE]`. Makes a database in a
 * temporary folder and deletes it; with `--file` (SQLite) it is kept, and used again if it is there.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { silentLog, systemClock } from '../../src/core/index.ts';
import { createVault, openStorage, type Storage } from '../../src/platform/index.ts';
import { createAudit } from '../../src/service/audit/index.ts';
import { createMessagingOperator, type SearchQuery } from '../../src/service/messaging/index.ts';
import { startPostgres } from '../../test/support/postgres.ts';
import { explainStatement, watchStatements } from '../../test/support/statements.ts';
import { fillDatabase, loneFailure, recipientOf, uuidOf } from '../../test/support/many-messages.ts';

const { values: options } = parseArgs({
  options: {
    messages: { type: 'string', default: '10000000' },
    engine: { type: 'string', default: 'sqlite' },
    file: { type: 'string' },
  },
});
const count = Number(options.messages);
const isPostgres = options.engine === 'postgresql';
const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-search-'));
const server = isPostgres ? await startPostgres() : undefined;
const file = options.file ?? path.join(folder, 'openhisp.db');

async function openFilled(): Promise<Storage> {
  const isThere = !isPostgres && existsSync(file);
  const open = () => openStorage(server === undefined ? { file } : { url: server.url });
  let storage = await open();
  await storage.migrate();
  if (isThere) return storage;
  await storage.close();
  const startMs = performance.now();
  await fillDatabase(server === undefined ? { file } : server, count);
  console.log(`${count} messages in ${((performance.now() - startMs) / 1000).toFixed(0)} s\n`);
  storage = await open();
  return storage;
}

const owned: SearchQuery['owned'] = {
  organizationId: 'org-3',
  organizations: new Set(['org-3']),
  domains: new Set(['own3.example']),
  clients: new Set(['client-3', 'client-13', 'client-of-none']),
};
const lone = recipientOf(loneFailure(count)).replace(/^.*@/, '@');
const searches: readonly (readonly [string, Omit<SearchQuery, 'limit'>])[] = [
  ['newest of all', {}],
  ['message id', { text: uuidOf(count - 1000) }],
  ['wire id', { text: `<${uuidOf(count - 1000)}@own0.example>` }],
  ['recipient', { text: recipientOf(5) }],
  ['sender', { text: 's7@own7.example' }],
  ['domain of recipients', { text: '@d7.example' }],
  ['own domain', { text: '@own3.example' }],
  ['unknown address', { text: 'nobody@nowhere.example' }],
  ['last hour', { text: '<-1h' }],
  ['failed', { state: 'failed' }],
  ['reason', { reason: 'untrusted' }],
  ['reason that none has', { reason: 'tls-failed' }],
  ['client', { clientId: 'client-3' }],
  ['client, failed', { clientId: 'client-3', state: 'failed' }],
  ['client, failed: none found', { clientId: 'client-12', state: 'failed' }],
  ['recipient, failed', { text: recipientOf(1000), state: 'failed' }],
  ['sender, failed: none found', { text: 's57@own7.example', state: 'failed' }],
  ['domain, failed: many found', { text: `${recipientOf(3).replace(/^.*@/, '@')}`, state: 'failed' }],
  ['domain, failed: one found', { text: lone, state: 'failed' }],
  ['domain, failed: none found', { text: '@d7.example', state: 'failed' }],
  ['domain, failed, last day: none found', { text: '@d7.example <-1d', state: 'failed' }],
  ['domain, sent: none found', { text: '@d7.example', state: 'sent' }],
  [
    'own domain, expired, reason: none found',
    { text: '@own9.example', state: 'expired', reason: 'untrusted' },
  ],
  ['own domain, failed: none found', { text: '@own9.example', state: 'failed' }],
  ['own domain, sent: none found', { text: '@own9.example', state: 'sent' }],
  ['domain, reason: none found', { text: '@d7.example', reason: 'untrusted' }],
  ['processed', { state: 'processed' }],
  ['one organization', { owned }],
  ['one organization, processed', { owned, state: 'processed' }],
  ['one organization, sent', { owned, state: 'sent' }],
  ['one organization, failed', { owned, state: 'failed' }],
];

try {
  const storage = await openFilled();
  const { watched, take } = watchStatements(storage);
  const vault = createVault(randomBytes(32));
  const audit = createAudit({ storage, vault, clock: systemClock, log: silentLog });
  const operator = createMessagingOperator({
    storage: watched,
    vault,
    clock: systemClock,
    emit: () => {},
    audit,
    trust: { findSigningKeys: async () => [], listAnchors: async () => [] },
    webhooks: { notifyIn: async () => {} },
    operator: 'operator:bench',
  });
  console.log('| Search | Rows | Median | First run |\n|---|---|---|---|');
  const plans: string[] = [];
  for (const [name, query] of searches) {
    const times: number[] = [];
    let found = 0;
    for (let run = 0; run < 5; run++) {
      take();
      const start = performance.now();
      const acting = query.owned === undefined ? operator : operator.within(query.owned);
      found = (await acting.search({ ...query, limit: 50 }, { isRefresh: true })).items.length;
      times.push(performance.now() - start);
    }
    plans.push(`${name}:`);
    for (const statement of take())
      plans.push(...(await explainStatement(storage, statement, isPostgres)).map((line) => `  ${line}`));
    const sorted = times.toSorted((a, b) => a - b);
    console.log(`| ${name} | ${found} | ${sorted[2]?.toFixed(1)} ms | ${times[0]?.toFixed(1)} ms |`);
  }
  console.log(`\n${plans.join('\n')}`);
  await audit.close();
  await storage.close();
} finally {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
}
