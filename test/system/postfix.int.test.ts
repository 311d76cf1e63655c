import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  choosePort,
  createEdgeClient,
  demoAddress,
  domains,
  ensureAddress,
  ensureClient,
  loopbackAddresses,
  partners,
  startWorld,
  type EdgeClient,
  type World,
} from '../../src/app/dev/index.ts';
import type { RunningServer } from '../support/named.ts';
import { startPostfix } from '../support/postfix.ts';
import { needsRootAndPrograms } from '../support/processes.ts';
import { fixturesDir } from '../support/fixtures.ts';
import { readStatus, send, waitFor } from './sandbox-fixture.ts';

const needsPostfix = needsRootAndPrograms('postfix');
const isSkipped = needsPostfix.skip !== false;

let folder: string;
let postfix: RunningServer;
let world: World;
let client: EdgeClient;
let partner: EdgeClient;

const payloads: Readonly<Record<string, Buffer>> = {
  'bytes above 127, and all others': Buffer.from(Array.from({ length: 512 }, (_, index) => index % 256)),
  'lines of 5,000 characters': Buffer.from(`${'x'.repeat(5000)}\n${'é'.repeat(5000)}`),
  'no last newline': Buffer.from('one\r\ntwo'),
  'CRLF, LF and CR': Buffer.from('a\r\nb\nc\rd\r\n\r\n\n.\n..\n.\r\nFrom x\n'),
  NUL: Buffer.from('a\0b\0\0c'),
  'three megabytes of noise': randomBytes(3_000_000),
};

before(async () => {
  if (isSkipped) return;
  folder = await mkdtemp(path.join(tmpdir(), 'openhisp-postfix-'));
  const smtpPort = await choosePort(Object.values(loopbackAddresses), 0);
  const way = (domain: string, address: string) => `{ ${domain} = smtp:[${address}]:${smtpPort} }`;
  postfix = await startPostfix({
    relayPort: smtpPort,
    settings: [
      'relayhost =',
      `transport_maps = inline:{ ${way(domains.own, loopbackAddresses.own)}, ${way(domains.partner, loopbackAddresses.partner)} }`,
    ],
  });
  world = await startWorld({
    folder,
    httpPort: 0,
    smtpPort,
    relay: { address: '127.0.0.1', port: postfix.port },
  });
  await ensureAddress(world.hisp, demoAddress);
  await ensureAddress(world.partner, partners.processed);
  const name = 'test';
  const own = { hisp: world.hisp, file: path.join(folder, 'own.json'), directAddresses: [`@${domains.own}`] };
  const other = {
    hisp: world.partner,
    file: path.join(folder, 'other.json'),
    directAddresses: [`@${domains.partner}`],
  };
  client = createEdgeClient(await ensureClient({ ...own, name }));
  partner = createEdgeClient(await ensureClient({ ...other, name }));
});

after(async () => {
  if (isSkipped) return;
  await world.close();
  await postfix.stop();
  await rm(folder, { recursive: true, force: true });
});

async function carry(attachments: readonly Buffer[], mediaType: string): Promise<Buffer[]> {
  const id = await send(client, {
    fromDirectAddress: demoAddress,
    toDirectAddress: partners.processed,
    messageSubject: 'through Postfix',
    emailAttachmentList: attachments.map((bytes, index) => ({
      attachmentClass: mediaType,
      attachmentContent: bytes.toString('base64'),
      attachmentFileName: `file-${index}`,
    })),
  });
  const status = await waitFor(
    () => readStatus(client, id),
    (answer) => answer.result[0]?.final === true,
    60,
  );
  assert.equal(status.result[0]?.status, 'processed', postfix.output());
  type Page = { result: readonly { messageId: string }[] };
  const page = (await partner.get(`/messaging/dirmsg/inbox?limit=100`)) as Page;
  const messageId = page.result.at(-1)?.messageId ?? '';
  type Payload = { emailAttachmentList: readonly { attachmentContent: string }[] };
  const received = (await partner.get(`/messaging/dirmsg/inbox/${messageId}`)) as Payload;
  await partner.post(`/messaging/dirmsg/inbox/${messageId}/ack`);
  return received.emailAttachmentList.map((one) => Buffer.from(one.attachmentContent, 'base64'));
}

describe('two of our HISPs with a real Postfix between them', () => {
  it(
    'AS-33, AS-80: every payload arrives byte for byte, and the MDNs find their way back',
    needsPostfix,
    async () => {
      const sent = Object.values(payloads);
      const received = await carry(sent, 'application/octet-stream');
      for (const [index, name] of Object.keys(payloads).entries()) {
        assert.ok(received[index]?.equals(sent[index] ?? Buffer.alloc(0)), name);
      }
      assert.match(postfix.output(), /status=sent/);
    },
  );

  it(
    'AS-80: the reference C-CDA documents arrive byte for byte',
    {
      skip:
        needsPostfix.skip ||
        (fixturesDir() === undefined ? 'the folder of reference fixtures is not on this machine' : false),
    },
    async () => {
      const place = path.join(fixturesDir() ?? '', 'ccda');
      const names = (await readdir(place)).filter((name) => name.endsWith('.xml'));
      const documents = await Promise.all(names.map((name) => readFile(path.join(place, name))));
      assert.ok(documents.length >= 5);
      assert.deepEqual(await carry(documents, 'text/xml'), documents);
    },
  );
});
