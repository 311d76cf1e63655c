/**
 * By which reference an address is linked, in the order in which they are tried. One bit each, in the order
 * of this list.
 */
const linkPaths = [
  { kind: 'person', path: 'PractitionerRole.endpoint' },
  { kind: 'organization', path: 'PractitionerRole.organization' },
  { kind: 'organization', path: 'Endpoint.managingOrganization' },
  { kind: 'organization', path: 'Organization.endpoint' },
  { kind: 'place', path: 'PractitionerRole.location' },
  { kind: 'place', path: 'Location.managingOrganization' },
  { kind: 'place', path: 'Location.endpoint' },
  { kind: 'place', path: 'Practitioner.address' },
  { kind: 'place', path: 'Organization.address' },
] as const;

export type LinkKind = (typeof linkPaths)[number]['kind'];
export type LinkPath = (typeof linkPaths)[number]['path'];

const bits = new Map(linkPaths.map(({ path }, at): [LinkPath, number] => [path, 1 << at]));

export function bitOf(path: LinkPath): number {
  return bits.get(path) ?? 0;
}

export interface LinkCount {
  /** Addresses that are linked to one, by whichever path. */
  readonly count: number;
  /** Addresses by path; one that several records show may count under several. */
  readonly paths: Readonly<Partial<Record<LinkPath, number>>>;
}

/** Paths by which the Direct addresses of a release are linked. */
export interface LinkReport {
  readonly addresses: number;
  readonly person: LinkCount;
  readonly organization: LinkCount;
  readonly place: LinkCount;
  /** Addresses of which nothing else is known. */
  readonly unlinked: number;
}

/** Counts from the bits of each address. */
export function countLinks(addressCount: number, bitsAt: (address: number) => number): LinkReport {
  const kinds: Record<LinkKind, number> = { person: 0, organization: 0, place: 0 };
  const paths = linkPaths.map(() => 0);
  let unlinked = 0;
  for (let address = 0; address < addressCount; address++) {
    const mask = bitsAt(address);
    if (mask === 0) unlinked++;
    const met = new Set<LinkKind>();
    for (const [at, { kind }] of linkPaths.entries()) {
      if ((mask & (1 << at)) === 0) continue;
      paths[at] = (paths[at] ?? 0) + 1;
      met.add(kind);
    }
    for (const kind of met) kinds[kind]++;
  }
  const countOf = (kind: LinkKind): LinkCount => ({
    count: kinds[kind],
    paths: Object.fromEntries(
      linkPaths.flatMap(({ path, kind: own }, at) => (own === kind ? [[path, paths[at] ?? 0]] : [])),
    ),
  });
  return {
    addresses: addressCount,
    person: countOf('person'),
    organization: countOf('organization'),
    place: countOf('place'),
    unlinked,
  };
}
