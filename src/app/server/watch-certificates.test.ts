import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { collectLines } from '../../../test/support/collect-lines.ts';
import { makeTlsCertificate } from '../../../test/support/tls-certificate.ts';
import { createManualClock } from '../../core/index.ts';
import { createMetrics, loadConfig } from '../../platform/index.ts';
import type { AnchorWarning } from '../../service/trust/index.ts';
import { createCertificateWatch } from './watch-certificates.ts';

const dayMs = 86_400_000;
const soon: AnchorWarning = {
  fingerprint: 'f1',
  subject: 'CN=Partner CA',
  domain: 'direct.example.org',
  domainCount: 1,
  notAfter: new Date('2026-06-20T00:00:00Z'),
  problem: 'expires-soon',
};

function start(settings: Readonly<Record<string, string>> = {}, now = new Date('2026-06-01T00:00:00Z')) {
  const clock = createManualClock(now);
  const metrics = createMetrics();
  const { log, lines } = collectLines();
  let anchors: readonly AnchorWarning[] = [];
  const watch = createCertificateWatch({
    config: loadConfig({}, undefined, settings),
    trust: { findAnchorWarnings: async () => anchors },
    clock,
    log,
    metrics,
  });
  return { clock, metrics, lines, watch, set: (...some: AnchorWarning[]) => void (anchors = some) };
}

test('an anchor that ends is logged once per day and again when it has ended, counted, and among the readiness details', async () => {
  const { clock, lines, metrics, watch, set } = start();
  set(soon);
  await watch.run();
  clock.advance(dayMs / 24);
  await watch.run();
  const expires = 'The anchor CN=Partner CA of direct.example.org expires on 2026-06-20.';
  assert.deepEqual(lines, [`warn ${expires}`]);
  assert.deepEqual(watch.degraded(), [{ part: 'anchors', detail: expires }]);
  assert.match(await metrics.text(), /^openhisp_anchor_warnings\{problem="expires-soon"\} 1$/m);
  clock.advance(dayMs);
  await watch.run();
  assert.equal(lines.length, 2);
  set({ ...soon, problem: 'expired', domainCount: 3 });
  await watch.run();
  assert.equal(
    lines.at(-1),
    'error The anchor CN=Partner CA of direct.example.org and 2 more expired on 2026-06-20.',
  );
  assert.match(await metrics.text(), /^openhisp_anchor_warnings\{problem="expired"\} 1$/m);
  set();
  await watch.run();
  assert.deepEqual(watch.degraded(), []);
});

test('a hundred anchors are twenty lines and a number', async () => {
  const { lines, watch, set } = start();
  set(...Array.from({ length: 100 }, (_, index) => ({ ...soon, fingerprint: `f${index}` })));
  await watch.run();
  assert.equal(lines.length, 21);
  assert.deepEqual(
    [watch.degraded().length, watch.degraded().at(-1)?.detail],
    [21, '80 more certificates need attention.'],
  );
});

const pem = makeTlsCertificate('mx.direct.example.org', 12);

test('the TLS certificate of each listener is watched, and files that the next start could not use', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-certificates-'));
  try {
    const file = path.join(folder, 'tls.pem');
    writeFileSync(file, pem);
    const settings = Object.fromEntries(
      ['http', 'smtp', 'console'].flatMap((section) => [
        [`${section}.tlsKeyFile`, file],
        [`${section}.tlsCertificateFile`, file],
      ]),
    );
    const { clock, lines, metrics, watch } = start(
      { ...settings, 'console.publicUrl': 'https://console.example.org' },
      new Date(),
    );
    await watch.run();
    for (const [index, section] of ['http', 'smtp', 'console'].entries()) {
      const detail = new RegExp(
        `^The certificate of ${section}\\.tlsCertificateFile expires on \\d{4}-\\d\\d-\\d\\d\\.$`,
      );
      assert.match(watch.degraded()[index]?.detail ?? '', detail);
      assert.match(
        await metrics.text(),
        new RegExp(`^openhisp_tls_expiry_days\\{listener="${section}"\\} 11\\.99`, 'm'),
      );
    }
    clock.advance(13 * dayMs);
    await watch.run();
    assert.match(lines.at(-1) ?? '', /^error The certificate of console\.tlsCertificateFile expired on /);
    writeFileSync(file, 'half of a renewal');
    await watch.run();
    assert.deepEqual(watch.degraded()[0], {
      part: 'tls',
      detail: 'The files of http.tlsKeyFile and tlsCertificateFile cannot be used; the next start fails.',
    });
  } finally {
    rmSync(folder, { recursive: true, maxRetries: 5 });
  }
});
