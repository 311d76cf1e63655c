/** One bit changed at every byte of a certificate, and every bit at its structural places: never the same validated path (TRUST-01, AS-77). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CodedError } from '../../src/core/index.ts';
import { readAsn1, type Asn1 } from '../../src/lib/asn1/index.ts';
import { validatePath, readCertificate } from '../../src/lib/pki/index.ts';
import { alice, at, createTestPki } from './support/test-pki.ts';

describe('altered certificates', async () => {
  const pki = await createTestPki();
  const leaf = pki.issue({ issuer: pki.intermediate });
  const context = { at, anchors: [pki.root.certificate], address: alice };

  async function refusalOf(work: () => Promise<unknown>): Promise<string> {
    try {
      await work();
    } catch (error) {
      if (error instanceof CodedError) return error.code;
      throw error;
    }
    return 'accepted';
  }

  const places = [...structuralPlaces(readAsn1(leaf.der))];

  test(`TRUST-01 a bit flipped at each of ${places.length} structural bytes of the end-entity certificate`, async () => {
    const codes = new Set<string>();
    for (const at of places) {
      for (let bit = 0; bit < 8; bit++) {
        const altered = flipped(leaf.der, at, bit);
        const code = await refusalOf(async () =>
          validatePath(readCertificate(altered), 'signing', {
            ...context,
            candidates: [pki.intermediate.certificate],
          }),
        );
        assert.notEqual(code, 'accepted', `byte ${at}, bit ${bit}`);
        codes.add(code);
      }
    }
    assert.ok(
      codes.has('PKI_CERTIFICATE_MALFORMED') && codes.has('PKI_SIGNATURE_INVALID'),
      [...codes].join(),
    );
  });

  test('TRUST-01 a bit flipped at every byte of the end-entity certificate', async () => {
    for (let at = 0; at < leaf.der.length; at++) {
      const altered = flipped(leaf.der, at, at % 8);
      const code = await refusalOf(async () =>
        validatePath(readCertificate(altered), 'signing', {
          ...context,
          candidates: [pki.intermediate.certificate],
        }),
      );
      assert.notEqual(code, 'accepted', `byte ${at}`);
    }
  });

  test('TRUST-01 a bit flipped at every byte of the intermediate certificate', async () => {
    const { der } = pki.intermediate.certificate;
    for (let at = 0; at < der.length; at++) {
      const code = await refusalOf(async () =>
        validatePath(leaf, 'signing', {
          ...context,
          candidates: [readCertificate(flipped(der, at, (at * 3) % 8))],
        }),
      );
      assert.notEqual(code, 'accepted', `byte ${at}`);
    }
  });

  test('TRUST-04 an anchor changed in one byte is no longer the anchor that a leaf equals', async () => {
    for (let at = 0; at < leaf.der.length; at += 7) {
      const code = await refusalOf(async () =>
        validatePath(readCertificate(flipped(leaf.der, at, at % 8)), 'signing', {
          ...context,
          anchors: [leaf],
        }),
      );
      assert.notEqual(code, 'accepted', `byte ${at}`);
    }
  });
});

function flipped(bytes: Uint8Array, at: number, bit: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ (1 << bit);
  return copy;
}

/** Tag and length bytes of every element, and the first byte of its content. */
function* structuralPlaces(node: Asn1): Generator<number> {
  for (let at = node.start; at <= Math.min(node.contentStart, node.end - 1); at++) yield at;
  for (const child of node.children) yield* structuralPlaces(child);
}
