import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { startTestDirectory, type TestDirectory } from '../directory/start-directory.ts';
import { alice, bob } from '../messaging/start-messaging.ts';
import { startTestHttp, type TestHttp } from '../messaging/start-http.ts';

let world: TestHttp;
let directory: TestDirectory;

before(async () => {
  world = await startTestHttp();
  directory = await startTestDirectory();
});
after(async () => {
  await world.close();
  await directory.close();
});

/** Sends bytes over a socket as they are. */
async function sendRaw(
  baseUrl: string,
  head: readonly string[],
  body: Uint8Array = Buffer.alloc(0),
): Promise<string> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  socket.write(`${head.join('\r\n')}\r\nConnection: close\r\n\r\n`);
  socket.write(body);
  return text(socket);
}

function post(path: string, body: Buffer): Promise<string> {
  return sendRaw(
    world.baseUrl,
    [
      `POST ${path} HTTP/1.1`,
      'Host: a.example',
      `Authorization: Bearer ${world.tokens.clinic}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ],
    body,
  );
}

const message = (extra: string): string =>
  `{"fromDirectAddress":"dr@direct.clinic.example","toDirectAddress":"a@direct.other.example","messageSubject":"x"${extra}}`;

describe('input that would be changed when it is read', () => {
  it('a control character in a path is 400 at every address', async () => {
    for (const path of [
      '/messaging/webhooks/%00',
      '/messaging/%0d%0aX',
      '/%7f',
      '/health/%1b',
      '/x/%00/y?limit=1',
    ])
      for (const method of ['GET', 'DELETE']) {
        const answer = await sendRaw(world.baseUrl, [
          `${method} ${path} HTTP/1.1`,
          'Host: a.example',
          `Authorization: Bearer ${world.tokens.clinic}`,
        ]);
        assert.match(answer, /^HTTP\/1\.1 400 [^]*"field":"path","reason":"invalid"/, `${method} ${path}`);
      }
  });

  it('text that cannot be stored or read is 400 and named, in a query and in a path', async () => {
    for (const [target, field, reason] of [
      ['/provisioning/addresses?limit=1&domain=a%00b', 'domain', 'invalid'],
      ['/provider-directory/v2/suggestions?q=%00', 'q', 'invalid'],
      ['/messaging/dirmsg/status/%ff', 'path', 'not_utf8'],
      ['/messaging/webhooks/%zz', 'path', 'not_utf8'],
    ] as const) {
      const answer = await sendRaw(world.baseUrl, [
        `GET ${target} HTTP/1.1`,
        'Host: a.example',
        `Authorization: Bearer ${world.tokens.clinic}`,
      ]);
      assert.match(answer, /^HTTP\/1\.1 400 /, target);
      const [problem] = JSON.parse(answer.slice(answer.indexOf('{'))).errors;
      assert.deepEqual([problem.field, problem.reason], [field, reason], target);
      assert.ok(problem.detail.endsWith('.') && !problem.detail.startsWith(' '), problem.detail);
    }
  });

  it('what is not JSON is refused at its line and column, in a small body and in a large one', async () => {
    for (const filler of ['x', 'x'.repeat(100_000)]) {
      const answer = await post(
        '/messaging/dirmsg/send_ccda',
        Buffer.from(message(`,\n"messageBody":"two\nlines","patient_summary":"${filler}"`)),
      );
      assert.match(answer, /^HTTP\/1\.1 400 /);
      assert.match(
        answer,
        /"field":"","reason":"malformed","detail":"The body is not JSON \(line 2, column 19\)\."/,
      );
    }
  });

  it('JSON that is not UTF-8 is refused, and the field is named', async () => {
    const answer = await post(
      '/messaging/dirmsg/send_ccda',
      Buffer.from(message(',"patientFirstname":"José"'), 'latin1'),
    );
    assert.match(answer, /^HTTP\/1\.1 400 /);
    assert.match(answer, /"field":"patientFirstname","reason":"not_utf8"/);
  });

  it('so is a large body, which is parsed in a thread', async () => {
    const padding = 'x'.repeat(1_200_000);
    const answer = await post(
      '/messaging/dirmsg/send_ccda',
      Buffer.from(message(`,"messageBody":"${padding}é"`), 'latin1'),
    );
    assert.match(answer, /^HTTP\/1\.1 400 /);
    assert.match(answer, /"field":"messageBody","reason":"not_utf8"/);
  });

  it('a name that is there twice is refused, in small bodies and in large ones', async () => {
    for (const more of ['', `,"messageBody":"${'x'.repeat(1_200_000)}"`]) {
      const answer = await post(
        '/messaging/dirmsg/send_ccda',
        Buffer.from(message(`,"toDirectAddress":"b@direct.other.example"${more}`)),
      );
      assert.match(answer, /^HTTP\/1\.1 400 /);
      assert.match(answer, /"field":"toDirectAddress","reason":"duplicate"/);
    }
    const hook = await post(
      '/messaging/webhooks',
      Buffer.from('{"url":"https://a.example/","url":"https://b.example/"}'),
    );
    assert.match(hook, /"field":"url","reason":"duplicate"/);
  });

  it('a body with too many levels is refused as such, whatever its fields are', async () => {
    const body = `{"toDirectAddress":${'['.repeat(40)}${']'.repeat(40)}}`;
    for (const path of ['/messaging/dirmsg/send_ccda', '/messaging/dirmsg/validate']) {
      const reply = await world.call('POST', path, { body, headers: { 'content-type': 'application/json' } });
      assert.deepEqual([reply.status, world.faults(reply)], [400, [' too_deep']]);
    }
  });

  it('a compressed body is refused as such, not as bad JSON', async () => {
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    const body = gzipSync(message('')).toString('latin1');
    for (const path of ['/messaging/dirmsg/send_ccda', '/messaging/dirmsg/validate']) {
      const reply = await world.call('POST', path, { body, headers });
      assert.deepEqual([reply.status, world.faults(reply)], [415, [' unsupported_media_type']]);
    }
  });

  it('a query parameter that is not UTF-8 is refused', async () => {
    const reply = await directory.search('prov_last_name=Jos%E9');
    assert.equal(reply.status, 400);
    assert.deepEqual(
      reply.body.errors?.map(({ field, reason }) => `${field} ${reason}`),
      ['prov_last_name not_utf8'],
    );
    assert.equal((await directory.search('prov_last_name=Jos%C3%A9')).status, 200);
  });
});

describe('requests that Node would answer by itself get the error envelope', () => {
  const cases = [
    ['without Host', [], 'Host', 'required'],
    ['with an unknown expectation', ['Host: a.example', 'Expect: x-more'], 'Expect', 'invalid'],
  ] as const;
  for (const [name, headers, field, reason] of cases)
    it(name, async () => {
      const answer = await sendRaw(world.baseUrl, [
        'GET /health/live HTTP/1.1',
        'X-Request-Id: raw-1',
        ...headers,
      ]);
      assert.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/);
      assert.match(answer, /\r\nx-request-id: raw-1\r\n/i);
      const { errors, requestId } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))) as {
        errors: { field: string; reason: string }[];
        requestId: string;
      };
      assert.deepEqual(
        [requestId, errors.map((one) => `${one.field} ${one.reason}`)],
        ['raw-1', [`${field} ${reason}`]],
      );
    });

  it('HTTP/1.0 needs no Host, and 100-continue is an expectation that is met', async () => {
    assert.match(await sendRaw(world.baseUrl, ['GET /health/live HTTP/1.0']), /^HTTP\/1\.1 200 /);
    const expecting = ['GET /health/live HTTP/1.1', 'Host: a.example', 'Expect: 100-Continue'];
    assert.match(await sendRaw(world.baseUrl, expecting), /^HTTP\/1\.1 200 /);
  });
});

describe('what HTTP says of a body', () => {
  const body = Buffer.from(message(',"messageBody":"x"'));
  const head = (version: string): string[] => [
    `POST /messaging/dirmsg/send_ccda HTTP/${version}`,
    'Host: a.example',
    `Authorization: Bearer ${world.tokens.clinic}`,
    'Content-Type: application/json',
  ];

  it('a client of HTTP/1.0, which does not know the 100, is not told to continue', async () => {
    const expecting = [`Content-Length: ${body.length}`, 'Expect: 100-continue'];
    assert.match(await sendRaw(world.baseUrl, [...head('1.0'), ...expecting], body), /^HTTP\/1\.1 (?!100)/);
    assert.match(await sendRaw(world.baseUrl, [...head('1.1'), ...expecting], body), /^HTTP\/1\.1 100 /);
  });

  it('a body beyond the limit is refused before it is sent', async () => {
    const expecting = ['Content-Length: 999999999', 'Expect: 100-continue'];
    assert.match(await sendRaw(world.baseUrl, [...head('1.1'), ...expecting]), /^HTTP\/1\.1 413 /);
  });

  it('a body that is compressed for the transfer is refused as such', async () => {
    const chunk = (bytes: Buffer): Buffer =>
      Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n0\r\n\r\n')]);
    const compressed = [...head('1.1'), 'Transfer-Encoding: gzip, chunked'];
    const answer = await sendRaw(world.baseUrl, compressed, chunk(gzipSync(body)));
    assert.match(answer, /^HTTP\/1\.1 400 /);
    assert.match(answer, /"field":"Transfer-Encoding","reason":"invalid"/);
    const plain = await sendRaw(world.baseUrl, [...head('1.1'), 'Transfer-Encoding: Chunked'], chunk(body));
    assert.doesNotMatch(plain, /Transfer-Encoding/);
  });
});

describe('attachments', () => {
  const send = (content: string | Buffer, fileName = 'note.xml') =>
    world.call('POST', '/messaging/dirmsg/send_ccda', {
      body: {
        fromDirectAddress: alice,
        toDirectAddress: bob,
        messageSubject: 'x',
        emailAttachmentList: [
          {
            attachmentClass: 'text/xml',
            attachmentFileName: fileName,
            attachmentContent: Buffer.from(content).toString('base64'),
          },
        ],
      },
    });

  it('XML that is not well formed is sent, with a warning that says where', async () => {
    for (const content of ['<note><open></note>', '<note>a & b</note>', '<note></note><note/>']) {
      const reply = await send(content);
      assert.equal(reply.status, 200, content);
      const [warning, ...others] =
        (reply.body as { warnings?: { field: string; reason: string }[] }).warnings ?? [];
      assert.deepEqual(
        [warning?.field, warning?.reason, others.length],
        ['emailAttachmentList[0].attachmentContent', 'not_well_formed', 0],
        content,
      );
      assert.deepEqual(world.deliveries.at(-1)?.recipients, [bob]);
    }
  });

  it('a clinical document that is not well formed is refused, and one that is has no warning', async () => {
    const before = world.deliveries.length;
    const broken = await send('<ClinicalDocument xmlns="urn:hl7-org:v3"><title>a</ClinicalDocument>');
    assert.deepEqual(
      [broken.status, world.faults(broken), world.deliveries.length],
      [400, ['emailAttachmentList[0].attachmentContent not_well_formed'], before],
    );
    const whole = await send('<ClinicalDocument xmlns="urn:hl7-org:v3"><title>a</title></ClinicalDocument>');
    assert.deepEqual([whole.status, 'warnings' in whole.body], [200, false]);
  });

  it('a document in another encoding than it declares is said to be so, and where', async () => {
    const text = '<?xml version="1.0" encoding="UTF-8"?>\n<ClinicalDocument xmlns="urn:hl7-org:v3"><title>';
    const refused = await send(Buffer.from(`${text}José</title></ClinicalDocument>`, 'latin1'));
    assert.deepEqual(
      refused.body.errors?.map(({ detail }) => detail),
      [
        'The clinical document has bytes that are not UTF-8 (line 2, column 51), and declares no other encoding.',
      ],
    );
  });

  it('a file name that Windows reads as that of a program is refused', async () => {
    for (const name of ['a.exe', 'a.exe.', 'a.exe. .', 'A.EXE', 'a.exe::$DATA'])
      assert.deepEqual(
        world.faults(await send('<note/>', name)),
        ['emailAttachmentList[0].attachmentFileName not_allowed'],
        name,
      );
  });
});

describe('requests with more than one meaning', () => {
  it('two Authorization or Content-Type headers are refused, whichever of them would be right', async () => {
    const right = `Authorization: Bearer ${world.tokens.clinic}`;
    const json = 'Content-Type: application/json';
    const pairs = [
      ['Authorization', [right, 'authorization: Bearer other', json]],
      ['Authorization', ['Authorization: Basic eDp5', right, json]],
      ['Content-Type', [right, json, 'Content-Type: text/plain']],
    ] as const;
    for (const [field, headers] of pairs)
      for (const path of ['/messaging/dirmsg/status', '/messaging/dirmsg/validate']) {
        const answer = await sendRaw(
          world.baseUrl,
          [`POST ${path} HTTP/1.1`, 'Host: a.example', ...headers, 'Content-Length: 2'],
          Buffer.from('{}'),
        );
        assert.match(answer, /^HTTP\/1\.1 400 /);
        assert.match(answer, new RegExp(`"field":"${field}","reason":"duplicate"`));
      }
    const token = await sendRaw(world.baseUrl, [
      'POST /oauth2/direct/v1/token HTTP/1.1',
      'Host: a.example',
      'Authorization: Basic eDp5',
      'Authorization: Basic eDp6',
      'Content-Length: 0',
    ]);
    assert.match(token, /^HTTP\/1\.1 400 [^]*"error":"invalid_request"/);
  });

  it('two Host headers are refused', async () => {
    for (const path of ['/health/live', '/oauth2/direct/v1/token']) {
      const answer = await sendRaw(world.baseUrl, [
        `GET ${path} HTTP/1.1`,
        'Host: a.example',
        'Host: b.example',
      ]);
      assert.match(answer, /^HTTP\/1\.1 400 /, path);
    }
  });

  it('a method that a path does not take is answered with those that it takes', async () => {
    for (const [path, allowed] of [
      ['/oauth2/direct/v1/token', 'POST'],
      ['/oauth2/direct/v1/revoke', 'POST'],
      ['/.well-known/oauth-authorization-server', 'GET, HEAD'],
    ] as const)
      for (const method of ['DELETE', 'TRACE', 'PROPFIND']) {
        const answer = await sendRaw(world.baseUrl, [`${method} ${path} HTTP/1.1`, 'Host: a.example']);
        assert.match(
          answer,
          new RegExp(`^HTTP/1\\.1 405 [^]*\r\nallow: ${allowed}\r\n`, 'i'),
          `${method} ${path}`,
        );
      }
  });

  it('a request by NPI with a parameter is refused', async () => {
    for (const query of ['?limit=1', '?prov_npi=1234567893', '?state=']) {
      const reply = await directory.get(`/provider-directory/v2/providers/prov_npi/1234567893${query}`);
      assert.equal(reply.status, 400, query);
      assert.equal(reply.body.errors?.[0]?.reason, 'unknown');
    }
  });

  it('the OAuth metadata names the address of the connection, not that of the Host header', async () => {
    const answer = await sendRaw(world.baseUrl, [
      'GET /.well-known/oauth-authorization-server HTTP/1.1',
      'Host: evil.example',
    ]);
    assert.match(answer, /^HTTP\/1\.1 200 /);
    assert.ok(!answer.includes('evil.example'));
    const { issuer } = JSON.parse(answer.slice(answer.indexOf('{'))) as { issuer: string };
    assert.equal(issuer, world.baseUrl);
  });
});
