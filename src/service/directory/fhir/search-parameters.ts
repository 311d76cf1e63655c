import { readDecimal, type FieldProblem } from '../../../core/index.ts';
import type { Alternative, ProviderQuery, TimeRange } from '../../../lib/provider-index/index.ts';
import type { FilterMatch, SearchField } from '../../../lib/provider-record/index.ts';
import { maxRadiusMiles } from '../limits.ts';
import { shownStates } from '../verification/address-states.ts';
import { parseDate } from './dates.ts';
import { parseResourceId, type ResourceKey } from './resource-ids.ts';
import {
  connectionTypeSystem,
  directProject,
  endpointStatusSystem,
  isNpiSystem,
  locationStatusSystem,
  npiSystem,
  organizationTypeSystem,
  plainSystem,
  readOid,
  specialValueSystem,
  taxonomyOid,
  taxonomySystem,
  resourceTypes,
  verificationExtension,
  type ResourceType,
} from './vocabulary.ts';

/** The condition of a search parameter on records. */
export type Condition =
  | { readonly kind: 'alternatives'; readonly alternatives: readonly Alternative[] }
  /** Of resources with one of these ids. */
  | { readonly kind: 'keys'; readonly keys: readonly ResourceKey[] }
  /** Of resources that refer to one of these; with `isDepartment` only through records without an NPI. */
  | { readonly kind: 'references'; readonly keys: readonly ResourceKey[]; readonly isDepartment: boolean }
  /** Of organizations to which one of these NPIs belongs. */
  | { readonly kind: 'owners'; readonly npis: readonly string[] }
  | { readonly kind: 'near'; readonly radius: NonNullable<ProviderQuery['radius']> }
  /** Of addresses in one of these states (Decision 0027). */
  | { readonly kind: 'states'; readonly states: ReadonlySet<string> }
  /** Of resources that last changed in one of these ranges. */
  | { readonly kind: 'changed'; readonly ranges: readonly TimeRange[] }
  | { readonly kind: 'everything' };

/** One value, or several of which one must fit; never empty. */
type Values = readonly string[];

export interface SearchParameter {
  readonly name: string;
  readonly type: 'string' | 'token' | 'reference' | 'special' | 'date';
  /** The definition in FHIR R4, for those that have one. */
  readonly definition?: string;
  readonly documentation: string;
  readonly modifiers: readonly string[];
  /** Only where addresses are verified. */
  readonly needsStates?: boolean;
  /** `base` is the address of the FHIR service. */
  readonly read: (
    values: Values,
    modifier: string | undefined,
    base: string,
  ) => Condition | FieldProblem['detail'];
}

const nothing: Condition = { kind: 'alternatives', alternatives: [] };

const r4 = (id: string): string => `http://hl7.org/fhir/SearchParameter/${id}`;

function ofText(
  name: string,
  fields: readonly SearchField[],
  documentation: string,
  definition?: string,
): SearchParameter {
  return {
    name,
    type: 'string',
    ...(definition && { definition }),
    documentation: `${documentation} Begins with the value, or has it or is it (:contains, :exact); case and accents do not count.`,
    modifiers: ['exact', 'contains'],
    read: (values, modifier) => ({
      kind: 'alternatives',
      alternatives: values.flatMap((value) =>
        fields.map((field) => [{ field, match: matchOf(field, modifier), value: unescape(value) }]),
      ),
    }),
  };
}

function matchOf(field: SearchField, modifier: string | undefined): FilterMatch {
  if (modifier === 'exact' || modifier === 'contains') return modifier;
  return field === 'zip' ? 'zip-prefix' : 'prefix';
}

function ofToken(
  name: string,
  definition: string | undefined,
  documentation: string,
  read: (token: Token) => readonly Alternative[] | 'everything',
  modifiers: Readonly<Record<string, (value: string) => Alternative>> = {},
): SearchParameter {
  return {
    name,
    type: 'token',
    ...(definition && { definition }),
    documentation,
    modifiers: Object.keys(modifiers),
    read(values, modifier) {
      const alternatives: Alternative[] = [];
      for (const value of values) {
        if (modifier !== undefined) {
          const own = modifiers[modifier]?.(unescape(value));
          if (own !== undefined) alternatives.push(own);
          continue;
        }
        const found = read(parseToken(value));
        if (found === 'everything') return { kind: 'everything' };
        alternatives.push(...found);
      }
      return alternatives.length === 0 ? nothing : { kind: 'alternatives', alternatives };
    },
  };
}

interface Token {
  /** Undefined if the value names none, blank for "without a system". */
  readonly system: string | undefined;
  readonly code: string;
}

function parseToken(value: string): Token {
  const [system = '', ...rest] = splitEscaped(value, '|');
  return rest.length === 0
    ? { system: undefined, code: unescape(system) }
    : { system: unescape(system), code: unescape(rest.join('|')) };
}

/** Splits at separators that no backslash stands before (FHIR R4: Escaping Search Parameters). */
export function splitEscaped(text: string, separator: ',' | '|'): string[] {
  const parts: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charAt(at);
    if (unit === '\\') at++;
    else if (unit === separator) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, text.slice(start)];
}

function unescape(text: string): string {
  return text.replace(/\\(.)/gs, '$1');
}

interface Constant {
  readonly system: string;
  readonly code: string;
  /** True for elements of type code or boolean: they have no system of their own. */
  readonly isBare: boolean;
}

/** A constant of all records: everything, or nothing. */
function ofConstant(type: ResourceType, name: string, { system, code, isBare }: Constant): SearchParameter {
  const isWanted = (token: Token): boolean => {
    const isSystem = token.system === system || (isBare && token.system === '');
    return token.code === code
      ? isSystem || token.system === undefined
      : token.code === '' && token.system === system;
  };
  return ofToken(name, r4(`${type}-${name}`), `All are ${code}.`, (token) =>
    isWanted(token) ? 'everything' : [],
  );
}

const isActive: Constant = { system: specialValueSystem, code: 'true', isBare: true };

const npiDocumentation = `An NPI; the system is ${npiSystem}, or the OID of NPIs.`;

const npiOfPerson = ofToken('identifier', r4('Practitioner-identifier'), npiDocumentation, (token) => {
  const npi = npiOf(token);
  if (npi === undefined) return [];
  if (npi !== '') return [[{ field: 'npi', match: 'exact', value: npi }]];
  // All that have one: an NPI begins with a digit.
  return [...'1234567890'].map((value) => [{ field: 'npi', match: 'prefix', value }]);
});

const npiOfOrganization: SearchParameter = {
  name: 'identifier',
  type: 'token',
  definition: r4('Organization-identifier'),
  documentation: `${npiDocumentation} Not without a code.`,
  modifiers: [],
  read(values) {
    const npis = values.map((value) => npiOf(parseToken(value)));
    if (npis.includes(''))
      return 'The value has an NPI; all organizations that have one cannot be searched for.';
    return { kind: 'owners', npis: npis.filter((npi) => npi !== undefined) };
  },
};

/** Blank for all NPIs (`system|`), undefined for a value that is about none. */
function npiOf({ system, code }: Token): string | undefined {
  if (system !== undefined && !isNpiSystem(system)) return undefined;
  return code === '' && system === undefined ? undefined : code.trim();
}

function ofSpecialty(name: string, definition: string | undefined): SearchParameter {
  return ofToken(
    name,
    definition,
    `A specialty code; the system is ${taxonomySystem} or an OID, which without a code (system|) finds all that are coded in it. With :text a part of the specialty as it is stored.`,
    ({ system, code }) => {
      const oid = system === undefined ? undefined : oidOf(system);
      if (code.includes(':') || (system === undefined ? code === '' : oid === undefined)) return [];
      return [
        [
          ...(code === '' ? [] : [{ field: 'specialty', match: 'contains', value: `:${code}:` } as const]),
          ...(oid === undefined ? [] : [{ field: 'specialty', match: 'prefix', value: `${oid}:` } as const]),
        ],
      ];
    },
    { text: (value) => [{ field: 'specialty', match: 'contains', value }] },
  );
}

function oidOf(system: string): string | undefined {
  return plainSystem(system) === plainSystem(taxonomySystem) ? taxonomyOid : readOid(system);
}

function ofReference(
  name: string,
  target: ResourceType,
  definition: string,
  documentation: string,
  isDepartment = false,
): SearchParameter {
  return {
    name,
    type: 'reference',
    definition,
    documentation,
    modifiers: [target],
    read(values, _modifier, base) {
      const keys = values
        .map((value) => parseReference(value, target, base))
        .filter((key) => key !== undefined);
      return keys.length === 0 ? nothing : { kind: 'references', keys, isDepartment };
    },
  };
}

// An id, type and id, or the whole address of a resource; of another server's resources there are none.
function parseReference(value: string, target: ResourceType, base: string): ResourceKey | undefined {
  const [id = '', type = target, ...server] = value.split('/').toReversed();
  if (type !== target) return undefined;
  if (server.length > 0 && plainServer(server.toReversed().join('/')) !== plainServer(base)) return undefined;
  return parseResourceId(target, id);
}

/** Without the scheme, which a proxy may change, and as URLs are compared: lower case, no default port. */
function plainServer(address: string): string | undefined {
  const url = /^https?:/i.test(address) && URL.canParse(address) ? new URL(address) : undefined;
  return url && `${url.host}${url.pathname}`;
}

function ofId(type: ResourceType): SearchParameter {
  return {
    name: '_id',
    type: 'token',
    definition: r4('Resource-id'),
    documentation: 'The id of a resource.',
    modifiers: [],
    read(values) {
      // Some clients send the reference.
      const keys = values
        .map((value) => parseResourceId(type, value.replace(`${type}/`, '')))
        .filter((key) => key !== undefined);
      return keys.length === 0 ? nothing : { kind: 'keys', keys };
    },
  };
}

const lastUpdated: SearchParameter = {
  name: '_lastUpdated',
  type: 'date',
  definition: r4('Resource-lastUpdated'),
  documentation:
    'When the resource last changed here, in whole seconds; prefixes eq, ne, gt, ge, lt, le, sa and eb. A value without a zone is UTC.',
  modifiers: [],
  read(values) {
    const ranges = values.map(parseDate);
    return ranges.every((one) => one !== undefined)
      ? { kind: 'changed', ranges: ranges.flat() }
      : 'The value is a date or a time, for example ge2026-11-22T10:30:00Z.';
  },
};

const addressFields = ['street', 'city', 'state', 'zip'] as const satisfies readonly SearchField[];

function ofAddress(type: 'Organization' | 'Location'): SearchParameter[] {
  const part = (name: string, field: SearchField, what: string): SearchParameter =>
    ofText(name, [field], what, r4(`${type}-${name}`));
  return [
    ofText('address', addressFields, 'Street, city, state or ZIP code.', r4(`${type}-address`)),
    part('address-city', 'city', 'The city.'),
    part('address-state', 'state', 'The state, as two letters.'),
    part('address-postalcode', 'zip', 'The ZIP code.'),
  ];
}

const milesPerUnit: Readonly<Record<string, number>> = {
  '': 0.621371192237334,
  km: 0.621371192237334,
  m: 0.000621371192237334,
  '[mi_us]': 1.000002000004,
  '[mi_i]': 1,
  mi: 1,
};

/** Default distance of `near`. */
const defaultNearMiles = 25;

const near: SearchParameter = {
  name: 'near',
  type: 'special',
  definition: r4('Location-near'),
  documentation:
    `latitude|longitude|distance|unit: km (if none is named), m or [mi_us]; ${defaultNearMiles} miles without a distance, ` +
    `at most ${maxRadiusMiles}. The nearest come first.`,
  modifiers: [],
  read(values) {
    const [value = '', ...others] = values;
    const [latitude, longitude, distance = '', unit = '', ...rest] = value.split('|');
    const miles =
      distance === '' ? defaultNearMiles : readDecimal(distance) * (milesPerUnit[unit] ?? Number.NaN);
    const center = { latitude: readDecimal(latitude ?? ''), longitude: readDecimal(longitude ?? '') };
    const isPlace = Math.abs(center.latitude) <= 90 && Math.abs(center.longitude) <= 180;
    if (others.length > 0 || rest.length > 0 || !isPlace || !(miles >= 0))
      return 'The value is latitude|longitude|distance|unit, with a unit of km, m or [mi_us].';
    return { kind: 'near', radius: { ...center, miles: Math.min(miles, maxRadiusMiles) } };
  },
};

/** The name of the parameter is that of the native search, and so are its values; `show` only shows. */
export const verificationParameter = 'verification';

const verification: SearchParameter = {
  name: verificationParameter,
  type: 'token',
  documentation:
    `What this service's check of the address came to: ${shownStates.join(', ')}. The extension ${verificationExtension} shows it; ` +
    'with the value show it is shown for all, in a read and for included endpoints, too.',
  modifiers: [],
  needsStates: true,
  read: (values) =>
    values.every((value) => shownStates.some((name) => name === value))
      ? { kind: 'states', states: new Set(values) }
      : `Allowed are show, or a list of ${shownStates.join(', ')}.`,
};

/** The search parameters of a resource that this service supports. */
export function supportedParameters(type: ResourceType, hasStates: boolean): readonly SearchParameter[] {
  return searchParameters[type].filter(({ needsStates }) => hasStates || needsStates !== true);
}

/** An address may come as the URL that it would be elsewhere. */
const endpointAddress: SearchParameter = (() => {
  const bare = ofText('address', ['directAddress'], 'The Direct address. FHIR R4 defines no such parameter.');
  return {
    ...bare,
    read: (values, modifier, base) =>
      bare.read(
        values.map((value) => value.replace(/^mailto:/i, '')),
        modifier,
        base,
      ),
  };
})();

/** Every search parameter of each resource: parsing and the capability statement walk this table. */
const searchParameters: Readonly<Record<ResourceType, readonly SearchParameter[]>> = {
  Endpoint: [
    ofId('Endpoint'),
    lastUpdated,
    ofConstant('Endpoint', 'connection-type', {
      system: connectionTypeSystem,
      code: directProject,
      isBare: false,
    }),
    ofConstant('Endpoint', 'status', { system: endpointStatusSystem, code: 'active', isBare: true }),
    ofReference(
      'organization',
      'Organization',
      r4('Endpoint-organization'),
      'The organization of a departmental address. Addresses of persons are found by PractitionerRole?organization=… with _include=PractitionerRole:endpoint.',
      true,
    ),
    endpointAddress,
    verification,
  ],
  Practitioner: [
    ofId('Practitioner'),
    lastUpdated,
    ofText(
      'name',
      ['firstName', 'middleName', 'lastName', 'suffix'],
      'Any part of the name.',
      r4('Practitioner-name'),
    ),
    ofText('family', ['lastName'], 'The last name.', r4('individual-family')),
    ofText('given', ['firstName', 'middleName'], 'The first or middle name.', r4('individual-given')),
    npiOfPerson,
    ofConstant('Practitioner', 'active', isActive),
    ofSpecialty('qualification-code', undefined),
  ],
  PractitionerRole: [
    ofId('PractitionerRole'),
    lastUpdated,
    ofReference('practitioner', 'Practitioner', r4('PractitionerRole-practitioner'), 'The person.'),
    ofReference('organization', 'Organization', r4('PractitionerRole-organization'), 'The organization.'),
    ofReference('location', 'Location', r4('PractitionerRole-location'), 'The place.'),
    ofReference('endpoint', 'Endpoint', r4('PractitionerRole-endpoint'), 'The Direct address.'),
    ofSpecialty('specialty', r4('PractitionerRole-specialty')),
    ofConstant('PractitionerRole', 'active', isActive),
  ],
  Organization: [
    ofId('Organization'),
    lastUpdated,
    ofText('name', ['organization'], 'The name.', r4('Organization-name')),
    npiOfOrganization,
    ...ofAddress('Organization'),
    ofConstant('Organization', 'active', isActive),
    ofConstant('Organization', 'type', { system: organizationTypeSystem, code: 'prov', isBare: false }),
  ],
  Location: [
    ofId('Location'),
    lastUpdated,
    ...ofAddress('Location'),
    near,
    ofConstant('Location', 'status', { system: locationStatusSystem, code: 'active', isBare: true }),
  ],
};

/** References that `_include` and `_revinclude` can follow. */
export const includes: Readonly<
  Record<ResourceType, { readonly include: readonly string[]; readonly revinclude: readonly string[] }>
> = {
  Endpoint: { include: ['Endpoint:organization'], revinclude: ['PractitionerRole:endpoint'] },
  Practitioner: { include: [], revinclude: ['PractitionerRole:practitioner'] },
  PractitionerRole: {
    include: [
      'PractitionerRole:practitioner',
      'PractitionerRole:organization',
      'PractitionerRole:location',
      'PractitionerRole:endpoint',
    ],
    revinclude: [],
  },
  Organization: { include: [], revinclude: ['PractitionerRole:organization', 'Endpoint:organization'] },
  Location: { include: [], revinclude: ['PractitionerRole:location'] },
};

/** The type of the resources that a path of `includes` refers to. */
export function targetOf(path: string): ResourceType | undefined {
  const [, name] = path.split(':');
  return resourceTypes.find((type) => type.toLowerCase() === name);
}
