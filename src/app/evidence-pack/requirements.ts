/** Names of the parts of a pack. */
export type PackPart =
  | 'product'
  | 'requirements'
  | 'verification'
  | 'auditTrail'
  | 'domains'
  | 'operators'
  | 'clients'
  | 'edgeAccounts'
  | 'changes'
  | 'signIns'
  | 'activity'
  | 'deliveries'
  | 'serviceTime'
  | 'backups'
  | 'retention'
  | 'settings'
  | 'components';

/** A requirement, and the parts that show how it was met. */
export interface Requirement {
  readonly source: string;
  readonly heading: string;
  readonly parts: readonly PackPart[];
}

const rule = '45 CFR 164.312';
/** Subjects that a HISP attests to; its own numbering changes by year. */
const accreditation = 'DirectTrust accreditation of HISPs';

export const requirements: readonly Requirement[] = [
  {
    source: `${rule}(a)(1)`,
    heading: 'Access control',
    parts: ['operators', 'clients', 'edgeAccounts', 'changes'],
  },
  { source: `${rule}(a)(2)(i)`, heading: 'Unique user identification', parts: ['operators', 'clients'] },
  { source: `${rule}(a)(2)(ii)`, heading: 'Emergency access procedure', parts: ['backups', 'changes'] },
  { source: `${rule}(a)(2)(iii)`, heading: 'Automatic logoff', parts: ['settings'] },
  {
    source: `${rule}(a)(2)(iv)`,
    heading: 'Encryption and decryption',
    parts: ['verification', 'settings', 'domains'],
  },
  { source: `${rule}(b)`, heading: 'Audit controls', parts: ['auditTrail', 'activity', 'verification'] },
  { source: `${rule}(c)(1)`, heading: 'Integrity', parts: ['verification', 'auditTrail', 'backups'] },
  {
    source: `${rule}(c)(2)`,
    heading: 'Mechanism to authenticate electronic protected health information',
    parts: ['verification', 'domains'],
  },
  {
    source: `${rule}(d)`,
    heading: 'Person or entity authentication',
    parts: ['signIns', 'operators', 'clients', 'domains'],
  },
  { source: `${rule}(e)(1)`, heading: 'Transmission security', parts: ['settings', 'domains'] },
  { source: `${rule}(e)(2)(i)`, heading: 'Integrity controls', parts: ['domains', 'deliveries'] },
  { source: `${rule}(e)(2)(ii)`, heading: 'Encryption', parts: ['domains', 'settings'] },
  { source: accreditation, heading: 'Certificates and private keys', parts: ['domains', 'changes'] },
  { source: accreditation, heading: 'Trust anchors and bundles', parts: ['domains', 'changes'] },
  { source: accreditation, heading: 'Messages and their notifications', parts: ['deliveries', 'activity'] },
  { source: accreditation, heading: 'Availability and continuity', parts: ['serviceTime', 'backups'] },
  { source: accreditation, heading: 'Retention of records', parts: ['retention', 'auditTrail'] },
  { source: accreditation, heading: 'Software in use', parts: ['product', 'components'] },
];
