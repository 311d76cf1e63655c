import type { FieldProblem } from '../../core/index.ts';
import { findDirectAddress, isOid, isQualifiedDomain, type DirectAddress } from '../../lib/values/index.ts';
import { canSendAs, type Client, type ClientIdentity } from '../oauth/index.ts';
import { EdgesError } from './errors.ts';
import type { EdgesTables } from './tables.ts';

/** Protocols by which an account may be used. */
export const edgeProtocols = ['line', 'submission', 'imap', 'pop3'] as const;
export type EdgeProtocol = (typeof edgeProtocols)[number];

/** By protocols of whose sends the mailbox of the account tells the outcome (Decision 0032). */
export function toldByMailbox(account: Pick<EdgeAccount, 'protocols' | 'policies'>): readonly EdgeProtocol[] {
  if (!tellsInMailbox(account)) return [];
  return account.protocols.includes('line') ? ['submission'] : ['submission', 'line'];
}

/** The same of the line. */
export function toldByLine(account: Pick<EdgeAccount, 'protocols' | 'policies'>): readonly EdgeProtocol[] {
  return tellsInMailbox(account) ? ['line'] : ['line', 'submission'];
}

const tellsInMailbox = ({ protocols, policies }: Pick<EdgeAccount, 'protocols' | 'policies'>): boolean =>
  policies.noticesInMailbox && (protocols.includes('imap') || protocols.includes('pop3'));

export interface EdgePolicies {
  /** For messages that do not say themselves whether the final delivery is to be confirmed. */
  readonly requestsFinalDelivery: boolean;
  /** Whether the outcome of what was sent comes as mail into the mailbox. */
  readonly noticesInMailbox: boolean;
  /** Whether what it sends is kept for its mailbox of sent messages, where it has one. */
  readonly keepsSent: boolean;
  /** How what it sends goes out: as it was submitted, or its documents packed as XDM. */
  readonly outbound: OutboundForm;
  /** The author institution of such a package, `name^^^^^^^^^OID`; '' for none. */
  readonly authorInstitution: string;
  /** How mailboxes show received documents: as they came, each as an attachment, or all as one package. */
  readonly inbound: InboundForm;
  /**
   * When received mail counts as dispatched: once it is stored, fetched whole, or deleted. The latter two
   * acknowledge it, and of what was stored the fetching does.
   */
  readonly acknowledgedBy: AcknowledgedBy;
}

export const outboundForms = ['as-submitted', 'xdm'] as const;
export type OutboundForm = (typeof outboundForms)[number];
export const inboundForms = ['as-it-came', 'unpacked', 'xdm'] as const;
export type InboundForm = (typeof inboundForms)[number];
export const acknowledgedByForms = ['stored', 'fetched', 'deleted'] as const;
export type AcknowledgedBy = (typeof acknowledgedByForms)[number];

export const defaultPolicies: EdgePolicies = {
  requestsFinalDelivery: true,
  noticesInMailbox: true,
  keepsSent: true,
  outbound: 'as-submitted',
  authorInstitution: '',
  inbound: 'as-it-came',
  acknowledgedBy: 'fetched',
};

/** An edge account as an operator sees it. Passwords are named by id only. */
export interface EdgeAccount {
  readonly accountId: string;
  readonly clientId: string;
  readonly username: string;
  /** `user@domain`, or `@domain` for all of a domain; lower-cased. */
  readonly addresses: readonly string[];
  readonly protocols: readonly EdgeProtocol[];
  readonly policies: EdgePolicies;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly disabledAt?: Date;
  readonly passwords: readonly { readonly passwordId: string; readonly createdAt: Date }[];
}

export interface EdgeSettings {
  /** Of the client's own. */
  readonly addresses?: readonly string[];
  readonly protocols?: readonly string[];
  readonly policies?: Partial<EdgePolicies>;
}

type Columns = Pick<EdgesTables['edge_account'], 'addresses' | 'protocols' | 'policies'>;

/** The settings as columns, over `before`. Throws EDGES_ACCOUNT_SETTINGS_INVALID with every fault. */
export function checkSettings(
  client: Pick<Client, 'directAddresses'>,
  username: string,
  settings: EdgeSettings,
  before: Pick<EdgeAccount, 'addresses' | 'protocols' | 'policies'>,
): Columns {
  const addresses = (settings.addresses ?? before.addresses).map((own) => own.toLowerCase());
  const protocols = [...new Set(settings.protocols ?? before.protocols)];
  const policies = { ...before.policies, ...settings.policies };
  const problems = [
    ...(settings.addresses === undefined ? [] : checkAddresses(client, addresses)),
    ...checkProtocols(protocols, username),
    ...checkPolicies(policies),
  ];
  if (problems.length > 0) {
    const text = `the settings of the edge account are not valid: ${problems.map(({ detail }) => detail).join(' ')}`;
    throw new EdgesError('EDGES_ACCOUNT_SETTINGS_INVALID', text, { problems });
  }
  return {
    addresses: JSON.stringify(addresses),
    protocols: protocols.join(' '),
    policies: JSON.stringify(policies),
  };
}

/** `own` is an address, or `@domain`, which only a client of the whole domain has. */
function owns(client: Pick<Client, 'directAddresses'>, own: string): boolean {
  return own.startsWith('@') ? client.directAddresses.includes(own) : canSendAs(client, own as DirectAddress);
}

function checkAddresses(
  client: Pick<Client, 'directAddresses'>,
  addresses: readonly string[],
): FieldProblem[] {
  if (addresses.length === 0) return [problem('addresses', 'At least one address is required.')];
  return addresses.flatMap((own) => {
    const address = own.startsWith('@') ? undefined : findDirectAddress(own);
    if (own.startsWith('@') ? !isQualifiedDomain(own.slice(1)) : address === undefined)
      return [problem('addresses', `"${own}" is neither a Direct address nor @domain.`)];
    return owns(client, own) ? [] : [problem('addresses', `${own} does not belong to the client.`)];
  });
}

function checkProtocols(protocols: readonly string[], username: string): FieldProblem[] {
  const unknown = protocols.filter((name) => !edgeProtocols.some((known) => known === name));
  if (unknown.length > 0 || protocols.length === 0)
    return [problem('protocols', `The protocols are ${edgeProtocols.join(', ')}; at least one is required.`)];
  // Its clients send as their user name.
  if (protocols.includes('line') && findDirectAddress(username) === undefined)
    return [problem('username', 'The user name of a line edge is the Direct address that it sends as.')];
  return [];
}

function checkPolicies(policies: EdgePolicies): FieldProblem[] {
  const { inbound, outbound, acknowledgedBy, authorInstitution } = policies;
  return [
    ...(outboundForms.includes(outbound)
      ? []
      : [problem('outbound', `outbound is one of ${outboundForms.join(', ')}.`)]),
    ...(authorInstitution === '' || isInstitution(authorInstitution)
      ? []
      : [problem('authorInstitution', 'The author institution is a name, nine carets and an OID.')]),
    ...(inboundForms.includes(inbound)
      ? []
      : [problem('inbound', `inbound is one of ${inboundForms.join(', ')}.`)]),
    ...(acknowledgedByForms.includes(acknowledgedBy)
      ? []
      : [problem('acknowledgedBy', `acknowledgedBy is one of ${acknowledgedByForms.join(', ')}.`)]),
  ];
}

/** An XON value (META-07), on one line. */
function isInstitution(text: string): boolean {
  const components = text.split('^');
  const isWhole = components.length === 10 && components[0] !== '' && isOid(components.at(-1) ?? '');
  return isWhole && text.length <= 255 && !/\p{Cc}/u.test(text);
}

function problem(field: string, detail: string): FieldProblem {
  return { field, reason: 'invalid', detail };
}

export function readAccountRow(row: EdgesTables['edge_account']): Omit<EdgeAccount, 'passwords'> {
  return {
    accountId: row.account_id,
    clientId: row.client_id,
    username: row.username,
    addresses: JSON.parse(row.addresses) as string[],
    protocols: row.protocols.split(' ') as EdgeProtocol[],
    policies: { ...defaultPolicies, ...(JSON.parse(row.policies) as EdgePolicies) },
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
    ...(row.disabled_at === null ? {} : { disabledAt: new Date(row.disabled_at) }),
  };
}

/**
 * What an account may do as its client: no more than both. An address that the client lost since is not the
 * account's either.
 */
export function identityOf(
  client: Client,
  account: Omit<EdgeAccount, 'passwords'>,
  protocol: EdgeProtocol | undefined,
): ClientIdentity {
  return {
    clientId: client.clientId,
    organizationId: client.organizationId,
    name: client.name,
    scopes: client.scopes,
    directAddresses: account.addresses.filter((own) => owns(client, own)),
    requestFinalDelivery: account.policies.requestsFinalDelivery,
    limits: client.limits,
    edgeAccount: account.accountId,
    ...(protocol === undefined ? {} : { edgeProtocol: protocol }),
    ...(account.policies.outbound === 'xdm' ? { packedFor: account.policies.authorInstitution } : {}),
    keepsSent: account.policies.keepsSent && account.protocols.includes('imap'),
  };
}
