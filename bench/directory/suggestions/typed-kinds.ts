/** Kinds of suggestions that are timed over HTTP. */

/** What a request has: `q`, or with other parameters. */
export type Asked = string | Readonly<Record<string, string>>;

/** Kinds of queries, of whatever length somebody has typed so far. */
export const typedKinds: Readonly<Record<string, readonly Asked[]>> = {
  'one or two letters': ['s', 'a', 'e', 'm', '1', 'st', 'ch', 'jo', 'ma', 'dr s'],
  'frequent words': [
    'smith',
    'medical center',
    'direct example',
    'family medicine',
    'main st',
    'texas',
    'hospital',
  ],
  'several words': [
    'smith cardio chicago',
    'st marys',
    'family medicine new york',
    's c t',
    'bob garcia',
    'ma ch il',
  ],
  numbers: ['1234567', '60601', '606', '512 555', '(312) 555-01', '12 main'],
  'with filters': [
    { q: 's', state: 'TX' },
    { q: 'smith', specialty: '207R' },
    { q: 'garcia', kind: 'person' },
    { q: 'clinic', kind: 'organization', state: 'CA' },
  ],
  'near a place': [
    { q: 's', org_zip: '60601' },
    { q: 'cardiologist', org_zip: '10001' },
    { q: 'smith', org_city: 'Austin', org_state: 'TX' },
    { q: 'family medicine', org_zip: '78701', limit: '50' },
  ],
  misspelt: [
    'cardiolgy',
    'smtih',
    'chicgo',
    'garcai chicgo',
    'orthopedik surgeon',
    'jenifer rodrigez texas',
    'famly medicin',
    'nosuchword smith',
  ],
};

export const pathOf = (asked: Asked): string =>
  `/provider-directory/v2/suggestions?${new URLSearchParams(typeof asked === 'string' ? { q: asked } : asked).toString()}`;
