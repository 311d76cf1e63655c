import {
  careWords,
  familyNames,
  givenNames,
  placeWords,
  streetNames,
  streetTypes,
} from '../../src/app/dev/sample-directory.ts';
import { hash32 } from '../../src/app/dev/sample-directory.ts';
import type { ZipPlace } from '../../src/lib/geo/index.ts';
import {
  addressOf,
  directOfEndpoint,
  hasLocationAddress,
  hasOrganizationAddress,
  hasPractitionerAddress,
  isActiveLocation,
  isActiveOrganization,
  isActivePractitioner,
  isExcluded,
  isOff,
  kindOfOrganization,
  managerOf,
  managerOfLocation,
  namedBy,
  roleOf,
  endpointOfDirect,
  type OrganizationKind,
  type Target,
  type World,
} from './world.ts';

/** Writes the lines of a release: one resource each, in the shape and about the size of the true ones. */
export interface ResourceWriter {
  organization(number: number): string;
  location(number: number): string;
  endpoint(number: number): string;
  practitioner(number: number): string;
  role(number: number): string;
}

const ndh = 'http://hl7.org/fhir/us/ndh/StructureDefinition';
const npiSystem = 'http://terminology.hl7.org/NamingSystem/npi';
const earlierNpiSystem = 'http://hl7.org/fhir/sid/us-npi';
const meta = (profile: string): string =>
  `"meta":{"lastUpdated":"2026-09-29T00:00:00Z","profile":["${ndh}/ndh-${profile}"]}`;
const verified = `{"url":"${ndh}/base-ext-verification-status","valueCodeableConcept":{"coding":[{"system":"http://hl7.org/fhir/us/ndh/CodeSystem/NdhVerificationStatusCS","code":"complete","display":"Complete"}]}}`;
const flag = (name: string, value: boolean): string =>
  `{"url":"${ndh}/base-ext-${name}","valueBoolean":${value}}`;

const taxonomies = [
  '207Q00000X|Family Medicine Physician',
  '207R00000X|Internal Medicine Physician',
  '207RC0000X|Cardiovascular Disease Physician',
  '208000000X|Pediatrics Physician',
  '363LF0000X|Family Nurse Practitioner',
  '363A00000X|Physician Assistant',
  '1041C0700X|Clinical Social Worker',
  '225100000X|Physical Therapist',
  '183500000X|Pharmacist',
  '122300000X|Dentist',
].map((text) => text.split('|') as [string, string]);

export function createResourceWriter(world: World, places: readonly ZipPlace[]): ResourceWriter {
  const { seed } = world;
  const draw = (salt: number, number: number): number => hash32(seed ^ Math.imul(salt, 0x85ebca6b), number);

  const hex = (salt: number, number: number): string => draw(salt, number).toString(16).padStart(8, '0');
  const uuid = (salt: number, number: number): string => {
    const [a, b, c] = [hex(salt, number), hex(salt + 1, number), hex(salt + 2, number)];
    return `${a}-${b.slice(0, 4)}-4${b.slice(5)}-a${c.slice(0, 3)}-${c}${hex(salt + 3, number).slice(0, 4)}`;
  };
  const endpointUuid = (endpoint: number): string => uuid(100, endpoint);
  const idOf = {
    practitioner: (number: number) => `Practitioner-${npi(100_000_000 + number * 11)}`,
    organization: (number: number) =>
      kindOfOrganization(number) === 'prov'
        ? `Organization-${organizationNpi(number)}`
        : `Organization-${uuid(110, number)}`,
    location: (number: number) => `Location-${uuid(120, number)}`,
    endpoint: (number: number) => `Endpoint-${endpointUuid(number)}`,
  };
  type Kind = keyof typeof idOf;
  const reference = (kind: Kind, target: Target): string => {
    const type = kind.charAt(0).toUpperCase() + kind.slice(1);
    const id = target === 'dangling' ? `${type}-${uuid(130, 0)}` : idOf[kind](target ?? 0);
    return `{"reference":"${type}/${id}"}`;
  };
  const member = (name: string, kind: Kind, target: Target): string =>
    target === undefined ? '' : `,"${name}":${reference(kind, target)}`;

  const streetOf = (random: number): string =>
    `${1 + (random % 9900)} ${pick(streetNames, random >>> 8)} ${pick(streetTypes, random >>> 16)}`.toUpperCase();
  const addressAt = (random: number): { readonly json: string; readonly place: ZipPlace } => {
    const place = pick(places, hash32(random, 7));
    const zip = random % 20 === 0 ? place.zip + String(1000 + (random % 9000)) : place.zip;
    const suite = random % 3 === 0 ? `,"STE ${1 + (random % 900)}"` : '';
    const json = `"line":["${streetOf(random)}"${suite}],"city":"${place.city.toUpperCase()}","state":"${place.state}","postalCode":"${zip}","country":"US"`;
    return { json, place };
  };
  const phone = (random: number): string =>
    `${201 + (random % 780)}555${String((random >>> 12) % 10_000).padStart(4, '0')}`;
  const point = (system: string, random: number): string =>
    `{"system":"${system}","value":"${phone(random)}","use":"work","rank":1}`;
  /** One in seven lists its fax number first. */
  const telecom = (random: number): string => {
    const [voice, fax, other] = [
      point('phone', random),
      point('fax', random + 1),
      point('phone', random + 2),
    ];
    return `"telecom":[${random % 7 === 0 ? `${fax},${voice}` : `${voice},${fax}`}${random % 3 === 0 ? `,${other}` : ''}]`;
  };

  const organizationName = (number: number): string => {
    const random = draw(140, number);
    return `${pick(placeWords, random)} ${pick(familyNames, random >>> 6)} ${pick(careWords, random >>> 14)} ${random % 4 === 0 ? 'PC' : 'LLC'}`
      .normalize('NFD')
      .replace(/[^\x20-\x7e]/g, '')
      .toUpperCase();
  };
  const directAddress = (direct: number): string => {
    const owner = addressOf(world, direct);
    const random = draw(150, owner);
    const domain = Math.floor((random / 2 ** 32) ** 3 * 10_000);
    const local = `${pick(givenNames, random >>> 3)}.${pick(familyNames, random >>> 11)}${owner}`
      .normalize('NFD')
      .replace(/[^A-Za-z0-9.]/g, '');
    const text = `${random % 20 === 0 ? local : local.toLowerCase()}@direct.clinic${domain}.example`;
    return random % 1000 === 1 ? `mailto:${text}` : text;
  };

  return {
    organization(number) {
      const kind = kindOfOrganization(number);
      const random = draw(160, number);
      const named = namedBy(world, number);
      const address = hasOrganizationAddress(world, number)
        ? `,"address":[{"use":"work","type":"physical",${addressAt(random).json}}]`
        : '';
      const endpoint =
        kind === 'prov' && named !== undefined
          ? `,"endpoint":[${reference('endpoint', endpointOfDirect(named))}]`
          : '';
      const identifier =
        kind === 'prov'
          ? `{"use":"official","system":"${npiSystem}","value":"${organizationNpi(number)}"}`
          : `{"use":"official","system":"https://npd.cms.gov/fhir/sid/us-pseudo-ein","value":"${uuid(170, number)}"}`;
      return `{"resourceType":"Organization","id":"${idOf.organization(number)}",${meta('Organization')},"extension":[${verified}],"identifier":[${identifier}],"active":${isActiveOrganization(world, number)},"type":[${organizationTypes[kind]}],"name":"${kind === 'ein' ? `EIN ${random}` : organizationName(number)}",${telecom(random)}${address}${endpoint}}`;
    },
    location(number) {
      const random = draw(180, number);
      const { json, place } = addressAt(random);
      const address = hasLocationAddress(world, number)
        ? `,"address":{"use":"work","type":"physical",${json}}`
        : '';
      const position =
        random % 1000 >= 17 && place.point !== undefined
          ? `,"position":{"longitude":${place.point.longitude},"latitude":${place.point.latitude}}`
          : '';
      return `{"resourceType":"Location","id":"${idOf.location(number)}",${meta('Location')},"extension":[${verified}],"status":"${isActiveLocation(world, number) ? 'active' : 'inactive'}","name":"${streetOf(random)}","mode":"instance"${random % 2 === 0 ? `,${telecom(random)}` : ''}${address}${position}${member('managingOrganization', 'organization', managerOfLocation(world, number))}}`;
    },
    endpoint(number) {
      const direct = directOfEndpoint(number);
      const common = `{"resourceType":"Endpoint","id":"${idOf.endpoint(number)}",${meta('Endpoint')},"extension":[${verified},${accessExtension}]`;
      if (direct === undefined)
        return `${common},"status":"active","connectionType":{"system":"http://terminology.hl7.org/CodeSystem/endpoint-connection-type","code":"hl7-fhir-rest","display":"HL7 FHIR"},"name":"FHIR endpoint","payloadType":[${payloadType}],"address":"https://fhir.clinic${number}.example/r4"}`;
      return `${common},"status":"${isOff(world, direct) ? 'off' : 'active'}","connectionType":{"system":"http://terminology.hl7.org/CodeSystem/endpoint-connection-type","code":"direct-project","display":"Direct Project"},"name":"Direct Messaging Address"${member('managingOrganization', 'organization', managerOf(world, direct))},"payloadType":[${payloadType}],"address":"${directAddress(direct)}"}`;
    },
    practitioner(number) {
      const random = draw(190, number);
      const [given, middle] = [pick(givenNames, random), pick(givenNames, random >>> 7)];
      const family = pick(familyNames, random >>> 13);
      const suffix = random % 2 === 0 ? ',"suffix":["MD"]' : '';
      const official = `{"use":"official","family":"${family.toUpperCase()}","given":["${given.toUpperCase()}","${middle.charAt(0)}"]${suffix}}`;
      const maiden = `{"use":"maiden","family":"${pick(familyNames, random >>> 17).toUpperCase()}","given":["${given.toUpperCase()}"]}`;
      const address = hasPractitionerAddress(world, number)
        ? `,"address":[{"use":"home","type":"postal",${addressAt(random + 1).json}},{"use":"work","type":"physical",${addressAt(random).json}}]`
        : '';
      const flags = [
        flag('cms-identity-verified', random % 3 === 0),
        flag('cms_medicare_enrollment', random % 2 === 0),
        flag('hhs-in-exclusion-list', isExcluded(world, number)),
        flag('cms_aligned_with_data_network', random % 5 === 0),
      ];
      const qualifications = [random, random >>> 4].map((one) => qualificationOf(one)).join(',');
      const value = npi(100_000_000 + number * 11);
      return `{"resourceType":"Practitioner","id":"${idOf.practitioner(number)}",${meta('Practitioner')},"extension":[${verified},${flags.join(',')}],"identifier":[{"use":"official","type":{"coding":[{"system":"http://terminology.hl7.org/CodeSystem/v2-0203","code":"NPI","display":"National Provider Identifier"}]},"system":"${random % 100 === 0 ? earlierNpiSystem : npiSystem}","value":"${value}"}],"active":${isActivePractitioner(world, number)},"name":[${random % 25 === 0 ? `${maiden},` : ''}${official}],"gender":"${random % 2 === 0 ? 'female' : 'male'}",${telecom(random)}${address},"qualification":[${qualifications}]}`;
    },
    role(number) {
      const role = roleOf(world, number);
      const random = draw(200, number);
      const id = role.isBare && role.endpoint !== undefined ? endpointUuid(role.endpoint) : uuid(210, number);
      const endpoint =
        role.endpoint === undefined ? '' : `,"endpoint":[${reference('endpoint', role.endpoint)}]`;
      const start = `{"resourceType":"PractitionerRole","id":"PractitionerRole-${id}",${meta('PractitionerRole')},"active":${role.isActive}${member('practitioner', 'practitioner', role.practitioner)}`;
      if (role.isBare) return `${start}${endpoint}}`;
      const location =
        role.location === undefined ? '' : `,"location":[${reference('location', role.location)}]`;
      const [code, display] = pick(taxonomies, random);
      const specialty =
        random % 50 === 0
          ? '{"system":"https://npd.cms.gov/fhir/CodeSystem/medicare-specialty","code":"14-50"}'
          : `{"system":"http://nucc.org/provider-taxonomy","code":"${code}","display":"${display}"}`;
      return `${start}${member('organization', 'organization', role.organization)},"code":[{"coding":[{"system":"http://hl7.org/fhir/us/ndh/CodeSystem/PractitionerRoleCS","code":"ph","display":"Physician"}]}],"specialty":[{"coding":[${specialty}]}]${location}${random % 10 < 3 ? `,${telecom(random)}` : ''}${endpoint}}`;
    },
  };
}

const accessExtension = `{"url":"${ndh}/base-ext-endpoint-rank","valuePositiveInt":1}`;
const payloadType =
  '{"coding":[{"system":"http://terminology.hl7.org/CodeSystem/data-absent-reason","code":"not-applicable","display":"Not Applicable"}]}';
const organizationTypes: Readonly<Record<OrganizationKind, string>> = {
  prov: '{"coding":[{"system":"http://terminology.hl7.org/CodeSystem/organization-type","code":"prov","display":"Healthcare Provider"}],"text":"Healthcare Provider"}',
  payer:
    '{"coding":[{"system":"http://terminology.hl7.org/CodeSystem/organization-type","code":"pay","display":"Payer"}],"text":"Payer"}',
  ein: '{"coding":[{"system":"http://terminology.hl7.org/CodeSystem/organization-type","code":"other","display":"Other"}],"text":"ein"}',
};

function qualificationOf(random: number): string {
  const [code, display] = pick(taxonomies, random);
  return `{"identifier":[{"system":"http://hl7.org/fhir/us/ndh/state-license","value":"L${random % 1_000_000}"}],"code":{"coding":[{"system":"http://hl7.org/fhir/us/ndh/ValueSet/HealthcareIndividualTaxonomyVS","code":"${code}","display":"${display}"}],"text":"${display}"}}`;
}

const organizationNpi = (organization: number): string => npi(200_000_000 + (organization / 2) * 13);

/** Ten digits with their check digit (45 CFR 162.406: Luhn over the number with 80840 in front, which adds 24). */
function npi(nineDigits: number): string {
  let sum = 24;
  let rest = nineDigits;
  for (let place = 8; place >= 0; place--) {
    const digit = rest % 10;
    rest = (rest - digit) / 10;
    sum += place % 2 === 0 ? (digit > 4 ? digit * 2 - 9 : digit * 2) : digit;
  }
  return `${nineDigits}${(10 - (sum % 10)) % 10}`;
}

function pick<Value>(values: readonly Value[], random: number): Value {
  return values[random % values.length] as Value;
}
