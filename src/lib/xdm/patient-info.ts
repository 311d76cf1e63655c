import { escapeHl7 } from './hl7-values.ts';
import type { XdmPatient } from './xdm-request.ts';

/**
 * The values of sourcePatientInfo (META-06), as `PID-5|Last^First^Middle`; components and lines without
 * content are omitted.
 */
export function sourcePatientInfo(patient: XdmPatient, cx: string | undefined): string[] {
  const { lastName, firstName, middleName, birthDate, gender, street1, street2, city, state, zip } = patient;
  const lines: [field: string, value: string][] = [
    ['PID-3', cx ?? ''],
    ['PID-5', joinComponents(lastName, firstName, middleName)],
    ['PID-7', birthDate ?? ''],
    ['PID-8', gender?.toUpperCase() ?? ''],
    ['PID-11', joinAddress(street1, street2, city, state, zip)],
  ];
  return lines.filter(([, value]) => value !== '').map(([field, value]) => `${field}|${value}`);
}

function joinComponents(...components: readonly (string | undefined)[]): string {
  return components
    .map((component) => escapeHl7(component ?? ''))
    .join('^')
    .replace(/\^+$/, '');
}

/** The last caret stands before an empty country, as the test tools' samples have it. */
function joinAddress(...components: readonly (string | undefined)[]): string {
  const address = components.map((component) => escapeHl7(component ?? '')).join('^');
  return /^\^*$/.test(address) ? '' : `${address}^`;
}
