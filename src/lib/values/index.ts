/**
 * Small values that are parsed once and carried as branded strings: Direct addresses, NPIs, ZIP codes,
 * states, OIDs, message names, media types. A value of such a type was checked by its parser and is not
 * checked again.
 *
 * Standards: RFC 5321 and RFC 5322 (addr-spec), 45 CFR 162.406 (NPI), RFC 2045 §5.1, ITU-T X.660 and X.667.
 * Not supported: internationalized addresses (RFC 6532), which Direct does not use.
 */
export {
  addressDnsName,
  addressKey,
  domainOf,
  findDirectAddress,
  isQualifiedDomain,
  localPartOf,
  parseDirectAddress,
  type DirectAddress,
} from './direct-address.ts';
export { hasNpiCheckDigit, parseNpi, type Npi } from './npi.ts';
export { parseZip } from './zip.ts';
export { isStateCode, stateCodes, stateNames } from './states.ts';
export { isOid, oidOfUuid } from './oid.ts';
export { createMessageUrn, parseMessageUrn, uuidOf, type MessageUrn } from './message-urn.ts';
export { parseMediaType, type MediaType } from './media-type.ts';
export { ValueError } from './errors.ts';
