import { InvalidArgumentError, type Command } from 'commander';
import { systemClock } from '../../core/index.ts';
import { consoleUrlOf, findConsolePort, type Config } from '../../platform/index.ts';
import {
  createOperators,
  parseRole,
  roles,
  type IssuedLink,
  type OperatorEntry,
  type Operator,
  type Operators,
} from '../../service/operators/index.ts';
import type { CliContext } from './context.ts';
import { printList, type JsonOption, toRow } from './print-list.ts';
import { withInstallation } from './with-installation.ts';
import { requireVisible } from './describe-error.ts';

/** Context of an action: the service, and the address of the console. */
interface OperatorWork {
  readonly operators: Operators;
  readonly config: Config;
}

const dayMs = 86_400_000;
const maxTokenDays = 366;

/**
 * Adds `operator`: who may use the console (Decision 0030). Links and tokens are shown once, when they are
 * made.
 */
export function addOperatorCommands(operator: Command, context: CliContext): void {
  addCreate(operator, context);
  addList(operator, context);
  addChanges(operator, context);
  addLink(operator, context);
  addPasskeyCommands(operator, context);
  addTokenCommands(operator, context);
  addSessions(operator, context);
}

function addCreate(operator: Command, context: CliContext): void {
  operator
    .command('create <name>')
    .description('make an operator and print the link by which they register a passkey')
    .requiredOption('--role <role>', roles.join(', '))
    .option('--organization <id>', 'sees and changes only what this organization owns')
    .option('--json', 'as JSON')
    .action((name: string, options: { role: string; organization?: string } & JsonOption) =>
      withOperators(context, async ({ operators, config }) => {
        const made = await operators.store.create(name, parseRole(options.role), options.organization);
        const link = await operators.links.create(made.id, name, 'enrol');
        printLink(context, config, made, link, options);
      }),
    );
}

function addList(operator: Command, context: CliContext): void {
  operator
    .command('list')
    .description('list all operators')
    .option('--json', 'as JSON')
    .action((options: JsonOption) =>
      withOperators(context, async ({ operators }) =>
        printList(context, options, await operators.store.list(), formatLine),
      ),
    );
}

function addChanges(operator: Command, context: CliContext): void {
  operator
    .command('disable <name>')
    .description('end the sessions, tokens and links of an operator at once, and refuse further sign-ins')
    .action((name: string) =>
      withOperators(context, async ({ operators }) => void (await operators.store.disable(name))),
    );
  operator
    .command('enable <name>')
    .description('allow a disabled operator to sign in again, with the existing passkeys')
    .action((name: string) =>
      withOperators(context, async ({ operators }) => void (await operators.store.enable(name))),
    );
  operator
    .command('role <name> <role>')
    .description(`give an operator another role, from the next request on: ${roles.join(', ')}`)
    .action((name: string, role: string) =>
      withOperators(
        context,
        async ({ operators }) => void (await operators.store.setRole(name, parseRole(role))),
      ),
    );
}

function addLink(operator: Command, context: CliContext): void {
  operator
    .command('link <name>')
    .description('print a new link by which an operator registers a passkey; it works once, for 24 hours')
    .option('--sign-in', 'a link that signs in without a passkey instead; it works once, for 10 minutes')
    .option('--json', 'as JSON')
    .action((name: string, options: { signIn?: true } & JsonOption) =>
      withOperators(context, async ({ operators, config }) => {
        const found = await operators.store.get(name);
        const purpose = options.signIn === true ? 'sign-in' : 'enrol';
        const link = await operators.links.create(found.id, found.name, purpose);
        printLink(context, config, found, link, options);
      }),
    );
}

function addPasskeyCommands(operator: Command, context: CliContext): void {
  operator
    .command('passkeys <name>')
    .description('list the passkeys of an operator')
    .option('--json', 'as JSON')
    .action((name: string, options: JsonOption) =>
      withOperators(context, async ({ operators }) => {
        const all = await operators.passkeys.list((await operators.store.get(name)).id);
        if (options.json === true) return context.print(JSON.stringify(all, undefined, 2));
        for (const one of all)
          context.print(
            toRow([
              one.id,
              one.createdAt.toISOString(),
              one.lastUsedAt?.toISOString() ?? 'never used',
              one.isBackedUp ? 'synchronized' : 'on one device',
              one.name,
            ]),
          );
      }),
    );
  operator
    .command('remove-passkey <name> <passkeyId>')
    .description('remove a passkey, such as one of a lost device, and end the sessions that began with it')
    .action((name: string, passkeyId: string) =>
      withOperators(context, async ({ operators }) => {
        if (await operators.passkeys.remove(await operators.store.get(name), passkeyId)) return;
        context.note(`${name} has no passkey ${passkeyId}. List them: openhisp operator passkeys NAME.`);
        context.setExitCode(1);
      }),
    );
}

function addTokenCommands(operator: Command, context: CliContext): void {
  operator
    .command('token <name>')
    .description("print a new bearer token, with which a script calls the console's API as this operator")
    .option('--label <text>', 'purpose of the token', 'script')
    .option('--days <number>', `validity in days, up to ${maxTokenDays}`, readDays, 90)
    .option('--json', 'as JSON')
    .action((name: string, options: { label: string; days: number } & JsonOption) =>
      withOperators(context, async ({ operators }) => {
        const { label, days } = options;
        const { token, entry } = await operators.tokens.create(await operators.store.get(name), {
          label: requireVisible('--label', label).slice(0, 100),
          lifetimeMs: days * dayMs,
        });
        if (options.json === true) return context.print(JSON.stringify({ token, ...entry }));
        context.print(token);
        context.note(
          `It is valid until ${entry.expiresAt.toISOString()} and stored as a hash only: note it now.`,
        );
      }),
    );
  operator
    .command('tokens <name>')
    .description('list the bearer tokens of an operator')
    .option('--json', 'as JSON')
    .action((name: string, options: JsonOption) =>
      withOperators(context, async ({ operators }) => {
        const all = await operators.tokens.list((await operators.store.get(name)).id);
        if (options.json === true) return context.print(JSON.stringify(all, undefined, 2));
        for (const { id, label, createdAt, expiresAt } of all)
          context.print(toRow([id, label, createdAt.toISOString(), expiresAt.toISOString()]));
      }),
    );
  operator
    .command('revoke-token <name> <tokenId>')
    .description('revoke a bearer token')
    .action((name: string, tokenId: string) =>
      withOperators(context, async ({ operators }) => {
        if (await operators.tokens.revoke(await operators.store.get(name), tokenId)) return;
        context.note(`${name} has no token ${tokenId}. List them: openhisp operator tokens NAME.`);
        context.setExitCode(1);
      }),
    );
}

function addSessions(operator: Command, context: CliContext): void {
  operator
    .command('sessions <name>')
    .description('list the sessions of an operator')
    .option('--end [sessionId]', 'end all of them, or one')
    .option('--json', 'as JSON')
    .action((name: string, options: { end?: true | string } & JsonOption) =>
      withOperators(context, async ({ operators }) => {
        const { id } = await operators.store.get(name);
        const owner = { id, name, actor: 'operator' };
        const all = await operators.sessions.list(id);
        if (options.end === true) await operators.sessions.endAll(owner);
        else if (options.end !== undefined) await operators.sessions.end(owner, options.end);
        if (options.json === true) return context.print(JSON.stringify(all, undefined, 2));
        for (const one of all)
          context.print(
            toRow([one.id, one.method, one.seenAt.toISOString(), one.remoteAddress, one.userAgent]),
          );
      }),
    );
}

async function withOperators(
  context: CliContext,
  work: (tools: OperatorWork) => Promise<void>,
): Promise<void> {
  await withInstallation(context, ({ config, storage, vault, audit }) =>
    work({
      operators: createOperators({ storage, vault, clock: systemClock, audit }),
      config,
    }),
  );
}

function printLink(
  context: CliContext,
  { console: settings, dataDir }: Config,
  { name, role, organizationId }: Operator,
  { token, purpose, expiresAt }: IssuedLink,
  options: JsonOption,
): void {
  const port = findConsolePort(dataDir);
  const link = `${consoleUrlOf(settings, port)}/#enter=${token}`;
  if (options.json === true)
    return context.print(JSON.stringify({ name, role, organizationId, purpose, link, expiresAt }));
  context.print(link);
  const use = purpose === 'enrol' ? 'registers a passkey for' : 'signs in';
  context.note(
    `It ${use} ${name} (${role}${organizationId === undefined ? '' : ` of ${organizationId}`}), once, until ${expiresAt.toISOString()}. Whoever has it can use it: send it safely.`,
  );
  if (settings.publicUrl === undefined && port === undefined)
    context.note(
      'The console does not run now. If it says another port when it starts, the link needs that port.',
    );
}

function formatLine(one: OperatorEntry): string {
  const state = one.disabledAt === undefined ? 'active' : 'disabled';
  const origin = one.isExternal ? 'OpenID Connect' : `${one.passkeys} passkeys`;
  return toRow([
    one.name,
    one.role,
    state,
    origin,
    `${one.sessions} sessions`,
    ...(one.organizationId === undefined ? [] : [`organization ${one.organizationId}`]),
  ]);
}

function readDays(text: string): number {
  const days = Number(text);
  if (/^\d{1,3}$/.test(text) && days >= 1 && days <= maxTokenDays) return days;
  throw new InvalidArgumentError(`It must be a number from 1 to ${maxTokenDays}.`);
}
