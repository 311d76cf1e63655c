import type { XdmCodes } from '../../lib/xdm/index.ts';

/** This installation's names in outgoing messages and MDNs. */
export interface ServiceIdentity {
  /** Host name for Reporting-UA and Reporting-MTA. */
  readonly hostname: string;
  /** OID of this installation: the XDM submission's sourceId (META-03). */
  readonly sourceOid: string;
  /** This installation's codes in XDM metadata (META-01); full metadata needs both. */
  readonly xdmCodes?: Partial<XdmCodes>;
}
