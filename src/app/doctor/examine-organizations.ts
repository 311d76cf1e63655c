import { adviceForNearLimit, describeNearLimit } from '../../service/organizations/index.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { findingsOf, type Finding } from './findings.ts';

/** Limits of organizations that are reached, or nearly so. */
export async function examineOrganizations({
  organizations,
  trust,
}: DoctorOptions): Promise<readonly Finding[]> {
  const near = (await organizations?.findNearLimits(trust.countActiveAddresses)) ?? [];
  return near.map((limit) =>
    findingsOf('organization', limit.organizationId).warning(
      describeNearLimit(limit),
      adviceForNearLimit(limit),
    ),
  );
}
