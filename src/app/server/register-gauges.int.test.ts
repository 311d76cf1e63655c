import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { createManualClock } from '../../core/index.ts';
import { createMetrics, loadConfig } from '../../platform/index.ts';
import { openTestStorage } from '../../../test/support/storage.ts';
import { registerGauges } from './register-gauges.ts';

test('gauges tell ages and failures, and one that cannot be read is NaN and harms no other', async () => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'openhisp-gauges-'));
  try {
    const storage = await openTestStorage();
    const metrics = createMetrics();
    const clock = createManualClock(new Date('2026-06-03T00:00:00Z'));
    const bundle = {
      id: 'b1',
      domain: 'direct.example.org',
      direction: 'both' as const,
      url: 'https://bundles.example/a.p7b',
      anchorCount: 1,
      refreshedAt: new Date('2026-06-01T00:00:00Z'),
      checksum: '',
      lastError: '',
    };
    const bundles = [bundle, { ...bundle, id: 'b2', refreshedAt: undefined, lastError: 'timeout' }];
    const config = loadConfig({}, undefined, { dataDir });
    registerGauges({ config, storage, trust: { listBundles: async () => bundles }, clock, metrics });
    const read = async (name: string) =>
      new RegExp(`^openhisp_${name} (\\S+)$`, 'm').exec(await metrics.text())?.[1];
    assert.equal(await read('bundle_age_seconds'), String(2 * 86_400));
    assert.equal(await read('bundles_failing'), '1');
    assert.equal(await read('webhooks_failing'), '0');
    assert.equal((await read('directory_age_seconds'))?.toLowerCase(), 'nan');
    await storage.close();
    assert.equal((await read('webhooks_failing'))?.toLowerCase(), 'nan');
    assert.equal(await read('bundles_failing'), '1');
  } finally {
    await rm(dataDir, { recursive: true });
  }
});
