/**
 * The frame of the console: navigation, keyboard, theme.
 * Used by `web/main.tsx`.
 * Begin with this list of the screens, then `app.tsx`.
 */
import { lazy, type ComponentType, type LazyExoticComponent } from 'react';
import type { Permission, Session } from '../../app/console/contract/index.ts';

type Screen = LazyExoticComponent<ComponentType>;

function load<Name extends string>(
  read: () => Promise<Readonly<Record<Name, ComponentType>>>,
  name: Name,
): Screen {
  return lazy(async () => ({ default: (await read())[name] }));
}

export interface ScreenEntry {
  readonly name: string;
  /** The first is where the navigation leads. */
  readonly paths: readonly [string, ...string[]];
  /** Opens the screen after `g`. */
  readonly letter: string;
  readonly icon: string;
  readonly group: 'Traffic' | 'Find out' | 'Settings' | 'Record' | 'Try';
  readonly permission: Permission;
  readonly isSandboxOnly?: boolean;
  /** It shows what is of all organizations together. */
  readonly isWholeOnly?: boolean;
  readonly component: Screen;
}

/** Every screen, in the order of the navigation. Each is a chunk that loads when it is opened. */
const screens: readonly ScreenEntry[] = [
  {
    name: 'Now',
    paths: ['/'],
    letter: 'n',
    icon: 'now',
    group: 'Traffic',
    permission: 'messages.read',
    component: load(() => import('../screens/now/now.tsx'), 'NowScreen'),
  },
  {
    name: 'Messages',
    paths: ['/messages', '/messages/:messageId'],
    letter: 'm',
    icon: 'messages',
    group: 'Traffic',
    permission: 'messages.read',
    component: load(() => import('../screens/messages/messages.tsx'), 'MessagesScreen'),
  },
  {
    name: 'Queue',
    paths: ['/queue', '/queue/:destination'],
    letter: 'q',
    icon: 'queue',
    group: 'Traffic',
    permission: 'messages.read',
    isWholeOnly: true,
    component: load(() => import('../screens/queue/queue.tsx'), 'QueueScreen'),
  },
  {
    name: 'Inbound',
    paths: ['/inbound', '/inbound/:id'],
    letter: 'i',
    icon: 'inbound',
    group: 'Traffic',
    permission: 'messages.read',
    component: load(() => import('../screens/inbound/inbound.tsx'), 'InboundScreen'),
  },
  {
    name: 'Check an address',
    paths: ['/check'],
    letter: 'c',
    icon: 'check',
    group: 'Find out',
    permission: 'addresses.check',
    component: load(() => import('../screens/check/check.tsx'), 'CheckScreen'),
  },
  {
    name: 'Directory',
    paths: ['/directory', '/directory/:part', '/directory/:part/:id'],
    letter: 'd',
    icon: 'directory',
    group: 'Find out',
    permission: 'directory.read',
    component: load(() => import('../screens/directory/directory.tsx'), 'DirectoryScreen'),
  },
  {
    name: 'Organizations',
    paths: ['/organizations', '/organizations/:id'],
    letter: 'r',
    icon: 'organizations',
    group: 'Settings',
    permission: 'settings.read',
    component: load(() => import('../screens/organizations/organizations.tsx'), 'OrganizationsScreen'),
  },
  {
    name: 'Webhooks',
    paths: ['/webhooks', '/webhooks/:id'],
    letter: 'w',
    icon: 'webhooks',
    group: 'Settings',
    permission: 'settings.read',
    component: load(() => import('../screens/webhooks/webhooks.tsx'), 'WebhooksScreen'),
  },
  {
    name: 'Domains and trust',
    paths: ['/domains', '/domains/:domain'],
    letter: 't',
    icon: 'domains',
    group: 'Settings',
    permission: 'settings.read',
    component: load(() => import('../screens/domains/domains.tsx'), 'DomainsScreen'),
  },
  {
    name: 'Clients',
    paths: ['/clients', '/clients/:id'],
    letter: 'l',
    icon: 'clients',
    group: 'Settings',
    permission: 'settings.read',
    component: load(() => import('../screens/clients/clients.tsx'), 'ClientsScreen'),
  },
  {
    name: 'Edge accounts',
    paths: ['/edge-accounts', '/edge-accounts/:id'],
    letter: 'e',
    icon: 'edges',
    group: 'Settings',
    permission: 'settings.read',
    component: load(() => import('../screens/edges/edges.tsx'), 'EdgesScreen'),
  },
  {
    name: 'Operators',
    paths: ['/operators', '/operators/:name'],
    letter: 'o',
    icon: 'operators',
    group: 'Settings',
    permission: 'operators.read',
    component: load(() => import('../screens/operators/operators.tsx'), 'OperatorsScreen'),
  },
  {
    name: 'Nodes',
    paths: ['/nodes'],
    letter: 's',
    icon: 'nodes',
    group: 'Settings',
    permission: 'settings.read',
    isWholeOnly: true,
    component: load(() => import('../screens/nodes/nodes.tsx'), 'NodesScreen'),
  },
  {
    name: 'Usage',
    paths: ['/usage'],
    letter: 'u',
    icon: 'usage',
    group: 'Record',
    permission: 'messages.read',
    component: load(() => import('../screens/usage/usage.tsx'), 'UsageScreen'),
  },
  {
    name: 'Audit',
    paths: ['/audit'],
    letter: 'a',
    icon: 'audit',
    group: 'Record',
    permission: 'audit.read',
    component: load(() => import('../screens/audit/audit.tsx'), 'AuditScreen'),
  },
  {
    name: 'Playground',
    paths: ['/playground', '/playground/:messageId'],
    letter: 'p',
    icon: 'playground',
    group: 'Try',
    permission: 'messages.send',
    isSandboxOnly: true,
    component: load(() => import('../screens/playground/playground.tsx'), 'PlaygroundScreen'),
  },
];

/** Those that the operator may open. */
export function listScreens({ permissions, isSandbox, operator }: Session): readonly ScreenEntry[] {
  return screens.filter(
    ({ permission, isSandboxOnly = false, isWholeOnly = false }) =>
      permissions.includes(permission) &&
      (!isSandboxOnly || isSandbox) &&
      (!isWholeOnly || operator.organization === null),
  );
}

export const SignInScreen = load(() => import('../screens/sign-in/sign-in.tsx'), 'SignInScreen');
export const SessionsScreen = load(() => import('../screens/sessions/sessions.tsx'), 'SessionsScreen');
export const NotFoundScreen = load(() => import('../screens/not-found.tsx'), 'NotFoundScreen');
export const EntryScreen = lazy(async () => ({
  default: (await import('../screens/sign-in/entry.tsx')).EntryScreen,
}));
