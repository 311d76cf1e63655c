import { queryOf, named } from '../named.ts';
import { Type } from 'typebox';
import { addressVerification } from '../address-verification.ts';
import { otherNames } from './schemas.ts';
import {
  maxQueryLength,
  maxSuggestions,
  recordFields,
  suggestionParameters,
} from '../../../service/directory/index.ts';

/** The parameters as the API document shows them; the service itself validates the values. */
export const suggestionQuery = queryOf(
  Object.fromEntries(
    suggestionParameters.map(({ name, description, example }) => {
      const text = `${description} Example: ${example}`;
      if (name === 'q')
        return [name, Type.String({ description: text, minLength: 1, maxLength: maxQueryLength })];
      if (name === 'limit')
        return [
          name,
          Type.Optional(Type.Integer({ description, minimum: 1, maximum: maxSuggestions, default: 10 })),
        ];
      return [name, Type.Optional(Type.String({ description: text }))];
    }),
  ),
);

const degrees = Type.Union([Type.Number(), Type.Null()]);

const suggestedAddress = named('SuggestedAddress', {
  id: Type.Integer({ description: 'Record identifier.' }),
  serv_direct_addr: Type.String(),
  org_name: Type.String(),
  org_city: Type.String(),
  org_state: Type.String(),
  verification: Type.Union([addressVerification, Type.Null()]),
});

const suggestion = Type.Object(
  {
    kind: Type.Enum(['person', 'organization']),
    id: Type.Integer({ description: 'The record that fits best.' }),
    ...Object.fromEntries(
      recordFields.map(({ wireName, description, example }) => [
        wireName,
        Type.String({ description, examples: [example] }),
      ]),
    ),
    prov_other_names: otherNames,
    lat: degrees,
    lng: degrees,
    addresses: Type.Array(suggestedAddress, {
      description: 'All Direct addresses of the person or organization, at most ten; those that fit first.',
    }),
    addressCount: Type.Integer(),
    matched: Type.Array(
      Type.Object({
        field: Type.String({ description: 'The field of this suggestion.' }),
        start: Type.Integer({ description: 'In UTF-16 units, as JavaScript counts.' }),
        length: Type.Integer(),
        word: Type.String({ description: 'The word of q, folded.' }),
        match: Type.Enum(['exact', 'prefix', 'near']),
      }),
      { description: 'Which words were found where, for highlighting.' },
    ),
    distance: Type.Optional(
      Type.Union([Type.Number(), Type.Null()], {
        description: 'Miles from the place that was given, rounded up to two decimals.',
      }),
    ),
  },
  { title: 'Suggestion', description: 'Absent text values are empty strings.' },
);

const facet = Type.Array(
  named('Facet', {
    value: Type.String({ description: 'A value of the parameter of the same name.' }),
    label: Type.String(),
    count: Type.Integer({ description: 'Records that fit.' }),
  }),
);

export const suggestionResponse = Type.Object(
  {
    status: Type.Literal('OK'),
    suggestions: Type.Array(suggestion),
    totalCount: Type.String({ pattern: '^[0-9]+$', description: 'Number of records that fit.' }),
    misspelt: Type.Boolean({
      description: 'Words were taken as misspelt, because too little was found otherwise.',
    }),
    facets: Type.Object({ state: facet, specialty: facet, verified: facet }),
    nearlyMeant: Type.Array(Type.String(), {
      description: 'If nothing fits: other texts for q that find something.',
    }),
  },
  {
    title: 'SuggestionList',
    examples: [
      {
        status: 'OK',
        suggestions: [
          {
            kind: 'person',
            id: 4711,
            ...Object.fromEntries(recordFields.map(({ wireName, example }) => [wireName, example])),
            lat: 42.10168,
            lng: -72.58981,
            addresses: [
              {
                id: 4711,
                serv_direct_addr: 'renee.obrien@direct.clinic.example',
                org_name: 'Example Clinic',
                org_city: 'Boston',
                org_state: 'MA',
                verification: null,
              },
            ],
            addressCount: 1,
            matched: [{ field: 'prov_last_name', start: 0, length: 7, word: 'obrien', match: 'exact' }],
          },
        ],
        totalCount: '1',
        misspelt: false,
        facets: {
          state: [{ value: 'MA', label: 'Massachusetts', count: 1 }],
          specialty: [{ value: '207R', label: 'Internal Medicine', count: 1 }],
          verified: [
            { value: 'true', label: 'Verified', count: 0 },
            { value: 'false', label: 'Not verified', count: 1 },
          ],
        },
        nearlyMeant: [],
      },
    ],
  },
);
