import type { Role } from '../../src/service/operators/index.ts';
import { openTestSandbox, type TestSandbox } from '../system/sandbox-fixture.ts';

/** An answer of the admin API. */
export interface ApiAnswer<Body = Record<string, unknown>> {
  readonly status: number;
  readonly text: string;
  readonly body: Body;
}

/** The two-HISP world with scripts that call the admin API, one of each role. */
export interface AdminWorld extends TestSandbox {
  readonly consoleUrl: string;
  /** All answers so far, as text. */
  readonly answers: readonly string[];
  call<Body = Record<string, unknown>>(
    role: Role,
    method: string,
    target: string,
    body?: unknown,
  ): Promise<ApiAnswer<Body>>;
  headersOf(role: Role): Readonly<Record<string, string>>;
}

export async function openAdminWorld(...options: Parameters<typeof openTestSandbox>): Promise<AdminWorld> {
  const world = await openTestSandbox(...options);
  const { operators, consoleUrl = '' } = world.sandbox.world.hisp;
  const tokens = new Map<Role, string>();
  for (const role of ['help-desk', 'operator', 'auditor'] as const) {
    const operator = await operators.store.create(`script ${role}`, role);
    const issued = await operators.tokens.create(operator, { label: 'test', lifetimeMs: 3_600_000 });
    tokens.set(role, issued.token);
  }
  const answers: string[] = [];
  const headersOf = (role: Role) => ({ authorization: `Bearer ${tokens.get(role)}` });
  return {
    ...world,
    consoleUrl,
    answers,
    headersOf,
    async call<Body>(role: Role, method: string, target: string, body?: unknown) {
      const response = await fetch(`${consoleUrl}/admin/v1${target}`, {
        method,
        headers: {
          ...headersOf(role),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      answers.push(text);
      const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
      return { status: response.status, text, body: (isJson ? JSON.parse(text) : {}) as Body };
    },
  };
}
