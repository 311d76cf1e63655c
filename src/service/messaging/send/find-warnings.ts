import type { FieldProblem } from '../../../core/index.ts';
import type { SendRequest } from './read-send-request.ts';
import { hasLoincCheckDigit, type TextFieldName } from './send-fields.ts';

/** What a receiver needs to find the patient (META-10). */
const matchingFields: readonly TextFieldName[] = [
  'patientLastname',
  'patientFirstname',
  'patientDOB',
  'patientGender',
  'patientId',
];

/** What is allowed but will trouble a receiver. Names fields, never values. */
export function findWarnings({ texts, flags }: SendRequest): readonly FieldProblem[] {
  const warnings: FieldProblem[] = [];
  if (flags.xdm === true) {
    for (const field of matchingFields.filter((name) => texts[name] === ''))
      warnings.push({
        field,
        reason: 'recommended',
        detail: 'Receivers need this field to match the patient.',
      });
  }
  if (texts.loincValue !== '' && !hasLoincCheckDigit(texts.loincValue))
    warnings.push({
      field: 'loincValue',
      reason: 'check_digit',
      detail: 'The check digit of this LOINC code is wrong.',
    });
  return warnings;
}
