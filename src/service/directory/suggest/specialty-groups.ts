/**
 * Classifications of the NUCC Health Care Provider Taxonomy by the first characters of their codes: the
 * groups of specialties that suggestions are counted by.
 */
const names: ReadonlyMap<string, string> = new Map(
  `101Y Counselor|103T Psychologist|1041 Social Worker|106H Marriage & Family Therapist|111N Chiropractor|1223 Dentist|133V Dietitian|152W Optometrist|163W Registered Nurse|164W Licensed Practical Nurse|1835 Pharmacist|207K Allergy & Immunology|207L Anesthesiology|207N Dermatology|207P Emergency Medicine|207Q Family Medicine|207R Internal Medicine|207S Medical Genetics|207T Neurological Surgery|207U Nuclear Medicine|207V Obstetrics & Gynecology|207W Ophthalmology|207X Orthopaedic Surgery|207Y Otolaryngology|207Z Pathology|2080 Pediatrics|2081 Physical Medicine & Rehabilitation|2082 Plastic Surgery|2083 Preventive Medicine|2084 Psychiatry & Neurology|2085 Radiology|2086 Surgery|2088 Urology|208C Colon & Rectal Surgery|208D General Practice|208G Thoracic Surgery|208M Hospitalist|208V Pain Medicine|213E Podiatrist|2251 Physical Therapist|225X Occupational Therapist|231H Audiologist|235Z Speech-Language Pathologist|251E Home Health|261Q Clinic/Center|282N General Acute Care Hospital|283Q Psychiatric Hospital|3140 Skilled Nursing Facility|3336 Pharmacy|363A Physician Assistant|363L Nurse Practitioner|364S Clinical Nurse Specialist|367A Midwife|3675 Nurse Anesthetist`
    .split('|')
    .map((line) => [line.slice(0, 4), line.slice(5)]),
);

const labels: ReadonlySet<string> = new Set(names.values());

export interface SpecialtyGroup {
  /** As the parameter `specialty` takes it. */
  readonly value: string;
  readonly label: string;
}

const coded = /^[0-9.]+:[^:]*:([0-9a-z]{10}):(.*)$/i;
const groupLength = 4;

/** The group of a specialty as it is stored: by its code if it has one, otherwise its text. */
export function groupOfSpecialty(text: string): SpecialtyGroup {
  const [, code, display] = coded.exec(text) ?? [];
  if (code === undefined) {
    // Folded texts are in lower case.
    const label = text.replace(/(?<!\p{L})\p{Ll}/gu, (letter) => letter.toUpperCase());
    // Next to the group of that name, which has other records.
    return { value: text, label: labels.has(label) ? `${label}, not coded` : label };
  }
  const value = code.slice(0, groupLength).toUpperCase();
  const label = names.get(value);
  return label === undefined ? groupOfSpecialty(display || code) : { value, label };
}
