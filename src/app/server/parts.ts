import { errorText, type Closable, type Log } from '../../core/index.ts';

/** What has been started, to be closed in the opposite order. */
export interface Parts extends Closable {
  /** Remembers a part and gives it back. */
  keep<Part extends Closable>(part: Part): Part;
}

/** A part that does not close must not keep the others open: its failure is logged. */
export function createParts(log: Log): Parts {
  const parts: Closable[] = [];
  return {
    keep(part) {
      parts.push(part);
      return part;
    },
    async close() {
      for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
        try {
          await part.close();
        } catch (error) {
          log.error({ problem: errorText(error) }, 'a part could not be closed');
        }
      }
    },
  };
}
