/** DirectTrust's certificate policy identifier for patients: entity category 4 (DIR-03, AS-19). */
export const patientPolicy = '1.3.6.1.4.1.41179.2.4';

/** True if an entity category names patients: by policy identifier, by its last arcs, or by the word. */
export function isPatientCategory(text: string): boolean {
  const category = text.trim().toLowerCase();
  if (category === '') return false;
  return category.endsWith('.2.4') || category.includes(patientPolicy) || /^patients?$/.test(category);
}
