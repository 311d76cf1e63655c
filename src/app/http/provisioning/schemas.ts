import { bodyOf, named, queryOf } from '../named.ts';
import { Type, type TSchema } from 'typebox';
import { maxProvisionedAtOnce } from '../../../service/hosting/index.ts';
import { problemSchema } from '../envelope.ts';

const exampleAddress = 'ann.lee@direct.clinic.example';
const exampleDirectory = {
  npi: '1234567893',
  firstName: 'Ann',
  lastName: 'Lee',
  suffix: 'MD',
  organization: 'Example Clinic',
  specialty: 'Cardiology',
  street: '12 Main St',
  city: 'Boston',
  state: 'MA',
  zip: '02114',
  phone: '617-555-0123',
};
const exampleProofing = {
  level: 'IAL2',
  method: 'in person',
  date: '2026-11-02',
  expires: '2029-11-02',
  verifier: 'Example Clinic, medical staff office',
  reference: 'file 4711',
};

const text = (description: string) => Type.String({ maxLength: 500, description });
const entryFields = {
  npi: Type.Optional(text('NPI, ten digits.')),
  firstName: Type.Optional(text('First name.')),
  middleName: Type.Optional(text('Middle name.')),
  lastName: Type.Optional(text('Last name.')),
  suffix: Type.Optional(text('Suffix, such as MD.')),
  organization: Type.Optional(text('Name of the organization.')),
  specialty: Type.Optional(text('Specialty, as text or coded.')),
  street: Type.Optional(text('Street address.')),
  city: Type.Optional(text('City.')),
  state: Type.Optional(text('State, two letters.')),
  zip: Type.Optional(text('ZIP code.')),
  phone: Type.Optional(text('Telephone number.')),
};
const directoryEntry = Type.Object(entryFields, {
  title: 'ProvisionedEntry',
  additionalProperties: false,
  description: 'What the directory shows of the address; a field that is left out is blank.',
});
const proofingInput = Type.Object(
  {
    level: Type.String({ maxLength: 200, description: 'As the trust community names it, such as IAL2.' }),
    method: Type.String({ maxLength: 200 }),
    date: Type.String({ maxLength: 200, description: 'Day of the proofing, `YYYY-MM-DD`.' }),
    expires: Type.Optional(
      Type.String({ maxLength: 200, description: 'Day on which it expires; left out or empty: never.' }),
    ),
    verifier: Type.String({ maxLength: 200, description: 'Who verified the identity.' }),
    reference: Type.Optional(
      Type.String({ maxLength: 200, description: 'Where the evidence is kept; never the evidence itself.' }),
    ),
  },
  {
    title: 'ProofingRecord',
    additionalProperties: false,
    description: 'How the identity behind the address was proven.',
  },
);

const addressStatus = Type.Enum(['active', 'disabled'], {
  type: 'string',
  description: 'Mail of a disabled address is refused, and the directory does not list it.',
});
const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

const changeMembers = {
  status: Type.Optional(addressStatus),
  directory: Type.Optional(orNull(directoryEntry)),
  proofing: Type.Optional(orNull(proofingInput)),
};

export const addressChangeBody = Type.Object(changeMembers, {
  title: 'AddressChange',
  additionalProperties: false,
  description:
    'What is left out stays as it is; null removes it. A new address is active, not listed and without a record of proofing unless they are given.',
  examples: [{ status: 'active', directory: exampleDirectory, proofing: exampleProofing }],
});

export const addressChangesBody = Type.Object(
  {
    addresses: Type.Array(
      bodyOf('NamedAddressChange', { directAddress: Type.String({ maxLength: 500 }), ...changeMembers }),
      { minItems: 1, maxItems: maxProvisionedAtOnce },
    ),
    rowByRow: Type.Optional(
      Type.Boolean({
        description:
          'True: what is in order is stored although other addresses are refused. False (default): all or nothing.',
      }),
    ),
    dryRun: Type.Optional(Type.Boolean({ description: 'True: everything is checked and nothing stored.' })),
  },
  {
    title: 'AddressChanges',
    additionalProperties: false,
    examples: [
      {
        rowByRow: true,
        addresses: [
          { directAddress: exampleAddress, directory: exampleDirectory, proofing: exampleProofing },
          { directAddress: 'front.desk@direct.clinic.example', status: 'disabled' },
        ],
      },
    ],
  },
);

export const forwardingBody = Type.Object(
  {
    deliverTo: Type.Array(Type.String({ maxLength: 500 }), {
      minItems: 1,
      maxItems: 50,
      description: 'Active addresses of your organization that get what comes for this one.',
    }),
    keepsCopy: Type.Optional(
      Type.Boolean({ description: 'True: this address gets it, too. Default: false.' }),
    ),
    from: Type.Optional(
      Type.String({
        maxLength: 100,
        description: 'RFC 3339, with its zone. In force from then on; default: now.',
      }),
    ),
    until: Type.Optional(
      Type.String({ maxLength: 100, description: 'RFC 3339, with its zone. Until then; default: for good.' }),
    ),
  },
  {
    title: 'Forwarding',
    additionalProperties: false,
    examples: [
      {
        deliverTo: ['bo.kim@direct.clinic.example'],
        keepsCopy: true,
        from: '2026-12-20T00:00:00Z',
        until: '2027-01-03T00:00:00Z',
      },
    ],
  },
);

const shownAddress = Type.Object(
  {
    directAddress: Type.String(),
    status: addressStatus,
    directory: orNull(directoryEntry),
    proofing: orNull(
      named('StoredProofing', {
        level: Type.String(),
        method: Type.String(),
        date: Type.String(),
        expires: Type.String({ description: 'Empty if it does not expire.' }),
        verifier: Type.String(),
        reference: Type.String(),
      }),
    ),
    forwarding: orNull(
      named('StoredForwarding', {
        deliverTo: Type.Array(Type.String()),
        keepsCopy: Type.Boolean(),
        from: Type.Optional(Type.String({ format: 'date-time' })),
        until: Type.Optional(Type.String({ format: 'date-time' })),
      }),
    ),
  },
  { title: 'ProvisionedAddress', description: 'Null: not listed, no record, no forwarding.' },
);
const exampleShown = {
  directAddress: exampleAddress,
  status: 'active',
  directory: exampleDirectory,
  proofing: exampleProofing,
  forwarding: null,
};

export const shownAddressAnswer = Type.Object(
  { status: Type.Literal('OK'), address: shownAddress },
  { title: 'ProvisionedAddressAnswer', examples: [{ status: 'OK', address: exampleShown }] },
);

const outcome = Type.Enum(['added', 'changed', 'unchanged', 'refused'], {
  type: 'string',
});
const warnings = Type.Array(problemSchema, {
  description: 'Values that were left out or changed, or that may be wrong.',
});

export const addressChangeAnswer = Type.Object(
  { status: Type.Literal('OK'), outcome, warnings, address: shownAddress },
  {
    title: 'AddressChangeAnswer',
    examples: [{ status: 'OK', outcome: 'added', warnings: [], address: exampleShown }],
  },
);

export const addressChangesAnswer = Type.Object(
  {
    status: Type.Literal('OK'),
    stored: Type.Boolean({ description: 'False for a dry run.' }),
    result: Type.Array(
      named('AddressChangeResult', {
        directAddress: Type.String(),
        outcome,
        warnings,
        errors: Type.Array(problemSchema, { description: 'Why it is refused; empty otherwise.' }),
      }),
      { description: 'One for each address of the request, in its order.' },
    ),
  },
  {
    title: 'AddressChangesAnswer',
    examples: [
      {
        status: 'OK',
        stored: true,
        result: [
          { directAddress: exampleAddress, outcome: 'added', warnings: [], errors: [] },
          {
            directAddress: 'front.desk@direct.clinic.example',
            outcome: 'refused',
            warnings: [],
            errors: [
              {
                field: 'directAddress',
                reason: 'not_found',
                detail: 'Not in a domain of your organization.',
              },
            ],
          },
        ],
      },
    ],
  },
);

export const addressListQuery = queryOf({
  domain: Type.Optional(Type.String({ description: 'One of your domains; default: all.' })),
  status: Type.Optional(addressStatus),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Addresses on the page: 100 by default, 1,000 at most.' }),
  ),
  cursor: Type.Optional(Type.String({ description: '`nextCursor` of the previous page.' })),
});
export const addressListAnswer = Type.Object(
  {
    status: Type.Literal('OK'),
    result: Type.Array(shownAddress),
    nextCursor: Type.Optional(
      Type.String({ description: 'The `cursor` of the next page; absent on the last page.' }),
    ),
  },
  { title: 'ProvisionedAddressList', examples: [{ status: 'OK', result: [exampleShown] }] },
);
export const addressParameter = Type.Object({
  directAddress: Type.String({ description: 'A Direct address, `local@domain`.' }),
});

const limit = (description: string) => Type.Optional(Type.Integer({ description }));
export const organizationAnswer = Type.Object(
  {
    status: Type.Literal('OK'),
    organization: named('Organization', {
      id: Type.String(),
      name: Type.String(),
      domains: Type.Array(Type.String()),
      activeAddresses: Type.Integer(),
      limits: Type.Object(
        {
          addresses: limit('Active addresses.'),
          messagesPerDay: limit('Messages that its clients send on a day (UTC).'),
          octetsPerDay: limit('Octets of these messages.'),
          storageOctets: limit('Octets of the messages that are kept for it.'),
        },
        { title: 'OrganizationLimits', description: 'What your organization may have; absent: no limit.' },
      ),
    }),
  },
  {
    title: 'OrganizationAnswer',
    examples: [
      {
        status: 'OK',
        organization: {
          id: 'example-clinic',
          name: 'Example Clinic',
          domains: ['direct.clinic.example'],
          activeAddresses: 190,
          limits: { addresses: 200 },
        },
      },
    ],
  },
);
