/** Every list that is read page by page: each row exactly once, whatever comes in meanwhile, and no cursor but its own. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import { startTestConsole, type Answer, type TestConsole } from './start-console.ts';

interface Row {
  readonly [name: string]: unknown;
}

/** One list: how its rows are named, and how more of them come in. */
interface List {
  readonly target: string;
  readonly idOf: (row: Row) => string;
  /** Adds rows, as the world does while somebody reads. */
  readonly add: (count: number) => Promise<void>;
}

describe('paging', () => {
  let console_: TestConsole;
  let cookie: string;
  const lists = new Map<string, List>();
  let counter = 0;

  const get = (target: string): Promise<Answer> => console_.ask('GET', `/admin/v1${target}`, { cookie });
  const pageOf = async (target: string, cursor: string | null, limit = 3) => {
    const query = `${target.includes('?') ? '&' : '?'}limit=${limit}`;
    const more = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const answer = await get(`${target}${query}${more}`);
    assert.equal(answer.status, 200, answer.text);
    return answer.body as unknown as { result: readonly Row[]; next: string | null };
  };

  /** Inserts a row past the services: only what the lists read is needed. */
  const insert = async (table: string, row: Readonly<Record<string, unknown>>): Promise<void> =>
    void (await console_.hisp.storage
      .tables<Record<string, Record<string, unknown>>>()
      .insertInto(table)
      .values(row)
      .execute());

  const times = async (count: number, work: (index: number) => Promise<void>): Promise<void> => {
    for (let index = 0; index < count; index++) await work(++counter);
  };

  // Ids that begin with the time, as the program makes them, several at the same moment.
  const orderedId = (index: number): string => `018f0000-0000-7000-8000-${String(index).padStart(12, '0')}`;
  const timeOf = (index: number): number => Date.parse('2026-06-03T07:00:00Z') + Math.floor(index / 2);

  before(async () => {
    console_ = await startTestConsole();
    cookie = await console_.signIn('reader', 'operator');
    const { audit, trust } = console_.hisp;
    const audited = (action: string, objects: Record<string, string>) =>
      audit.recordNow({ action, outcome: 'ok', objects });
    const spool = (index: number) =>
      insert('inbound_mail', {
        id: randomUUID(),
        mail_from: `sender${index}@direct.paging.example`,
        recipients: JSON.stringify(['ann@direct.own.example']),
        sealed_mail: Buffer.alloc(1),
        content_hash: randomUUID(),
        network: '192.0.2.0/24',
        sender_domain: 'direct.paging.example',
        party: 'direct.paging.example',
        needs_fetch: 0,
        state: 'dead-letter',
        attempts: 9,
        next_attempt_at: 0,
        lease_token: null,
        lease_until: 0,
        last_error: 'INTERNAL',
        received_at: timeOf(index),
      });
    const receive = async (index: number): Promise<void> => {
      const messageId = randomUUID();
      await insert('inbox_message', {
        id: messageId,
        sender: `sender${index}@direct.paging.example`,
        wire_id: `<${messageId}@direct.paging.example>`,
        sealed_message: Buffer.alloc(1),
        requests_final_delivery: 0,
        attachment_count: 0,
        size_bytes: 1,
        received_at: timeOf(index),
      });
      await insert('inbox_copy', {
        id: randomUUID(),
        message_id: messageId,
        address: 'ann@direct.own.example',
        address_key: 'ann@direct.own.example',
        domain: 'direct.own.example',
        acknowledged_at: null,
        warned_at: null,
        received_at: timeOf(index),
      });
    };
    const send = async (index: number): Promise<void> => {
      const id = randomUUID();
      await insert('message', {
        id,
        client_id: 'client',
        uuid: randomUUID(),
        wire_id: `<${id}@direct.own.example>`,
        sender: 'ann@direct.own.example',
        sender_key: 'ann@direct.own.example',
        request_hash: '',
        response: '{}',
        is_xdm: 0,
        is_asm_enabled: 0,
        requests_final_delivery: 0,
        sealed_details: null,
        created_at: timeOf(index),
      });
      await insert('message_recipient', {
        id: randomUUID(),
        message_id: id,
        position: 0,
        address: `to${index}@direct.paging.example`,
        address_key: `to${index}@direct.paging.example`,
        state: 'processed',
        has_dispatched_notice: 0,
        reason: '',
        status_code: '',
        status_at: timeOf(index),
        deadline_at: null,
        event_count: 0,
        created_at: timeOf(index),
      });
    };
    const queue = async (domain: string, index: number): Promise<void> => {
      const id = orderedId(index);
      await insert('delivery', {
        id,
        kind: 'message',
        sender: 'ann@direct.own.example',
        sealed_message: Buffer.alloc(1),
        created_at: timeOf(index),
        message_id: randomUUID(),
        destinations: 1,
        size_bytes: 1,
      });
      await insert('delivery_destination', {
        id,
        delivery_id: id,
        domain,
        recipients: JSON.stringify([`to${index}@${domain}`]),
        not_after: 4e12,
        // Nobody tries it while the test reads.
        next_attempt_at: 3e12,
        attempts: 1,
        lease_token: null,
        lease_until: 0,
        last_reason: 'unreachable',
        last_status_code: '4.4.1',
        last_error: '',
      });
    };
    const refused = (index: number) =>
      audited('message.reject', {
        from: `x${index}@direct.paging.example`,
        to: 'ann@direct.own.example',
        reason: 'X',
      });
    const byId = (row: Row): string => String(row['id']);

    lists.set('messages', {
      target: '/messages',
      idOf: byId,
      add: (count) => times(count, (index) => (index % 2 === 0 ? send(index) : receive(index))),
    });
    lists.set('unacknowledged', {
      target: '/inbound?state=unacknowledged',
      idOf: byId,
      add: (count) => times(count, receive),
    });
    lists.set('dead letters', {
      target: '/inbound?state=dead-lettered',
      idOf: byId,
      add: (count) => times(count, spool),
    });
    lists.set('refused', {
      target: '/inbound?state=refused',
      idOf: byId,
      add: (count) => times(count, refused),
    });
    lists.set('received', {
      target: '/inbound?state=received',
      idOf: byId,
      add: (count) =>
        times(count, (index) =>
          audited('message.receive', { from: 'x@direct.paging.example', to: `a${index}@b.example` }),
        ),
    });
    lists.set('audit', {
      target: '/audit?action=message.reject',
      idOf: (row) => String(row['sequence']),
      add: (count) => times(count, refused),
    });
    lists.set('audit by address', {
      target: '/audit?address=ann@direct.own.example',
      idOf: (row) => String(row['sequence']),
      add: (count) => times(count, refused),
    });
    await trust.addDomain('direct.listed.example');
    lists.set('addresses', {
      target: '/domains/direct.listed.example/addresses',
      idOf: (row) => String(row['address']),
      add: (count) =>
        times(count, (index) =>
          trust.putAddress(parseDirectAddress(`a${String(index).padStart(4, '0')}@direct.listed.example`)),
        ),
    });
    lists.set('queue', {
      target: '/queue',
      idOf: (row) => String(row['domain']),
      add: (count) => times(count, (index) => queue(`direct.d${index}.example`, index)),
    });
    lists.set('deliveries', {
      target: '/queue/direct.many.example',
      idOf: byId,
      add: (count) => times(count, (index) => queue('direct.many.example', index)),
    });
    lists.set('loads', {
      target: '/directory/loads',
      idOf: byId,
      add: (count) =>
        times(count, (index) =>
          insert('directory_load', {
            id: 1000 + index,
            parent_id: null,
            previous_id: null,
            kind: 'full',
            format: 'own',
            source: `file${index}.csv`,
            state: 'failed',
            record_count: 0,
            block_count: 0,
            report: '{}',
            started_at: timeOf(index),
            heartbeat_at: timeOf(index),
            finished_at: timeOf(index),
            source_name: 'default',
            file_keys: 0,
          }),
        ),
    });
    for (const { add } of lists.values()) await add(8);
  });
  after(() => console_?.close());

  it('has a case for every route that the document describes as paged', async () => {
    const { body } = await get('/openapi.json');
    const paths = body['paths'] as Record<string, { get?: { parameters?: readonly { name: string }[] } }>;
    const paged = Object.entries(paths)
      .filter(([, methods]) => methods.get?.parameters?.some(({ name }) => name === 'cursor') === true)
      .map(([path]) => path.replace('/admin/v1', ''));
    const covered = [...lists.values()].map(({ target }) =>
      target
        .replace(/\?.*/, '')
        .replace('direct.many.example', '{destination}')
        .replace('direct.listed.example', '{domain}'),
    );
    // Exporting gives all pages at once.
    assert.deepEqual(
      paged.filter((path) => path !== '/audit/export').toSorted(),
      [...new Set(covered)].toSorted(),
    );
  });

  it('gives each row exactly once, while rows come in between the pages', async () => {
    for (const [name, { target, idOf, add }] of lists) {
      const before_ = (await pageOf(target, null, 200)).result.map(idOf);
      assert.ok(before_.length >= 8, `${name}: ${before_.length} rows`);
      const seen: string[] = [];
      let cursor: string | null = null;
      let pages = 0;
      do {
        const page: Awaited<ReturnType<typeof pageOf>> = await pageOf(target, cursor);
        assert.ok(page.result.length <= 3 || (name === 'queue' && page.next === null), name);
        seen.push(...page.result.map(idOf));
        cursor = page.next;
        if (pages++ < 3) await add(1);
        assert.ok(pages < 100, `${name} does not end`);
      } while (cursor !== null);
      assert.equal(new Set(seen).size, seen.length, `${name}: a row came twice`);
      assert.deepEqual(
        before_.filter((id) => !seen.includes(id)),
        [],
        `${name}: a row did not come`,
      );
    }
  });

  it('refuses a cursor that is made up, damaged, or of another list, and says which field it is', async () => {
    const cursors = new Map<string, string>();
    for (const [name, { target }] of lists) {
      const { next } = await pageOf(target, null);
      assert.ok(next !== null, name);
      cursors.set(name, next);
    }
    const isSameRoute = (one: string, other: string): boolean =>
      one.startsWith('audit') && other.startsWith('audit');
    for (const [name, { target }] of lists) {
      const foreign = [...cursors].filter(([other]) => other !== name && !isSameRoute(name, other));
      const own = cursors.get(name) ?? '';
      const bad = [
        ...foreign.map(([, cursor]) => cursor),
        '1',
        '-1',
        'null',
        "' or 1=1 --",
        `${own}x!`,
        own.slice(0, own.indexOf('.') + 1),
        own.replace('.', '~'),
        `${own}\u0000`,
      ];
      for (const cursor of bad) {
        const query = `${target.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`;
        const { status, body, text } = await get(`${target}${query}`);
        assert.equal(status, 400, `${name}: ${cursor}: ${text.slice(0, 300)}`);
        const [problem] = body['errors'] as readonly { field: string }[];
        assert.equal(problem?.field, 'cursor', `${name}: ${cursor}`);
      }
    }
  });

  it('goes on behind a row that is gone', async () => {
    const { target, idOf } = lists.get('dead letters') ?? assert.fail();
    const all = (await pageOf(target, null, 200)).result.map(idOf);
    const first = await pageOf(target, null);
    const last = first.result.map(idOf).at(-1) ?? '';
    await console_.hisp.storage
      .tables<{ inbound_mail: { id: string } }>()
      .deleteFrom('inbound_mail')
      .where('id', '=', last)
      .execute();
    const second = await pageOf(target, first.next);
    assert.deepEqual(second.result.map(idOf), all.slice(3, 6));
  });

  it('picks mail by a part of its sender, on every list of incoming mail', async () => {
    for (const name of ['dead letters', 'unacknowledged', 'refused']) {
      const { target, idOf } = lists.get(name) ?? assert.fail();
      const [row] = (await pageOf(target, null, 1)).result;
      const from = String(row?.['from']);
      const found = await pageOf(`${target}&from=${encodeURIComponent(from.toUpperCase())}`, null);
      assert.deepEqual(found.result.map(idOf), [idOf(row ?? {})], name);
      assert.deepEqual((await pageOf(`${target}&from=nobody`, null)).result, [], name);
    }
  });
});
