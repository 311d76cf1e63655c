/** Questions that the directory specification leaves open, as Decisions 0002 to 0005 and 0007 settle them. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { directoryParameters } from '../../src/service/directory/index.ts';
import { startTestDirectory, toCsv, type TestDirectory } from '../directory/start-directory.ts';
import { sampleRows } from './provider-directory-data.ts';

let world: TestDirectory;
before(async () => {
  world = await startTestDirectory();
  await world.load(toCsv(sampleRows));
});
after(() => world.close());

type Query = Record<string, string | number> | string;

async function foundIds(query: Query): Promise<unknown[]> {
  const reply = await world.search(query);
  assert.equal(reply.status, 200, reply.text);
  return (reply.body.providers ?? []).map((provider) => provider['id']);
}

/** The faulty fields and reasons of a query that must be refused with 400. */
async function faults(query: Query): Promise<string[]> {
  const reply = await world.search(query);
  assert.equal(reply.status, 400, reply.text);
  assert.equal(reply.body.message, 'Required Params Missing');
  return (reply.body.errors ?? []).map(({ field, reason }) => `${field} ${reason}`);
}

describe('Decision 0004: radius', () => {
  test('radius without a center, or with half of one, is 400 and names the missing field', async () => {
    assert.deepEqual(await faults({ radius: 10 }), ['radius center_missing']);
    assert.deepEqual(await faults({ radius: 10, org_city: 'Boston' }), ['org_state required']);
    assert.deepEqual(await faults({ radius: 10, org_state: 'MA' }), ['org_city required']);
    assert.deepEqual(await faults({ radius: 10, org_zip: '', org_city: 'Boston', org_state: '' }), [
      'org_state required',
    ]);
  });

  test('a center ZIP that is not ##### or #####-#### is 400', async () => {
    for (const zip of ['021', '0213', '021399', '02139-', '02139-1', '021394307']) {
      assert.deepEqual(await faults({ radius: 10, org_zip: zip }), ['org_zip invalid'], zip);
    }
    assert.deepEqual(await foundIds({ radius: 10, org_zip: '02139-4307' }), [2, 1]);
  });

  test('a center that is not in the gazetteer is 400 center_not_found, never an empty page', async () => {
    assert.deepEqual(await faults({ radius: 10, org_zip: '00000' }), ['org_zip center_not_found']);
    assert.deepEqual(await faults({ radius: 10, org_city: 'Atlantis', org_state: 'MA' }), [
      'org_city center_not_found',
      'org_state center_not_found',
    ]);
  });

  test('with ZIP and city and state, the ZIP is the center and city and state are ordinary filters', async () => {
    assert.deepEqual(
      await foundIds({ radius: 100, org_zip: '02139', org_city: 'Worc', org_state: 'MA' }),
      [3, 4],
    );
    assert.deepEqual(await foundIds({ radius: 100, org_zip: '02139', org_city: 'Boston' }), [1]);
  });

  test('the fields that form the center stop filtering, all other filters stay', async () => {
    assert.deepEqual(await foundIds({ radius: 5, org_zip: '02139' }), [2, 1]);
    assert.deepEqual(await foundIds({ radius: 5, org_zip: '02139', prov_last_name: 'Smithson' }), [2]);
  });

  test('an empty radius is 1000 miles; more than 1000 is 1000; zero, negative and fractions are 400', async () => {
    assert.deepEqual(await foundIds('radius=&org_zip=60611&prov_last_name=smithson'), [2]);
    for (const radius of ['0', '000', '-5', '1.5', '1e3', 'ten', ' 5', '5 ', '+5']) {
      assert.deepEqual(await faults({ radius, org_zip: '60611' }), ['radius invalid'], radius);
    }
  });

  test('records without coordinates are left out of radius results', async () => {
    assert.deepEqual((await foundIds({ radius: 1000, org_zip: '60611' })).includes(9), false);
    assert.deepEqual(await foundIds({ radius: 1000, org_zip: '60611', prov_last_name: 'Nowhere' }), []);
  });
});

describe('Decision 0002: parameters, paging and empty values', () => {
  test('limit over 1000 is clamped; limit and offset that are no integers or too small are 400 naming the field', async () => {
    assert.equal((await foundIds({ limit: 1001 })).length, sampleRows.length);
    for (const limit of ['0', '-1', '1.0', 'x', '1e2', ' 1'])
      assert.deepEqual(await faults({ limit }), ['limit invalid'], limit);
    for (const offset of ['-1', '0.5', 'x', '1 '])
      assert.deepEqual(await faults({ offset }), ['offset invalid'], offset);
  });

  test('every faulty parameter is named in one answer', async () => {
    assert.deepEqual(await faults({ limit: 'x', offset: 'y', prov_npi: '1', foo: 'bar' }), [
      'foo unknown',
      'offset invalid',
      'limit invalid',
      'prov_npi invalid',
    ]);
  });

  test('any offset works, far beyond the end too', async () => {
    const reply = await world.search({ offset: '123456789012345678901234567890' });
    assert.deepEqual(reply.body, { status: 'OK', providers: [], totalCount: String(sampleRows.length) });
  });

  for (const { name } of directoryParameters.filter((parameter) => parameter.name !== 'radius')) {
    test(`an empty ${name} is as if not supplied`, async () => {
      assert.deepEqual(await foundIds(`${name}=`), await foundIds(''));
      assert.deepEqual(await foundIds(name), await foundIds(''));
    });
  }

  for (const { name } of directoryParameters) {
    test(`a repeated ${name} is 400`, async () => {
      assert.deepEqual((await faults(`${name}=&${name}=`)).includes(`${name} repeated`), true);
    });
  }

  test('an unknown parameter is 400: a misspelt filter must not return the whole directory', async () => {
    for (const name of [
      'prov_lastname',
      'Prov_last_name',
      'id',
      'distance',
      'lat',
      '__proto__',
      'constructor',
      '',
    ]) {
      assert.deepEqual(await faults(`${encodeURIComponent(name)}=x`), [`${name} unknown`]);
    }
  });

  test('values that are too long or not UTF-8 are 400', async () => {
    for (const character of ['x', '😀']) {
      assert.deepEqual(await faults({ org_name: character.repeat(501) }), ['org_name too_long']);
      assert.deepEqual(await foundIds({ org_name: character.repeat(500) }), []);
    }
    assert.deepEqual(await faults('org_name=%ff%fe'), ['org_name not_utf8']);
  });

  test('no filter at all is allowed: the first page by NPI', async () => {
    assert.equal((await foundIds('')).length, sampleRows.length);
  });

  test('the NPI check digit is no reason to refuse a query', async () => {
    assert.deepEqual(await foundIds({ prov_npi: '1234567890' }), []);
  });

  test('search without a match is 200 with an empty list and totalCount "0"; by NPI it is 404', async () => {
    assert.deepEqual((await world.search({ prov_npi: '1234567890' })).body, {
      status: 'OK',
      providers: [],
      totalCount: '0',
    });
    assert.equal((await world.get('/provider-directory/v2/providers/prov_npi/1234567890')).status, 404);
  });

  test('org_zip is a text prefix: leading zeros are kept, the hyphen is ignored', async () => {
    assert.deepEqual(await foundIds({ org_zip: '0' }), [2, 7, 3, 4, 1]);
    assert.deepEqual(await foundIds({ org_zip: '021141' }), [1]);
    assert.deepEqual(await foundIds({ org_zip: '02114-1' }), [1]);
    assert.deepEqual(await faults({ org_zip: 'abc' }), ['org_zip invalid']);
    assert.deepEqual(await faults({ org_zip: '0211412345' }), ['org_zip invalid']);
  });

  test('org_phone is a prefix on the raw text or on its digits', async () => {
    assert.deepEqual(await foundIds({ org_phone: '(617) 555' }), [2, 1]);
    assert.deepEqual(await foundIds({ org_phone: '6175550101' }), [1]);
    assert.deepEqual(await foundIds({ org_phone: '617.555.0101' }), [1]);
  });

  test('a leading +1 or 1 of a telephone number may be there or not', async () => {
    for (const phone of ['16175550101', '+1 617 555-0101', '1-617-555-0101', '+1 (617) 555'])
      assert.ok((await foundIds({ org_phone: phone })).includes(1), phone);
    const rows = [
      { serv_direct_addr: 'a@p.example', org_phone: '+1 312 555 0144' },
      { serv_direct_addr: 'b@p.example', org_phone: '1 1 2' },
    ];
    const other = await startTestDirectory();
    try {
      await other.load(toCsv(rows));
      const found = async (org_phone: string): Promise<unknown> =>
        (await other.search({ org_phone })).body.totalCount;
      assert.deepEqual(await Promise.all(['312', '1312', '+1', '1', '3125550145'].map(found)), [
        '1',
        '1',
        '1',
        '1',
        '0',
      ]);
    } finally {
      await other.close();
    }
  });

  test('a state that is no state is 400; blanks at the ends of a filter are dropped', async () => {
    for (const state of ['M', 'QQ', 'Hawaii', 'MA,HI', '1'])
      assert.deepEqual(await faults({ org_state: state }), ['org_state invalid'], state);
    assert.deepEqual(await faults({ radius: 10, org_city: 'Boston', org_state: 'QQ' }), [
      'org_state invalid',
    ]);
    assert.deepEqual(await foundIds({ org_state: '\u00a0hi ' }), [8]);
    assert.deepEqual(await foundIds({ prov_npi: ' 1500000009\t' }), [3, 4]);
    assert.deepEqual(await foundIds({ org_name: '  ' }), await foundIds(''));
  });

  test('prov_spec_text looks through the whole stored text: code and display both match', async () => {
    assert.deepEqual(await foundIds({ prov_spec_text: '207rc0000x' }), [8, 1]);
    assert.deepEqual(await foundIds({ prov_spec_text: 'cardiovascular' }), [8, 1]);
  });
});

describe('Decision 0003: case, accents and sorting', () => {
  test('matching is case- and accent-insensitive for all text, the Direct address included', async () => {
    assert.deepEqual(await foundIds({ prov_last_name: 'nunez' }), [6]);
    assert.deepEqual(await foundIds({ prov_last_name: 'NÚÑ' }), [6]);
    assert.deepEqual(await foundIds({ prov_first_name: 'jose' }), [6]);
    assert.deepEqual(await foundIds({ serv_direct_addr: 'ANA.SMITH@DIRECT.NORTH' }), [1]);
    assert.deepEqual(await foundIds({ org_state: 'hi' }), [8]);
  });

  test('`%`, `_` and `*` are ordinary characters, and blanks inside a value count', async () => {
    assert.deepEqual(await foundIds({ serv_direct_addr: '_100%@' }), [7]);
    assert.deepEqual(await foundIds({ serv_direct_addr: '%' }), [7]);
    assert.deepEqual(await foundIds({ org_name: '*' }), []);
    assert.deepEqual(await foundIds({ prov_last_name: '_mith' }), []);
    assert.deepEqual(await foundIds({ org_name: 'Lake  Hospital' }), []);
    assert.deepEqual(await foundIds({ org_name: "st. john's" }), [6]);
  });

  describe('as people type', () => {
    const written = [
      ['prov_last_name', 'O’Brien', ['obrien', 'OBrien', "O'Brien", 'o‘bri', 'O´BRIEN', "o'"]],
      ['prov_last_name', 'OBrien', ["O'Brien", 'O’BRIEN']],
      ['prov_last_name', 'García–López', ['garcia lopez', 'Garcia-Lopez', 'garcia−lop', 'garcialopez']],
      ['prov_last_name', 'Garcia Lopez', ['garcia-lopez']],
      ['prov_first_name', 'Mary Ann', ['mary-ann', 'mary\u00a0ann']],
      ['org_name', 'St. Mary’s Women’s Care', ['marys womens', "mary's women's", 'y’s womens care']],
      ['org_name', 'Dallas-Fort Worth X-Ray', ['dallas fort', 'fort worth xray', 'x ray', 'dallas‑fort']],
      ['org_addr_1', '12-14 King’s Road', ['kings road', '12 14 king']],
      ['org_city', 'Saint Louis', ['St Louis', 'st. lou', 'saintlouis', 'ST']],
      ['org_city', 'Ft. Worth', ['fort worth', 'Ft Worth', 'fort w']],
      ['org_city', 'N Las Vegas', ['north las vegas', 'N. Las']],
      ['org_city', 'Coeur d’Alene', ["coeur d'alene", 'coeur dalene']],
      ['org_city', 'DeKalb', ['De Kalb', 'dekalb']],
      ['org_city', 'De Kalb', ['dekal', 'DeKalb']],
      ['org_city', 'Winston-Salem', ['winston salem']],
    ] as const;
    const unfit = [
      ['prov_last_name', 'Garcia Lopez', 'garcialopez'],
      ['prov_last_name', 'OBrien', "o'"],
      ['org_name', 'Marys', '’s'],
      ['org_city', 'Santa Fe', 'San T'],
      ['org_city', 'Stockton', 'Saint'],
      ['serv_direct_addr', 'mary-ann@d.example', 'maryann'],
    ] as const;
    test('typographic signs are plain ones, marks may be left out, a city is found as a center is', async () => {
      const other = await startTestDirectory();
      const cases = [...written.map(([name, text]) => [name, text]), ...unfit];
      await other.load(
        toCsv(
          cases.map(([name = '', text = ''], at) => ({ serv_direct_addr: `x${at}@d.example`, [name]: text })),
        ),
      );
      const isFound = async (name: string, value: string, text: string): Promise<boolean> => {
        const { body, status } = await other.search({ [name]: value, limit: 100 });
        assert.equal(status, 200, value);
        return (body.providers ?? []).some((provider) => provider[name] === text);
      };
      try {
        for (const [name, text, values] of written)
          for (const value of values) assert.ok(await isFound(name, value, text), `${value} finds ${text}`);
        for (const [name, text, value] of unfit)
          assert.ok(!(await isFound(name, value, text)), `${value} does not find ${text}`);
      } finally {
        await other.close();
      }
    });
  });

  test('one sort_order holds for all keys; a list as long as sort_by is accepted too', async () => {
    assert.deepEqual(
      await foundIds({ sort_by: 'org_state,prov_npi', sort_order: 'descending' }),
      [1, 3, 4, 7, 2, 6, 5, 8, 9],
    );
    assert.deepEqual(
      await foundIds({ sort_by: 'org_state,prov_npi', sort_order: 'descending,ascending' }),
      [2, 7, 3, 4, 1, 6, 5, 8, 9],
    );
  });

  test('sort_order without sort_by reverses the order by NPI', async () => {
    assert.deepEqual(await foundIds({ sort_order: 'descending' }), [1, 9, 3, 4, 8, 7, 6, 2, 5]);
  });

  test('with radius and without sort_by the nearest come first, for every sort_order', async () => {
    const near = { radius: 100, org_zip: '02139' };
    const nearestFirst = await foundIds(near);
    assert.deepEqual(await foundIds({ ...near, sort_order: 'ascending' }), nearestFirst);
    assert.deepEqual(await foundIds({ ...near, sort_order: 'descending' }), nearestFirst);
    assert.deepEqual(
      await foundIds({ ...near, sort_by: 'radius', sort_order: 'descending' }),
      [7, 3, 4, 1, 2],
    );
  });

  test('with radius another sort_by replaces the distance', async () => {
    assert.deepEqual(
      await foundIds({ radius: 100, org_zip: '02139', sort_by: 'prov_last_name' }),
      [3, 4, 7, 1, 2],
    );
  });

  test('blank values are last in both directions', async () => {
    assert.equal((await foundIds({ sort_by: 'prov_npi' })).at(-1), 5);
    assert.equal((await foundIds({ sort_by: 'prov_npi', sort_order: 'descending' })).at(-1), 5);
  });

  test('the last tie-break is the id, ascending, in either direction', async () => {
    assert.deepEqual(
      await foundIds({ prov_npi: '1500000009', sort_by: 'prov_last_name', sort_order: 'descending' }),
      [3, 4],
    );
  });

  test('a bad sort_by or sort_order is 400', async () => {
    for (const sort of [
      'lat',
      'id',
      'distance',
      'prov_npi,',
      ',',
      'prov_npi;org_city',
      'limit',
      'PROV_NPI',
    ]) {
      assert.deepEqual(await faults({ sort_by: sort }), ['sort_by invalid'], sort);
    }
    assert.deepEqual(await faults({ sort_by: 'org_city,org_city' }), ['sort_by repeated']);
    assert.deepEqual(await faults({ sort_by: 'radius' }), ['sort_by radius_missing']);
    for (const order of ['asc', 'Ascending', 'ascending,descending', ',']) {
      assert.deepEqual(
        await faults({ sort_by: 'org_city', sort_order: order }),
        ['sort_order invalid'],
        order,
      );
    }
  });
});

describe('Decision 0007: rate limits and quotas', () => {
  test('an empty bucket is 429 with Retry-After and RateLimit headers, for that client alone', async () => {
    const token = await world.createToken({
      limits: { directoryRequestsPerSecond: 1, directoryRequestsBurst: 2 },
    });
    const authorization = `Bearer ${token}`;
    const first = await world.search({}, { authorization });
    assert.equal(first.headers.get('ratelimit-limit'), '2');
    assert.equal(first.headers.get('ratelimit-remaining'), '1');
    await world.search({}, { authorization });
    const refused = await world.search({}, { authorization });
    assert.equal(refused.status, 429);
    assert.equal(refused.body.status, 'Error');
    assert.equal(refused.body.message, 'Too Many Requests');
    assert.equal(refused.headers.get('retry-after'), '1');
    assert.equal(refused.headers.get('ratelimit-remaining'), '0');
    assert.equal((await world.search({})).status, 200);
    world.clock.advance(1000);
    assert.equal((await world.search({}, { authorization })).status, 200);
  });

  test('a used-up daily record quota is 429 until the next day (UTC)', async () => {
    const token = await world.createToken({ limits: { directoryRecordsPerDay: 12 } });
    const authorization = `Bearer ${token}`;
    assert.equal((await world.search({}, { authorization })).status, 200);
    assert.equal((await world.search({}, { authorization })).status, 200);
    const refused = await world.search({}, { authorization });
    assert.equal(refused.status, 429);
    const midnight = new Date(world.clock.now());
    midnight.setUTCHours(24, 0, 0, 0);
    const seconds = Math.ceil((midnight.getTime() - world.clock.now().getTime()) / 1000);
    assert.equal(refused.headers.get('retry-after'), String(seconds));
  });

  test('every query leaves an audit row with client, parameters and counts; values only as hashes (DIR-04)', async () => {
    await world.search({ prov_last_name: 'Goldsmith', limit: 1 }, { 'x-request-id': 'audit-1' });
    await world.search({ prov_last_name: 'goldsmith' }, { 'x-request-id': 'audit-2' });
    await world.search({ nonsense: 'Goldsmith' }, { 'x-request-id': 'audit-3' });
    const rows = await world.audit.find({ action: 'directory.search' });
    const row = (id: string) => rows.find((candidate) => candidate.requestId === id);
    const [first, second, third] = [row('audit-1'), row('audit-2'), row('audit-3')];
    assert.ok(first && second && third);
    assert.equal(first.objects['shown'], 1);
    assert.equal(first.objects['total'], 2);
    assert.equal(first.objects['limit'], '1');
    assert.equal(
      first.objects['prov_last_name'],
      second.objects['prov_last_name'],
      'equal searches can be recognized',
    );
    assert.ok(!JSON.stringify(rows).toLowerCase().includes('goldsmith'), 'values are not stored');
    assert.deepEqual([third.outcome, third.objects['code']], ['refused', 'DIRECTORY_QUERY_INVALID']);
    assert.equal(first.actor?.length !== undefined && first.actor.length > 0, true);
  });
});

describe('the API document', () => {
  test('shows every parameter of the table', async () => {
    const document = (await (await fetch(`${(await world.serve()).baseUrl}/openapi.json`)).json()) as {
      paths: Record<string, { get: { parameters: { name: string; in: string; description?: string }[] } }>;
    };
    const shown = document.paths['/provider-directory/v2/providers']?.get.parameters.filter(
      (parameter) => parameter.in === 'query',
    );
    assert.deepEqual(
      shown?.map((parameter) => parameter.name),
      [...directoryParameters.map((parameter) => parameter.name), 'verification'],
    );
    assert.ok(shown.every((parameter) => (parameter.description ?? '') !== ''));
  });
});
