import {
  startTestDirectory,
  toCsv,
  type TestDirectory,
  type TestDirectoryOptions,
} from '../start-directory.ts';

/** A FHIR answer as tests read it. */
export interface FhirBody {
  readonly resourceType: string;
  readonly id?: string;
  readonly total?: number;
  readonly link?: readonly { relation: string; url: string }[];
  readonly entry?: readonly { fullUrl?: string; resource: FhirResource; search: { mode: string } }[];
  readonly issue?: readonly { severity: string; code: string; diagnostics: string }[];
  readonly [element: string]: unknown;
}

export interface FhirResource {
  readonly resourceType: string;
  readonly id: string;
  // Tests look deep into resources.
  // oxlint-disable-next-line no-explicit-any
  readonly [element: string]: any;
}

export interface FhirReply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: FhirBody;
}

export interface TestFhir {
  readonly world: TestDirectory;
  /** GET below `/fhir`. */
  get(path: string, headers?: Record<string, string>): Promise<FhirReply>;
  /** The matches of a search, page after page. */
  all(path: string): Promise<FhirResource[]>;
}

export async function startTestFhir(
  records: readonly Readonly<Record<string, string | number>>[],
  options: TestDirectoryOptions = {},
): Promise<TestFhir> {
  const world = await startTestDirectory(options);
  await world.load(toCsv(records));
  return testFhir(world);
}

export function testFhir(world: TestDirectory): TestFhir {
  async function get(path: string, headers: Record<string, string> = {}): Promise<FhirReply> {
    const { baseUrl, token } = await world.serve();
    const url = path.startsWith('http') ? path : `${baseUrl}/fhir/${path}`;
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}`, ...headers } });
    return { status: response.status, headers: response.headers, body: (await response.json()) as FhirBody };
  }

  return {
    world,
    get,
    async all(path) {
      const found: FhirResource[] = [];
      for (let next: string | undefined = path; next !== undefined;) {
        const { body } = await get(next);
        for (const { resource, search } of body.entry ?? [])
          if (search.mode === 'match') found.push(resource);
        next = body.link?.find(({ relation }) => relation === 'next')?.url;
      }
      return found;
    },
  };
}
