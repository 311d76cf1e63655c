import type { XdmCodes } from '../../lib/xdm/index.ts';

/** What outgoing messages and MDNs say about this installation. */
export interface ServiceIdentity {
  /** Host name for Reporting-UA and Reporting-MTA. */
  readonly hostname: string;
  /** OID of this installation: the XDM submission's sourceId (META-03). */
  readonly sourceOid: string;
  /** What this installation says of itself in XDM metadata (META-01); full metadata needs both. */
  readonly xdmCodes?: Partial<XdmCodes>;
}
