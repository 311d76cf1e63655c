import { hash32 } from '../../src/app/dev/sample-directory.ts';

/**
 * An invented national directory: what each resource refers to follows from its number and the seed, so that a release of
 * any size is written without keeping anything in memory. Proportions and faults are those of the releases of 2026.
 */
export interface World {
  readonly seed: number;
  readonly counts: ReleaseCounts;
  /** Factor for the frequency of rare faults compared with the real release: small releases need some of each. */
  readonly faultFactor: number;
}

export interface ReleaseCounts {
  readonly practitioners: number;
  readonly roles: number;
  readonly organizations: number;
  readonly locations: number;
  readonly endpoints: number;
}

/** Rows of the release of August 2026. */
const trueCounts: ReleaseCounts = {
  practitioners: 7_373_232,
  roles: 16_545_158,
  organizations: 4_402_671,
  locations: 2_535_686,
  endpoints: 1_128_169,
};
/** Organizations that `Endpoint.managingOrganization` names. */
const trueManagers = 4560;

export function createWorld(scale: number, seed: number, faultFactor = 1): World {
  const scaled = (count: number): number => Math.max(20, Math.round(count * scale));
  return {
    seed,
    faultFactor,
    counts: {
      practitioners: scaled(trueCounts.practitioners),
      roles: Math.max(320, scaled(trueCounts.roles)),
      organizations: scaled(trueCounts.organizations),
      locations: scaled(trueCounts.locations),
      endpoints: scaled(trueCounts.endpoints),
    },
  };
}

// Each question about a resource has its own salt, so that the answers are independent.
const salts = {
  excluded: 1,
  practitionerInactive: 2,
  practitionerAddress: 3,
  organizationInactive: 4,
  organizationAddress: 5,
  locationInactive: 6,
  locationAddress: 7,
  locationManager: 8,
  endpointClass: 9,
  endpointOff: 10,
  endpointTwin: 11,
  manager: 12,
  danglingManager: 13,
  rolePractitioner: 14,
  roleOrganization: 15,
  roleLocation: 16,
  roleInactive: 17,
  roleDangling: 18,
  roleShape: 19,
  secondRole: 20,
} as const;

export function chance(world: World, salt: number, number: number): number {
  return hash32(world.seed ^ Math.imul(salt, 0x9e3779b1), number) / 2 ** 32;
}

const rare = (world: World, rate: number): number => Math.min(0.5, rate * world.faultFactor);

export const isExcluded = (world: World, practitioner: number): boolean =>
  chance(world, salts.excluded, practitioner) < rare(world, 0.001);
export const isActivePractitioner = (world: World, practitioner: number): boolean =>
  chance(world, salts.practitionerInactive, practitioner) >= 0.005;
export const hasPractitionerAddress = (world: World, practitioner: number): boolean =>
  chance(world, salts.practitionerAddress, practitioner) < 0.97;
export const isActiveOrganization = (world: World, organization: number): boolean =>
  chance(world, salts.organizationInactive, organization) >= 0.005;
export const hasOrganizationAddress = (world: World, organization: number): boolean =>
  chance(world, salts.organizationAddress, organization) < 0.95;
export const isActiveLocation = (world: World, location: number): boolean =>
  chance(world, salts.locationInactive, location) >= 0.005;
export const hasLocationAddress = (world: World, location: number): boolean =>
  chance(world, salts.locationAddress, location) < 0.99;

export type OrganizationKind = 'prov' | 'ein' | 'payer';

/** Half of the organizations stand for a tax number only; 27 of the true release are payers. */
export function kindOfOrganization(organization: number): OrganizationKind {
  if (organization % 163_062 === 101) return 'payer';
  return organization % 2 === 0 ? 'prov' : 'ein';
}

const providerCount = ({ counts }: World): number => Math.ceil(counts.organizations / 2);
/** Organizations that are providers have the even numbers. */
const provider = (world: World, random: number): number => Math.floor(random * providerCount(world)) * 2;

export const managerOfLocation = (world: World, location: number): number =>
  provider(world, chance(world, salts.locationManager, location));

/** Nine in ten endpoints are Direct addresses; those are numbered on their own. */
export const directCount = ({ counts }: World): number =>
  counts.endpoints - Math.floor(counts.endpoints / 10);
export const endpointOfDirect = (direct: number): number => direct + Math.floor(direct / 9);
export const directOfEndpoint = (endpoint: number): number | undefined =>
  endpoint % 10 === 9 ? undefined : endpoint - Math.floor(endpoint / 10);

/** The path that links a Direct endpoint. */
type EndpointClass = 'bare-role' | 'full-role' | 'managed' | 'managed-role' | 'none';

function classOf(world: World, direct: number): EndpointClass {
  const share = chance(world, salts.endpointClass, direct);
  if (share < 0.55) return 'bare-role';
  if (share < 0.72) return 'full-role';
  if (share < 0.78) return 'managed';
  return share < 0.81 ? 'managed-role' : 'none';
}

export const isOff = (world: World, direct: number): boolean =>
  chance(world, salts.endpointOff, direct) < 0.002;
/** The endpoint whose address this one repeats. */
export const addressOf = (world: World, direct: number): number =>
  direct % 2 === 1 && chance(world, salts.endpointTwin, direct) < 0.01 ? direct - 1 : direct;

/** A reference to a resource, or to none that exists. */
export type Target = number | 'dangling' | undefined;

export function managerOf(world: World, direct: number): Target {
  const kind = classOf(world, direct);
  if (kind !== 'managed' && kind !== 'managed-role') return undefined;
  if (chance(world, salts.danglingManager, direct) < rare(world, 0.0069)) return 'dangling';
  const managers = Math.max(3, Math.round((trueManagers * directCount(world)) / 1_017_196));
  const chosen = Math.floor(chance(world, salts.manager, direct) * managers);
  return ((chosen * 37) % providerCount(world)) * 2;
}

/** Every twelfth Direct endpoint is named by an organization. */
export const isNamed = (direct: number): boolean => direct % 12 === 5;
export const namerOf = (direct: number): number => Math.floor(direct / 12) * 50;
export function namedBy(world: World, organization: number): number | undefined {
  if (organization % 50 !== 0) return undefined;
  const direct = (organization / 50) * 12 + 5;
  return direct < directCount(world) ? direct : undefined;
}

export interface Role {
  readonly isActive: boolean;
  readonly practitioner: Target;
  readonly organization: Target;
  readonly location: Target;
  /** Number of the endpoint among all endpoints. */
  readonly endpoint: number | undefined;
  /** Nothing but practitioner and endpoint, under the endpoint's UUID. */
  readonly isBare: boolean;
}

/** Sixteen roles to a Direct endpoint; the fourth and the eighth of them may carry it. */
export function roleOf(world: World, role: number): Role {
  const direct = Math.floor(role / 16);
  const slot = role % 16;
  if (direct < directCount(world)) {
    if (slot === 3) return firstRole(world, role, direct);
    if (slot === 7 && hasSecondRole(world, direct)) return secondRole(world, role, direct);
  }
  const isFhir = role % 160 === 11 && Math.floor(role / 160) * 10 + 9 < world.counts.endpoints;
  return { ...fullRole(world, role, 0.35), endpoint: isFhir ? Math.floor(role / 160) * 10 + 9 : undefined };
}

/** The roles of a Direct endpoint that carry it. */
export function rolesOfDirect(world: World, direct: number): Role[] {
  const numbers = [direct * 16 + 3, direct * 16 + 7].filter((role) => role < world.counts.roles);
  const endpoint = endpointOfDirect(direct);
  return numbers.map((role) => roleOf(world, role)).filter((role) => role.endpoint === endpoint);
}

function firstRole(world: World, role: number, direct: number): Role {
  const kind = classOf(world, direct);
  const endpoint = endpointOfDirect(direct);
  const full = fullRole(world, role, kind === 'none' || kind === 'managed' ? 0.35 : 0.03);
  if (kind === 'none' || kind === 'managed') return full;
  if (kind !== 'bare-role') return { ...full, endpoint };
  return { ...full, organization: undefined, location: undefined, endpoint, isBare: true };
}

const hasSecondRole = (world: World, direct: number): boolean =>
  classOf(world, direct).endsWith('role') && chance(world, salts.secondRole, direct) < 0.06;

/** Half of them name the same practitioner, half another one: an address that two persons share. */
function secondRole(world: World, role: number, direct: number): Role {
  const full = fullRole(world, role, 0.03);
  const { practitioner } = direct % 2 === 0 ? firstRole(world, direct * 16 + 3, direct) : full;
  return { ...full, practitioner, endpoint: endpointOfDirect(direct) };
}

function fullRole(world: World, role: number, inactiveShare: number): Role {
  const { practitioners, locations } = world.counts;
  const random = (salt: number): number => chance(world, salt, role);
  // 724 of 33.4 million references lead nowhere.
  const dangling = random(salts.roleDangling);
  const step = rare(world, 0.000_022);
  const shape = random(salts.roleShape);
  return {
    isActive: random(salts.roleInactive) >= inactiveShare,
    practitioner: dangling < step ? 'dangling' : Math.floor(random(salts.rolePractitioner) * practitioners),
    organization:
      dangling < 2 * step ? 'dangling' : organizationOfRole(world, random(salts.roleOrganization), shape),
    location:
      dangling < 3 * step
        ? 'dangling'
        : shape < 0.9
          ? Math.floor(random(salts.roleLocation) * locations)
          : undefined,
    endpoint: undefined,
    isBare: false,
  };
}

/** Three in a hundred name an organization that is only a tax number. */
function organizationOfRole(world: World, random: number, shape: number): number | undefined {
  if (shape > 0.97) return undefined;
  const chosen = provider(world, random);
  return shape < 0.03 ? Math.min(chosen + 1, world.counts.organizations - 1) : chosen;
}
