import {
  keepText,
  type ConstantText,
  type EntitySeed,
  type RecordFormat,
  type RecordPen,
} from '../../../lib/provider-index/index.ts';
import {
  readOtherNames,
  type OtherNameKind,
  type ProviderRecord,
  type TextField,
} from '../../../lib/provider-record/index.ts';
import type { AddressState } from '../verification/address-states.ts';
import { createTextPen, plainText } from './text-pen.ts';
import {
  connectionTypeSystem,
  directProject,
  gazetteerTag,
  npiSystem,
  organizationTypeSystem,
  resourceTypes,
  taxonomyOid,
  taxonomySystem,
  verificationExtension,
  type ResourceType,
} from './vocabulary.ts';

/** A FHIR R4 resource as JSON text. */
export interface Resource {
  readonly type: ResourceType;
  readonly id: string;
  readonly json: string;
  /** A reference of it, by the name of the search parameter: `Organization/o-…`. */
  readonly reference: (name: string) => string | undefined;
}

export interface LocatedRecord extends Pick<ProviderRecord, 'zip' | 'city' | 'state'> {
  readonly latitude: number | undefined;
  readonly longitude: number | undefined;
}

export interface ResourceContext {
  /** True if a record's coordinates equal the gazetteer's for its ZIP code or city. */
  readonly isFromGazetteer: (record: LocatedRecord) => boolean;
}

/** Data outside of the record that is written. */
export interface Beyond {
  /** When the resource last changed: seconds since 1970. */
  readonly changedAt: number;
  /** For a person whose records differ in a field of `personFields`: all that have a last name. */
  readonly records?: readonly ProviderRecord[] | undefined;
  /** For an organization: its own NPIs. */
  readonly npis?: readonly string[] | undefined;
  /** For an address: its verification state, if it was requested. */
  readonly state?: AddressState | undefined;
}

/** The resources of a bundle. */
export interface ResourcePage {
  /** What an entry begins with, up to the id of its resource. */
  readonly opening: ConstantText;
  /** For each record. */
  readonly beyond: readonly Beyond[];
}

/** Writes records as resources. A blank field leaves no element. */
export interface ResourceMaker {
  /** Entries of a bundle, of records that have the resource. */
  readonly entries: Readonly<Record<ResourceType, RecordFormat<ResourcePage>>>;
  /** One resource; undefined for a record that has none of the type. */
  make(type: ResourceType, record: ProviderRecord, beyond: Beyond): Resource | undefined;
  /** From all records of the person; undefined if they name nobody. */
  practitioner(records: readonly ProviderRecord[], changedAt: number): Resource | undefined;
}

/** Writes the resource of the pen's record. */
type Writer = (beyond: Beyond) => void;

/** Instants and specialties that are kept; there are a few loads, and some hundreds of specialties. */
const maxKept = 4096;

function keep<Key, Value>(known: Map<Key, Value>, key: Key, make: (key: Key) => Value): Value {
  let value = known.get(key);
  if (value === undefined) {
    value = make(key);
    if (known.size >= maxKept) known.clear();
    known.set(key, value);
  }
  return value;
}

export function createResourceMaker(seed: EntitySeed, { isFromGazetteer }: ResourceContext): ResourceMaker {
  const concepts = new Map<string, ConstantText>();
  const instants = new Map<number, ConstantText>();
  const namePen = createTextPen();
  const putNameOf = prepareName(namePen);

  /** Of a specialty as between the quotes of JSON. */
  function conceptOf(text: string): ConstantText {
    return keep(concepts, text, (json) => keepText(makeConcept(plainText(json))));
  }

  function instantOf(changedAt: number): ConstantText {
    return keep(instants, changedAt, (time) => keepText(new Date(time * 1000).toISOString().slice(0, 19)));
  }

  function namesOf(records: readonly ProviderRecord[]): string {
    const own = records.map((record) => namePen.textOf(record, putNameOf));
    return unique([...own, ...records.flatMap(furtherNames)]);
  }

  function qualificationsOf(records: readonly ProviderRecord[]): string {
    const known = records.filter(({ specialty }) => specialty !== '');
    return unique(
      known.map(({ specialty }) => `{"code":${conceptOf(JSON.stringify(specialty).slice(1, -1)).text}}`),
    );
  }

  /** The elements up to and with `meta`, without its closing brace. */
  function prepareStart(type: ResourceType, pen: RecordPen): Writer {
    const start = keepText(`{"resourceType":"${type}","id":"`);
    const putId = prepareId(type, pen, seed);
    return ({ changedAt }) => {
      pen.put(start);
      putId();
      pen.put(texts.meta);
      pen.put(instantOf(changedAt));
      pen.put(texts.utc);
    };
  }

  function prepareReference(
    pen: RecordPen,
    target: ResourceType,
    [opening, closing]: readonly [ConstantText, ConstantText],
  ): () => void {
    const exists = prepareExists(target, pen);
    const putId = prepareId(target, pen, seed);
    return () => {
      if (!exists()) return;
      pen.put(opening);
      putId();
      pen.put(closing);
    };
  }

  const prepared: Readonly<Record<ResourceType, (pen: RecordPen) => Writer>> = {
    Endpoint(pen) {
      const putStart = prepareStart('Endpoint', pen);
      const isNumbered = prepareNumbered(pen);
      const putOrganization = prepareReference(pen, 'Organization', references.managingOrganization);
      const address = pen.field('directAddress');
      return (beyond) => {
        putStart(beyond);
        pen.put(texts.endObject);
        if (beyond.state !== undefined && isKnown(beyond.state)) pen.putText(extensionOf(beyond.state));
        pen.put(texts.endpoint);
        // A practitioner with an NPI is reached through the role; other addresses belong to the organization.
        if (!isNumbered()) putOrganization();
        pen.put(texts.endpointAddress);
        address.put();
        pen.put(texts.endText);
      };
    },
    PractitionerRole(pen) {
      const putStart = prepareStart('PractitionerRole', pen);
      const putPractitioner = prepareReference(pen, 'Practitioner', references.practitioner);
      const putOrganization = prepareReference(pen, 'Organization', references.organization);
      const putLocation = prepareReference(pen, 'Location', references.location);
      const putEndpoint = prepareReference(pen, 'Endpoint', references.endpoint);
      const [specialty, phone] = [pen.field('specialty'), pen.field('phone')];
      return (beyond) => {
        putStart(beyond);
        pen.put(texts.active);
        putPractitioner();
        putOrganization();
        if (!specialty.isBlank) {
          pen.put(texts.specialty);
          pen.put(conceptOf(specialty.text));
          pen.put(texts.endList);
        }
        putLocation();
        if (!phone.isBlank) {
          pen.put(texts.phone);
          phone.put();
          pen.put(texts.phoneEnd);
        }
        putEndpoint();
        pen.put(texts.endObject);
      };
    },
    Practitioner(pen) {
      const putStart = prepareStart('Practitioner', pen);
      const putName = prepareName(pen);
      const [npi, specialty] = [pen.field('npi'), pen.field('specialty')];
      const putFurtherNames = prepareFurtherNames(pen);
      return (beyond) => {
        putStart(beyond);
        if (npi.isBlank) pen.put(texts.endObject);
        else {
          pen.put(texts.identifier);
          npi.put();
          pen.put(texts.identifierEnd);
        }
        pen.put(texts.name);
        if (beyond.records === undefined) {
          putName();
          putFurtherNames();
        } else pen.putText(namesOf(beyond.records));
        pen.put(texts.endList);
        if (beyond.records !== undefined) {
          const qualifications = qualificationsOf(beyond.records);
          if (qualifications !== '') pen.putText(`,"qualification":[${qualifications}]`);
        } else if (!specialty.isBlank) {
          pen.put(texts.qualification);
          pen.put(conceptOf(specialty.text));
          pen.put(texts.qualificationEnd);
        }
        pen.put(texts.endObject);
      };
    },
    Organization(pen) {
      const putStart = prepareStart('Organization', pen);
      const hasAddress = prepareExists('Location', pen);
      const putAddress = prepareAddress(pen);
      const name = pen.field('organization');
      return (beyond) => {
        putStart(beyond);
        pen.put(texts.endObject);
        if (beyond.npis !== undefined && beyond.npis.length > 0) pen.putText(identifiersOf(beyond.npis));
        pen.put(texts.organization);
        name.put();
        pen.put(texts.quote);
        if (hasAddress()) {
          pen.put(texts.address);
          putAddress();
          pen.put(texts.endList);
        }
        pen.put(texts.endObject);
      };
    },
    Location(pen) {
      const putStart = prepareStart('Location', pen);
      const putPlaceName = preparePlaceName(pen);
      const putAddress = prepareAddress(pen);
      const [zip, city, state] = [pen.field('zip'), pen.field('city'), pen.field('state')];
      // Read only as far as the gazetteer is asked.
      const place: LocatedRecord = {
        get zip() {
          return plainText(zip.text);
        },
        get city() {
          return plainText(city.text);
        },
        get state() {
          return plainText(state.text);
        },
        get latitude() {
          return pen.latitude;
        },
        get longitude() {
          return pen.longitude;
        },
      };
      return (beyond) => {
        const { latitude, longitude } = pen;
        putStart(beyond);
        if (latitude !== undefined && isFromGazetteer(place)) pen.put(texts.gazetteer);
        pen.put(texts.location);
        putPlaceName();
        pen.put(texts.instance);
        putAddress();
        if (latitude !== undefined && longitude !== undefined) {
          pen.put(texts.longitude);
          pen.putNumber(longitude);
          pen.put(texts.latitude);
          pen.putNumber(latitude);
          pen.put(texts.endObject);
        }
        pen.put(texts.endObject);
      };
    },
  };

  function prepareEntry(type: ResourceType): RecordFormat<ResourcePage> {
    return (pen) => {
      const putId = prepareId(type, pen, seed);
      const putResource = prepared[type](pen);
      return (at, { opening, beyond }) => {
        pen.put(opening);
        putId();
        pen.put(texts.resource);
        putResource(beyond[at] as Beyond);
        pen.put(texts.match);
      };
    };
  }

  const pen = createTextPen();
  const isNumbered = prepareNumbered(pen);
  const own = byType((type) => ({
    exists: prepareExists(type, pen),
    putId: prepareId(type, pen, seed),
    write: prepared[type](pen),
  }));

  function make(type: ResourceType, record: ProviderRecord, beyond: Beyond): Resource | undefined {
    if (!pen.isTrue(record, own[type].exists)) return undefined;
    return {
      type,
      id: pen.textOf(record, own[type].putId),
      json: pen.textOf(record, () => own[type].write(beyond)),
      reference(name) {
        const target = referencesOf[type][name];
        if (target === undefined || !pen.isTrue(record, own[target].exists)) return undefined;
        if (type === 'Endpoint' && isNumbered()) return undefined;
        return `${target}/${pen.textOf(record, own[target].putId)}`;
      },
    };
  }

  return {
    entries: byType(prepareEntry),
    make,
    practitioner(records, changedAt) {
      const named = records.filter(({ lastName }) => lastName !== '');
      const [first] = named;
      return first && make('Practitioner', first, { records: named, changedAt });
    },
  };
}

function byType<Value>(make: (type: ResourceType) => Value): Readonly<Record<ResourceType, Value>> {
  return Object.fromEntries(resourceTypes.map((type) => [type, make(type)])) as Record<ResourceType, Value>;
}

/** The references of a resource, by the name of the search parameter. */
const referencesOf: Readonly<Record<ResourceType, Readonly<Record<string, ResourceType>>>> = {
  Endpoint: { organization: 'Organization' },
  PractitionerRole: {
    practitioner: 'Practitioner',
    organization: 'Organization',
    location: 'Location',
    endpoint: 'Endpoint',
  },
  Practitioner: {},
  Organization: {},
  Location: {},
};

/** Whether the pen's record has enough data for a resource (Decision 0028). */
function prepareExists(type: ResourceType, pen: RecordPen): () => boolean {
  const needed = neededFields[type].map((name) => pen.field(name));
  return needed.length === 0 ? () => true : () => needed.some((field) => !field.isBlank);
}

const addressFields = ['street', 'city', 'state', 'zip'] as const;

/** One of them must be known. */
const neededFields: Readonly<Record<ResourceType, readonly TextField[]>> = {
  Endpoint: [],
  PractitionerRole: [],
  Practitioner: ['lastName'],
  Organization: ['organization'],
  Location: addressFields,
};

function prepareNumbered(pen: RecordPen): () => boolean {
  const [npi, lastName] = [pen.field('npi'), pen.field('lastName')];
  return () => !npi.isBlank && !lastName.isBlank;
}

/** The id of the resource that a record has (Decision 0028). */
function prepareId(type: ResourceType, pen: RecordPen, seed: EntitySeed): () => void {
  if (type === 'Organization' || type === 'Location') {
    const prefix = keepText(type === 'Organization' ? 'o-' : 'l-');
    const entity = pen.entity(type === 'Organization' ? 'organization' : 'place', seed);
    return () => {
      pen.put(prefix);
      entity.put();
    };
  }
  const prefix = keepText(type === 'Practitioner' ? 'p-' : type === 'Endpoint' ? 'e-' : 'r-');
  const npi = type === 'Practitioner' ? pen.field('npi') : undefined;
  return () => {
    if (npi === undefined || npi.isBlank) {
      pen.put(prefix);
      pen.putNumber(pen.id);
    } else {
      pen.put(texts.npi);
      npi.put();
    }
  };
}

/** What a person's resource takes from several records. */
export const personFields: readonly TextField[] = [
  'lastName',
  'firstName',
  'middleName',
  'suffix',
  'specialty',
  'otherNames',
];

/** How FHIR calls a further name. */
const useOf: Partial<Record<OtherNameKind, string>> = {
  former: 'old',
  maiden: 'maiden',
  nickname: 'nickname',
  professional: 'usual',
};

/** A person's other names as FHIR's, with the given names of the record where they have none. */
function furtherNames(record: Pick<ProviderRecord, 'otherNames' | 'firstName' | 'middleName'>): string[] {
  return readOtherNames(record.otherNames).map(({ kind, lastName, givenNames }) => {
    const own = [record.firstName, record.middleName].filter((name) => name !== '');
    const given = givenNames === '' ? own : givenNames.split(' ');
    const use = useOf[kind];
    return JSON.stringify({ ...(use && { use }), family: lastName, ...(given.length > 0 && { given }) });
  });
}

function prepareFurtherNames(pen: RecordPen): () => void {
  const [otherNames, firstName] = [pen.field('otherNames'), pen.field('firstName')];
  const middleName = pen.field('middleName');
  return () => {
    if (otherNames.isBlank) return;
    const record = {
      otherNames: plainText(otherNames.text),
      firstName: plainText(firstName.text),
      middleName: plainText(middleName.text),
    };
    for (const name of furtherNames(record)) pen.putText(`,${name}`);
  };
}

function prepareName(pen: RecordPen): () => void {
  const [lastName, firstName] = [pen.field('lastName'), pen.field('firstName')];
  const [middleName, suffix] = [pen.field('middleName'), pen.field('suffix')];
  const otherNames = pen.field('otherNames');
  return () => {
    const hasFirst = !firstName.isBlank;
    const hasMiddle = !middleName.isBlank;
    pen.put(otherNames.isBlank ? texts.family : texts.officialFamily);
    lastName.put();
    pen.put(texts.quote);
    if (hasFirst || hasMiddle) {
      pen.put(texts.given);
      if (hasFirst) firstName.put();
      if (hasFirst && hasMiddle) pen.put(texts.nextText);
      if (hasMiddle) middleName.put();
      pen.put(texts.endTexts);
    }
    if (!suffix.isBlank) {
      pen.put(texts.suffix);
      suffix.put();
      pen.put(texts.endTexts);
    }
    pen.put(texts.endObject);
  };
}

/** The street or, without one, the known parts of the place: `Boston, MA 02114`. */
function preparePlaceName(pen: RecordPen): () => void {
  const street = pen.field('street');
  const parts = (['city', 'state', 'zip'] as const).map((name) => ({
    field: pen.field(name),
    before: keepText(name === 'state' ? ', ' : ' '),
  }));
  return () => {
    if (!street.isBlank) return street.put();
    let isFirst = true;
    for (const { field, before } of parts) {
      if (field.isBlank) continue;
      if (!isFirst) pen.put(before);
      field.put();
      isFirst = false;
    }
  };
}

function prepareAddress(pen: RecordPen): () => void {
  const parts = addressFields.map((name) => {
    const [opening, closing] = addressElements[name];
    return {
      field: pen.field(name),
      first: keepText(opening),
      next: keepText(`,${opening}`),
      closing: keepText(closing),
    };
  });
  return () => {
    let isFirst = true;
    pen.put(texts.startObject);
    for (const { field, first, next, closing } of parts) {
      if (field.isBlank) continue;
      pen.put(isFirst ? first : next);
      field.put();
      pen.put(closing);
      isFirst = false;
    }
    pen.put(texts.endObject);
  };
}

const beforeNpi = `{"system":"${npiSystem}","value":"`;

const addressElements = {
  street: ['"line":["', '"]'],
  city: ['"city":"', '"'],
  state: ['"state":"', '"'],
  zip: ['"postalCode":"', '"'],
} as const;

function identifiersOf(npis: readonly string[]): string {
  return `,"identifier":[${npis.map((npi) => `${beforeNpi}${npi}"}`).join(',')}]`;
}

function isKnown({ state, processedMonth }: AddressState): boolean {
  return state !== 'unverified' || processedMonth !== undefined;
}

/** The result of this service's check of the address (Decision 0027). */
function extensionOf({ state, reason, checkedAt, processedMonth }: AddressState): string {
  const parts: object[] = [{ url: 'state', valueCode: state }];
  if (reason !== '') parts.push({ url: 'reason', valueCode: reason });
  if (checkedAt !== undefined) parts.push({ url: 'checked', valueInstant: checkedAt.toISOString() });
  if (processedMonth !== undefined) parts.push({ url: 'lastProcessedMonth', valueDate: processedMonth });
  return `,"extension":[${JSON.stringify({ extension: parts, url: verificationExtension })}]`;
}

function keepTexts<Name extends string>(own: Readonly<Record<Name, string>>): Record<Name, ConstantText> {
  const entries = Object.entries<string>(own);
  return Object.fromEntries(entries.map(([name, text]) => [name, keepText(text)])) as Record<
    Name,
    ConstantText
  >;
}

const texts = keepTexts({
  resource: '","resource":',
  match: ',"search":{"mode":"match"}}',
  meta: '","meta":{"lastUpdated":"',
  utc: 'Z"',
  npi: 'npi-',
  active: '},"active":true',
  endpoint:
    `,"status":"active","connectionType":{"system":"${connectionTypeSystem}","code":"${directProject}"},` +
    '"name":"Direct address"',
  endpointAddress:
    ',"payloadType":[{"coding":[{"system":"http://terminology.hl7.org/CodeSystem/data-absent-reason",' +
    '"code":"not-applicable"}]}],"address":"',
  specialty: ',"specialty":[',
  phone: ',"telecom":[{"system":"phone","value":"',
  phoneEnd: '","use":"work"}]',
  identifier: `},"identifier":[{"system":"${npiSystem}","value":"`,
  identifierEnd: '"}]',
  name: ',"active":true,"name":[',
  family: '{"family":"',
  officialFamily: '{"use":"official","family":"',
  given: ',"given":["',
  suffix: ',"suffix":["',
  qualification: ',"qualification":[{"code":',
  qualificationEnd: '}]',
  organization:
    `,"active":true,"type":[{"coding":[{"system":"${organizationTypeSystem}",` + '"code":"prov"}]}],"name":"',
  address: ',"address":[',
  gazetteer: `,"tag":[${JSON.stringify(gazetteerTag)}]`,
  location: '},"status":"active","name":"',
  instance: '","mode":"instance","address":',
  longitude: ',"position":{"longitude":',
  latitude: ',"latitude":',
  nextText: '","',
  quote: '"',
  startObject: '{',
  endObject: '}',
  endList: ']',
  endText: '"}',
  endTexts: '"]',
});

const reference = (name: string, target: ResourceType): [ConstantText, ConstantText] => [
  keepText(`,"${name}":{"reference":"${target}/`),
  keepText('"}'),
];
const listedReference = (name: string, target: ResourceType): [ConstantText, ConstantText] => [
  keepText(`,"${name}":[{"reference":"${target}/`),
  keepText('"}]'),
];

const references = {
  managingOrganization: reference('managingOrganization', 'Organization'),
  practitioner: reference('practitioner', 'Practitioner'),
  organization: reference('organization', 'Organization'),
  location: listedReference('location', 'Location'),
  endpoint: listedReference('endpoint', 'Endpoint'),
};

// `<code-system-OID>:<code-system-name>:<code>:<display text>` (Directory spec: Provider record).
const codedText = /^([0-2](?:\.(?:0|[1-9][0-9]*))+):([^:]*):([^:\s]+):(.*)$/s;

function makeConcept(text: string): string {
  const [, oid, , code, display = ''] = codedText.exec(text) ?? [];
  if (oid === undefined) return JSON.stringify({ text });
  const system = oid === taxonomyOid ? taxonomySystem : `urn:oid:${oid}`;
  const shown = display.trim();
  return JSON.stringify({ coding: [{ system, code, ...(shown !== '' && { display: shown }) }] });
}

// The same value once, in the order of its first appearance.
function unique(values: readonly string[]): string {
  return values.length === 1 ? (values[0] as string) : [...new Set(values)].join(',');
}
