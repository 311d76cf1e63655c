/** The API document under the rules of two linters, and what integrators look for in it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Spectral } from '@stoplight/spectral-core';
import { oas } from '@stoplight/spectral-rulesets';
import { demoAddress, partners } from '../../src/app/dev/index.ts';
import type { ErrorEnvelope } from '../../src/app/http/index.ts';
import { createDocumentCheck, findSchemaProblems } from '../support/document-check.ts';
import { readStatus, send, waitFor } from '../system/sandbox-fixture.ts';
import { openDocumentWorld, type DocumentWorld } from './document-world.ts';

const root = path.resolve(import.meta.dirname, '../..');

let world: DocumentWorld;
before(async () => {
  world = await openDocumentWorld();
});
after(() => world.close());

describe('the API document', () => {
  it("has no error and no warning by redocly's recommended rules", () => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [
        path.join(root, 'node_modules/@redocly/cli/bin/cli.js'),
        'lint',
        world.documentFile,
        '--extends=recommended',
        '--format=json',
      ],
      {
        cwd: world.work,
        encoding: 'utf8',
        env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
      },
    );
    const { totals, problems } = JSON.parse(stdout.slice(stdout.indexOf('{'))) as {
      readonly totals: { readonly errors: number; readonly warnings: number };
      readonly problems: readonly { readonly message: string; readonly location: unknown }[];
    };
    assert.deepEqual(
      problems.map(({ message, location }) => `${message} ${JSON.stringify(location)}`),
      [],
    );
    assert.deepEqual([totals.errors, totals.warnings, status], [0, 0, 0], stderr);
  });

  it("has no finding by Spectral's OpenAPI rules", async () => {
    const spectral = new Spectral();
    spectral.setRuleset({ extends: [oas as never] });
    const found = await spectral.run(JSON.stringify(world.document));
    assert.deepEqual(
      found.map(({ code, message, path: place }) => `${code} ${message} ${place.join('.')}`),
      [],
    );
  });

  it('names every operation once, and every webhook', () => {
    const { paths, webhooks } = world.document;
    const operations = [paths, webhooks].flatMap((group) =>
      Object.entries(group).flatMap(([place, item]) =>
        Object.entries(item).map(([method, { operationId }]) => [`${method} ${place}`, operationId] as const),
      ),
    );
    assert.deepEqual(
      operations.filter(([, id]) => id === undefined),
      [],
    );
    assert.equal(new Set(operations.map(([, id]) => id)).size, operations.length);
    assert.ok(operations.length > 20, `${operations.length} operations`);
    assert.deepEqual(Object.keys(webhooks), ['status', 'inbound']);
  });

  it('writes each schema once, under its name, and each refusal with its headers', () => {
    const { components, paths } = world.document;
    for (const name of ['Error', 'Problem', 'Provider', 'OutboundMessage', 'InboundMessage', 'Notification'])
      assert.ok(components['schemas']?.[name], name);
    assert.ok(!/"title":"/.test(JSON.stringify([paths, components])), 'an unnamed schema');
    const limited = components['responses']?.['TooManyRequestsLimited'];
    assert.ok(limited !== undefined && 'headers' in limited);
    assert.deepEqual(Object.keys(limited.headers as object), [
      'X-Request-Id',
      'Retry-After',
      'RateLimit-Limit',
      'RateLimit-Remaining',
      'RateLimit-Reset',
    ]);
    const send = paths['/messaging/dirmsg/send_ccda']?.['post']?.responses ?? {};
    assert.deepEqual(Object.keys(send), [
      '200',
      '400',
      '401',
      '403',
      '405',
      '408',
      '409',
      '413',
      '415',
      '429',
      '431',
      '500',
      '503',
    ]);
  });

  it('has the answer of the token service to another method', async () => {
    for (const place of ['/oauth2/direct/v1/token', '/oauth2/direct/v1/revoke']) {
      const described = world.document.paths[place]?.['post']?.responses['405'];
      assert.ok(described !== undefined && 'headers' in (described as object), place);
      const other = await fetch(`${world.baseUrl}${place}`);
      assert.deepEqual([other.status, other.headers.get('allow')], [405, 'POST']);
    }
  });

  it('describes every answer', () => {
    for (const [place, item] of Object.entries(world.document.paths))
      for (const [method, { responses }] of Object.entries(item))
        for (const [status, response] of Object.entries(responses)) {
          const { description } = response as { readonly description?: string };
          if ('$ref' in (response as object)) continue;
          assert.ok(description && description !== 'Default Response', `${method} ${place} ${status}`);
        }
  });

  it('has the answers to another method and to headers that are too large, as they are given', async () => {
    const { components, paths } = world.document;
    for (const item of Object.values(paths))
      for (const { responses } of Object.values(item)) assert.ok(responses['431'], JSON.stringify(responses));
    const place = '/provider-directory/v2/providers';
    const other = await fetch(`${world.baseUrl}${place}`, { method: 'PATCH' });
    const described = paths[place]?.['get']?.responses['405'] as { readonly $ref: string };
    assert.equal(described.$ref, '#/components/responses/MethodNotAllowed');
    const answer = components['responses']?.['MethodNotAllowed'] as { readonly headers: object } | undefined;
    assert.deepEqual([other.status, other.headers.get('allow')], [405, 'GET, HEAD']);
    assert.deepEqual(Object.keys(answer?.headers ?? {}), ['X-Request-Id', 'Allow']);
    const large = await fetch(`${world.baseUrl}${place}`, { headers: { cookie: 'a'.repeat(20_000) } });
    assert.equal(large.status, 431);
    const refusal = (await large.json()) as ErrorEnvelope;
    assert.deepEqual(
      [refusal.status, refusal.code, refusal.errors[0]?.reason, refusal.requestId],
      ['Error', 431, 'request_headers_too_large', large.headers.get('x-request-id')],
    );
  });

  it('describes the evidence inside its signature, and returns a page to print for Accept: text/html', async () => {
    const messageId = await send(world.client, {
      fromDirectAddress: demoAddress,
      toDirectAddress: [partners.processed, partners.untrusted],
      messageSubject: 'Referral',
      messageBody: 'Hello',
    });
    await waitFor(
      () => readStatus(world.client, messageId),
      ({ result }) => result.every(({ final }) => final),
    );
    const { clientId, clientSecret } = world.sandbox.credentials;
    const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
    const token = await fetch(`${world.baseUrl}/oauth2/direct/v1/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${basic}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    const { access_token: accessToken } = (await token.json()) as { access_token: string };
    const path = `/messaging/dirmsg/evidence/${messageId}`;
    const check = createDocumentCheck(world.document);
    const ask = async (accept: string) => {
      const answer = await fetch(world.baseUrl + path, {
        headers: { authorization: `Bearer ${accessToken}`, accept },
      });
      const bytes = Buffer.from(await answer.arrayBuffer());
      const { status, headers } = answer;
      check({ method: 'GET', path, status, headers, bytes });
      return { text: bytes.toString(), headers };
    };
    const { payload } = JSON.parse((await ask('*/*')).text) as { payload: string };
    const evidence: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
    assert.deepEqual(findSchemaProblems(world.document, 'Evidence', evidence), []);
    assert.match(JSON.stringify(evidence), /"sentSha256":"[0-9a-f]{64}".*"signedMdn":"/);

    assert.match((await ask('Text/HTML')).headers.get('content-type') ?? '', /^text\/html/);
    const page = await ask('text/html,application/xhtml+xml;q=0.9,*/*;q=0.8');
    assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
    assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/);
    assert.equal(page.headers.get('cache-control'), 'no-store');
    for (const words of [messageId, partners.processed, 'processed since', 'DIRECT_RECIPIENT_UNTRUSTED'])
      assert.ok(page.text.includes(words), words);
  });

  it('a search that spells out the defaults has the answer of one that leaves them out', async () => {
    const place = '/provider-directory/v2/providers';
    const described: unknown = world.document.paths[place]?.['get'];
    const { parameters } = described as {
      readonly parameters: readonly {
        readonly name: string;
        readonly schema?: { readonly default?: string | number };
      }[];
    };
    const defaults = parameters.flatMap(({ name, schema }): [string, string][] =>
      schema?.default === undefined ? [] : [[name, String(schema.default)]],
    );
    assert.deepEqual(defaults.map(([name]) => name).toSorted(), ['limit', 'offset', 'sort_order']);
    for (const asked of ['prov_last_name=s', 'org_zip=60601&radius=100']) {
      const plain = await world.client.get(`${place}?${asked}`);
      assert.deepEqual(
        await world.client.get(`${place}?${asked}&${new URLSearchParams(defaults).toString()}`),
        plain,
      );
    }
  });

  it('its examples can be sent in the sandbox as they stand', () => {
    const text = JSON.stringify(world.document);
    assert.ok(text.includes(demoAddress) && text.includes(partners.processed));
    assert.ok(!text.includes('alice@') && !text.includes('bob@'));
  });
});
