import assert from 'node:assert/strict';
import { CodedError } from '../../../src/core/index.ts';
import type { PkiErrorCode } from '../../../src/lib/pki/index.ts';

const certificate = String.raw`^CN=[^:]+ \(serial [0-9a-f]+\): `;
const list = String.raw`${certificate}CRL http://\S+: `;

/** What the words of a refusal or warning name, beyond its code: the certificate, the value, the limit, the list. */
const words: Readonly<Partial<Record<PkiErrorCode, string>>> = {
  PKI_TOO_MANY_CERTIFICATES: String.raw`more than \d+`,
  PKI_TOO_LARGE: String.raw`\d+ bytes, more than \d+`,
  PKI_NOT_BOUND: `${certificate}(bound to |the subject names )`,
  PKI_NAME_MALFORMED: certificate,
  PKI_NOT_YET_VALID: `${certificate}valid from 20`,
  PKI_EXPIRED: `${certificate}valid until 20`,
  PKI_KEY_ALGORITHM: `${certificate}a key of (algorithm|type) `,
  PKI_KEY_TOO_WEAK: String.raw`${certificate}an RSA key of \d+ bits, fewer than \d+`,
  PKI_KEY_INVALID: `${certificate}an RSA key with `,
  PKI_KEY_USAGE: `${certificate}.*(signing|encryption)`,
  PKI_EXTENDED_KEY_USAGE: certificate,
  PKI_END_ENTITY_IS_CA: certificate,
  PKI_CRITICAL_EXTENSION: String.raw`${certificate}.* \d+\.\d+\.\d+`,
  PKI_POLICY_MISSING: `${certificate}no certificate policy 1.3.6`,
  PKI_NO_ANCHORS: certificate,
  PKI_ISSUER_NOT_FOUND: 'no trusted issuer .*=|http://',
  PKI_ISSUER_UNAVAILABLE: 'http://',
  PKI_FETCH_NEEDED: `${certificate}.*http://`,
  PKI_FETCH_LIMIT: String.raw`more than \d`,
  PKI_SIGNATURE_ALGORITHM: `${certificate}signed with .* and sha1.*issuer CN=`,
  PKI_SIGNATURE_INVALID: `${certificate}.*issuer CN=`,
  PKI_ISSUER_NOT_CA: certificate,
  PKI_ISSUER_KEY_USAGE: certificate,
  PKI_PATH_LENGTH: String.raw`${certificate}a path length over \d`,
  PKI_PATH_TOO_LONG: String.raw`${certificate}more than \d+`,
  PKI_PATH_TOO_BROAD: String.raw`${certificate}(more than \d+|too many)`,
  PKI_NAME_CONSTRAINT: certificate,
  PKI_REVOKED: `${certificate}revoked: `,
  PKI_REVOCATION_UNKNOWN: list,
  PKI_REVOCATION_UNCHECKABLE: `${certificate}no CRL distribution point`,
  PKI_CRL_MALFORMED: list,
  PKI_CRL_ISSUER: `${list}.* CN=`,
  PKI_CRL_SIGNATURE: `${list}.* CN=`,
  PKI_CRL_NOT_YET_VALID: `${list}.* 20..-`,
  PKI_CRL_STALE: `${list}(.* 20..-|a CRL without a next update)`,
  PKI_CRL_SCOPE: list,
  PKI_CRL_DELTA: `${list}.* 20..-`,
  PKI_CRL_CRITICAL_EXTENSION: String.raw`${list}(.*\d+\.\d+\.\d+|an entry)`,
  PKI_CRL_UNAVAILABLE: list,
};

/** The reporter in this process passes them on, and a run of all tests compares them with the tables. */
const provoked = ((globalThis as { provokedCodes?: Set<string> }).provokedCodes ??= new Set());

/** After a test has compared the code of a refusal. */
export const noteProvoked = (code: string): void => void provoked.add(code);

/** Fails unless the finding has that code and words that name what it is about, in one line or two. */
export function expectFinding(code: string, found: { code: string; text: string } | undefined): void {
  assert.equal(found?.code, code, found?.text);
  assert.match(found?.text ?? '', new RegExp(words[code as PkiErrorCode] ?? '.'));
  assert.ok((found?.text ?? '').length <= 300, found?.text);
  noteProvoked(code);
}

/** Fails unless the work, which is not asynchronous, throws that code, in whatever words. */
export function refusedAtOnce(code: string, work: () => unknown): void {
  assert.throws(work, (error) => error instanceof CodedError && error.code === code, code);
  noteProvoked(code);
}

/** Fails unless the work is refused with exactly that code. */
export async function refusedWith(code: string, work: () => unknown): Promise<CodedError> {
  try {
    await work();
  } catch (error) {
    assert.ok(error instanceof CodedError, `not a refusal but ${String(error)}`);
    expectFinding(code, { code: error.code, text: error.message });
    return error;
  }
  assert.fail(`accepted, though ${code} was expected`);
}
