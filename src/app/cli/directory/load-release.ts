import { createGuardedDownload } from '../../../lib/fetch/index.ts';
import type { Config } from '../../../platform/index.ts';
import {
  openRelease,
  type ImportProgress,
  type LoadReport,
  type Release,
} from '../../../service/directory/index.ts';

/** Time for lookup, connection and the head of an answer, and without a byte of a body. */
const timeoutMs = 30_000;

/** Opens a release of the national directory, from a folder or a URL, loads it, and removes the downloaded files. */
export async function loadRelease(
  { directory, admission }: Pick<Config, 'directory' | 'admission'>,
  source: string,
  onProgress: (progress: ImportProgress) => void,
  load: (input: { files: []; release: Release }) => Promise<LoadReport>,
): Promise<LoadReport> {
  const release = await openRelease({
    source,
    workDir: directory.workDir,
    minFreeBytes: admission.minFreeDiskBytes,
    onProgress,
    download: createGuardedDownload({
      timeoutMs,
      idleMs: timeoutMs,
      maxRedirects: 3,
      redirectHosts: directory.downloadHosts,
      allowPrivate: directory.allowsPrivateTargets,
      allowsPlainHttp: directory.allowsPrivateTargets,
    }),
  });
  try {
    return await load({ files: [], release });
  } finally {
    await release.close();
  }
}
