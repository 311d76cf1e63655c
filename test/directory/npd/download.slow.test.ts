/** A release fetched over a network that breaks, from a server that changes its mind or is somebody else's. */
import assert from 'node:assert/strict';
import {
  appendFile,
  mkdir,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { spawnSync } from 'node:child_process';
import { createReadStream, existsSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGuardedDownload } from '../../../src/lib/fetch/index.ts';
import {
  openRelease,
  type ImportProgress,
  type LoadReport,
  type OpenReleaseOptions,
} from '../../../src/service/directory/index.ts';
import type { DownloadPatience } from '../../../src/service/directory/load/npd/download-file.ts';
import { startTestDirectory, toCsv, type TestDirectory } from '../start-directory.ts';
import { endpoint, practitioner, role, to, writeLines } from './release-files.ts';
import { startReleaseServer, type ReleaseServer } from './release-server.ts';
import { createDeadline } from '../../support/time-scale.ts';

let world: TestDirectory;
let folder: string;
let workDir: string;
let server: ReleaseServer;
const endpointFile = '0-Endpoint.ndjson.zst';

before(async () => {
  world = await startTestDirectory();
  workDir = path.join(world.folder, 'work');
});
after(() => world.close());
beforeEach(async () => {
  folder = path.join(world.folder, 'release');
  // Random texts do not shrink: the file is large enough to break in the middle.
  const noise = Array.from({ length: 20_000 }, (_, at) => Math.sin(at).toString(36)).join('');
  await writeLines(folder, {
    Endpoint: [endpoint('a', 'a@d.example', { noise }), endpoint('b', 'b@d.example')],
    PractitionerRole: [role('a', { practitioner: to('Practitioner', 'a'), endpoint: [to('Endpoint', 'a')] })],
    Practitioner: [practitioner('a', '1245319599')],
  });
  server = await startReleaseServer(folder);
  await world.load(toCsv([{ serv_direct_addr: 'old@d.example' }]));
});
afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  await rm(workDir, { recursive: true, force: true, maxRetries: 5 });
});

const patience: DownloadPatience = {
  maxTries: 3,
  firstPauseMs: 5,
  maxPauseMs: 20,
  worthwhileBytes: 1000,
  minBytesPerSecond: 0,
  rateWindowMs: 1000,
};

type Changes = Partial<OpenReleaseOptions> & { readonly redirectHosts?: string[]; readonly idleMs?: number };

const optionsWith = ({ redirectHosts, idleMs, ...more }: Changes = {}): OpenReleaseOptions => ({
  source: server.manifestUrl,
  workDir,
  minFreeBytes: 0,
  patience,
  download: createGuardedDownload({
    timeoutMs: 2000,
    idleMs: idleMs ?? 2000,
    maxRedirects: 3,
    redirectHosts: redirectHosts ?? [server.storeHost],
    allowPrivate: true,
    allowsPlainHttp: true,
  }),
  ...more,
});

async function load(changes: Changes = {}): Promise<LoadReport> {
  const release = await openRelease(optionsWith(changes));
  try {
    return await world.directory.importFiles({ files: [], release, kind: 'full', sourceName: 'default' });
  } finally {
    await release.close();
  }
}

async function served(): Promise<unknown[]> {
  const { body } = await world.search({ sort_by: 'serv_direct_addr' });
  return (body.providers ?? []).map((record) => record['serv_direct_addr']);
}

const leftFiles = async (): Promise<string[]> =>
  (await readdir(workDir)).filter((name) => !name.startsWith('release.lock'));

/** The load fails, the old directory serves on, and nothing stays on the disk. */
async function assertRefused(loading: Promise<unknown>, expected: object): Promise<void> {
  await assert.rejects(loading, expected);
  assert.deepEqual(await served(), ['old@d.example']);
  assert.deepEqual(await leftFiles(), []);
}

const requestsOf = (name: string) =>
  server.served.filter((request) => request.name === name).map(({ range, status }) => ({ range, status }));

/** Breaks off the first `times` answers of the store for the Endpoint file after so many bytes. */
function breakOff(times: number, bytes: number): void {
  let left = times;
  const { meddle } = server;
  server.meddle = (request, response, name) => {
    if (name === endpointFile && request.url?.startsWith('/store/') === true && left > 0) {
      left--;
      const write = response.write.bind(response) as (chunk: Buffer) => boolean;
      response.write = ((chunk: Buffer) => {
        write(chunk.subarray(0, bytes));
        const start =
          response.statusCode === 206 ? Number(/[0-9]+/.exec(request.headers.range ?? '')?.[0]) : 0;
        void untilWritten(start + bytes).then(() => response.destroy());
        return false;
      }) as typeof response.write;
    }
    return meddle(request, response, name);
  };
}

/** Bytes received before a connection breaks are lost unless they were written. */
async function untilWritten(bytes: number): Promise<void> {
  const part = path.join(workDir, `${endpointFile}.part`);
  const deadline = createDeadline(10_000);
  while (!deadline.isOver() && (!existsSync(part) || (await stat(part)).size < bytes)) await sleep(5);
}

describe('a release from a server', () => {
  test('is fetched through the redirect, loaded, and removed', async () => {
    const phases = new Set<string>();
    let last: ImportProgress | undefined;
    const report = await load({
      onProgress: (progress) => {
        phases.add(progress.phase);
        last = progress;
      },
    });
    assert.equal(report.loaded, 2);
    assert.deepEqual(await served(), ['a@d.example', 'b@d.example']);
    assert.deepEqual([...phases], ['downloading']);
    assert.equal(last?.bytesRead, last?.totalBytes);
    assert.equal(server.served.length, 5, 'only the files that are needed, each once');
    assert.deepEqual(await leftFiles(), []);
  });

  test('that breaks off is resumed where it stopped', async () => {
    breakOff(2, 20_000);
    assert.equal((await load()).loaded, 2);
    const requests = requestsOf(endpointFile);
    assert.deepEqual(
      requests.map(({ status }) => status),
      [200, 206, 206],
    );
    assert.match(requests[1]?.range ?? '', /^bytes=[1-9][0-9]*-$/);
    assert.notEqual(requests[1]?.range, requests[2]?.range);
  });

  test('that keeps breaking is aborted, and the next run resumes it', async () => {
    breakOff(3, 300);
    await assert.rejects(load(), { code: 'DIRECTORY_DOWNLOAD_FAILED' });
    assert.deepEqual(await served(), ['old@d.example']);
    assert.ok((await leftFiles()).includes(`${endpointFile}.part`));
    const asked = server.served.length;
    assert.equal((await load()).loaded, 2);
    assert.equal(server.served[asked]?.status, 206);
    assert.deepEqual(await leftFiles(), []);
  });

  test('that has changed under its name is not spliced: the file begins again', async () => {
    breakOff(1, 20_000);
    const tags = ['"before"', '"after"'];
    server.etagOf = (name) => (name === endpointFile ? (tags.shift() ?? '"after"') : '"same"');
    assert.equal((await load()).loaded, 2);
    assert.deepEqual(
      requestsOf(endpointFile).map(({ status }) => status),
      [200, 200],
    );
  });

  test('whose server ignores If-Range, or sends another part, is not spliced either', async () => {
    const size = (await readFile(path.join(folder, endpointFile))).length;
    const answers: Record<string, Record<string, string>> = {
      'another version': { etag: '"other"', 'content-range': `bytes 20000-${size - 1}/${size}` },
      'another place': { etag: '"same"', 'content-range': `bytes 0-${size - 1}/${size}` },
      'another total': { etag: '"same"', 'content-range': `bytes 20000-${size}/${size + 1}` },
      'no range': { etag: '"same"' },
    };
    for (const [what, headers] of Object.entries(answers)) {
      server.served.length = 0;
      server.etagOf = () => '"same"';
      let parts = 0;
      server.meddle = (request, response, name) => {
        if (name !== endpointFile || request.headers.range === undefined) return false;
        parts++;
        response.writeHead(206, headers);
        createReadStream(path.join(folder, endpointFile)).pipe(response);
        return true;
      };
      breakOff(1, 20_000);
      assert.equal((await load()).loaded, 2, what);
      assert.equal(parts, 1, what);
      assert.deepEqual(
        requestsOf(endpointFile).map(({ status }) => status),
        [200, 200],
        what,
      );
    }
  });

  test('without a strong ETag is fetched from its start after a break', async () => {
    for (const etag of ['W/"weak"', '']) {
      server.served.length = 0;
      server.etagOf = () => etag;
      breakOff(1, 20_000);
      assert.equal((await load()).loaded, 2);
      assert.deepEqual(requestsOf(endpointFile), [
        { range: undefined, status: 200 },
        { range: undefined, status: 200 },
      ]);
    }
  });

  test('that stalls or drips is fetched on a new connection', async () => {
    const slowly: Record<string, Changes> = {
      stalls: { idleMs: 100 },
      drips: { patience: { ...patience, minBytesPerSecond: 5000, rateWindowMs: 100 } },
    };
    for (const [how, changes] of Object.entries(slowly)) {
      let isFirst = true;
      const drips: NodeJS.Timeout[] = [];
      server.meddle = async (request, response, name) => {
        if (name !== endpointFile || request.url?.startsWith('/store/') !== true || !isFirst) return false;
        isFirst = false;
        const bytes = await readFile(path.join(folder, name));
        response.writeHead(200, { 'content-length': bytes.length, etag: '"slow"' });
        response.write(bytes.subarray(0, 1000));
        let at = 1000;
        if (how === 'drips') drips.push(setInterval(() => response.write(bytes.subarray(at, ++at)), 20));
        return true;
      };
      server.etagOf = (name) => (name === endpointFile ? '"slow"' : '"other"');
      assert.equal((await load(changes)).loaded, 2, how);
      assert.equal(requestsOf(endpointFile).at(-1)?.status, 206, how);
      for (const drip of drips) clearInterval(drip);
    }
  });

  test('whose signed URL has expired, or that is overloaded, is asked again', async () => {
    for (const status of [403, 429, 503]) {
      let left = 2;
      server.meddle = (request, response, name) => {
        if (name !== endpointFile || request.url?.startsWith('/store/') !== true || left-- <= 0) return false;
        response.writeHead(status).end('later');
        return true;
      };
      assert.equal((await load()).loaded, 2, String(status));
    }
  });

  test('does not fetch files again that were complete before the break', async () => {
    server.meddle = (_request, response, name) => {
      if (!name.startsWith('0-Practitioner.')) return false;
      response.writeHead(500).end();
      return true;
    };
    await assert.rejects(load(), { code: 'DIRECTORY_DOWNLOAD_FAILED' });
    server.meddle = () => false;
    assert.equal((await load()).loaded, 2);
    assert.equal(requestsOf(endpointFile).length, 1);
  });
});

describe('a release is refused', () => {
  test('from a host that is not named, and from private addresses', async () => {
    await assertRefused(load({ redirectHosts: ['other.example'] }), {
      code: 'DIRECTORY_DOWNLOAD_FAILED',
      message: /localhost, which is not an allowed host/,
    });
    const limits = { timeoutMs: 500, idleMs: 500, maxRedirects: 3, redirectHosts: [] };
    for (const [allowed, message] of [
      [{ allowsPlainHttp: true }, /not public/],
      [{ allowPrivate: true }, /not https/],
    ] as const) {
      const download = createGuardedDownload({ ...limits, ...allowed });
      await assertRefused(load({ download }), { code: 'DIRECTORY_DOWNLOAD_FAILED', message });
    }
  });

  test('when a file has another size than the manifest says, or is gone', async () => {
    await appendFile(path.join(folder, endpointFile), 'x');
    await assertRefused(load(), { code: 'DIRECTORY_RELEASE_CHANGED' });
    server.meddle = (request, response, name) => {
      if (name !== endpointFile || request.url?.startsWith('/store/') !== true) return false;
      response.writeHead(200).end(Buffer.alloc(500_000));
      return true;
    };
    await assertRefused(load(), { code: 'DIRECTORY_RELEASE_CHANGED', message: /more than/ });
    await rm(path.join(folder, endpointFile));
    server.meddle = () => false;
    await assertRefused(load(), { code: 'DIRECTORY_DOWNLOAD_FAILED', message: /404/ });
  });

  test('when the manifest changes while the files are fetched or read', async () => {
    const manifest = path.join(folder, 'manifest.json');
    const before = await readFile(manifest, 'utf8');
    for (const change of ['fetched', 'read']) {
      let asked = 0;
      server.meddle = async (_request, _response, name) => {
        if (name === 'manifest.json' && ++asked === (change === 'fetched' ? 2 : 3))
          await writeFile(manifest, before.replace('2026-09-29', '2026-10-06'));
        return false;
      };
      await assertRefused(load(), { code: 'DIRECTORY_RELEASE_CHANGED', message: /2026-09-29.*2026-10-06/ });
      await writeFile(manifest, before);
    }
  });

  test('when the manifest is no manifest, too large, or not to be had', async () => {
    const answers: readonly (readonly [number, string | Buffer, string])[] = [
      [200, '<html>', 'DIRECTORY_RELEASE_INVALID'],
      [200, Buffer.alloc(300_000), 'DIRECTORY_RELEASE_INVALID'],
      [404, '', 'DIRECTORY_DOWNLOAD_FAILED'],
      [500, '', 'DIRECTORY_DOWNLOAD_FAILED'],
    ];
    for (const [status, body, code] of answers) {
      server.meddle = (_request, response) => {
        response.writeHead(status).end(body);
        return true;
      };
      await assertRefused(load(), { code });
    }
    await server.close();
    await assertRefused(load(), { code: 'DIRECTORY_DOWNLOAD_FAILED' });
    server = await startReleaseServer(folder);
  });

  test('before anything is fetched when there is no room for it', async () => {
    const readFree = async (): Promise<number> => 1_000_000;
    await assertRefused(load({ readFree, minFreeBytes: 990_000 }), {
      code: 'DIRECTORY_DISK_LOW',
      message: /MB of free disk/,
    });
    assert.equal(server.served.length, 0);
    await assertRefused(load({ source: folder, readFree: async () => 1000 }), { code: 'DIRECTORY_DISK_LOW' });
  });

  test('when the disk fills while it is fetched', async () => {
    await mkdir(workDir, { recursive: true });
    await symlink('/dev/full', path.join(workDir, `${endpointFile}.part`));
    await assertRefused(load(), { code: 'DIRECTORY_DISK_LOW' });
  });

  test('when the disk fills while it is read', async (t) => {
    await mkdir(workDir, { recursive: true });
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', workDir]).status !== 0)
      return t.skip('a small disk cannot be mounted here');
    try {
      // More than the cache of the scratch file has room for.
      const long = 'x'.repeat(2_000_000);
      const endpoints = Array.from({ length: 100 }, (_, at) => endpoint(`${at}${long}`, `${at}@d.example`));
      await writeLines(folder, { Endpoint: endpoints });
      const readFree = async (): Promise<number> => Infinity;
      await assertRefused(load({ source: folder, readFree }), {
        code: 'DIRECTORY_DISK_LOW',
        message: /scratch/,
      });
    } finally {
      spawnSync('umount', [workDir]);
    }
  });

  test('while another import of a release runs', async () => {
    const first = await openRelease(optionsWith());
    await assert.rejects(load(), { code: 'DIRECTORY_LOAD_RUNNING' });
    await first.close();
    assert.equal((await load()).loaded, 2);
  });
});

describe('a release in a folder', () => {
  const fromFolder = (): Promise<LoadReport> => load({ source: folder });

  test('is read where it lies, and stays', async () => {
    assert.equal((await fromFolder()).loaded, 2);
    assert.ok(existsSync(path.join(folder, endpointFile)));
    assert.equal(server.served.length, 0);
  });

  test('is refused without its manifest, without a file, and when a file is cut off', async () => {
    await truncate(path.join(folder, endpointFile), 5000);
    await assertRefused(fromFolder(), { code: 'DIRECTORY_RELEASE_PARTIAL', message: /5000 bytes/ });
    await rm(path.join(folder, endpointFile));
    await assertRefused(fromFolder(), { code: 'DIRECTORY_RELEASE_PARTIAL', message: /missing/ });
    await rm(path.join(folder, 'manifest.json'));
    await assertRefused(fromFolder(), { code: 'DIRECTORY_FILE_UNREADABLE' });
    await writeFile(path.join(folder, 'manifest.json'), Buffer.alloc(300_000));
    await assertRefused(fromFolder(), { code: 'DIRECTORY_RELEASE_INVALID' });
  });

  test('is refused when its bytes or lines are other than stated, and when it has no Direct address', async () => {
    const manifest = path.join(folder, 'manifest.json');
    const text = await readFile(manifest, 'utf8');
    const changed = async (change: (entry: Record<string, number>) => void): Promise<void> => {
      const parsed = JSON.parse(text) as { files: Record<string, Record<string, number>>; totals?: object };
      delete parsed.totals;
      change(parsed.files['0-Practitioner.ndjson'] ?? {});
      await writeFile(manifest, JSON.stringify(parsed));
    };
    await changed((entry) => (entry['original_bytes'] = (entry['original_bytes'] ?? 0) + 1));
    await assertRefused(fromFolder(), { code: 'DIRECTORY_RELEASE_PARTIAL', message: /bytes decompressed/ });
    await changed((entry) => (entry['line_count'] = 2));
    await assertRefused(fromFolder(), {
      code: 'DIRECTORY_RELEASE_PARTIAL',
      message: /1 lines; the manifest says 2/,
    });
    await changed((entry) => (entry['line_count'] = 1));
    assert.equal((await fromFolder()).loaded, 2);
    await world.load(toCsv([{ serv_direct_addr: 'old@d.example' }]));
    await writeLines(folder, { Endpoint: [endpoint('a', 'a@d.example', { status: 'off' })] });
    await assertRefused(fromFolder(), { code: 'DIRECTORY_RELEASE_PARTIAL', message: /direct-project/ });
  });

  test('is refused when a line is longer than any resource', async () => {
    await writeLines(folder, {
      Endpoint: [endpoint('a', 'a@d.example')],
      Practitioner: ['x'.repeat(21 * 1024 * 1024)],
    });
    await assertRefused(fromFolder(), { code: 'DIRECTORY_FILE_BROKEN', message: /Line 1 is longer/ });
  });
});
