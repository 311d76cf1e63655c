/** Word lists of the sample directory. All persons, organizations and addresses made of them are invented. */

export const givenNames =
  'James Mary Robert Patricia John Jennifer Michael Linda David Elizabeth William Barbara Richard Susan Joseph Jessica Thomas Sarah Christopher Karen Charles Lisa Daniel Nancy Matthew Betty Anthony Sandra Mark Margaret Steven Ashley Paul Kimberly Andrew Emily Joshua Donna Kenneth Michelle Kevin Carol Brian Amanda Timothy Melissa Ronald Deborah Jason Stephanie George Rebecca Edward Laura Jeffrey Sharon Ryan Cynthia Jacob Dorothy Nicholas Amy Gary Kathleen Eric Angela Jonathan Shirley Stephen Emma Larry Brenda Justin Pamela Scott Nicole Brandon Anna Benjamin Samantha Samuel Katherine Gregory Christine Alexander Helen Patrick Debra Frank Rachel Raymond Carolyn Jack Janet Dennis Maria Jerry Olivia Tyler Heather Aaron Diane José Ángela Renée Zoë André Noël Chloë Raúl Inés Óscar Siân Jürgen Björn Mei Wei Priya Anil Fatima Omar Ngozi Kwame Hiroshi Yuki Minh Linh'.split(
    ' ',
  );

export const familyNames =
  "Smith Johnson Williams Brown Jones Garcia Miller Davis Rodriguez Martinez Hernandez Lopez Gonzalez Wilson Anderson Thomas Taylor Moore Jackson Martin Lee Perez Thompson White Harris Sanchez Clark Ramirez Lewis Robinson Walker Young Allen King Wright Scott Torres Nguyen Hill Flores Green Adams Nelson Baker Hall Rivera Campbell Mitchell Carter Roberts Gomez Phillips Evans Turner Diaz Parker Cruz Edwards Collins Reyes Stewart Morris Morales Murphy Cook Rogers Gutierrez Ortiz Morgan Cooper Peterson Bailey Reed Kelly Howard Ramos Kim Cox Ward Richardson Watson Brooks Chavez Wood James Bennett Gray Mendoza Ruiz Hughes Price Alvarez Castillo Sanders Patel Myers Long Ross Foster Jimenez Powell Jenkins Perry Russell Sullivan Bell Coleman Butler Henderson Barnes Fisher Vasquez Simmons Graham Murray Ford Hamilton Khan Schmidt Snyder Stone Shah Silva Schwartz Weber Wang Sharma Singh Sato O'Brien O'Connor O'Neill D'Angelo St.John McCarthy MacDonald Nuñez Muñoz Peña Ibáñez Gómez Müller Schröder Håkansson Lindström Dvořák Łukasz Žižek Çelik Smith-Jones Garcia-Lopez".split(
    ' ',
  );

export const syllables =
  'an ar bel ber bor bran cas chi col dan dar del den dor el er fal fen gar gil gor gran hal han har hol in jan kal kan kel kin kol lan lar len lin lor mal man mar mel mon mor nar nel nor ol or pal par pel per pol ran ras ren rin ros sal san sar sel sha sil sol son stan stel tan tar tel ten thor til tor ul val van var vel ver vin vol wal war wel wen wil win yar zan zel zor'.split(
    ' ',
  );

export const placeWords =
  'Cedar Maple Oak Pine Willow Birch River Lake Valley Summit Ridge Prairie Canyon Harbor Coastal Bayside Sunrise Heritage Liberty Unity Mercy Grace Providence Trinity|Good Samaritan|Saint Anne|Saint Luke|Saint Mary|St. Joseph|Mount Carmel|Holy Cross|North Shore|South Bay|East Side|West End|Northern Lights|Blue Mountain|Red Rock|Green Hills|Silver Creek|Golden Gate|Stone Bridge|Clear Water|Big Sky|Lone Star|Great Plains|Piedmont|Tidewater|Bluegrass|Cascade|Sierra|Mesa|Delta|Gulf|Central|Metropolitan|Regional|Community|University|County|Capitol|Children’s|Women’s|Veterans'
    .split('|')
    .flatMap((part, index) => (index === 0 ? part.split(' ') : [part]));

export const careWords =
  'Health System|Medical Center|Medical Group|Clinic|Family Clinic|Family Medicine|Hospital|Regional Hospital|Cardiology Associates|Orthopaedic Institute|Pediatrics|Internal Medicine|Eye Center|Dental Care|Physical Therapy|Urgent Care|Surgery Center|Cancer Center|Imaging|Behavioral Health|Home Health|Hospice|Nursing & Rehabilitation|Pharmacy|Laboratory|Women’s Care|Primary Care|Health Partners|Physicians|Associates, P.C.'.split(
    '|',
  );

/** Coded values have the form of Directory spec: Provider record, the others are free text. */
export const specialties =
  '2.16.840.1.113883.6.101:HealthCareProviderTaxonomy:207Q00000X:Family Medicine|2.16.840.1.113883.6.101:HealthCareProviderTaxonomy:207R00000X:Internal Medicine|2.16.840.1.113883.6.101:HealthCareProviderTaxonomy:207RC0000X:Cardiovascular Disease|2.16.840.1.113883.6.101:HealthCareProviderTaxonomy:208000000X:Pediatrics|2.16.840.1.113883.6.101:HealthCareProviderTaxonomy:363LF0000X:Nurse Practitioner, Family|2.16.840.1.113883.6.101:HealthCareProviderTaxonomy:363A00000X:Physician Assistant|2.16.840.1.113883.6.101:HealthCareProviderTaxonomy:2084P0800X:Psychiatry|2.16.840.1.113883.6.101:HealthCareProviderTaxonomy:207X00000X:Orthopaedic Surgery|2.16.840.1.113883.6.101:HealthCareProviderTaxonomy:207V00000X:Obstetrics & Gynecology|2.16.840.1.113883.6.101:HealthCareProviderTaxonomy:208600000X:Surgery|Family Medicine|Internal Medicine|Cardiology|Interventional Cardiology|Pediatric Cardiology|Dermatology|Emergency Medicine|Endocrinology|Gastroenterology|Geriatrics|Hematology/Oncology|Infectious Disease|Nephrology|Neurology|Neurosurgery|Ophthalmology|Otolaryngology|Pathology|Physical Medicine and Rehabilitation|Podiatry|Pulmonology|Radiology|Rheumatology|Urology|Dentistry|Optometry|Chiropractic|Clinical Social Work|Psychology|Physical Therapy|Occupational Therapy|Speech-Language Pathology|Pharmacy|Nurse Midwife|Anesthesiology'.split(
    '|',
  );

export const departments =
  'Referrals|Medical Records|Radiology|Laboratory|Cardiology|Emergency Department|Discharge Planning|Care Coordination|Release of Information|Oncology|Home Health|Pharmacy|Orders'.split(
    '|',
  );

export const streetNames =
  'Main Oak Maple Park Washington Lake Hill Elm Cedar Pine Walnut Church High Center Mill Spring Highland Lincoln Jackson Franklin Jefferson Adams Madison Monroe Sunset Ridge River Forest Meadow Prospect Railroad College University Hospital Medical|Martin Luther King Jr|First|Second|Third|Fourth|Fifth|Sixth|Seventh|Eighth|State Route 9|County Road 12|Old Mill|Peachtree|El Camino Real'
    .split('|')
    .flatMap((part, index) => (index === 0 ? part.split(' ') : [part]));

export const streetTypes = 'St|Street|Ave|Avenue|Blvd|Road|Rd|Drive|Dr|Lane|Way|Pkwy|Court|Plaza'.split('|');
