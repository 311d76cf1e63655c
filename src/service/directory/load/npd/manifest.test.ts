import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { neededResources, parseManifest } from './manifest.ts';

const all = [...neededResources, 'HealthcareService', 'InsurancePlan', 'OrganizationAffiliation'];

function manifestOf(nameOf: (resource: string) => string, more: object = {}): Buffer {
  const files = Object.fromEntries(
    all.map((resource) => [nameOf(resource), { compressed_bytes: 10, original_bytes: 100 }]),
  );
  return Buffer.from(
    JSON.stringify({
      compression_algorithm: 'zstd',
      generated_at: '2026-09-29',
      files,
      totals: { compressed_bytes: 80, original_bytes: 800 },
      ...more,
    }),
  );
}

const numbered = (resource: string): string => `0${all.indexOf(resource) + 1}-${resource}.ndjson`;

test('a manifest without a date or totals, with a byte order mark, is read', () => {
  for (const missing of [null, undefined]) {
    const bytes = manifestOf(numbered, { generated_at: missing, totals: missing });
    const manifest = parseManifest(Buffer.concat([Buffer.from('\ufeff'), bytes]));
    assert.equal(manifest.generatedAt, 'an unknown date');
    assert.equal(manifest.files.Endpoint.key, numbered('Endpoint'));
  }
});

describe('the names of the files', () => {
  test('are known in every form that releases have had', () => {
    const forms = {
      plain: (resource: string) => `${resource}.ndjson`,
      dated: (resource: string) => `${resource}_2026-05-07_2128.ndjson`,
      numbered,
      packed: (resource: string) => `${resource}.ndjson.zst`,
    };
    for (const [form, nameOf] of Object.entries(forms)) {
      const { files } = parseManifest(manifestOf(nameOf));
      for (const resource of neededResources)
        assert.equal(files[resource].key, nameOf(resource).replace('.zst', ''), form);
    }
  });

  test('are not mistaken for longer ones: a missing resource is found missing', () => {
    for (const missing of neededResources) {
      const other = (resource: string): string => numbered(resource === missing ? `${resource}s` : resource);
      assert.throws(() => parseManifest(manifestOf(other)), {
        code: 'DIRECTORY_RELEASE_PARTIAL',
        message: new RegExp(missing),
      });
    }
  });

  test('are refused when two files are of one resource', () => {
    const files = { 'Endpoint.ndjson': { compressed_bytes: 1, original_bytes: 1 } };
    const manifest = JSON.parse(manifestOf(numbered).toString()) as { files: object; totals?: object };
    delete manifest.totals;
    assert.throws(
      () =>
        parseManifest(Buffer.from(JSON.stringify({ ...manifest, files: { ...manifest.files, ...files } }))),
      { code: 'DIRECTORY_RELEASE_INVALID', message: /2 files of Endpoint/ },
    );
  });

  test('that would leave the folder are refused', () => {
    for (const name of [
      '1/../../Endpoint.ndjson',
      '..-Endpoint.ndjson',
      '0%2f-Endpoint.ndjson',
      '0\n-Endpoint.ndjson',
    ]) {
      const nameOf = (resource: string): string => (resource === 'Endpoint' ? name : numbered(resource));
      assert.throws(
        () => parseManifest(manifestOf(nameOf)),
        { code: /^DIRECTORY_RELEASE_(INVALID|PARTIAL)$/ },
        name,
      );
    }
  });

  test('of other resources may be anything', () => {
    const nameOf = (resource: string): string =>
      resource === 'InsurancePlan' ? '../../etc/passwd' : numbered(resource);
    assert.equal(parseManifest(manifestOf(nameOf)).files.Endpoint.key, '01-Endpoint.ndjson');
  });
});

test('a manifest that is damaged or of another kind is refused', () => {
  const broken = {
    'not JSON': Buffer.from('{'),
    'a list': Buffer.from('[]'),
    'no files': manifestOf(numbered, { files: 3 }),
    'another compression': manifestOf(numbered, { compression_algorithm: 'lz4' }),
    'no date': manifestOf(numbered, { generated_at: 'yesterday' }),
    'totals of another kind': manifestOf(numbered, { totals: 'many' }),
    'totals without numbers': manifestOf(numbered, { totals: { compressed_bytes: '80' } }),
    'too large': Buffer.alloc(300_000, ' '),
  };
  for (const [what, bytes] of Object.entries(broken))
    assert.throws(() => parseManifest(bytes), { code: 'DIRECTORY_RELEASE_INVALID' }, what);
  const sizes = [-1, 1.5, '10', null, 2 ** 60];
  for (const size of sizes) {
    const manifest = JSON.parse(manifestOf(numbered, { totals: undefined }).toString()) as {
      files: Record<string, { original_bytes: unknown }>;
    };
    (manifest.files['01-Endpoint.ndjson'] as { original_bytes: unknown }).original_bytes = size;
    assert.throws(
      () => parseManifest(Buffer.from(JSON.stringify(manifest))),
      { code: 'DIRECTORY_RELEASE_INVALID' },
      String(size),
    );
  }
});

test('a manifest whose totals are not those of its files is refused, and one with an empty file', () => {
  const totals = { compressed_bytes: 80, original_bytes: 801 };
  assert.throws(() => parseManifest(manifestOf(numbered, { totals })), { code: 'DIRECTORY_RELEASE_PARTIAL' });
  const manifest = JSON.parse(manifestOf(numbered, { totals: undefined }).toString()) as {
    files: Record<string, unknown>;
  };
  manifest.files['01-Endpoint.ndjson'] = { compressed_bytes: 9, original_bytes: 0 };
  assert.throws(() => parseManifest(Buffer.from(JSON.stringify(manifest))), {
    code: 'DIRECTORY_RELEASE_PARTIAL',
    message: /empty/,
  });
});

test('the digest follows every change', () => {
  const before = parseManifest(manifestOf(numbered));
  assert.equal(parseManifest(manifestOf(numbered)).digest, before.digest);
  assert.notEqual(parseManifest(manifestOf(numbered, { note: 'x' })).digest, before.digest);
});
