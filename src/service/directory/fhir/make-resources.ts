import {
  keepText,
  type ConstantText,
  type EntitySeed,
  type RecordPen,
  type RecordValues,
} from '../../../lib/provider-index/index.ts';
import type { TextField } from '../../../lib/provider-record/index.ts';
import type { AddressState } from '../verification/address-states.ts';
import { plainText, type JsonRecord } from './json-records.ts';
import { createTextPen, textOf, valuesOf } from './text-pen.ts';
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
  /** Its references: `Organization/o-…`, by the name of the search parameter. */
  readonly references: Readonly<Record<string, string | undefined>>;
}

export interface ResourceContext {
  /** True if a record's coordinates equal the gazetteer's for its ZIP code or city. */
  readonly isFromGazetteer: (record: RecordValues) => boolean;
}

/** Data outside of the record that is written. */
export interface Beyond {
  /** When the resource last changed: seconds since 1970. */
  readonly changedAt: number;
  /** For a person whose records differ in a field of `personFields`: all that have a last name. */
  readonly records?: readonly JsonRecord[] | undefined;
  /** For an organization: its own NPIs. */
  readonly npis?: readonly string[] | undefined;
  /** For an address: its verification state, if it was requested. */
  readonly state?: AddressState | undefined;
}

/** Writes records as resources. A blank field leaves no element. */
export interface ResourceMaker {
  /** A number for what the resource has beyond the record's blank fields; see RecordPainter. */
  shapeOf(type: ResourceType, values: RecordValues, beyond: Beyond): number;
  /** The resource of a record of that shape. `beyond` is read while each record is written. */
  put(type: ResourceType, pen: RecordPen, beyond: Beyond, shape: number): void;
  putId(type: ResourceType, pen: RecordPen): void;
  /** The same as text, with its references; undefined for a record that has no such resource. */
  make(type: ResourceType, record: JsonRecord, beyond: Beyond): Resource | undefined;
  /** From all records of the person; undefined if they name nobody. */
  practitioner(records: readonly JsonRecord[], changedAt: number): Resource | undefined;
}

/** Instants that are kept as text. */
const maxInstants = 4096;

// Parts of shapes.
const severalNames = 1;
const severalSpecialties = 2;
const fromGazetteer = 1;
const knownState = 1;
const ownNpi = 1;

const starts = Object.fromEntries(
  resourceTypes.map((type) => [type, `{"resourceType":"${type}","id":"`]),
) as Readonly<Record<ResourceType, string>>;

/** Texts of specialties whose concepts are kept; there are some hundreds. */
const maxConcepts = 4096;

export function createResourceMaker(seed: EntitySeed, { isFromGazetteer }: ResourceContext): ResourceMaker {
  const concepts = new Map<string, string>();

  function conceptOf(text: string): string {
    let concept = concepts.get(text);
    if (concept === undefined) {
      concept = makeConcept(plainText(text));
      if (concepts.size < maxConcepts) concepts.set(text, concept);
    }
    return concept;
  }

  const specialtyOf = (text: string): string => `,"specialty":[${conceptOf(text)}]`;
  const qualificationOf = (text: string): string => `,"qualification":[{"code":${conceptOf(text)}}]`;

  // Most resources changed with one of a few loads.
  const instants = new Map<number, ConstantText>();

  function instantOf(changedAt: number): ConstantText {
    let instant = instants.get(changedAt);
    if (instant === undefined) {
      instant = keepText(new Date(changedAt * 1000).toISOString().slice(0, 19));
      if (instants.size >= maxInstants) instants.clear();
      instants.set(changedAt, instant);
    }
    return instant;
  }

  /** The elements up to and with `meta`, without its closing brace. */
  function putStart(type: ResourceType, pen: RecordPen, beyond: Beyond): void {
    pen.put(starts[type]);
    putId(type, pen);
    pen.put('","meta":{"lastUpdated":"');
    pen.putOther(() => instantOf(beyond.changedAt));
    pen.put('Z"');
  }

  const shapes: Partial<Readonly<Record<ResourceType, (values: RecordValues, beyond: Beyond) => number>>> = {
    Endpoint: (_values, { state }) => (state !== undefined && isKnown(state) ? knownState : 0),
    Practitioner: (_values, { records = [] }) =>
      records.length < 2
        ? 0
        : (areSame(records, nameFields) ? 0 : severalNames) +
          (areSame(records, ['specialty']) ? 0 : severalSpecialties),
    Organization: (_values, { npis = [] }) => (npis.length > 0 ? ownNpi : 0),
    Location: (values) =>
      values.latitude !== undefined && values.isTrue(gazetteerFields, isFromGazetteer) ? fromGazetteer : 0,
  };

  const putters: Readonly<Record<ResourceType, (pen: RecordPen, beyond: Beyond, shape: number) => void>> = {
    Endpoint(pen, beyond, shape) {
      putStart('Endpoint', pen, beyond);
      pen.put('}');
      if (shape === knownState) pen.putOther(() => keepText(extensionOf(beyond.state as AddressState)));
      pen.put(endpointStart);
      // A practitioner with an NPI is reached through the role; other addresses belong to the organization.
      if (!isNumberedPerson(pen)) putReference(pen, 'Organization', managingOrganization);
      pen.put(endpointEnd);
      pen.putField('directAddress');
      pen.put('"}');
    },
    PractitionerRole(pen, beyond) {
      putStart('PractitionerRole', pen, beyond);
      pen.put('},"active":true');
      putReference(pen, 'Practitioner', practitionerOfRole);
      putReference(pen, 'Organization', organizationOfRole);
      if (!pen.isBlank('specialty')) {
        pen.putDerived('specialty', specialtyOf);
      }
      putReference(pen, 'Location', locationOfRole);
      if (!pen.isBlank('phone')) {
        pen.put(',"telecom":[{"system":"phone","value":"');
        pen.putField('phone');
        pen.put('","use":"work"}]');
      }
      putReference(pen, 'Endpoint', endpointOfRole);
      pen.put('}');
    },
    Practitioner(pen, beyond, shape) {
      putStart('Practitioner', pen, beyond);
      if (pen.isBlank('npi')) pen.put('},"active":true,"name":[');
      else {
        pen.put(identifierStart);
        pen.putField('npi');
        pen.put('"}],"active":true,"name":[');
      }
      if ((shape & severalNames) === 0) putName(pen);
      else pen.putOther(() => keepText(unique(recordsOf(beyond).map((one) => textOf(one, seed, putName)))));
      pen.put(']');
      if ((shape & severalSpecialties) !== 0) {
        pen.put(',"qualification":[');
        pen.putOther(() => {
          const texts = recordsOf(beyond).map(({ specialty }) => specialty);
          const known = texts.filter((text) => text !== '');
          return keepText(unique(known.map((text) => `{"code":${conceptOf(text)}}`)));
        });
        pen.put(']');
      } else if (!pen.isBlank('specialty')) {
        pen.putDerived('specialty', qualificationOf);
      }
      pen.put('}');
    },
    Organization(pen, beyond, shape) {
      putStart('Organization', pen, beyond);
      pen.put('}');
      if (shape === ownNpi) pen.putOther(() => keepText(identifiersOf(beyond)));
      pen.put(organizationStart);
      pen.putField('organization');
      pen.put('"');
      if (addressFields.some((field) => !pen.isBlank(field))) {
        pen.put(',"address":[');
        putAddress(pen);
        pen.put(']');
      }
      pen.put('}');
    },
    Location(pen, beyond, shape) {
      putStart('Location', pen, beyond);
      if (shape === fromGazetteer) pen.put(gazetteerMeta);
      pen.put('},"status":"active","name":"');
      putPlaceName(pen);
      pen.put('","mode":"instance","address":');
      putAddress(pen);
      if (pen.hasPosition) {
        pen.put(',"position":{"longitude":');
        pen.putLongitude();
        pen.put(',"latitude":');
        pen.putLatitude();
        pen.put('}');
      }
      pen.put('}');
    },
  };

  const shapeOf: ResourceMaker['shapeOf'] = (type, values, beyond) => shapes[type]?.(values, beyond) ?? 0;

  function make(type: ResourceType, record: JsonRecord, beyond: Beyond): Resource | undefined {
    const pen = createTextPen(record, seed);
    if (!exists(type, pen)) return undefined;
    putters[type](pen, beyond, shapeOf(type, valuesOf(record), beyond));
    const json = pen.take();
    const id = textOf(record, seed, (own) => putId(type, own));
    const references: Record<string, string | undefined> = {};
    for (const [name, target] of Object.entries(referencesOf[type])) {
      const isPresent = exists(target, pen) && !(type === 'Endpoint' && isNumberedPerson(pen));
      if (isPresent) references[name] = `${target}/${textOf(record, seed, (own) => putId(target, own))}`;
    }
    return { type, id, json, references };
  }

  return {
    shapeOf,
    put: (type, pen, beyond, shape) => putters[type](pen, beyond, shape),
    putId,
    make,
    practitioner(records, changedAt) {
      const named = records.filter(({ lastName }) => lastName !== '');
      const [first] = named;
      return first && make('Practitioner', first, { records: named, changedAt });
    },
  };
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

/** True if a record has enough data for a resource (Decision 0028). */
function exists(type: ResourceType, pen: RecordPen): boolean {
  switch (type) {
    case 'Endpoint':
    case 'PractitionerRole':
      return true;
    case 'Practitioner':
      return !pen.isBlank('lastName');
    case 'Organization':
      return !pen.isBlank('organization');
    case 'Location':
      return addressFields.some((field) => !pen.isBlank(field));
  }
}

function isNumberedPerson(pen: RecordPen): boolean {
  return !pen.isBlank('npi') && !pen.isBlank('lastName');
}

/** The id of the resource that a record has (Decision 0028). */
function putId(type: ResourceType, pen: RecordPen): void {
  if (type === 'Organization' || type === 'Location') {
    pen.put(type === 'Organization' ? 'o-' : 'l-');
    pen.putEntity(type === 'Organization' ? 'organization' : 'place');
  } else if (type === 'Practitioner' && !pen.isBlank('npi')) {
    pen.put('npi-');
    pen.putField('npi');
  } else {
    pen.put(type === 'Practitioner' ? 'p-' : type === 'Endpoint' ? 'e-' : 'r-');
    pen.putId();
  }
}

type Reference = readonly [opening: string, closing: string];

const managingOrganization: Reference = [',"managingOrganization":{"reference":"Organization/', '"}'];
const practitionerOfRole: Reference = [',"practitioner":{"reference":"Practitioner/', '"}'];
const organizationOfRole: Reference = [',"organization":{"reference":"Organization/', '"}'];
const locationOfRole: Reference = [',"location":[{"reference":"Location/', '"}]'];
const endpointOfRole: Reference = [',"endpoint":[{"reference":"Endpoint/', '"}]'];

function putReference(pen: RecordPen, target: ResourceType, [opening, closing]: Reference): void {
  if (!exists(target, pen)) return;
  pen.put(opening);
  putId(target, pen);
  pen.put(closing);
}

const nameFields = ['lastName', 'firstName', 'middleName', 'suffix'] as const;
/** What a person's resource takes from several records. */
export const personFields: readonly TextField[] = [...nameFields, 'specialty'];

function recordsOf({ records = [] }: Beyond): readonly JsonRecord[] {
  return records;
}

function areSame(records: readonly JsonRecord[], fields: readonly TextField[]): boolean {
  const [first, ...others] = records;
  return others.every((record) => fields.every((field) => record[field] === first?.[field]));
}

function putName(pen: RecordPen): void {
  pen.put('{"family":"');
  pen.putField('lastName');
  const hasFirst = !pen.isBlank('firstName');
  const hasMiddle = !pen.isBlank('middleName');
  const hasGiven = hasFirst || hasMiddle;
  if (hasGiven) {
    pen.put('","given":["');
    if (hasFirst) pen.putField('firstName');
    if (hasFirst && hasMiddle) pen.put('","');
    if (hasMiddle) pen.putField('middleName');
  }
  if (pen.isBlank('suffix')) pen.put(hasGiven ? '"]}' : '"}');
  else {
    pen.put(hasGiven ? '"],"suffix":["' : '","suffix":["');
    pen.putField('suffix');
    pen.put('"]}');
  }
}

const gazetteerFields = ['zip', 'city', 'state'] as const;
const addressFields = ['street', 'city', 'state', 'zip'] as const;
// What is written before a field if it is the first one, and if it comes after the street or after another
// one.
const addressElements = {
  street: ['{"line":["', '', ''],
  city: ['{"city":"', '"],"city":"', ''],
  state: ['{"state":"', '"],"state":"', '","state":"'],
  zip: ['{"postalCode":"', '"],"postalCode":"', '","postalCode":"'],
} as const;
const addressEnds = ['{}', '"]}', '"}'] as const;

/** The street or, without one, the known parts of the place: `Boston, MA 02114`. */
function putPlaceName(pen: RecordPen): void {
  if (!pen.isBlank('street')) {
    pen.putField('street');
    return;
  }
  let before = '';
  for (const field of ['city', 'state', 'zip'] as const) {
    if (pen.isBlank(field)) continue;
    if (before !== '') pen.put(field === 'state' ? ', ' : ' ');
    pen.putField(field);
    before = field;
  }
}

function putAddress(pen: RecordPen): void {
  let before = 0;
  for (const field of addressFields) {
    if (pen.isBlank(field)) continue;
    pen.put(addressElements[field][before] as string);
    pen.putField(field);
    before = field === 'street' ? 1 : 2;
  }
  pen.put(addressEnds[before] as string);
}

const beforeNpi = `{"system":"${npiSystem}","value":"`;

function identifiersOf({ npis = [] }: Beyond): string {
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

const identifierStart = `},"identifier":[{"system":"${npiSystem}","value":"`;
const endpointStart =
  `,"status":"active","connectionType":{"system":"${connectionTypeSystem}","code":"${directProject}"},` +
  '"name":"Direct address"';
const endpointEnd =
  ',"payloadType":[{"coding":[{"system":"http://terminology.hl7.org/CodeSystem/data-absent-reason",' +
  '"code":"not-applicable"}]}],"address":"';
const organizationStart =
  `,"active":true,"type":[{"coding":[{"system":"${organizationTypeSystem}",` + '"code":"prov"}]}],"name":"';
const gazetteerMeta = `,"tag":[${JSON.stringify(gazetteerTag)}]`;

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
