import { errorText, type Log } from '../../core/index.ts';
import { readTlsFiles, type TlsFiles } from '../../platform/index.ts';

interface TlsSettings {
  readonly tlsKeyFile?: string | undefined;
  readonly tlsCertificateFile?: string | undefined;
}

/** Looks for renewed TLS files of a section of the configuration. */
export interface TlsWatch {
  /**
   * Passes on the files if they have changed. Files that do not fit together, as half-way through a renewal,
   * are logged once and left.
   */
  run(): Promise<void>;
}

/** `use` gets the key and the certificate that connections from now on are to be made with. */
export function createTlsWatch(
  section: string,
  settings: TlsSettings,
  log: Log,
  use: (files: TlsFiles) => void,
): TlsWatch {
  let used = readTlsFiles(section, settings);
  let lastProblem = '';
  return {
    async run() {
      if (used === undefined) return;
      try {
        const files = readTlsFiles(section, settings);
        if (files === undefined || (files.key.equals(used.key) && files.cert.equals(used.cert))) return;
        use(files);
        used = files;
        lastProblem = '';
        log.info({ section }, 'the TLS certificate was reloaded');
      } catch (error) {
        const problem = errorText(error);
        if (problem !== lastProblem) log.error({ section, problem }, 'the new TLS files cannot be used');
        lastProblem = problem;
      }
    },
  };
}
