import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../../../test/support/fast-check.ts';
import { Asn1Error, type Asn1ErrorCode } from './errors.ts';
import {
  childAt,
  contentBytes,
  der,
  encodedBytes,
  isContext,
  isUniversal,
  octetStringPieces,
  readAsn1,
  readOctetString,
  readSmallInteger,
  tags,
  type Asn1,
  type ReadAsn1Options,
} from './index.ts';

function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(' ', ''), 'hex');
}

function refuses(code: Asn1ErrorCode, bytes: string, options?: ReadAsn1Options): void {
  assert.throws(() => readAsn1(hex(bytes), options), { name: 'Asn1Error', code });
}

test('reads a definite sequence without copying', () => {
  const bytes = hex('30 06 02 01 05 04 01 ff');
  const node = readAsn1(bytes);
  assert.ok(isUniversal(node, tags.sequence));
  assert.equal(readSmallInteger(childAt(node, 0)), 5);
  assert.equal(contentBytes(childAt(node, 1)).buffer, bytes.buffer);
  assert.deepEqual(encodedBytes(childAt(node, 1)), hex('04 01 ff'));
});

test('reads indefinite lengths at several levels (X.690 §8.1.3.6)', () => {
  const node = readAsn1(hex('30 80 24 80 04 01 01 04 02 02 03 00 00 a0 80 02 01 07 00 00 00 00'));
  assert.equal(node.end, node.contentEnd + 2);
  assert.deepEqual(Buffer.from(readOctetString(childAt(node, 0))), hex('01 02 03'));
  assert.equal(octetStringPieces(childAt(node, 0)).length, 2);
  assert.ok(isContext(childAt(node, 1), 0));
});

test('reads nested constructed octet strings and one without content', () => {
  assert.deepEqual(Buffer.from(readOctetString(readAsn1(hex('24 07 24 05 04 03 01 02 03')))), hex('010203'));
  assert.equal(readOctetString(readAsn1(hex('24 80 00 00'))).length, 0);
});

test('reads tags in the long form', () => {
  assert.equal(readAsn1(hex('9f 81 00 01 00')).tagNumber, 128);
});

test('leaves trailing bytes alone only when asked', () => {
  refuses('ASN1_TRAILING_DATA', '05 00 00');
  assert.equal(readAsn1(hex('05 00 00'), { allowTrailing: true }).end, 2);
});

test('refuses elements cut off anywhere', () => {
  const whole = hex('30 80 24 80 04 01 01 00 00 02 82 00 01 07 9f 1f 01 00 00 00');
  readAsn1(whole);
  for (let length = 0; length < whole.length; length++) {
    assert.throws(() => readAsn1(whole.subarray(0, length)), Asn1Error, `cut at ${length}`);
  }
  refuses('ASN1_TRUNCATED', '30 05 02 01');
});

test('refuses lengths that X.690 does not allow', () => {
  refuses('ASN1_LENGTH_INVALID', '30 06 30 02 02 05 01 01');
  refuses('ASN1_LENGTH_INVALID', '04 80 00 00');
  refuses('ASN1_LENGTH_INVALID', '04 ff 00');
  refuses('ASN1_LENGTH_INVALID', '04 88 ff ff ff ff ff ff ff ff');
  refuses('ASN1_TRUNCATED', '04 84 7f ff ff ff');
});

test('refuses tags that X.690 does not allow', () => {
  refuses('ASN1_TAG_INVALID', '00 00');
  refuses('ASN1_TAG_INVALID', '30 02 00 00');
  refuses('ASN1_TAG_INVALID', '30 80 00 01 00');
  refuses('ASN1_TAG_INVALID', '10 00');
  refuses('ASN1_TAG_INVALID', '22 03 02 01 01');
  refuses('ASN1_TAG_INVALID', '9f 80 01 00');
  refuses('ASN1_TAG_INVALID', '9f 1e 00');
  refuses('ASN1_TAG_INVALID', '9f 81 81 81 81 01 00');
});

test('bounds depth, for definite and indefinite forms', () => {
  const deep = (form: string, end: string) => form.repeat(100_000) + end;
  refuses('ASN1_TOO_DEEP', deep('3080', ''));
  refuses('ASN1_TOO_DEEP', '30 04 30 02 30 00', { maxDepth: 2 });
  readAsn1(hex('30 04 30 02 30 00'), { maxDepth: 3 });
});

test('bounds the number of elements', () => {
  const many = der.sequence(...Array.from({ length: 50 }, () => der.null()));
  assert.throws(() => readAsn1(many, { maxNodes: 50 }), { code: 'ASN1_TOO_MANY_NODES' });
  assert.equal(readAsn1(many, { maxNodes: 51 }).children.length, 50);
});

test('refuses BER where DER is demanded (X.690 §10, §11)', () => {
  const strictDer = true;
  refuses('ASN1_NOT_DER', '30 80 00 00', { strictDer });
  refuses('ASN1_NOT_DER', '04 81 01 00', { strictDer });
  refuses('ASN1_NOT_DER', `04 82 00 80 ${'00'.repeat(128)}`, { strictDer });
  refuses('ASN1_NOT_DER', '24 03 04 01 00', { strictDer });
  refuses('ASN1_NOT_DER', '01 01 01', { strictDer });
  refuses('ASN1_NOT_DER', '03 02 01 01', { strictDer });
  readAsn1(hex('30 06 01 01 ff 03 02 01 02'.replace('06', '07')), { strictDer });
});

test('arbitrary bytes give a tree within bounds or an Asn1Error', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        checkBounds(readAsn1(bytes, { maxNodes: 100 }));
      } catch (error) {
        assert.ok(error instanceof Asn1Error);
      }
    }),
  );
});

function checkBounds(node: Asn1): void {
  assert.ok(
    node.start < node.contentStart && node.contentStart <= node.contentEnd && node.contentEnd <= node.end,
  );
  for (const child of node.children) {
    assert.ok(child.start >= node.contentStart && child.end <= node.contentEnd);
    checkBounds(child);
  }
}
