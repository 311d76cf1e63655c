import type { MacColumn } from '../integrity/index.ts';

/** The rows of this module. Times are milliseconds since 1970 (UTC). */
export interface OrganizationsTables {
  organization: MacColumn & {
    id: string;
    name: string;
    /** Empty if unknown, as are the parts of the postal address. */
    npi: string;
    /** JSON object, see PostalAddress. */
    postal_address: string;
    /** JSON array of lines. */
    contacts: string;
    /** JSON object, see OrganizationLimits. */
    limits: string;
    closed_at: number | null;
    closed_reason: string;
    created_at: number;
    updated_at: number;
  };
  /** What an organization with a limit per day has sent on its last day, `YYYY-MM-DD` in UTC. */
  organization_sent: { organization_id: string; day: string; messages: number; octets: number };
  /** What an organization with a limit of storage keeps, counted every few minutes. */
  organization_stored: { organization_id: string; octets: number; counted_at: number };
  /** One row, id 1, which is locked by every change of what belongs to whom. */
  organization_state: { id: number };
  /** Written by the trust service. */
  hosted_domain: MacColumn & {
    domain: string;
    organization_id: string;
    created_at: number;
  };
}
