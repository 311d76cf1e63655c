/** Helpers that the programs share and no generator makes. */
export interface Outcome {
  readonly providers: number;
  readonly messageStatus: string;
  readonly subject: string;
  readonly webhook: string;
  readonly secret: string;
  readonly refusal: string;
}

export function env(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

export function basic(): string {
  return `Basic ${Buffer.from(`${env('CLIENT_ID')}:${env('CLIENT_SECRET')}`).toString('base64')}`;
}

/** The data of an answer; throws for a refusal. */
export function needed<Data>({ data, error }: { readonly data?: Data; readonly error?: unknown }): Data {
  if (data === undefined) throw new Error(`refused: ${JSON.stringify(error)}`);
  return data;
}

export async function waitUntil<Value>(
  ask: () => Promise<Value>,
  fits: (value: Value) => boolean,
): Promise<Value> {
  for (let tries = 0; tries < 600; tries++) {
    const value = await ask();
    if (fits(value)) return value;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('it takes too long');
}

export function finish(outcome: Outcome): void {
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
}
