/**
 * The tables of words, against their sources: USPS Publication 28, appendices C1, C2 and section 233
 * (streets, units, directions), the NUCC taxonomy (specialties), and short forms of given names.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foldText } from '../../core/index.ts';
import { areShortForms, findMatches, parseWords, type WordField } from './index.ts';
import {
  abbreviations,
  fillers,
  initialisms,
  nicknames,
  phrases,
  specialtyNames,
  titles,
} from './word-tables.ts';

/** True if each of the typed words is found in the text, none of them misspelt. */
function isFound(typed: string, text: string, field: WordField): boolean {
  const words = parseWords(typed);
  const style = field === 'name' ? 'name' : field === 'address' ? 'domain' : 'text';
  const found = findMatches(text, style, field, words, false);
  return words.every((_, word) => found.some((match) => match.word === word));
}

const linesOf = (table: string): string[][] =>
  table
    .trim()
    .split('\n')
    .map((line) => line.split(' '));

/** The standard abbreviation of each, and its name. */
const publication28 = `
aly alley, anx anex, anx annex, ave avenue, byu bayou, bch beach, bnd bend, blf bluff, blfs bluffs, btm bottom, blvd boulevard, br branch, brg bridge,
brk brook, brks brooks, bg burg, bgs burgs, byp bypass, cp camp, cyn canyon, cpe cape, cswy causeway, ctr center, ctrs centers, cir circle,
cirs circles, clf cliff, clfs cliffs, clb club, cmn common, cmns commons, cor corner, cors corners, crse course, ct court, cts courts,
cv cove, cvs coves, crk creek, cres crescent, crst crest, xing crossing, xrd crossroad, xrds crossroads, dr drive, drs drives, est estate,
ests estates, expy expressway, ext extension, exts extensions, fls falls, fry ferry, fld field, flds fields, flt flat, flts flats, frd ford,
frds fords, frst forest, frg forge, frgs forges, frk fork, frks forks, ft fort, fwy freeway, gdn garden, gdns gardens, gtwy gateway, gln glen,
glns glens, grn green, grns greens, grv grove, grvs groves, hbr harbor, hbrs harbors, hvn haven, hts heights, hwy highway, hl hill, hls hills,
holw hollow, inlt inlet, jct junction, jcts junctions, knl knoll, knls knolls, lk lake, lks lakes, lndg landing, ln lane, lgt light,
lgts lights, lck lock, lcks locks, ldg lodge, mnr manor, mnrs manors, mdw meadow, mdws meadows, mls mills, msn mission, mtwy motorway,
mt mount, mtn mountain, mtns mountains, nck neck, orch orchard, opas overpass, pkwy parkway, psge passage, pne pine, pnes pines, pl place,
pln plain, plns plains, plz plaza, pt point, pts points, prt port, prts ports, radl radial, rnch ranch, rpd rapid, rpds rapids, rst rest,
rdg ridge, rdgs ridges, riv river, rd road, rds roads, rte route, shl shoal, shls shoals, shr shore, shrs shores, skwy skyway, spg spring,
spgs springs, sq square, sqs squares, sta station, strm stream, st street, sts streets, smt summit, ter terrace, trwy throughway, trce trace,
trak track, trfy trafficway, trl trail, trlr trailer, tunl tunnel, tpke turnpike, upas underpass, vly valley, vlys valleys, vw view, vws views,
vlg village, vlgs villages, vl ville, vis vista, wl well, wls wells,
apt apartment, bsmt basement, bldg building, dept department, fl floor, frnt front, hngr hangar, lbby lobby, lowr lower, ofc office,
rm room, spc space, ste suite, uppr upper,
n north, s south, e east, w west, ne northeast, nw northwest, se southeast, sw southwest`;

test('streets, units and directions are found by the abbreviations of Publication 28 and by their names', () => {
  const pairs = publication28
    .trim()
    .split(/,\s*/)
    .map((pair) => pair.split(' ') as [string, string]);
  const missing = pairs.filter(
    ([short, name]) =>
      !isFound(`12 main ${short} x`, `12 Main ${name.toUpperCase()} X`, 'place') ||
      !isFound(`12 main ${name} x`, `12 MAIN ${short.toUpperCase()}. X`, 'place'),
  );
  assert.deepEqual(missing, []);
});

/** What people type, and a specialty of the NUCC taxonomy: code, and specialization or classification. */
const specialties: readonly (readonly [typed: string, code: string, name: string])[] = [
  ['allergist', '207K00000X', 'Allergy & Immunology'],
  ['anesthesia', '207L00000X', 'Anesthesiology'],
  ['anesthesiologist', '207L00000X', 'Anesthesiology'],
  ['crna', '367500000X', 'Nurse Anesthetist, Certified Registered'],
  ['skin doctor', '207N00000X', 'Dermatology'],
  ['dermatologist', '207N00000X', 'Dermatology'],
  ['er', '207P00000X', 'Emergency Medicine'],
  ['family doctor', '207Q00000X', 'Family Medicine'],
  ['pcp', '207Q00000X', 'Family Medicine'],
  ['internist', '207R00000X', 'Internal Medicine'],
  ['pcp', '207R00000X', 'Internal Medicine'],
  ['heart', '207RC0000X', 'Cardiovascular Disease'],
  ['cardiologist', '207RC0000X', 'Cardiovascular Disease'],
  ['cardiologist', '207RI0011X', 'Interventional Cardiology'],
  ['intensivist', '207RC0200X', 'Critical Care Medicine'],
  ['diabetes', '207RE0101X', 'Endocrinology, Diabetes & Metabolism'],
  ['endocrinologist', '207RE0101X', 'Endocrinology, Diabetes & Metabolism'],
  ['gi', '207RG0100X', 'Gastroenterology'],
  ['stomach', '207RG0100X', 'Gastroenterology'],
  ['geriatrician', '207RG0300X', 'Geriatric Medicine'],
  ['hematologist', '207RH0000X', 'Hematology'],
  ['oncologist', '207RH0003X', 'Hematology & Oncology'],
  ['cancer', '207RX0202X', 'Medical Oncology'],
  ['palliative', '207RH0002X', 'Hospice and Palliative Medicine'],
  ['infection', '207RI0200X', 'Infectious Disease'],
  ['liver', '207RI0008X', 'Hepatology'],
  ['kidney', '207RN0300X', 'Nephrology'],
  ['dialysis', '207RN0300X', 'Nephrology'],
  ['lung', '207RP1001X', 'Pulmonary Disease'],
  ['pulmonologist', '207RP1001X', 'Pulmonary Disease'],
  ['arthritis', '207RR0500X', 'Rheumatology'],
  ['sleep', '207RS0012X', 'Sleep Medicine'],
  ['neurosurgeon', '207T00000X', 'Neurological Surgery'],
  ['ob gyn', '207V00000X', 'Obstetrics & Gynecology'],
  ['ob/gyn', '207V00000X', 'Obstetrics & Gynecology'],
  ['obgyn', '207V00000X', 'Obstetrics & Gynecology'],
  ['perinatologist', '207VM0101X', 'Maternal & Fetal Medicine'],
  ['fertility', '207VE0102X', 'Reproductive Endocrinology'],
  ['eye doctor', '207W00000X', 'Ophthalmology'],
  ['eye doctor', '152W00000X', 'Optometrist'],
  ['bone', '207X00000X', 'Orthopaedic Surgery'],
  ['orthopedist', '207X00000X', 'Orthopaedic Surgery'],
  ['ent', '207Y00000X', 'Otolaryngology'],
  ['ear', '207Y00000X', 'Otolaryngology'],
  ['pathologist', '207ZP0102X', 'Anatomic Pathology & Clinical Pathology'],
  ['kids', '208000000X', 'Pediatrics'],
  ['pediatrician', '208000000X', 'Pediatrics'],
  ['neonatologist', '2080N0001X', 'Neonatal-Perinatal Medicine'],
  ['physiatrist', '208100000X', 'Physical Medicine & Rehabilitation'],
  ['plastic', '208200000X', 'Plastic Surgery'],
  ['mental', '2084P0800X', 'Psychiatry'],
  ['psychiatrist', '2084P0800X', 'Psychiatry'],
  ['neurologist', '2084N0400X', 'Neurology'],
  ['xray', '2085R0202X', 'Diagnostic Radiology'],
  ['surgeon', '208600000X', 'Surgery'],
  ['trauma', '2086S0127X', 'Trauma Surgery'],
  ['vascular', '2086S0129X', 'Vascular Surgery'],
  ['urologist', '208800000X', 'Urology'],
  ['proctologist', '208C00000X', 'Colon & Rectal Surgery'],
  ['thoracic', '208G00000X', 'Thoracic Surgery (Cardiothoracic Vascular Surgery)'],
  ['hospitalist', '208M00000X', 'Hospitalist'],
  ['pain', '208VP0014X', 'Interventional Pain Medicine'],
  ['geneticist', '207SG0201X', 'Clinical Genetics (M.D.)'],
  ['back', '111N00000X', 'Chiropractor'],
  ['dentist', '122300000X', 'Dentist'],
  ['teeth', '122300000X', 'Dentist'],
  ['orthodontist', '1223X0400X', 'Orthodontics and Dentofacial Orthopedics'],
  ['periodontist', '1223P0300X', 'Periodontics'],
  ['endodontist', '1223E0200X', 'Endodontics'],
  ['hygienist', '124Q00000X', 'Dental Hygienist'],
  ['dietitian', '133V00000X', 'Dietitian, Registered'],
  ['counselor', '101Y00000X', 'Counselor'],
  ['psychologist', '103T00000X', 'Psychologist'],
  ['lcsw', '1041C0700X', 'Clinical'],
  ['acupuncturist', '171100000X', 'Acupuncturist'],
  ['pharmacist', '183500000X', 'Pharmacist'],
  ['foot', '213E00000X', 'Podiatrist'],
  ['podiatrist', '213E00000X', 'Podiatrist'],
  ['physiotherapist', '225100000X', 'Physical Therapist'],
  ['pt', '225100000X', 'Physical Therapist'],
  ['ot', '225X00000X', 'Occupational Therapist'],
  ['audiologist', '231H00000X', 'Audiologist'],
  ['speech', '235Z00000X', 'Speech-Language Pathologist'],
  ['np', '363L00000X', 'Nurse Practitioner'],
  ['nurse', '163W00000X', 'Registered Nurse'],
  ['midwife', '367A00000X', 'Advanced Practice Midwife'],
];

test('specialties are found by what they are called, written as code and name, as a name or as a code', () => {
  const missing = specialties.flatMap(([typed, code, name]) => {
    const own = typed.replace(' doctor', '');
    const forms = [`2.16.840.1.113883.6.101:NUCC:${code}:${name}`, `${code} ${name}`, code];
    return forms.filter((form) => !isFound(own, form, 'specialty')).map((form) => `${typed}: ${form}`);
  });
  assert.deepEqual(missing, []);
});

test('a specialty is not found by what another one is called', () => {
  for (const [typed, text] of [
    ['heart', '207N00000X Dermatology'],
    ['ent', '122300000X Dentist'],
    ['skin', '207RC0000X Cardiovascular Disease'],
    ['kids', '207RG0300X Geriatric Medicine'],
    ['er', '207RE0101X Endocrinology'],
    ['eye', '207Y00000X Otolaryngology'],
  ] as const)
    assert.equal(isFound(typed, text, 'specialty'), false, `${typed}: ${text}`);
});

test('given names are found by their short forms, and the other way round, in names only', () => {
  const pairs = `abigail abby, alexander alex, andrew andy, anthony tony, barbara barb, benjamin ben, catherine cathy, charles chuck,
    christopher chris, cynthia cindy, daniel dan, david dave, deborah debbie, donald don, dorothy dot, edward ed, elizabeth liz, elizabeth beth,
    frederick fred, gregory greg, henry hank, jacob jake, james jim, jennifer jen, jessica jess, john jack, jonathan jon, joseph joe, joshua josh,
    katherine kate, kathleen kathy, kenneth ken, kimberly kim, lawrence larry, margaret peggy, matthew matt, michael mike, nathaniel nate,
    nicholas nick, pamela pam, patricia pat, patrick pat, peter pete, philip phil, raymond ray, rebecca becky, richard dick, richard rick,
    robert bob, robert rob, ronald ron, samuel sam, sandra sandy, stephen steve, susan sue, teresa terry, theodore ted, theodore theo,
    thomas tom, timothy tim, victoria vicky, vincent vince, virginia ginny, walter walt, william bill, william will, zachary zach`;
  for (const [name = '', short = ''] of pairs.split(/,\s*/).map((pair) => pair.split(' '))) {
    assert.ok(isFound(`${short} x`, `${name} X`, 'name'), `${short}: ${name}`);
    assert.ok(isFound(`${name} x`, `${short} X`, 'name'), `${name}: ${short}`);
    assert.ok(areShortForms(short, name) && areShortForms(name, short), `${name} ${short}`);
    if (!name.startsWith(short))
      assert.equal(isFound(`${short} x`, `${name} X`, 'organization'), false, short);
  }
  assert.equal(areShortForms('bob', 'william'), false);
  assert.equal(isFound('bob x', 'William X', 'name'), false);
});

test('words of organizations are found by their usual abbreviations', () => {
  for (const [typed, text] of [
    ['st marys hosp', 'Saint Mary’s Hospital'],
    ['saint marys hospital', 'St. Marys Hosp'],
    ['univ med ctr', 'University Medical Center'],
    ['childrens hosp', 'Children’s Hospital'],
    ['ortho assoc', 'Orthopaedic Associates'],
    ['behav hlth svcs', 'Behavioral Health Services'],
    ['west and sons', 'West & Sons'],
    ['county reg hosp', 'Co. Regional Hospital'],
    ['va clinic', 'Veterans Clinic'],
    ['saint anne’s', 'St. Anne Dental Care'],
    ["anne's dental", 'St. Anne Dental Care'],
    ['x-ray', 'Xray Partners'],
    ['New York City health', 'New York Health'],
    ['New York City dental', 'NYC Dental PC'],
  ] as const)
    assert.ok(isFound(typed, text, 'organization'), `${typed}: ${text}`);
});

test('ordinals, routes, labels, degrees with dots and several of a kind are read as they are meant', () => {
  for (const [typed, text, field] of [
    ['4410 2nd rd', '4410 SECOND RD # 175', 'place'],
    ['7126 first st', '7126 1st Street', 'place'],
    ['9175 state rt 9', '9175 State Route 9 Dr', 'place'],
    ['9175 sr 9', '9175 State Route 9 Dr', 'place'],
    ['5106 cr 12', '5106 W County Road 12', 'place'],
    ['mlk jr ave', '9314 E Martin Luther King Jr Ave', 'place'],
    ['washington d.c.', 'Washington DC', 'place'],
    ['albany, n.y.', 'Albany NY', 'place'],
    ['miami fla', 'Miami Florida', 'place'],
    ['npi 1399383011', '1399383011', 'name'],
    ['NPI: 1399383011 smith', '1399383011 Smith', 'name'],
    ['mailto:smith@direct.example', 'smith@direct.example', 'address'],
    ['tel 2195553091 smith', '2195553091 Smith', 'name'],
    ['colkel d.d.s.', 'Colkel DDS', 'name'],
    ['Smith, M.D.', 'Smith', 'name'],
    ['Smith, M.D., Ph.D.', 'Smith', 'name'],
    ['morgan junior', 'Morgan Jr.', 'name'],
    ['cardiologists', '207RC0000X Cardiovascular Disease', 'specialty'],
    ['dentists', 'Dentist', 'specialty'],
    ['nurses', 'Nurse Practitioner', 'specialty'],
    ['speech therapist', 'Speech-Language Pathology', 'specialty'],
    ['slp', 'Speech-Language Pathology', 'specialty'],
    ['x ray', 'Diagnostic Radiology', 'specialty'],
  ] as const)
    assert.ok(isFound(typed, text, field), `${typed}: ${text}`);
  // Initials of a name are two words.
  assert.ok(isFound('j.r. smith', 'John R Smith', 'name'));
  assert.equal(isFound('npi', 'Smith', 'name'), false, 'a word that is being typed is looked for');
});

/** As records write what the tables know by one word and by several. */
const spelled = [
  ...[...initialisms]
    .map((word) => [...word.toUpperCase()])
    .flatMap((letters) => [letters.join(' '), `${letters.join('.')}.`, letters.join('.'), letters.join('')]),
  ...phrases.flatMap(([words, meant]) => [' ', '-', '.', ''].map((sign) => words.join(sign)).concat(meant)),
];

test('what a record has is found by its own text, however it writes what the tables know by other words', () => {
  const missing: string[] = [];
  const expect = (typed: string, text: string, field: WordField): void => {
    if (!isFound(typed, text, field)) missing.push(`${typed} | ${text} | ${field}`);
  };
  for (const form of spelled) {
    for (const text of [`${form} EYE CENTER`, `EYE CENTER OF ${form}`, form])
      for (const field of ['organization', 'name', 'place', 'specialty'] as const) {
        expect(text, text, field);
        expect(text.toLowerCase(), text, field);
        expect(`${text} `, text, field);
        expect(text.replaceAll(/[.-]/g, ' '), text, field);
      }
    const part = form.toLowerCase().replaceAll(' ', '.').replace(/\.$/, '');
    for (const address of [
      `${part}@direct.example`,
      `${part}.smith@direct.example`,
      `smith.${part}@direct.example`,
      `smith@${part}.example`,
      `smith@${part}-health.example`,
      `smith@direct.${part}`,
      `${part}-555-219.555@direct.100-200.example`,
    ]) {
      expect(address, address, 'address');
      const host = address.slice(address.indexOf('@') + 1);
      expect(host, address, 'address');
      expect(address.slice(0, -3), address, 'address');
    }
  }
  assert.deepEqual(missing, []);
});

test('letters with dots are found spaced, dotted and as one word; what is typed without dots is not several', () => {
  for (const word of initialisms) {
    const letters = [...word];
    for (const typed of [`${letters.join('.')}. eye`, `eye ${letters.join('.')}`])
      for (const written of [letters.join(' '), `${letters.join('.')}.`, word])
        assert.ok(
          isFound(typed, `Eye ${written.toUpperCase()} Center`, 'organization'),
          `${typed}: ${written}`,
        );
  }
  for (const [typed, text, field] of [
    ['n.c. johnson', 'Nancy Carol Johnson', 'name'],
    ['johnson n.c', 'Nancy Carol Johnson', 'name'],
    ['d.o. smith', 'Daniel Owen Smith', 'name'],
    ['R.N. Patel', 'Rohan Nikhil Patel', 'name'],
    ['malcolm x ray', 'Malcolm X Ray', 'name'],
    ['U.S. Renal Care', 'U S RENAL CARE INC', 'organization'],
    ['x-ray imaging', 'X RAY IMAGING LLC', 'organization'],
    ['nyc surgical', 'NYC Surgical', 'organization'],
    ['suite 100-200b', 'Suite 100-200B', 'place'],
    ['a-100-200 main', 'A-100-200 Main', 'place'],
  ] as const)
    assert.ok(isFound(typed, text, field), `${typed}: ${text}`);
  for (const [typed, text] of [
    ['n.y. eye', 'Nashua Eye'],
    ['x-ray', 'X Imaging'],
    ['xra', 'X Imaging'],
    ['new york city', 'New City'],
    ['nyc', 'New Haven'],
  ] as const)
    assert.equal(isFound(typed, text, 'organization'), false, `${typed}: ${text}`);
  // The city as a whole.
  const isCity = (typed: string, city: string): boolean =>
    findMatches(city, 'name', 'place', parseWords(typed), false).length > 0;
  assert.ok(isCity('nyc', 'New York') && isCity('nyc', 'New York City') && !isCity('nyc', 'New York Mills'));
});

test('each line of the tables is folded, has several words, and none twice', () => {
  const tables = { abbreviations, nicknames, specialtyNames };
  for (const [table, text] of Object.entries(tables))
    for (const line of linesOf(text)) {
      const words = line.filter((word) => word !== '>');
      assert.equal(foldText(line.join(' ')), line.join(' '), table);
      assert.ok(words.length > 1 && words.every((word) => word !== ''), `${table}: ${line.join(' ')}`);
      if (table !== 'specialtyNames')
        assert.equal(new Set(words).size, words.length, `${table}: ${line.join(' ')}`);
    }
  const keys = linesOf(specialtyNames).map(([key = '']) => key);
  assert.equal(new Set(keys).size, keys.length, 'a specialty has one line');
  assert.deepEqual(
    keys,
    keys.toSorted((a, b) => (a < b ? -1 : 1)),
    'specialties are in order',
  );
  for (const word of [...titles, ...fillers]) assert.equal(foldText(word), word);
});
