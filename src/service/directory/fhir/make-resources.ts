import { hashOfEntity, type EntityKind, type EntitySeed } from '../../../lib/provider-index/index.ts';
import { plainText, type JsonRecord } from './json-records.ts';
import { endpointId, entityId, practitionerId, roleId } from './resource-ids.ts';
import {
  connectionTypeSystem,
  directProject,
  gazetteerTag,
  npiSystem,
  taxonomyOid,
  taxonomySystem,
  type ResourceType,
} from './vocabulary.ts';

/** A FHIR R4 resource as JSON text. */
export interface Resource {
  readonly type: ResourceType;
  readonly id: string;
  readonly json: string;
  /** What it refers to: `Organization/o-…`, by the name of the search parameter. */
  readonly references: Readonly<Record<string, string | undefined>>;
}

export interface ResourceContext {
  readonly seed: EntitySeed;
  /** Whether a record's coordinates are those that the gazetteer gives to its ZIP code or city. */
  readonly isFromGazetteer: (record: JsonRecord) => boolean;
}

/** Writes records as resources. Only what is known is written: blank fields leave no element. */
export interface ResourceMaker {
  endpoint(record: JsonRecord): Resource;
  role(record: JsonRecord): Resource;
  /** From all records of the person; undefined if they name nobody. */
  practitioner(records: readonly JsonRecord[]): Resource | undefined;
  organization(record: JsonRecord): Resource | undefined;
  location(record: JsonRecord): Resource | undefined;
}

/** Texts of specialties whose concepts are kept; there are some hundreds. */
const maxConcepts = 4096;

export function createResourceMaker({ seed, isFromGazetteer }: ResourceContext): ResourceMaker {
  const concepts = new Map<string, string>();

  function refer(type: 'Organization' | 'Location', record: JsonRecord): string | undefined {
    const id = idOfEntity(type === 'Organization' ? 'organization' : 'place', record, seed);
    return id && `${type}/${id}`;
  }

  function conceptOf(text: string): string {
    let concept = concepts.get(text);
    if (concept === undefined) {
      concept = makeConcept(plainText(text));
      if (concepts.size < maxConcepts) concepts.set(text, concept);
    }
    return concept;
  }

  return {
    endpoint(record) {
      const id = endpointId(record);
      // Who has an NPI is reached through the role; the address of a department belongs to the organization.
      const organization = record.npi === '' ? refer('Organization', record) : undefined;
      const owner = organization === undefined ? '' : `,"managingOrganization":${reference(organization)}`;
      const json = `{"resourceType":"Endpoint","id":"${id}"${endpointStart}${owner}${endpointEnd}"${record.directAddress}"}`;
      return { type: 'Endpoint', id, json, references: { organization } };
    },
    role(record) {
      const id = roleId(record);
      const person = practitionerId(record);
      const practitioner = person && `Practitioner/${person}`;
      const organization = refer('Organization', record);
      const location = refer('Location', record);
      const endpoint = `Endpoint/${endpointId(record)}`;
      let json = `{"resourceType":"PractitionerRole","id":"${id}","active":true`;
      if (practitioner) json += `,"practitioner":${reference(practitioner)}`;
      if (organization) json += `,"organization":${reference(organization)}`;
      if (record.specialty !== '') json += `,"specialty":[${conceptOf(record.specialty)}]`;
      if (location) json += `,"location":[${reference(location)}]`;
      if (record.phone !== '')
        json += `,"telecom":[{"system":"phone","value":"${record.phone}","use":"work"}]`;
      json += `,"endpoint":[${reference(endpoint)}]}`;
      return {
        type: 'PractitionerRole',
        id,
        json,
        references: { practitioner, organization, location, endpoint },
      };
    },
    practitioner(records) {
      const named = records.filter(({ lastName }) => lastName !== '');
      const [first] = named;
      const id = first && practitionerId(first);
      if (first === undefined || id === undefined) return undefined;
      const specialties = named.map(({ specialty }) => specialty).filter((text) => text !== '');
      let json = `{"resourceType":"Practitioner","id":"${id}"`;
      if (first.npi !== '') json += `,"identifier":[{"system":"${npiSystem}","value":"${first.npi}"}]`;
      json += `,"active":true,"name":[${unique(named.map(nameOf))}]`;
      if (specialties.length > 0)
        json += `,"qualification":[${unique(specialties.map((text) => `{"code":${conceptOf(text)}}`))}]`;
      return { type: 'Practitioner', id, json: `${json}}`, references: {} };
    },
    organization(record) {
      const id = idOfEntity('organization', record, seed);
      if (id === undefined) return undefined;
      const address = addressOf(record);
      const place = address === '' ? '' : `,"address":[${address}]`;
      const json = `{"resourceType":"Organization","id":"${id}"${organizationStart}"${record.organization}"${place}}`;
      return { type: 'Organization', id, json, references: {} };
    },
    location(record) {
      const id = idOfEntity('place', record, seed);
      if (id === undefined) return undefined;
      const { street, latitude, longitude } = record;
      const hasPosition = latitude !== '';
      let json = `{"resourceType":"Location","id":"${id}"`;
      if (hasPosition && isFromGazetteer(record)) json += gazetteerMeta;
      json += ',"status":"active"';
      if (street !== '') json += `,"name":"${street}"`;
      json += `,"mode":"instance","address":${addressOf(record)}`;
      if (hasPosition) json += `,"position":{"longitude":${longitude},"latitude":${latitude}}`;
      return { type: 'Location', id, json: `${json}}`, references: {} };
    },
  };
}

const endpointStart =
  `,"status":"active","connectionType":{"system":"${connectionTypeSystem}","code":"${directProject}"},` +
  '"name":"Direct address"';
const endpointEnd =
  ',"payloadType":[{"coding":[{"system":"http://terminology.hl7.org/CodeSystem/data-absent-reason",' +
  '"code":"not-applicable"}]}],"address":';
const organizationStart =
  ',"active":true,"type":[{"coding":[{"system":"http://terminology.hl7.org/CodeSystem/organization-type",' +
  '"code":"prov"}]}],"name":';
const gazetteerMeta = `,"meta":{"tag":[${JSON.stringify(gazetteerTag)}]}`;

function idOfEntity(kind: EntityKind, record: JsonRecord, seed: EntitySeed): string | undefined {
  const hash = hashOfEntity(record, kind, seed, plainText);
  return hash && entityId(kind, hash);
}

function reference(to: string): string {
  return `{"reference":"${to}"}`;
}

function nameOf({ firstName, middleName, lastName, suffix }: JsonRecord): string {
  let json = `{"family":"${lastName}"`;
  if (firstName !== '' && middleName !== '') json += `,"given":["${firstName}","${middleName}"]`;
  else if (firstName !== '' || middleName !== '') json += `,"given":["${firstName}${middleName}"]`;
  if (suffix !== '') json += `,"suffix":["${suffix}"]`;
  return `${json}}`;
}

// Blank if nothing is known.
function addressOf({ street, city, state, zip }: JsonRecord): string {
  let json = '';
  if (street !== '') json += `,"line":["${street}"]`;
  if (city !== '') json += `,"city":"${city}"`;
  if (state !== '') json += `,"state":"${state}"`;
  if (zip !== '') json += `,"postalCode":"${zip}"`;
  return json === '' ? '' : `{${json.slice(1)}}`;
}

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
