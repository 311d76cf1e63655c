/** Verifies a signed message and its signer: first the signature, then the path from its certificate to an anchor. */
import { isBoundTo, validatePath } from '../src/lib/pki/index.ts';
import { signEntity, verifyEntity } from '../src/lib/smime/index.ts';
import { parseDirectAddress } from '../src/lib/values/index.ts';
import { makeAuthority, makeIdentity } from './support.ts';

const alice = parseDirectAddress('alice@direct.alpha.example');
const authority = await makeAuthority('Example root');
const identity = await makeIdentity(alice, authority);
const at = new Date();
const signed = signEntity(Buffer.from('Content-Type: text/plain\r\n\r\nHello\r\n'), [identity], { at });

// The signature says that somebody with this certificate signed these bytes, but not that he is to be trusted.
const { entity, signers, form } = verifyEntity(signed);
const [signer] = signers;
if (signer?.outcome !== 'valid') throw new Error('No valid signature.');
console.log(`${form} signature by ${signer.signatureAlgorithm} over ${entity.length} bytes`);

// Trust comes from the path; it throws a PkiError with the reason if there is none. No CRL is asked for here.
const { certificates, anchor } = await validatePath(signer.certificate, 'signing', {
  at,
  address: alice,
  anchors: [authority.certificate],
  policy: { revocation: 'off' },
});
console.log(`trusted by ${anchor.fingerprint === authority.certificate.fingerprint ? 'our anchor' : '?'}`);
console.log(
  `path of ${certificates.length} certificates, bound to the ${isBoundTo(signer.certificate, alice)}`,
);

try {
  verifyEntity(Buffer.from(signed.toString('latin1').replace('Hello', 'Hullo'), 'latin1'));
} catch (error) {
  console.log(`changed: ${(error as { code: string }).code}`);
}
