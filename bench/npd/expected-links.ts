import {
  addressOf,
  directCount,
  hasLocationAddress,
  hasOrganizationAddress,
  hasPractitionerAddress,
  isActiveLocation,
  isActiveOrganization,
  isActivePractitioner,
  isExcluded,
  isNamed,
  isOff,
  kindOfOrganization,
  managerOf,
  managerOfLocation,
  namerOf,
  rolesOfDirect,
  type Role,
  type Target,
  type World,
} from './world.ts';

/** Number of addresses that an import must link, by path. */
export interface ExpectedLinks {
  addresses: number;
  records: number;
  excludedRecords: number;
  person: number;
  organization: number;
  place: number;
  unlinked: number;
  paths: Record<string, number>;
}

/** Counts from the plan of the world itself, in another way than an importer does. */
export function expectLinks(world: World): ExpectedLinks {
  const expected: ExpectedLinks = {
    addresses: 0,
    records: 0,
    excludedRecords: 0,
    person: 0,
    organization: 0,
    place: 0,
    unlinked: 0,
    paths: {},
  };
  for (let direct = 0; direct < directCount(world); direct++) {
    if (addressOf(world, direct) !== direct) continue;
    const twin = direct + 1;
    const hasTwin = twin < directCount(world) && addressOf(world, twin) === direct;
    const endpoints = [direct, ...(hasTwin ? [twin] : [])].filter((one) => !isOff(world, one));
    if (endpoints.length > 0) countAddress(world, endpoints, expected);
  }
  return expected;
}

function countAddress(world: World, endpoints: readonly number[], expected: ExpectedLinks): void {
  const roles = endpoints
    .flatMap((direct) => rolesOfDirect(world, direct))
    .filter(({ isActive }) => isActive);
  const persons = new Map<number, Role>();
  for (const role of roles) {
    const { practitioner } = role;
    if (typeof practitioner !== 'number' || !isActivePractitioner(world, practitioner)) continue;
    persons.set(practitioner, better(persons.get(practitioner), role));
  }
  const paths = new Set<string>();
  const nameless = roles.reduce<Role | undefined>(better, undefined);
  const records = persons.size > 0 ? [...persons.values()] : [nameless];
  for (const role of records) addPaths(world, endpoints, role, persons.size > 0, paths);
  const has = (kind: string): boolean => [...paths].some((path) => path.startsWith(kind));
  expected.addresses++;
  expected.records += records.length;
  for (const practitioner of persons.keys()) if (isExcluded(world, practitioner)) expected.excludedRecords++;
  if (has('person')) expected.person++;
  if (has('organization')) expected.organization++;
  if (has('place')) expected.place++;
  if (paths.size === 0) expected.unlinked++;
  for (const path of paths) expected.paths[path] = (expected.paths[path] ?? 0) + 1;
}

const isGiven = (target: Target): boolean => target !== undefined;

const weigh = ({ organization, location }: Role): number =>
  (organization === undefined ? 0 : 2) + (location === undefined ? 0 : 1);

function better(best: Role | undefined, role: Role): Role {
  return best === undefined || weigh(role) > weigh(best) ? role : best;
}

function addPaths(
  world: World,
  endpoints: readonly number[],
  role: Role | undefined,
  hasPerson: boolean,
  paths: Set<string>,
): void {
  const isProvider = (target: Target): target is number =>
    typeof target === 'number' && kindOfOrganization(target) !== 'ein' && isActiveOrganization(world, target);
  if (hasPerson) paths.add('person:PractitionerRole.endpoint');
  const candidates: [string, Target][] = [
    ['PractitionerRole.organization', role?.organization],
    ['Endpoint.managingOrganization', endpoints.map((one) => managerOf(world, one)).find(isGiven)],
    ['Organization.endpoint', endpoints.filter(isNamed).map(namerOf)[0]],
  ];
  const organization = candidates.find(([, target]) => isProvider(target));
  if (organization !== undefined) paths.add(`organization:${organization[0]}`);
  const place = findPlace(world, role, hasPerson, organization?.[1], isProvider);
  if (place !== undefined) paths.add(`place:${place}`);
}

function findPlace(
  world: World,
  role: Role | undefined,
  hasPerson: boolean,
  organization: Target,
  isProvider: (target: Target) => target is number,
): string | undefined {
  const location = role?.location;
  if (typeof location === 'number' && isActiveLocation(world, location)) {
    if (hasLocationAddress(world, location)) return 'PractitionerRole.location';
    const manager = managerOfLocation(world, location);
    if (isProvider(manager) && hasOrganizationAddress(world, manager)) return 'Location.managingOrganization';
  }
  const practitioner = role?.practitioner;
  if (hasPerson && typeof practitioner === 'number' && hasPractitionerAddress(world, practitioner))
    return 'Practitioner.address';
  return isProvider(organization) && hasOrganizationAddress(world, organization)
    ? 'Organization.address'
    : undefined;
}
