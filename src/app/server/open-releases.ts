import { createGuardedDownload } from '../../lib/fetch/index.ts';
import type { Config } from '../../platform/index.ts';
import type { ReleaseOpener } from '../../service/directory/index.ts';

// Loaded by the call: commands that open no release need nothing of it.
const loadDirectory = () => import('../../service/directory/index.ts');

/** Time for lookup, connection and the head of an answer, and without a byte of a body. */
const timeoutMs = 30_000;

/** Opens releases of the national directory, from folders and from the hosts that the settings allow. */
export function createReleaseOpener({
  directory,
  admission,
}: Pick<Config, 'directory' | 'admission'>): ReleaseOpener {
  const download = createGuardedDownload({
    timeoutMs,
    idleMs: timeoutMs,
    maxRedirects: 3,
    redirectHosts: directory.downloadHosts,
    allowPrivate: directory.allowsPrivateTargets,
    allowsPlainHttp: directory.allowsPrivateTargets,
  });
  return {
    open: async (source, onProgress) =>
      (await loadDirectory()).openRelease({
        source,
        workDir: directory.workDir,
        minFreeBytes: admission.minFreeDiskBytes,
        download,
        ...(onProgress && { onProgress }),
      }),
    readDigest: async (source) => (await loadDirectory()).readReleaseDigest({ source, download }),
  };
}
