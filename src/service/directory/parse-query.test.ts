import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../../../test/support/fast-check.ts';
import { DirectoryError } from './errors.ts';
import { directoryParameters, filterParameters } from './parameters.ts';
import { parseQuery } from './parse-query.ts';
import type { CenterFinder } from './radius.ts';

const centers: CenterFinder = {
  findZip: (zip) => (zip === '02139' ? { latitude: 42, longitude: -71 } : undefined),
  findCity: (city, state) =>
    city === 'Boston' && state === 'MA' ? { latitude: 42.3, longitude: -71.1 } : undefined,
};

function parse(parameters: Readonly<Record<string, string>>) {
  return parseQuery(Object.entries(parameters), centers);
}

test('a query without parameters is the first page by NPI', () => {
  assert.deepEqual(parse({}), {
    filters: [],
    sort: [{ field: 'npi', isDescending: false }],
    offset: 0,
    limit: 10,
  });
});

test('every filter of the table becomes a filter on its field, with its match', () => {
  for (const parameter of filterParameters) {
    const value = parameter.example.split(':').at(-1) ?? '';
    const { filters } = parse({ [parameter.name]: value });
    assert.deepEqual(filters, [{ field: parameter.field, match: parameter.match, value }]);
  }
});

test('the fields that form the center stop filtering; with a ZIP, city and state filter', () => {
  const byZip = parse({ radius: '', org_zip: '02139', org_city: 'Bos', prov_last_name: 'S' });
  assert.deepEqual(byZip.radius, { latitude: 42, longitude: -71, miles: 1000 });
  assert.deepEqual(
    byZip.filters.map((filter) => filter.field),
    ['lastName', 'city'],
  );
  const byCity = parse({ radius: '25', org_city: 'Boston', org_state: 'MA' });
  assert.deepEqual(byCity.radius, { latitude: 42.3, longitude: -71.1, miles: 25 });
  assert.deepEqual(byCity.filters, []);
  assert.deepEqual(byCity.sort, [{ field: 'distance', isDescending: false }]);
});

test('every faulty parameter is named, sort_by and sort_order too', () => {
  const sent = { limit: '0', sort_by: 'x', sort_order: 'y', radius: '0', prov_npi: '1' };
  assert.throws(
    () => parse(sent),
    (error) => {
      assert.ok(error instanceof DirectoryError);
      assert.deepEqual(new Set(error.problems.map(({ field }) => field)), new Set(Object.keys(sent)));
      return true;
    },
  );
});

test('a value of combining marks alone is refused: without its marks it would be in every text', () => {
  assert.deepEqual(parse({ prov_last_name: 'e\u0301' }).filters.length, 1);
  for (const name of ['prov_last_name', 'org_name'])
    assert.throws(
      () => parse({ [name]: '\u0301\u0302' }),
      (error) =>
        error instanceof DirectoryError &&
        error.problems.map(({ field, reason }) => `${field}: ${reason}`).join() === `${name}: invalid`,
    );
});

test('an unknown center is a separate error code', () => {
  assert.throws(() => parse({ radius: '5', org_zip: '99999' }), { code: 'DIRECTORY_CENTER_NOT_FOUND' });
});

test('any input gives a query within bounds or a refusal that names parameters', () => {
  const name = fc.oneof(
    fc.constantFrom(...directoryParameters.map((parameter) => parameter.name as string)),
    fc.string({ maxLength: 12 }),
  );
  const value = fc.oneof(
    fc.string({ maxLength: 20 }),
    fc.constantFrom('', '0', '1', '10', '02139', 'Boston', 'MA', 'ascending', 'prov_npi,radius'),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value), { maxLength: 6 }), (sent) => {
      try {
        const query = parseQuery(sent, centers);
        assert.ok(query.limit >= 1 && query.limit <= 1000 && query.offset >= 0 && query.sort.length > 0);
        assert.ok(query.radius === undefined || (query.radius.miles > 0 && query.radius.miles <= 1000));
        assert.ok(query.filters.every((filter) => filter.value !== ''));
        assert.equal(
          query.radius !== undefined,
          sent.some(([sentName]) => sentName === 'radius'),
        );
      } catch (error) {
        assert.ok(error instanceof DirectoryError && error.problems.length > 0);
      }
    }),
    { numRuns: 2000 },
  );
});

test('an unknown parameter is named with at most 64 characters of its name', () => {
  for (const [length, shown] of [
    [64, 'x'.repeat(64)],
    [65, `${'x'.repeat(64)}…`],
  ] as const)
    assert.throws(
      () => parse({ ['x'.repeat(length)]: '1' }),
      (error) => error instanceof DirectoryError && error.problems[0]?.field === shown,
    );
});
