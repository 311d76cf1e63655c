import type { Clock, Closable } from '../../core/index.ts';
import type { DnsResolver, DnsServerAddress } from '../../lib/dns/index.ts';
import type { Config, Storage } from '../../platform/index.ts';
import type { EdgeAccountStore } from '../../service/edges/index.ts';
import type { ClientStore } from '../../service/oauth/index.ts';
import type { Organizations } from '../../service/organizations/index.ts';
import type { Trust } from '../../service/trust/index.ts';
import type { WorldPorts } from './world-ports.ts';

export interface DoctorOptions {
  readonly config: Config;
  readonly storage: Storage;
  readonly trust: Trust;
  readonly clients: Pick<ClientStore, 'findOwned' | 'get'>;
  /** Absent where one domain alone is examined. */
  readonly edgeAccounts?: Pick<EdgeAccountStore, 'list'>;
  /** Absent where one domain alone is examined. */
  readonly organizations?: Pick<Organizations, 'findNearLimits'>;
  readonly clock: Clock;
  /** The public view of the DNS: recursive, and without a cache. */
  readonly dns: DnsResolver;
  /** A resolver that queries only one name server. */
  readonly openResolver: (server: DnsServerAddress) => DnsResolver & Closable;
  /** Only this hosted domain. */
  readonly domain?: string | undefined;
  /** Public ports: 25 for mail, 53 for DNS. */
  readonly worldPorts: WorldPorts;
  /** Time server for SNTP (RFC 5905 §14). */
  readonly timeServer: { readonly host: string; readonly port: number };
  /** Longest wait for one answer from outside. */
  readonly timeoutMs: number;
}
