import type { EntitySeed, RecordPen } from '../../../lib/provider-index/index.ts';
import type { TextField } from '../../../lib/provider-record/index.ts';
import type { AddressState } from '../verification/address-states.ts';
import { plainText, type JsonRecord } from './json-records.ts';
import { createTextPen, textOf } from './text-pen.ts';
import {
  connectionTypeSystem,
  directProject,
  gazetteerTag,
  npiSystem,
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
  readonly isFromGazetteer: (record: Pick<RecordPen, 'text' | 'latitude' | 'longitude'>) => boolean;
}

/** Data outside of the record that is written. */
export interface Beyond {
  /** When the resource last changed: seconds since 1970. */
  readonly changedAt: number;
  /** For a person whose records differ in a field of `personFields`: all that have a last name. */
  readonly records?: readonly JsonRecord[] | undefined;
  /** For an address: its verification state, if it was requested. */
  readonly state?: AddressState | undefined;
}

/** Writes records as resources. A blank field leaves no element. */
export interface ResourceMaker {
  /** The resource of a record, by a pen over its bytes or its text. */
  put(type: ResourceType, pen: RecordPen, beyond: Beyond): void;
  putId(type: ResourceType, pen: RecordPen): void;
  /** The same as text, with its references; undefined for a record that has no such resource. */
  make(type: ResourceType, record: JsonRecord, beyond: Beyond): Resource | undefined;
  /** From all records of the person; undefined if they name nobody. */
  practitioner(records: readonly JsonRecord[], changedAt: number): Resource | undefined;
}

/** Instants that are kept as text. */
const maxInstants = 4096;
const maxConstantInstants = 32;

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
  const instants = new Map<number, string>();

  /** The elements up to and with `meta`, without its closing brace: a pen writes one long constant faster than two. */
  function putStart(type: ResourceType, pen: RecordPen, changedAt: number, tag = ''): void {
    let meta = instants.get(changedAt);
    if (meta === undefined) {
      meta = `","meta":{"lastUpdated":"${new Date(changedAt * 1000).toISOString().slice(0, 19)}Z"`;
      if (instants.size >= maxInstants) instants.clear();
      instants.set(changedAt, meta);
    }
    pen.put(starts[type]);
    putId(type, pen);
    // A pen keeps few constants.
    if (instants.size <= maxConstantInstants) pen.put(meta);
    else pen.putText(meta);
    if (tag !== '') pen.put(tag);
  }

  const putters: Readonly<Record<ResourceType, (pen: RecordPen, beyond: Beyond) => void>> = {
    Endpoint(pen, { state, changedAt }) {
      putStart('Endpoint', pen, changedAt);
      pen.put('}');
      if (state !== undefined && isKnown(state)) pen.putText(extensionOf(state));
      pen.put(endpointStart);
      // A practitioner with an NPI is reached through the role; the address of a department belongs to the organization.
      if (pen.isBlank('npi')) putReference(pen, 'Organization', managingOrganization);
      pen.put(endpointEnd);
      pen.putField('directAddress');
      pen.put('"}');
    },
    PractitionerRole(pen, { changedAt }) {
      putStart('PractitionerRole', pen, changedAt);
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
    Practitioner(pen, { records = [], changedAt }) {
      putStart('Practitioner', pen, changedAt);
      if (pen.isBlank('npi')) pen.put('},"active":true,"name":[');
      else {
        pen.put(identifierStart);
        pen.putField('npi');
        pen.put('"}],"active":true,"name":[');
      }
      if (!areSame(records, nameFields))
        pen.putText(unique(records.map((one) => textOf(one, seed, putName))));
      else putName(pen);
      pen.put(']');
      if (!areSame(records, ['specialty'])) {
        const texts = records.map(({ specialty }) => specialty).filter((text) => text !== '');
        if (texts.length > 0)
          pen.putText(`,"qualification":[${unique(texts.map((text) => `{"code":${conceptOf(text)}}`))}]`);
      } else if (!pen.isBlank('specialty')) {
        pen.putDerived('specialty', qualificationOf);
      }
      pen.put('}');
    },
    Organization(pen, { changedAt }) {
      putStart('Organization', pen, changedAt);
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
    Location(pen, { changedAt }) {
      const { latitude, longitude } = pen;
      const hasPosition = latitude !== undefined && longitude !== undefined;
      putStart('Location', pen, changedAt, hasPosition && isFromGazetteer(pen) ? gazetteerMeta : '');
      pen.put('},"status":"active","name":"');
      putPlaceName(pen);
      pen.put('","mode":"instance","address":');
      putAddress(pen);
      if (hasPosition) {
        pen.put(',"position":{"longitude":');
        pen.putDegrees(longitude);
        pen.put(',"latitude":');
        pen.putDegrees(latitude);
        pen.put('}');
      }
      pen.put('}');
    },
  };

  function make(type: ResourceType, record: JsonRecord, beyond: Beyond): Resource | undefined {
    const pen = createTextPen(record, seed);
    if (!exists(type, pen)) return undefined;
    putters[type](pen, beyond);
    const json = pen.take();
    const id = textOf(record, seed, (own) => putId(type, own));
    const references: Record<string, string | undefined> = {};
    for (const [name, target] of Object.entries(referencesOf[type])) {
      const isPresent = exists(target, pen) && !(type === 'Endpoint' && record.npi !== '');
      if (isPresent) references[name] = `${target}/${textOf(record, seed, (own) => putId(target, own))}`;
    }
    return { type, id, json, references };
  }

  return {
    put: (type, pen, beyond) => putters[type](pen, beyond),
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

/** The id of the resource that a record has (Decision 0028). */
function putId(type: ResourceType, pen: RecordPen): void {
  if (type === 'Organization' || type === 'Location') {
    const hash = pen.entity(type === 'Organization' ? 'organization' : 'place');
    if (hash === undefined) throw new TypeError(`The record is about no ${type}.`);
    pen.put(type === 'Organization' ? 'o-' : 'l-');
    pen.putHash(hash);
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

const addressFields = ['street', 'city', 'state', 'zip'] as const;
// What is written before a field if it is the first one, and if it comes after the street or after another one.
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
  '},"active":true,"type":[{"coding":[{"system":"http://terminology.hl7.org/CodeSystem/organization-type",' +
  '"code":"prov"}]}],"name":"';
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
