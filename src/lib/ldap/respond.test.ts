import assert from 'node:assert/strict';
import { test } from 'node:test';
import { childAt, der, readAsn1, readOctetString, readSmallInteger, type Asn1 } from '../asn1/index.ts';
import { respond, type Directory } from './respond.ts';

const certificates: Readonly<Record<string, readonly Uint8Array[]>> = {
  'bob@direct.example.org': [Uint8Array.of(0x30, 1), Uint8Array.of(0x30, 2)],
  'eve@direct.example.org': [Uint8Array.of(0x30, 3)],
  'direct.example.org': [Uint8Array.of(0x30, 4)],
};
const directory: Directory = { base: 'o=openhisp', findCertificates: (mail) => certificates[mail] ?? [] };

const text = (value: string) => der.octetString(Buffer.from(value));
const equals = (name: string, value: string) => der.implicit(3, true, text(name), text(value));
const present = (name: string) => der.implicit(7, false, Buffer.from(name));
const message = (operation: number, ...content: Uint8Array[]) =>
  der.sequence(der.integer(7), der.tlv(operation, ...content));

interface Search {
  readonly base: string;
  readonly scope?: number;
  readonly filter: Uint8Array;
  readonly sizeLimit?: number;
  readonly isTypesOnly?: boolean;
  readonly attributes?: readonly string[];
}

function searchRequest({
  base,
  scope = 2,
  filter,
  sizeLimit = 0,
  isTypesOnly = false,
  attributes = [],
}: Search): Uint8Array {
  return message(
    0x63,
    text(base),
    der.enumerated(scope),
    der.enumerated(0),
    der.integer(sizeLimit),
    der.integer(0),
    der.boolean(isTypesOnly),
    filter,
    der.sequence(...attributes.map(text)),
  );
}

interface Found {
  readonly dn: string;
  readonly attributes: Readonly<Record<string, readonly string[]>>;
}

async function ask(request: Uint8Array, from = directory) {
  const { messages, isLast } = await respond(request, from);
  const operations = messages.map((bytes) => childAt(readAsn1(bytes), 1));
  const last = operations.at(-1);
  const entries = operations.filter((operation) => operation.tagNumber === 4).map(readEntry);
  return { entries, isLast, code: last && readSmallInteger(childAt(last, 0)), operation: last?.tagNumber };
}

function readEntry(node: Asn1): Found {
  const attributes: Record<string, string[]> = {};
  for (const attribute of childAt(node, 1).children) {
    const values = childAt(attribute, 1).children.map((value) =>
      Buffer.from(readOctetString(value)).toString('latin1'),
    );
    attributes[textOf(childAt(attribute, 0))] = values;
  }
  return { dn: textOf(childAt(node, 0)), attributes };
}

const textOf = (node: Asn1): string => Buffer.from(readOctetString(node)).toString();

test('HOST-03: binds anonymously and nothing else', async () => {
  const bind = (version: number, name: string, authentication: Uint8Array) =>
    ask(message(0x60, der.integer(version), text(name), authentication));
  const simple = (password: string) => der.implicit(0, false, Buffer.from(password));
  assert.deepEqual((await bind(3, '', simple(''))).code, 0);
  assert.equal((await bind(2, '', simple(''))).code, 2);
  assert.equal((await bind(3, 'cn=x', simple(''))).code, 53);
  assert.equal((await bind(3, 'cn=x', simple('secret'))).code, 49);
  assert.equal((await bind(3, '', der.implicit(3, true, text('PLAIN')))).code, 7);
});

test('DISC-08: the root names the naming context, and a search below it finds the certificates', async () => {
  const root = await ask(
    searchRequest({ base: '', scope: 0, filter: present('objectClass'), attributes: ['namingContexts'] }),
  );
  assert.deepEqual(root.entries, [{ dn: '', attributes: { namingContexts: ['o=openhisp'] } }]);
  const filter = der.implicit(
    0,
    true,
    equals('mail', 'Bob@Direct.Example.org'),
    der.implicit(1, true, present('userCertificate;binary'), present('userCertificate')),
  );
  const found = await ask(
    searchRequest({ base: 'O=openhisp', filter, attributes: ['userCertificate;binary'] }),
  );
  assert.deepEqual(found.entries, [
    {
      dn: 'mail=bob@direct.example.org,o=openhisp',
      attributes: { 'userCertificate;binary': ['0\x01', '0\x02'] },
    },
  ]);
  assert.equal(found.code, 0);
});

test('HOST-01: a domain-bound certificate is found under the domain', async () => {
  const found = await ask(
    searchRequest({ base: 'o=openhisp', scope: 1, filter: equals('mail', 'direct.example.org') }),
  );
  assert.deepEqual(found.entries[0]?.attributes['mail'], ['direct.example.org']);
});

test('an absent address is an empty success; bases elsewhere do not exist', async () => {
  const filter = equals('mail', 'nobody@direct.example.org');
  assert.deepEqual(await ask(searchRequest({ base: 'o=openhisp', filter })), {
    entries: [],
    isLast: false,
    code: 0,
    operation: 5,
  });
  assert.equal((await ask(searchRequest({ base: 'o=other', filter }))).code, 32);
  assert.equal(
    (await ask(searchRequest({ base: 'mail=nobody@x.org,o=openhisp', scope: 0, filter: present('mail') })))
      .code,
    32,
  );
  const own = await ask(
    searchRequest({ base: 'mail=bob@direct.example.org,o=openhisp', scope: 0, filter: present('mail') }),
  );
  assert.equal(own.entries.length, 1);
  const below = await ask(
    searchRequest({ base: 'mail=bob@direct.example.org,o=openhisp', scope: 1, filter: present('mail') }),
  );
  assert.deepEqual([below.entries.length, below.code], [0, 0]);
});

test('the base and the root are separate entries', async () => {
  const base = await ask(searchRequest({ base: 'o=openhisp', scope: 0, filter: present('objectClass') }));
  assert.deepEqual(base.entries[0]?.attributes, { objectClass: ['top', 'organization'], o: ['openhisp'] });
  assert.equal(
    (await ask(searchRequest({ base: '', scope: 1, filter: present('objectClass') }))).entries[0]?.dn,
    'o=openhisp',
  );
});

test('SEC-11: addresses cannot be listed, and one search names few of them', async () => {
  assert.equal((await ask(searchRequest({ base: 'o=openhisp', filter: present('mail') }))).code, 53);
  const many = der.implicit(1, true, ...Array.from({ length: 21 }, (_, n) => equals('mail', `u${n}@x.org`)));
  assert.equal((await ask(searchRequest({ base: 'o=openhisp', filter: many }))).code, 11);
});

test('size limit, types only and attribute selection are kept to', async () => {
  const filter = der.implicit(
    1,
    true,
    equals('mail', 'bob@direct.example.org'),
    equals('mail', 'eve@direct.example.org'),
  );
  const cut = await ask(searchRequest({ base: 'o=openhisp', filter, sizeLimit: 1 }));
  assert.deepEqual([cut.entries.length, cut.code], [1, 4]);
  const eve = equals('mail', 'eve@direct.example.org');
  const types = await ask(
    searchRequest({ base: 'o=openhisp', filter: eve, isTypesOnly: true, attributes: ['MAIL'] }),
  );
  assert.deepEqual(types.entries[0]?.attributes, { mail: [] });
  const none = await ask(searchRequest({ base: 'o=openhisp', filter: eve, attributes: ['1.1'] }));
  assert.deepEqual(none.entries[0]?.attributes, {});
  const all = await ask(searchRequest({ base: 'o=openhisp', filter: eve, attributes: ['*'] }));
  assert.deepEqual(Object.keys(all.entries[0]?.attributes ?? {}), [
    'objectClass',
    'cn',
    'sn',
    'mail',
    'userCertificate;binary',
  ]);
});

test('everything but reading is refused, each with the response that belongs to it', async () => {
  const operations: readonly (readonly [request: number, response: number, code: number])[] = [
    [0x66, 7, 53],
    [0x68, 9, 53],
    [0x4a, 11, 53],
    [0x6c, 13, 53],
    [0x6e, 15, 53],
    [0x77, 24, 2],
  ];
  for (const [request, operation, code] of operations) {
    const answer = await ask(message(request));
    assert.deepEqual([answer.operation, answer.code, answer.isLast], [operation, code, false]);
  }
  assert.deepEqual(await ask(message(0x50)), {
    entries: [],
    isLast: false,
    code: undefined,
    operation: undefined,
  });
  assert.equal((await ask(message(0x42))).isLast, true);
});

test('RFC 4511 §4.1.11: a critical control that we do not know is refused, others are ignored', async () => {
  const control = (isCritical: boolean) =>
    der.sequence(text('1.2.840.113556.1.4.319'), der.boolean(isCritical));
  const request = (isCritical: boolean) =>
    der.sequence(
      der.integer(7),
      childBytes(searchRequest({ base: '', scope: 0, filter: present('objectClass') })),
      der.implicit(0, true, control(isCritical)),
    );
  assert.equal((await ask(request(true))).code, 12);
  assert.equal((await ask(request(false))).code, 0);
});

function childBytes(bytes: Uint8Array): Uint8Array {
  const child = childAt(readAsn1(bytes), 1);
  return bytes.subarray(child.start, child.end);
}

test('SEC-11: nonsense ends the connection with a notice, a failing source does not', async () => {
  const whole = searchRequest({ base: 'o=openhisp', filter: equals('mail', 'bob@direct.example.org') });
  for (let at = 0; at < whole.length; at++) {
    for (const octet of [0, 0x30, 0x7f, 0x80, 0xff]) {
      const changed = Uint8Array.from(whole);
      changed[at] = octet;
      const { messages, isLast } = await respond(changed, directory);
      assert.ok(isLast || messages.length > 0 || changed[5] === 0x50);
    }
  }
  const notice = await ask(Uint8Array.of(0x30, 0));
  assert.deepEqual([notice.operation, notice.code, notice.isLast], [24, 2, true]);
  const errors: unknown[] = [];
  const failing: Directory = {
    base: 'o=openhisp',
    findCertificates: () => Promise.reject(new Error('database')),
    onError: (error) => errors.push(error),
  };
  const answer = await ask(whole, failing);
  assert.deepEqual([answer.code, answer.isLast, errors.length], [52, false, 1]);
});
