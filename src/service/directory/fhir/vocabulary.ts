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
export const connectionTypeSystem = 'http://terminology.hl7.org/CodeSystem/endpoint-connection-type';
export const directProject = 'direct-project';
export const endpointStatusSystem = 'http://hl7.org/fhir/endpoint-status';
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
