import { useState, type FormEvent, type ReactNode } from 'react';
import type { DirectoryForm, Problem } from '../../../app/console/contract/index.ts';
import { labelOf, numericFilters, orderFilters, verificationStates, type Search } from './search-fields.ts';

interface SearchFormProps {
  readonly form: DirectoryForm;
  readonly search: Search;
  readonly problems: readonly Problem[];
  onSearch(search: Search): void;
}

/** One field per filter of the search; Enter in any field searches. */
export function SearchForm({ form, search, problems, onSearch }: SearchFormProps): ReactNode {
  const { main, more } = orderFilters(form);
  const [isOpen, setOpen] = useState(more.some(({ name }) => search[name] !== undefined));
  function submit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    const values = [...new FormData(event.currentTarget)].flatMap(([name, value]) =>
      typeof value === 'string' && value.trim() !== '' ? [[name, value.trim()] as const] : [],
    );
    const next: Record<string, string> = Object.fromEntries(values);
    // The API refuses `sort_order` without `sort_by`.
    if (next['sort_by'] === undefined) delete next['sort_order'];
    onSearch(next);
  }
  const problemOf = (name: string): string | undefined =>
    problems.find(({ field }) => field === name)?.detail;
  return (
    <form className="directory-form" role="search" aria-label="Directory" onSubmit={submit}>
      <div className="directory-fields">
        {main.map((filter, index) => (
          <Filter
            key={filter.name}
            filter={filter}
            value={search[filter.name]}
            problem={problemOf(filter.name)}
            isFirst={index === 0}
          />
        ))}
        <Filter
          filter={{
            name: 'radius',
            matchText: 'Miles around the ZIP code or around city and state.',
            example: '25',
          }}
          label="Radius, miles"
          value={search['radius']}
          problem={problemOf('radius')}
        />
      </div>
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>More filters</summary>
        <div className="directory-fields">
          {more.map((filter) => (
            <Filter
              key={filter.name}
              filter={filter}
              value={search[filter.name]}
              problem={problemOf(filter.name)}
            />
          ))}
          <label className="field">
            <span>Verification</span>
            <select name="verification" defaultValue={search['verification'] ?? ''}>
              <option value="">any</option>
              {verificationStates.map((state) => (
                <option key={state} value={state}>
                  {state}
                </option>
              ))}
            </select>
          </label>
        </div>
      </details>
      <div className="directory-order">
        <label className="field is-inline">
          <span>Sort by</span>
          <select name="sort_by" defaultValue={search['sort_by'] ?? ''}>
            <option value="">{search['radius'] === undefined ? 'NPI' : 'nearest first'}</option>
            {form.sortable.map((name) => (
              <option key={name} value={name}>
                {labelOf(name)}
              </option>
            ))}
          </select>
        </label>
        <label className="field is-inline">
          <span className="visually-hidden">Order</span>
          <select name="sort_order" defaultValue={search['sort_order'] ?? ''}>
            <option value="">ascending</option>
            <option value="descending">descending</option>
          </select>
        </label>
        <span className="directory-buttons">
          <button type="button" onClick={() => onSearch({})}>
            Clear
          </button>
          <button type="submit" className="primary">
            Search
          </button>
        </span>
      </div>
    </form>
  );
}

interface FilterProps {
  readonly filter: Pick<DirectoryForm['filters'][number], 'name' | 'matchText' | 'example'>;
  readonly label?: string;
  readonly value: string | undefined;
  readonly problem: string | undefined;
  readonly isFirst?: boolean;
}

function Filter({ filter: { name, matchText, example }, label, value, problem, isFirst }: FilterProps) {
  const isNumeric = numericFilters.has(name);
  const isInvalid = problem !== undefined;
  return (
    <label className={`field is-${name.replaceAll('_', '-')}`} title={matchText}>
      <span>{label ?? labelOf(name)}</span>
      <input
        type="text"
        name={name}
        defaultValue={value ?? ''}
        placeholder={name === 'org_state' || name === 'radius' ? example : undefined}
        autoComplete="off"
        spellCheck={false}
        aria-invalid={isInvalid}
        {...(isNumeric ? { inputMode: 'numeric' as const } : {})}
        {...(isFirst === true ? { 'data-search': '' } : {})}
      />
      {isInvalid && <span className="field-problem">{problem}</span>}
    </label>
  );
}
