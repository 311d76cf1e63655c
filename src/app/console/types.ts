import type { Clock, Log } from '../../core/index.ts';
import type { Config, DiskGuard, Metrics, Nodes, Storage, Vault } from '../../platform/index.ts';
import type { RecipientExplainer } from '../../service/agent/index.ts';
import type { Audit } from '../../service/audit/index.ts';
import type { Directory } from '../../service/directory/index.ts';
import type { Edges } from '../../service/edges/index.ts';
import type { Messaging } from '../../service/messaging/index.ts';
import type { Owned } from '../../service/organizations/index.ts';
import type { Oauth } from '../../service/oauth/index.ts';
import type { Webhooks } from '../../service/webhook/index.ts';
import type { OperatorIdentity, Operators, Permission } from '../../service/operators/index.ts';
import type { Trust } from '../../service/trust/index.ts';
import type { DegradedComponent, HispFastify } from '../http/index.ts';
import type { Exchange, Playground, PlaygroundSend } from './contract/index.ts';

/** The console's own Fastify application; routes see `request.operator`. */
export type ConsoleApp = HispFastify;

/** A group of routes, registered in its own scope. */
export type ConsoleRoutes = (app: ConsoleApp) => void | Promise<void>;

/** The services that the console needs, from the composition root. */
export interface ConsoleServices {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly storage: Storage;
  readonly vault: Vault;
  readonly audit: Audit;
  readonly metrics: Metrics;
  readonly disk: Pick<DiskGuard, 'requireRoom'>;
  /** This node. */
  readonly nodes: Pick<Nodes, 'id'>;
  readonly oauth: Oauth;
  readonly edges: Pick<Edges, 'accounts' | 'as'>;
  readonly trust: Trust;
  readonly webhooks: Webhooks;
  readonly messaging: Pick<Messaging, 'as' | 'sendTest'>;
  readonly directory: Directory;
  readonly agent: RecipientExplainer;
  readonly operators: Operators;
  /** The address that clients of the REST API use. */
  readonly apiUrl: string;
  readonly version: string;
  readonly isSandbox: boolean;
  /** Parts that need an operator soon, as in the readiness details. */
  readonly degraded?: (() => readonly DegradedComponent[]) | undefined;
  /** True while requests could only wait for the database: they get 503 at once. */
  readonly isStuck?: (() => boolean) | undefined;
  /** Told of each connection that is closed because there are too many. */
  readonly onClosed?: (reason: string) => void;
  /** Absent if the server was started without them. */
  readonly domainChecks?: DomainChecks | undefined;
  /** The sandbox's playground, once it is ready; otherwise undefined. */
  findPlayground(): PlaygroundPort | undefined;
}

/** The port of the sandbox that the playground uses. */
export interface PlaygroundPort {
  describe(): Playground;
  /** Sends as the sandbox's client. Returns the message id; undefined for an unknown sample. */
  send(request: PlaygroundSend): Promise<string | undefined>;
  /**
   * Events of a message after the event `after`; undefined for a message that the playground did not send.
   */
  exchange(messageId: string, after: number): Promise<Exchange | undefined>;
}

/** A record that the DNS must have. */
export interface ExpectedRecord {
  readonly owner: string;
  readonly type: 'MX' | 'NS' | 'A' | 'AAAA' | 'SRV' | 'CERT';
  readonly ttlSeconds: number;
  /** As in a zone file. */
  readonly data: string;
  /** The whole line of a zone file. */
  readonly line: string;
}

/** The same with the answer of the DNS. */
export interface CheckedRecord extends ExpectedRecord {
  /** Undefined if the DNS did not answer. */
  readonly actual: readonly string[] | undefined;
  readonly state: 'ok' | 'missing' | 'different' | 'unknown';
  readonly text: string;
}

/** A finding of the doctor. */
export interface DomainFinding {
  readonly check: string;
  readonly subject: string;
  readonly severity: 'ok' | 'note' | 'warning' | 'error';
  readonly text: string;
  readonly advice: string;
}

/** The public DNS view of a hosted domain. Queries the network. */
export interface DomainChecks {
  /** Throws TRUST_DOMAIN_UNKNOWN. */
  compareRecords(domain: string): Promise<{
    readonly records: readonly CheckedRecord[];
    readonly notes: readonly string[];
  }>;
  examine(domain: string): Promise<readonly DomainFinding[]>;
}

/** What the name in a path may be of. */
export type OwnedThing = 'organization' | 'domain' | 'address' | 'client' | 'edge-account' | 'webhook';

/**
 * How a route is confined to what the organization of a delegated operator owns. `caller`: it shows and
 * changes what is the caller's own, or nobody's. `filtered`: its handler answers from `request.owned`.
 * Otherwise a parameter of its path names what must be owned before the handler runs.
 */
export type RouteScope = 'caller' | 'filtered' | readonly [kind: OwnedThing, parameter: string];

/** The requirement of a route of `/admin/v1`: a permission, only a session, or (sign-in) nothing. */
export type RouteAccess = Permission | 'signed-in' | 'public';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Required for every route of `/admin/v1`; without it the console does not start. */
    readonly permission?: RouteAccess;
    /** Without it the route refuses delegated operators. */
    readonly scope?: RouteScope | undefined;
  }
  interface FastifyRequest {
    /** The caller. Throws on a public route. */
    readonly operator: OperatorIdentity;
    /** What the caller sees and changes. Throws on a public route. */
    readonly owned: Owned;
  }
}
