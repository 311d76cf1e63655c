/** A sandbox that serves every route, with the API document as it gives it out. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createAuthority, createKeyPair, formatPem } from '../../src/lib/pki/index.ts';
import { openTestSandbox, type TestSandbox } from '../system/sandbox-fixture.ts';

export interface DocumentWorld extends TestSandbox {
  readonly baseUrl: string;
  /** A folder for files that the test makes. */
  readonly work: string;
  /** The document as it was served, in a file below `work`. */
  readonly documentFile: string;
  readonly document: OpenApi;
}

export interface Operation {
  readonly operationId?: string;
  readonly responses: Readonly<Record<string, unknown>>;
}

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, object>>>>;
}

export async function openDocumentWorld(
  settings: Readonly<Record<string, string>> = {},
): Promise<DocumentWorld> {
  const work = await mkdtemp(path.join(tmpdir(), 'openhisp-document-'));
  const anchors = path.join(work, 'anchors.pem');
  const validity = { notBefore: new Date('2026-01-01'), notAfter: new Date('2046-01-01') };
  const keys = await createKeyPair({ curve: 'P-256' });
  const { der } = createAuthority({ subject: [['CN', 'Anchor']], ...keys, ...validity });
  await writeFile(anchors, formatPem('CERTIFICATE', der));
  const world = await openTestSandbox({ 'trust.publishedAnchorsFile': anchors, ...settings });
  const { baseUrl } = world.sandbox.credentials;
  const text = await (await fetch(`${baseUrl}/openapi.json`)).text();
  const documentFile = path.join(work, 'openapi.json');
  await writeFile(documentFile, text);
  return {
    ...world,
    baseUrl,
    work,
    documentFile,
    document: JSON.parse(text) as OpenApi,
    async close() {
      await world.close();
      await rm(work, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
