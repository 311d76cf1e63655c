import { errorText, type Closable, type Log } from '../../core/index.ts';

/** Started resources, to be closed in reverse order. */
export interface Resources extends Closable {
  /** Remembers a resource and gives it back. */
  keep<Resource extends Closable>(resource: Resource): Resource;
}

/** A resource that does not close must not keep the others open: its failure is logged. */
export function createResources(log: Log): Resources {
  const resources: Closable[] = [];
  return {
    keep(resource) {
      resources.push(resource);
      return resource;
    },
    async close() {
      for (let resource = resources.pop(); resource !== undefined; resource = resources.pop()) {
        try {
          await resource.close();
        } catch (error) {
          log.error({ problem: errorText(error) }, 'a resource could not be closed');
        }
      }
    },
  };
}
