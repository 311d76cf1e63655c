import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DirectoryError } from '../errors.ts';
import { parseSearch, type SentParameters } from './parse-search.ts';

const parse = (sent: SentParameters) => parseSearch('PractitionerRole', sent, false, false);
const repeat = (count: number, name: string, value: string): SentParameters =>
  Array.from({ length: count }, (): readonly [string, string] => [name, value]);

test('an include that is sent many times is followed once', () => {
  const { include, revinclude } = parse([
    ...repeat(500, '_include', 'PractitionerRole:endpoint'),
    ...repeat(500, '_include:iterate', 'PractitionerRole:endpoint'),
  ]);
  assert.deepEqual(include, [
    { path: 'PractitionerRole:endpoint', iterates: false },
    { path: 'PractitionerRole:endpoint', iterates: true },
  ]);
  assert.deepEqual(revinclude, []);
  const organizations = parseSearch(
    'Organization',
    repeat(500, '_revinclude', 'PractitionerRole:organization'),
    false,
    false,
  );
  assert.deepEqual(organizations.revinclude, ['PractitionerRole:organization']);
});

test('the values of all parameters together are limited, each of which is a search', () => {
  const id = 'r-1,r-2,r-3,r-4,r-5,r-6,r-7,r-8,r-9,r-10';
  assert.equal(parse(repeat(10, '_id', id)).conditions.length, 10);
  assert.throws(
    () => parse(repeat(11, '_id', id)),
    (error) =>
      error instanceof DirectoryError &&
      error.problems.map(({ field, detail }) => `${field}: ${detail}`).join() ===
        '_id: At most 100 values in all parameters together.',
  );
});

test('a value of combining marks alone is refused, also among others', () => {
  assert.equal(parseSearch('Practitioner', [['family', 'e\u0301,Smith']], false, false).conditions.length, 1);
  assert.throws(
    () => parseSearch('Practitioner', [['family', 'Smith,\u0301']], false, false),
    (error) =>
      error instanceof DirectoryError &&
      error.problems.map(({ field, detail }) => `${field}: ${detail}`).join() ===
        'family: A value consists of combining marks alone.',
  );
});
