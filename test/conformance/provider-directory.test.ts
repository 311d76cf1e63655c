/** Directory spec, sentence by sentence, over real HTTP with real tokens. Titles quote the sentence. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { directoryParameters, recordFields } from '../../src/service/directory/index.ts';
import { distanceMiles, roundUpMiles } from '../../src/lib/geo/index.ts';
import {
  startTestDirectory,
  testGazetteer,
  toCsv,
  type Reply,
  type TestDirectory,
} from '../directory/start-directory.ts';
import { sampleRows } from './provider-directory-data.ts';

let world: TestDirectory;
before(async () => {
  world = await startTestDirectory();
  await world.load(toCsv(sampleRows));
});
after(() => world.close());

async function found(query: Record<string, string | number> | string): Promise<Record<string, unknown>[]> {
  const reply = await world.search(query);
  assert.equal(reply.status, 200, reply.text);
  return reply.body.providers ?? [];
}

async function foundIds(query: Record<string, string | number> | string): Promise<unknown[]> {
  return (await found(query)).map((provider) => provider['id']);
}

function assertRefused(reply: Reply, status: number, message: string): void {
  assert.equal(reply.status, status, reply.text);
  assert.equal(reply.body.status, 'Error');
  assert.equal(reply.body.message, message);
}

const all = [2, 6, 7, 8, 3, 4, 9, 1, 5];

describe('Directory spec: What the service does', () => {
  test('The service is a RESTful, read-only directory: nothing but GET is served', async () => {
    const { baseUrl, token } = await world.serve();
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const response = await fetch(`${baseUrl}/provider-directory/v2/providers`, {
        method,
        headers: { authorization: `Bearer ${token}` },
      });
      assert.ok([404, 405].includes(response.status), `${method}: ${response.status}`);
    }
  });

  test('Clients search by NPI, last name, first name, Direct address, organization, street/city/state, specialty, radius', async () => {
    assert.deepEqual(await foundIds({ prov_npi: '1200000008' }), [6]);
    assert.deepEqual(await foundIds({ prov_last_name: 'Akana' }), [8]);
    assert.deepEqual(await foundIds({ prov_first_name: 'Mary' }), [7]);
    assert.deepEqual(await foundIds({ serv_direct_addr: 'anabel' }), [2]);
    assert.deepEqual(await foundIds({ org_name: 'Records' }), [5]);
    assert.deepEqual(await foundIds({ org_addr_1: 'Huron', org_city: 'Chicago', org_state: 'IL' }), [5]);
    assert.deepEqual(await foundIds({ prov_spec_text: 'Interventional' }), [6]);
    assert.deepEqual(await foundIds({ radius: 10, org_zip: '62769' }), [6]);
    assert.deepEqual(await foundIds({ radius: 10, org_city: 'Springfield', org_state: 'IL' }), [6]);
  });

  test('All responses are JSON', async () => {
    for (const path of ['', '?limit=x', '/prov_npi/1200000008', '/prov_npi/0000000000', '/nothing']) {
      const reply = await world.get(`/provider-directory/v2/providers${path}`);
      assert.match(reply.headers.get('content-type') ?? '', /^application\/json/, path);
    }
  });

  test('Use of the service also means accepting the data sharing policy: without acceptance there is no answer', async () => {
    const token = await world.createToken({ acceptsDataUse: false });
    const reply = await world.search({}, { authorization: `Bearer ${token}` });
    assertRefused(reply, 403, 'Forbidden');
    assert.match(reply.text, /data-use rule/);
  });
});

describe('Directory spec: Resources and their fields', () => {
  test('status is `OK` or `Error`', async () => {
    assert.equal((await world.search({})).body.status, 'OK');
    assert.equal((await world.search({ limit: 0 })).body.status, 'Error');
  });

  test('providers is present on successful searches, also when nothing is found', async () => {
    const reply = await world.search({ prov_last_name: 'Nobody' });
    assert.deepEqual(reply.body, { status: 'OK', providers: [], totalCount: '0' });
  });

  test('totalCount is a string of digits, the number of providers matched, larger than the page when more results exist', async () => {
    const { body } = await world.search({ limit: 2 });
    assert.equal(body.totalCount, String(sampleRows.length));
    assert.equal(body.providers?.length, 2);
  });

  test('Absent text values are returned as empty strings', async () => {
    const [record] = await found({ org_name: 'Office Without A Place' });
    for (const field of recordFields) assert.equal(typeof record?.[field.wireName], 'string', field.wireName);
    assert.equal(record?.['org_city'], '');
  });

  test('The record has the fields of the table, in its order, with their values as stored', async () => {
    const [record] = await found({ prov_npi: '1999999992' });
    assert.deepEqual(Object.keys(record ?? {}), [
      'id',
      ...recordFields.map((field) => field.wireName as string),
      'lat',
      'lng',
    ]);
    assert.deepEqual(record, { id: 1, ...sampleRows[0] });
  });

  test('id is an integer', async () => {
    for (const record of await found({})) assert.ok(Number.isInteger(record['id']));
  });

  test('prov_spec_text is free text or a coded value `<code-system-OID>:<code-system-name>:<code>:<display text>`', async () => {
    const [coded, free] = [await found({ prov_npi: '1999999992' }), await found({ prov_npi: '1000000004' })];
    assert.equal(
      coded[0]?.['prov_spec_text'],
      '2.16.840.1.113883.6.101:NUCC:207RC0000X:Cardiovascular Disease',
    );
    assert.equal(free[0]?.['prov_spec_text'], 'Family Medicine');
  });

  test('org_zip is a ZIP code, either 5 digits or ZIP+4', async () => {
    for (const record of await found({})) assert.match(String(record['org_zip']), /^$|^\d{5}(-\d{4})?$/);
  });

  test('distance is a number, the last field of a record, rounded up to two decimals, present only with the radius parameter', async () => {
    const center = testGazetteer().findZip('02139');
    assert.ok(center);
    for (const record of await found({ radius: 100, org_zip: '02139' })) {
      const exact = distanceMiles(center, {
        latitude: Number(record['lat']),
        longitude: Number(record['lng']),
      });
      assert.equal(Object.keys(record).at(-1), 'distance');
      assert.equal(record['distance'], roundUpMiles(exact));
      assert.ok(Number(record['distance']) >= exact - 1e-9 && Number(record['distance']) < exact + 0.01);
    }
    for (const record of await found({ org_zip: '02139' })) assert.ok(!('distance' in record));
  });
});

describe('Directory spec: Search providers', () => {
  test('GET {base_url}/provider-directory/v2/providers?<param>=<value>&<param>=<value>: all parameters are optional', async () => {
    assert.deepEqual(await foundIds(''), all);
  });

  test('Several filter parameters may be combined with `&`; the result is the logical AND of all supplied filters', async () => {
    assert.deepEqual(await foundIds('org_city=Springfield'), [6, 7]);
    assert.deepEqual(await foundIds('org_city=Springfield&org_state=MA'), [7]);
    assert.deepEqual(await foundIds('org_city=Springfield&org_state=MA&prov_suffix=MD'), []);
  });

  test('The response is the envelope: status, providers, totalCount', async () => {
    assert.deepEqual(Object.keys((await world.search({})).body), ['status', 'providers', 'totalCount']);
  });

  // Part of a stored value, and where in it the part lies: enough to tell the match strategies apart.
  const probes: Readonly<
    Record<
      string,
      { start: string; middle: string; whole: string; ids: Record<'start' | 'middle' | 'whole', number[]> }
    >
  > = {
    serv_direct_addr: {
      start: 'ana.s',
      middle: 'smith@direct',
      whole: 'Ana.Smith@direct.north.example',
      ids: { start: [1], middle: [3, 1], whole: [1] },
    },
    prov_first_name: {
      start: 'Ana',
      middle: 'nab',
      whole: 'Anabel',
      ids: { start: [2, 1], middle: [], whole: [2] },
    },
    prov_mid_name: {
      start: 'Q',
      middle: 'uinc',
      whole: 'Quincy',
      ids: { start: [2, 1], middle: [], whole: [2] },
    },
    prov_last_name: {
      start: 'Smith',
      middle: 'mith',
      whole: 'Smithson',
      ids: { start: [2, 1], middle: [], whole: [2] },
    },
    prov_spec_text: {
      start: '2.16.840',
      middle: 'cardio',
      whole: 'Family Medicine',
      ids: { start: [8, 1], middle: [6, 8, 1], whole: [2, 7] },
    },
    prov_suffix: {
      start: 'MD',
      middle: 'PhD',
      whole: 'MD, PhD',
      ids: { start: [6, 8, 1], middle: [1], whole: [1] },
    },
    org_name: {
      start: 'Lake',
      middle: 'Clinic',
      whole: 'Lake Hospital',
      ids: { start: [3, 4], middle: [2, 7, 1], whole: [3, 4] },
    },
    org_addr_1: {
      start: '55 ',
      middle: 'Lake',
      whole: '55 Fruit St',
      ids: { start: [3, 4, 1], middle: [3, 4], whole: [1] },
    },
    org_city: {
      start: 'Spring',
      middle: 'field',
      whole: 'Springfield',
      ids: { start: [6, 7], middle: [], whole: [6, 7] },
    },
    org_state: {
      start: 'M',
      middle: 'A',
      whole: 'MA',
      ids: { start: [], middle: [], whole: [2, 7, 3, 4, 1] },
    },
    org_zip: {
      start: '021',
      middle: '2114',
      whole: '02114-1234',
      ids: { start: [2, 1], middle: [], whole: [1] },
    },
    org_phone: {
      start: '617',
      middle: '555',
      whole: '(617) 555-0101',
      ids: { start: [2, 1], middle: [], whole: [1] },
    },
  };

  for (const parameter of directoryParameters) {
    if (parameter.kind !== 'filter' || parameter.name === 'prov_npi') continue;
    test(`${parameter.name}: ${parameter.matchText}`, async () => {
      const probe = probes[parameter.name];
      assert.ok(probe, `no probe for ${parameter.name}`);
      for (const part of ['start', 'middle', 'whole'] as const) {
        // A part of a state's code is no state (Decision 0002).
        if (parameter.field === 'state' && part !== 'whole') continue;
        assert.deepEqual(
          await foundIds({ [parameter.name]: probe[part] }),
          probe.ids[part],
          `${parameter.name}=${probe[part]}`,
        );
      }
    });
  }

  test('prov_npi: Must be 10 digits', async () => {
    assert.deepEqual(await foundIds({ prov_npi: '1500000009' }), [3, 4]);
    for (const npi of ['150000000', '15000000099', '15000000O9']) {
      const reply = await world.search({ prov_npi: npi });
      assertRefused(reply, 400, 'Required Params Missing');
      assert.equal(reply.body.errors?.[0]?.field, 'prov_npi');
    }
  });

  for (const parameter of directoryParameters.filter(
    (candidate) => candidate.isSortable && candidate.kind === 'filter',
  )) {
    test(`${parameter.name} is sortable asc and desc`, async () => {
      const valueOf = (record: Record<string, unknown>): string =>
        String(record[parameter.name]).normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
      for (const order of ['ascending', 'descending'] as const) {
        const records = await found({ sort_by: parameter.name, sort_order: order });
        const filled = records.map(valueOf).filter((value) => value !== '');
        assert.deepEqual(filled, order === 'ascending' ? filled.toSorted() : filled.toSorted().reverse());
        assert.deepEqual(records.map(valueOf).slice(0, filled.length), filled, 'blank values come last');
      }
    });
  }

  test('radius is sortable asc and desc; the distance field shows the order', async () => {
    const ascending = await found({ radius: 1000, org_zip: '02139', sort_by: 'radius' });
    const descending = await found({
      radius: 1000,
      org_zip: '02139',
      sort_by: 'radius',
      sort_order: 'descending',
    });
    const distances = ascending.map((record) => Number(record['distance']));
    assert.deepEqual(
      distances,
      distances.toSorted((a, b) => a - b),
    );
    assert.deepEqual(
      descending.map((record) => record['distance']),
      distances.toReversed(),
    );
  });
});

describe('Directory spec: Sort rules', () => {
  test('sort_by is a comma-separated list of one or more of the parameter names', async () => {
    assert.deepEqual(await foundIds({ sort_by: 'org_state,prov_last_name' }), [8, 6, 5, 3, 4, 7, 1, 2, 9]);
  });

  test('sort_order is `ascending` or `descending`', async () => {
    assert.deepEqual(
      await foundIds({ sort_by: 'prov_last_name', sort_order: 'descending' }),
      [2, 1, 7, 6, 9, 3, 4, 8, 5],
    );
    assertRefused(await world.search({ sort_order: 'down' }), 400, 'Required Params Missing');
  });

  test('With no sort parameters, results are ordered by prov_npi ascending', async () => {
    assert.deepEqual(await foundIds({}), all);
  });

  test('When radius is combined with org_zip, results are ordered by nearest distance to that center', async () => {
    assert.deepEqual(await foundIds({ radius: 100, org_zip: '02139' }), [2, 1, 3, 4, 7]);
  });

  test('When radius is combined with org_city plus org_state, results are ordered by nearest distance to that center', async () => {
    assert.deepEqual(
      await foundIds({ radius: 100, org_city: 'Worcester', org_state: 'MA' }),
      [3, 4, 2, 1, 7],
    );
  });
});

describe('Directory spec: Radius rules', () => {
  test('The search center is org_zip, or the pair org_city and org_state', async () => {
    assert.deepEqual(await foundIds({ radius: 20, org_zip: '60611' }), [5]);
    assert.deepEqual(await foundIds({ radius: 20, org_city: 'Chicago', org_state: 'IL' }), [5]);
  });

  test('Radius is capped at 1000 miles', async () => {
    assert.deepEqual(
      await foundIds({ radius: 99999, org_zip: '02139' }),
      await foundIds({ radius: 1000, org_zip: '02139' }),
    );
    assert.ok(!(await foundIds({ radius: 99999, org_zip: '02139' })).includes(8), 'Honolulu is farther away');
  });

  test('1000 miles is used when radius size is not provided', async () => {
    assert.deepEqual(
      await foundIds('radius=&org_zip=02139'),
      await foundIds({ radius: 1000, org_zip: '02139' }),
    );
    assert.deepEqual(
      await foundIds('radius&org_zip=02139'),
      await foundIds({ radius: 1000, org_zip: '02139' }),
    );
  });

  test('Each returned record then carries `distance`; without the radius parameter no record carries `distance`', async () => {
    for (const record of await found({ radius: 1000, org_zip: '60611' }))
      assert.equal(typeof record['distance'], 'number');
    for (const record of await found({})) assert.ok(!('distance' in record));
  });
});

describe('Directory spec: Pagination rules', () => {
  test('offset is the zero-based starting point of the returned page, limit the maximum number of items per page', async () => {
    assert.deepEqual(await foundIds({ offset: 0, limit: 3 }), all.slice(0, 3));
    assert.deepEqual(await foundIds({ offset: 2, limit: 3 }), all.slice(2, 5));
    assert.deepEqual(await foundIds({ offset: 8, limit: 3 }), all.slice(8));
    assert.deepEqual(await foundIds({ offset: 9 }), []);
  });

  test('Every list endpoint is paginated except the by-NPI lookup', async () => {
    const { body } = await world.get('/provider-directory/v2/providers/prov_npi/1500000009');
    assert.equal(body.providers?.length, 2);
  });
});

describe('Directory spec: Search use cases', () => {
  const useCases: readonly [name: string, query: Record<string, string | number>, ids: number[]][] = [
    ['By last name', { prov_last_name: 'smi' }, [2, 1]],
    ['By first name', { prov_first_name: 'joha' }, [3, 4]],
    ['By Direct address', { serv_direct_addr: 'direct.north' }, [3, 1]],
    ['In an organization', { org_name: 'hospital' }, [6, 3, 4]],
    [
      'On a street in a city of a state',
      { org_addr_1: 'chestnut', org_city: 'spring', org_state: 'ma' },
      [7],
    ],
    ['On a street, in any combination', { org_addr_1: 'chestnut', org_state: 'ma' }, [7]],
    ['With a specialty', { prov_spec_text: 'family' }, [2, 7]],
    ['Within a radius of a ZIP code', { org_zip: '01199', radius: 60 }, [7, 3, 4]],
    [
      'Within a radius of a city location',
      { org_city: 'Springfield', org_state: 'MA', radius: 60 },
      [7, 3, 4],
    ],
  ];
  for (const [name, query, ids] of useCases) {
    test(name, async () => assert.deepEqual(await foundIds(query), ids));
  }
});

describe('Directory spec: Get providers by NPI', () => {
  const byNpi = (npi: string): Promise<Reply> =>
    world.get(`/provider-directory/v2/providers/prov_npi/${npi}`);

  test('The response is `{status, providers[]}` with provider records; totalCount is absent', async () => {
    const { body } = await byNpi('1500000009');
    assert.deepEqual(Object.keys(body), ['status', 'providers']);
    assert.deepEqual(
      body.providers?.map((record) => record['id']),
      [3, 4],
    );
    assert.deepEqual(body.providers?.[0], { id: 3, ...sampleRows[2] });
  });

  test('`<npi>` is a 10-digit string', async () => {
    for (const npi of ['150000000', '15000000099', 'abcdefghij'])
      assertRefused(await byNpi(npi), 400, 'Required Params Missing');
  });

  test('404 Not Found: the specified resource could not be found', async () => {
    assertRefused(await byNpi('1999999999'), 404, 'Not Found');
  });
});

describe('Directory spec: Authentication', () => {
  test('Every directory request carries the header `Authorization: Bearer <ACCESS_TOKEN>`', async () => {
    const { baseUrl } = await world.serve();
    for (const path of ['', '/prov_npi/1500000009']) {
      const response = await fetch(`${baseUrl}/provider-directory/v2/providers${path}`);
      assert.equal(response.status, 401);
      assert.match(response.headers.get('www-authenticate') ?? '', /^Bearer/);
    }
  });

  test('401 Authentication fail: invalid credentials', async () => {
    assertRefused(await world.search({}, { authorization: 'Bearer wrong' }), 401, 'Authentication fail');
  });

  test('403 Forbidden: a token of another scope lacks access rights', async () => {
    const token = await world.createToken({ scopes: ['messaging.api'] });
    assertRefused(await world.search({}, { authorization: `Bearer ${token}` }), 403, 'Forbidden');
  });
});

describe('Directory spec: Errors', () => {
  test('400 Required Params Missing: the request has invalid parameters or missing parameters', async () => {
    assertRefused(await world.search({ limit: 'ten' }), 400, 'Required Params Missing');
    assertRefused(await world.search({ radius: 10 }), 400, 'Required Params Missing');
  });

  test('An unsuccessful query returns an envelope whose status is `Error`', async () => {
    const { body } = await world.search({ limit: 'ten' }, { 'x-request-id': 'check-7' });
    assert.equal(body.status, 'Error');
    assert.equal(body.code, 400);
    assert.equal(body.requestId, 'check-7');
    assert.deepEqual(
      body.errors?.map(({ field, reason }) => ({ field, reason })),
      [{ field: 'limit', reason: 'invalid' }],
    );
  });

  test('503 Service Unavailable: the server is not ready to handle the request', async () => {
    const young = await startTestDirectory({ isServing: false });
    try {
      assertRefused(await young.search({}), 503, 'Service Unavailable');
    } finally {
      await young.close();
    }
  });
});

describe('Directory spec: Limits', () => {
  test('Default page size 10, maximum 1000, default offset 0', async () => {
    const large = await startTestDirectory();
    try {
      const rows = Array.from({ length: 1005 }, (_, index) => ({
        prov_npi: String(1_000_000_000 + index),
        prov_last_name: 'Many',
      }));
      await large.load(toCsv(rows));
      const count = async (query: Record<string, number>): Promise<number | undefined> =>
        (await large.search(query)).body.providers?.length;
      assert.equal(await count({}), 10);
      assert.equal(await count({ limit: 1000 }), 1000);
      assert.equal(await count({ limit: 5000 }), 1000);
      assert.equal(await count({ limit: 1000, offset: 1000 }), 5);
      assert.equal((await large.search({})).body.providers?.[0]?.['prov_npi'], '1000000000');
    } finally {
      await large.close();
    }
  });
});
