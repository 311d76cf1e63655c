import type { FieldProblem } from '../../../core/index.ts';
import { describeXmlFault } from './read-attachments.ts';
import type { SendRequest } from './read-send-request.ts';
import { hasLoincCheckDigit, type TextFieldName } from './send-fields.ts';

/** The fields that a receiver needs to find the patient (META-10). */
const matchingFields: readonly TextFieldName[] = [
  'patientLastname',
  'patientFirstname',
  'patientDOB',
  'patientGender',
  'patientId',
];

/** Values that are allowed but cause problems for a receiver. Names fields, never values. */
export function findWarnings({ texts, flags, attachments }: SendRequest): readonly FieldProblem[] {
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
  for (const [index, { xmlFault }] of attachments.entries()) {
    if (xmlFault !== undefined)
      warnings.push({
        field: `emailAttachmentList[${index}].attachmentContent`,
        reason: 'not_well_formed',
        detail: `This ${describeXmlFault(xmlFault)}; it is sent as it is.`,
      });
  }
  return warnings;
}
