import type { QueryClient } from '@tanstack/react-query';
import { sessionKey } from './session.ts';

/**
 * After any change of domains, keys, anchors, bundles or addresses: what is shown of them is read again, the
 * DNS is asked again, and the domain is examined again.
 */
export async function refreshTrust(client: QueryClient): Promise<void> {
  await Promise.all(
    ['trust', 'domain-records', 'domain-findings', 'now', ...sessionKey].map((topic) =>
      client.invalidateQueries({ queryKey: [topic] }),
    ),
  );
}
