import { includes, supportedParameters } from './search-parameters.ts';
import { resourceTypes } from './vocabulary.ts';

export interface CapabilityOptions {
  /** The address of the FHIR service. */
  readonly base: string;
  readonly version: string;
  /** URL of the token endpoint. */
  readonly tokenUrl: string;
  /** Start time of this program. */
  readonly date: Date;
  /** True if addresses are verified. */
  readonly hasStates: boolean;
}

/**
 * Lists only what is supported: `instantiates` is absent, since the guide demands more of a server
 * (Decision 0028).
 */
export function makeCapabilities({ base, version, tokenUrl, date, hasStates }: CapabilityOptions): object {
  return {
    resourceType: 'CapabilityStatement',
    status: 'active',
    date: date.toISOString(),
    kind: 'instance',
    software: { name: 'openhisp', version },
    implementation: {
      description:
        'Provider directory: Direct addresses with their owners. Modelled on the National Directory of Healthcare guide.',
      url: base,
    },
    fhirVersion: '4.0.1',
    format: ['application/fhir+json', 'json'],
    rest: [
      {
        mode: 'server',
        security: {
          service: [
            {
              coding: [
                { system: 'http://terminology.hl7.org/CodeSystem/restful-security-service', code: 'OAuth' },
              ],
            },
          ],
          description: `A bearer token of the scope provider-directory, from ${tokenUrl} by client credentials.`,
        },
        resource: resourceTypes.map((type) => ({
          type,
          interaction: [{ code: 'read' }, { code: 'search-type' }],
          versioning: 'no-version',
          referencePolicy: ['literal'],
          ...listed('searchInclude', includes[type].include),
          ...listed('searchRevInclude', includes[type].revinclude),
          searchParam: supportedParameters(type, hasStates).map(
            ({ name, definition, type: kind, documentation }) => ({
              name,
              ...(definition && { definition }),
              type: kind,
              documentation,
            }),
          ),
        })),
        operation: [
          {
            name: 'export',
            definition: 'http://hl7.org/fhir/uv/bulkdata/OperationDefinition/export',
            documentation: 'Records of open sources only; _type, _since and _outputFormat are supported.',
          },
        ],
      },
    ],
  };
}

function listed(name: string, values: readonly string[]): object {
  return values.length === 0 ? {} : { [name]: values };
}
