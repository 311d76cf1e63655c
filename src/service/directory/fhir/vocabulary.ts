/** Names that FHIR and the national directory's guide give to things. */

export const resourceTypes = [
  'Endpoint',
  'Practitioner',
  'PractitionerRole',
  'Organization',
  'Location',
] as const;

export type ResourceType = (typeof resourceTypes)[number];

export const npiSystem = 'http://hl7.org/fhir/sid/us-npi';
const npiOid = '2.16.840.1.113883.4.6';
export const connectionTypeSystem = 'http://terminology.hl7.org/CodeSystem/endpoint-connection-type';
export const directProject = 'direct-project';
export const endpointStatusSystem = 'http://hl7.org/fhir/endpoint-status';
export const locationStatusSystem = 'http://hl7.org/fhir/location-status';
export const organizationTypeSystem = 'http://terminology.hl7.org/CodeSystem/organization-type';
/** Of booleans as tokens (FHIR R4: token). */
export const specialValueSystem = 'http://terminology.hl7.org/CodeSystem/special-values';
/** On resources of which elements are left out. */
export const subsettedTag = {
  system: 'http://terminology.hl7.org/CodeSystem/v3-ObservationValue',
  code: 'SUBSETTED',
};
export const taxonomySystem = 'http://nucc.org/provider-taxonomy';
/** The same code system as stored records name it. */
export const taxonomyOid = '2.16.840.1.113883.6.101';

/** On a Location whose position is that of its ZIP code or city. */
export const gazetteerTag = {
  system: 'urn:openhisp:position',
  code: 'gazetteer',
  display: 'Position of the ZIP code or city, not of the street address',
};

/** On an Endpoint: the result of this service's own check of the address. */
export const verificationExtension = 'urn:openhisp:verification';

/** NPIs are named by address and by OID; both are written in several ways. */
export function isNpiSystem(system: string): boolean {
  return plainSystem(system) === plainSystem(npiSystem) || readOid(system) === npiOid;
}

/** For comparison: `https`, `www.` and a slash at the end do not count. */
export function plainSystem(system: string): string {
  return system
    .trim()
    .toLowerCase()
    .replace(/^https?:\/\/(?:www\.)?/, '')
    .replace(/\/$/, '');
}

/** The OID of `urn:oid:1.2.3`, also without its prefix. */
export function readOid(system: string): string | undefined {
  return /^(?:urn:oid:)?([0-2](?:\.[0-9]+)+)$/i.exec(system.trim())?.[1];
}
