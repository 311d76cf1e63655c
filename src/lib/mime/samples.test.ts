import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fixturesDir } from '../../../test/support/fixtures.ts';
import { buildMessage } from './build-message.ts';
import { collectParts, findBodyText } from './collect-parts.ts';
import { decodeWords } from './encoded-words.ts';
import { readMailboxes } from './mailboxes.ts';
import { parseEntity } from './mime-entity.ts';
import { unwrapEntity, wrapMessage } from './wrap-message.ts';

const folder = fixturesDir() ?? '';
const needs = (name: string): { skip: string | false } => ({
  skip:
    fixturesDir() !== undefined && existsSync(join(folder, name)) ? false : `the folder ${name} is missing`,
});
const filesIn = (name: string): string[] =>
  readdirSync(join(folder, name), { recursive: true, encoding: 'utf8' })
    .map((file) => join(folder, name, file))
    .filter((file) => statSync(file).isFile());

test('all messages of the reference implementations are read', needs('reference-data'), () => {
  const folders = [
    'java-agent/messages',
    'java-gateway/messages',
    'java-msg-monitor/messages',
    'java-msg-monitor-model/messages',
    'dotnet/common/mail',
    'dotnet/agent/TestMessages',
    'trust-utils/messages',
    'ett/direct-tests',
  ];
  const messages = folders
    .flatMap((name) => filesIn(`reference-data/${name}`))
    .filter((file) => /\.(?:txt|eml)$/i.test(file));
  assert.ok(messages.length > 60);
  let withSender = 0;
  for (const file of messages) {
    const bytes = readFileSync(file);
    const entity = parseEntity(bytes);
    if (readMailboxes(entity.header('from') ?? '').length > 0) withSender++;
    for (const part of collectParts(entity)) part.text();
  }
  // A few are bare CMS structures or fragments.
  assert.ok(withSender >= messages.length - 12, `${withSender} of ${messages.length}`);
});

test(
  'AS-74: the wrapped messages of the .NET implementation are unwrapped from base64 and quoted-printable',
  needs('reference-data/dotnet'),
  () => {
    const files = filesIn('reference-data/dotnet/common/mail');
    assert.equal(files.length, 6);
    for (const file of files) {
      const outer = parseEntity(readFileSync(file));
      const wrapped = outer.contentType.type === 'multipart' ? outer.parts[0] : outer;
      assert.ok(wrapped !== undefined);
      const inner = unwrapEntity(wrapped);
      assert.ok(inner !== undefined, file);
      const message = parseEntity(inner);
      assert.ok(message.header('from') !== undefined && message.header('subject') !== undefined, file);
      assert.ok(collectParts(message).length > 0);
      assert.notEqual(findBodyText(message, collectParts(message))?.text().trim(), '');
    }
  },
);

test('AS-80: clinical documents come out byte for byte', needs('ccda'), () => {
  const files = filesIn('ccda').filter((file) => file.endsWith('.xml'));
  assert.ok(files.length >= 5);
  const contents = files.map((file) => readFileSync(file));
  const message = buildMessage({
    from: 'alice@direct.alpha.example',
    to: ['bob@direct.beta.example'],
    date: new Date(0),
    messageId: '<1@direct.alpha.example>',
    attachments: contents.map((content) => ({ mediaType: 'text/xml', content })),
  });
  const inner = unwrapEntity(parseEntity(wrapMessage(message)));
  assert.deepEqual(
    collectParts(parseEntity(inner ?? message)).map((part) => part.content()),
    contents,
  );
});

test('sealed messages of the Java reference implementation have an application/pkcs7-mime entity and no subject', () => {
  const sealed = join(import.meta.dirname, '../../../test/fixtures/peer-messages/from-ri');
  for (const name of readdirSync(sealed).filter((file) => /^(?:AES|SHA|attachment|domain|two)/.test(file))) {
    const entity = parseEntity(readFileSync(join(sealed, name)));
    assert.equal(entity.contentType.mediaType, 'application/pkcs7-mime', name);
    assert.equal(entity.transferEncoding, 'base64', name);
    assert.equal(decodeWords(entity.header('subject') ?? ''), '', name);
  }
});
