import { useId, type ComponentProps, type ReactNode } from 'react';

interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
}

/** A label, a control, and below it a hint or an error. `children` gets the attributes that link them. */
export function Field({
  label,
  hint,
  error,
  children,
}: FieldProps & {
  readonly children: (tie: { readonly id: string; readonly 'aria-describedby'?: string }) => ReactNode;
}): ReactNode {
  const id = useId();
  const note = error ?? hint;
  const noteId = `${id}-note`;
  return (
    <div className="field" data-invalid={error !== undefined}>
      <label htmlFor={id}>{label}</label>
      {children(note === undefined ? { id } : { id, 'aria-describedby': noteId })}
      {note !== undefined && (
        <p className="field-note" id={noteId} role={error === undefined ? undefined : 'alert'}>
          {note}
        </p>
      )}
    </div>
  );
}

/** One line of text. */
export function TextField({
  label,
  hint,
  error,
  onText,
  ...input
}: FieldProps & { readonly onText: (text: string) => void } & Omit<
    ComponentProps<'input'>,
    'id' | 'onChange'
  >): ReactNode {
  return (
    <Field label={label} hint={hint} error={error}>
      {(tie) => (
        <input
          type="text"
          autoComplete="off"
          spellCheck={false}
          {...input}
          {...tie}
          aria-invalid={error !== undefined}
          onChange={(event) => onText(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

export type Option = readonly [value: string, text: string];

/** A select field for a few values. */
export function SelectField({
  label,
  hint,
  error,
  options,
  value,
  onValue,
}: FieldProps & {
  readonly options: readonly Option[];
  readonly value: string;
  readonly onValue: (value: string) => void;
}): ReactNode {
  return (
    <Field label={label} hint={hint} error={error}>
      {(tie) => (
        <select {...tie} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
          {options.map(([one, text]) => (
            <option key={one} value={one}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** A filter with its label inside, so that several fit on one line. */
export function FilterSelect({
  label,
  options,
  value,
  onValue,
}: {
  readonly label: string;
  readonly options: readonly Option[];
  readonly value: string;
  readonly onValue: (value: string) => void;
}): ReactNode {
  const id = useId();
  return (
    <span className="filter" data-set={value !== (options[0]?.[0] ?? '')}>
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </span>
  );
}
