import { queryOf } from '../named.ts';
import { Type, type TSchema } from 'typebox';
import { addressVerification } from '../address-verification.ts';
import {
  directoryParameters,
  maxPageSize,
  maxRadiusMiles,
  maxValueLength,
  recordFields,
  type DirectoryParameter,
} from '../../../service/directory/index.ts';

const degrees = (what: string) =>
  Type.Union([Type.Number(), Type.Null()], {
    description: `${what} in decimal degrees; null if the place is unknown.`,
  });

/** An addition of this service. */
export const otherNames = Type.Optional(
  Type.String({
    description:
      'Former, professional and other names of a person, by which the record is found, too: `Last (kind)`, or `Last, Given (kind)` where ' +
      'the given names differ, separated by semicolons; the kind is former, maiden, professional, nickname or other. Absent without one.',
    examples: ['Smith (former)'],
  }),
);

/** The provider record on the wire (Directory spec: Provider record). */
const provider = Type.Object(
  {
    id: Type.Integer({ description: 'Record identifier.' }),
    ...Object.fromEntries(
      recordFields.map((field) => [
        field.wireName,
        Type.String({ description: field.description, examples: [field.example] }),
      ]),
    ),
    prov_other_names: otherNames,
    lat: degrees('Latitude'),
    lng: degrees('Longitude'),
    verification: Type.Optional(addressVerification),
    distance: Type.Optional(
      Type.Number({
        description: 'Miles from the search center, rounded up to two decimals; present only with radius.',
      }),
    ),
  },
  { title: 'Provider', description: 'Absent text values are empty strings.' },
);

const exampleProvider = {
  id: 4711,
  ...Object.fromEntries(recordFields.map(({ wireName, example }) => [wireName, example])),
  lat: 42.10168,
  lng: -72.58981,
};

export const searchResponse = Type.Object(
  {
    status: Type.Literal('OK'),
    providers: Type.Array(provider),
    totalCount: Type.String({
      pattern: '^[0-9]+$',
      description: 'Number of matching providers.',
    }),
  },
  {
    title: 'ProviderPage',
    examples: [{ status: 'OK', providers: [exampleProvider], totalCount: '1' }],
  },
);

export const byNpiResponse = Type.Object(
  { status: Type.Literal('OK'), providers: Type.Array(provider) },
  { title: 'ProvidersOfNpi', examples: [{ status: 'OK', providers: [exampleProvider] }] },
);

/** The parameters as the API document shows them; the service itself validates the values. */
export const searchQuery = queryOf({
  ...Object.fromEntries(
    directoryParameters.map((parameter) => [parameter.name, Type.Optional(schemaOf(parameter))]),
  ),
  verification: Type.Optional(
    Type.String({
      description:
        'An extension of this service: show, or a comma-separated list of trusted, discoverable, expired, no-certificate, unreachable ' +
        'and unverified to filter by. Each record then has the property verification, and sort_by may begin with verification.',
    }),
  ),
});

export const npiParameter = Type.Object({
  npi: Type.String({ pattern: '^[0-9]{10}$', description: 'A 10-digit NPI.', examples: ['1234567893'] }),
});

function schemaOf(parameter: DirectoryParameter): TSchema {
  const description = descriptionOf(parameter);
  if (parameter.kind === 'filter') {
    const pattern = parameter.form === undefined ? {} : { pattern: parameter.form.pattern.source };
    // Not as `examples`: a page that fills them all in would search for nobody.
    return Type.String({
      description: `${description} Example: ${exampleOf(parameter.example)}`,
      maxLength: maxValueLength,
      ...pattern,
    });
  }
  const common = {
    description,
    ...(parameter.defaultValue === undefined ? {} : { default: parameter.defaultValue }),
  };
  return parameter.type === 'string'
    ? Type.String(common)
    : Type.Integer({ ...common, ...rangeOf(parameter.name) });
}

function descriptionOf(parameter: DirectoryParameter): string {
  if (parameter.kind !== 'filter') return parameter.description;
  return `${parameter.description} ${parameter.matchText} Case and accents do not count.`;
}

// An example for a filter: long coded values are found by a part of them.
function exampleOf(example: string): string {
  return example.split(':').at(-1) ?? example;
}

function rangeOf(name: DirectoryParameter['name']): { minimum: number; maximum?: number } {
  if (name === 'limit') return { minimum: 1, maximum: maxPageSize };
  if (name === 'radius') return { minimum: 1, maximum: maxRadiusMiles };
  return { minimum: 0 };
}
