import type { InboxEntry } from './inbox-access.ts';
import type { InboundDocument } from './open-documents.ts';
import type { ServiceIdentity } from './seams.ts';

export interface PackContext {
  readonly entry: InboxEntry;
  readonly subject: string;
  readonly identity: ServiceIdentity;
}

export interface Arranged {
  readonly documents: readonly InboundDocument[];
  readonly holdsPackage: boolean;
}

export async function packReceived(
  loose: readonly InboundDocument[],
  _context: PackContext,
): Promise<Arranged> {
  return { documents: loose, holdsPackage: false };
}

export async function unpackReceived(loose: readonly InboundDocument[]): Promise<Arranged> {
  return { documents: loose, holdsPackage: false };
}
