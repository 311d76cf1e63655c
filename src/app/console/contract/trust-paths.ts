import { Type, type Static } from 'typebox';
import { nullable, oneOf, time, named } from './common.ts';

/**
 * A certificate of a path from a recipient's or a signer's certificate to an anchor, or the position of a
 * missing issuer.
 */
export const pathNode = named('PathNode', {
  role: oneOf(['recipient', 'signer', 'issuer', 'anchor', 'missing']),
  state: oneOf(['ok', 'failed', 'not-reached']),
  /** SHA-256, lower-case hex; empty for a missing certificate. */
  fingerprint: Type.String(),
  /** Names of CAs and holders, not of patients; empty if no longer stored. */
  subject: Type.String(),
  issuer: Type.String(),
  notBefore: nullable(time),
  notAfter: nullable(time),
  /** The error code at the node that failed; otherwise empty. */
  code: Type.String(),
  text: Type.String(),
});
export type PathNode = Static<typeof pathNode>;

/** One certificate that was considered, with its path. */
export const certificatePath = named('CertificatePath', {
  state: oneOf(['trusted', 'refused']),
  code: Type.String(),
  text: Type.String(),
  /** From the recipient's or the signer's certificate up to the anchor. */
  nodes: Type.Array(pathNode),
});
export type CertificatePath = Static<typeof certificatePath>;
