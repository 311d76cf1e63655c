import {
  useEffect,
  useId,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
} from 'react';
import { Icon } from './icon.tsx';
import { useNow } from './time.tsx';
import { dayOf, readDate, showDate, showTime, toDay, type LocalDate } from './read-date.ts';

interface DateFieldProps {
  readonly value: LocalDate;
  /** Called when the text is left, at Enter, and for a choice in the calendar; `''` for no date. */
  readonly onValue?: (value: LocalDate) => void;
  readonly withTime?: boolean;
  /** Whether a day without a year is the next one. */
  readonly isAhead?: boolean;
  /** First and last day that may be given; `''` for any. */
  readonly min?: LocalDate;
  readonly max?: LocalDate;
  /** What the field holds in the data of its form. */
  readonly name?: string;
  readonly id?: string;
  readonly 'aria-label'?: string;
  readonly 'aria-describedby'?: string;
}

/** A date as text that people write, with a calendar to choose it from. What is no date is not sent. */
export function DateField({
  value,
  onValue,
  withTime = false,
  isAhead = false,
  min = '',
  max = '',
  name,
  'aria-describedby': describedBy,
  ...tie
}: DateFieldProps): ReactNode {
  const [current, setCurrent] = useState(value);
  const [text, setText] = useState(showDate(value));
  const [problem, setProblem] = useState('');
  const [isOpen, setOpen] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const noteId = useId();
  const note = (words: string): void => {
    setProblem(words);
    input.current?.setCustomValidity(words);
  };
  useEffect(() => {
    setCurrent(value);
    setText(showDate(value));
  }, [value]);
  const take = (date: LocalDate): void => {
    note('');
    setText(showDate(date));
    setCurrent(date);
    if (date !== current) onValue?.(date);
  };
  const commit = (): void => {
    if (text === showDate(current) && problem === '') return;
    const read = text.trim() === '' ? '' : readDate(text, { now: new Date(), withTime, isAhead });
    if (read === undefined) note(`Not a date. Write ${withTime ? '11/20/2026, 8:00 AM' : '11/20/2026'}.`);
    else if (read !== '' && min !== '' && read < min) note(`Not before ${showDate(min)}.`);
    else if (read !== '' && max !== '' && read > max) note(`Not after ${showDate(max)}.`);
    else take(read);
  };
  return (
    <span className="date-field">
      <span className="date-line">
        <input
          {...tie}
          ref={input}
          type="text"
          autoComplete="off"
          spellCheck={false}
          placeholder={withTime ? 'month/day/year, time' : 'month/day/year'}
          value={text}
          aria-invalid={problem !== ''}
          aria-describedby={
            [describedBy, problem === '' ? undefined : noteId].filter(Boolean).join(' ') || undefined
          }
          onChange={(event) => {
            setText(event.currentTarget.value);
            input.current?.setCustomValidity('');
          }}
          onBlur={commit}
          onKeyDown={(event) => {
            if (event.key === 'Enter') commit();
          }}
        />
        <button
          ref={button}
          type="button"
          className="quiet"
          aria-haspopup="dialog"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name="calendar" />
          <span className="visually-hidden">Choose from a calendar</span>
        </button>
      </span>
      {name !== undefined && <input type="hidden" name={name} value={current} />}
      {problem !== '' && (
        <span className="field-note date-problem" id={noteId} role="alert">
          {problem}
        </span>
      )}
      {isOpen && (
        <Calendar
          chosen={current}
          withTime={withTime}
          isAhead={isAhead}
          min={min}
          max={max}
          beside={input}
          opener={button}
          onChoose={take}
          onClose={(isLeft) => {
            setOpen(false);
            if (!isLeft) button.current?.focus();
          }}
        />
      )}
    </span>
  );
}

const titleForm = new Intl.DateTimeFormat('en-US', { month: 'long', year: 'numeric' });
const nameForm = new Intl.DateTimeFormat('en-US', { dateStyle: 'full' });
const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const halfHours = Array.from(
  { length: 48 },
  (_, half) => `${String(Math.floor(half / 2)).padStart(2, '0')}:${half % 2 === 0 ? '00' : '30'}`,
);
const gapPx = 8;

function moveDays(at: Date, days: number): Date {
  return new Date(at.getFullYear(), at.getMonth(), at.getDate() + days, 12);
}

/** The same day of another month, or the last one of a shorter month. */
function moveMonths(at: Date, months: number): Date {
  const last = new Date(at.getFullYear(), at.getMonth() + months + 1, 0, 12);
  return moveDays(last, Math.min(0, at.getDate() - last.getDate()));
}

/** Keys of the grid, as the ARIA practices have them for calendars. */
function moveByKey(at: Date, { key, shiftKey }: KeyboardEvent): Date | undefined {
  switch (key) {
    case 'ArrowLeft':
      return moveDays(at, -1);
    case 'ArrowRight':
      return moveDays(at, 1);
    case 'ArrowUp':
      return moveDays(at, -7);
    case 'ArrowDown':
      return moveDays(at, 7);
    case 'Home':
      return moveDays(at, -at.getDay());
    case 'End':
      return moveDays(at, 6 - at.getDay());
    case 'PageUp':
      return moveMonths(at, shiftKey ? -12 : -1);
    case 'PageDown':
      return moveMonths(at, shiftKey ? 12 : 1);
    default:
      return undefined;
  }
}

/** The last one of the day if the next is of another. */
function nextHalfHour(): string {
  const now = new Date();
  return halfHours[now.getHours() * 2 + (now.getMinutes() < 30 ? 1 : 2)] ?? '23:30';
}

function Calendar({
  chosen,
  withTime,
  isAhead,
  min,
  max,
  beside,
  opener,
  onChoose,
  onClose,
}: {
  readonly chosen: LocalDate;
  readonly withTime: boolean;
  readonly isAhead: boolean;
  readonly min: LocalDate;
  readonly max: LocalDate;
  readonly beside: RefObject<HTMLElement | null>;
  readonly opener: RefObject<HTMLElement | null>;
  readonly onChoose: (value: LocalDate) => void;
  /** `isLeft`: something else was clicked, and has the focus. */
  readonly onClose: (isLeft: boolean) => void;
}): ReactNode {
  const today = moveDays(new Date(useNow()), 0);
  const [at, setAt] = useState(dayOf(chosen) ?? today);
  const [isInGrid, setInGrid] = useState(true);
  const box = useRef<HTMLDivElement>(null);
  const day = useRef<HTMLButtonElement>(null);
  const time = useRef<HTMLSelectElement>(null);
  const titleId = useId();
  const timeId = useId();
  const first = new Date(at.getFullYear(), at.getMonth(), 1, 12);
  const start = moveDays(first, -first.getDay());
  const isBarred = (one: LocalDate): boolean => (min !== '' && one < min) || (max !== '' && one > max);
  const chosenTime = chosen.slice(11) || (isAhead ? nextHalfHour() : '00:00');
  const key = toDay(at);
  /** The button that opened it closes it by itself. */
  const isElsewhere = (target: Node): boolean =>
    box.current?.contains(target) !== true && opener.current?.contains(target) !== true;

  useEffect(() => {
    const element = box.current;
    const place = (): void => {
      const field = beside.current?.getBoundingClientRect();
      if (element === null || field === undefined) return;
      const { offsetWidth: width, offsetHeight: height } = element;
      const below = field.bottom + gapPx / 2;
      const fits = below + height + gapPx <= window.innerHeight;
      const top = fits
        ? below
        : Math.max(gapPx, Math.min(field.top - height - gapPx / 2, window.innerHeight));
      element.style.left = `${Math.max(gapPx, Math.min(field.left, window.innerWidth - width - gapPx))}px`;
      element.style.top = `${Math.max(gapPx, Math.min(top, window.innerHeight - height - gapPx))}px`;
    };
    element?.showPopover();
    place();
    window.addEventListener('scroll', place, true);
    window.addEventListener('resize', place);
    return () => {
      window.removeEventListener('scroll', place, true);
      window.removeEventListener('resize', place);
    };
  }, [beside]);
  useEffect(() => {
    if (isInGrid) day.current?.focus();
  }, [key, isInGrid]);

  useEffect(() => {
    const leave = (to: EventTarget | null): void => {
      if (to instanceof Node && isElsewhere(to)) onClose(true);
    };
    const ended = new AbortController();
    const { signal } = ended;
    document.addEventListener('pointerdown', ({ target }) => leave(target), { signal });
    box.current?.addEventListener('focusout', ({ relatedTarget }) => leave(relatedTarget), { signal });
    // The dialog below stays open.
    const onEscape = (event: globalThis.KeyboardEvent): void => {
      if (event.key !== 'Escape') return;
      event.preventDefault();
      event.stopPropagation();
      onClose(false);
    };
    box.current?.addEventListener('keydown', onEscape, { signal });
    return () => ended.abort();
  });

  const choose = (one: Date): void => {
    if (isBarred(toDay(one))) return;
    onChoose(withTime ? `${toDay(one)}T${chosenTime}` : toDay(one));
    setAt(one);
    if (withTime) time.current?.focus();
    else onClose(false);
  };
  const turn = (months: number): void => {
    setInGrid(false);
    setAt(moveMonths(at, months));
  };
  return (
    <div
      ref={box}
      popover="manual"
      role="dialog"
      aria-labelledby={titleId}
      className="calendar"
      tabIndex={-1}
    >
      <div className="calendar-head">
        <button type="button" className="quiet" onClick={() => turn(-1)}>
          <Icon name="back" />
          <span className="visually-hidden">Previous month</span>
        </button>
        <strong id={titleId} aria-live="polite">
          {titleForm.format(at)}
        </strong>
        <button type="button" className="quiet" onClick={() => turn(1)}>
          <Icon name="next" />
          <span className="visually-hidden">Next month</span>
        </button>
      </div>
      <table
        // The role of a calendar in the ARIA practices.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-to-interactive-role
        role="grid"
        aria-labelledby={titleId}
        onKeyDown={(event) => {
          const next = moveByKey(at, event);
          if (next === undefined) return;
          event.preventDefault();
          setInGrid(true);
          setAt(next);
        }}
      >
        <thead>
          <tr>
            {weekdays.map((name) => (
              <th key={name} scope="col" abbr={name}>
                <span className="visually-hidden">{name}</span>
                <span aria-hidden="true">{name.slice(0, 2)}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {[0, 7, 14, 21, 28, 35].map((week) => (
            <tr key={week}>
              {weekdays.map((name, weekday) => {
                const one = moveDays(start, week + weekday);
                const local = toDay(one);
                return (
                  <td key={name} aria-selected={local === chosen.slice(0, 10)}>
                    <button
                      ref={local === key ? day : undefined}
                      type="button"
                      tabIndex={local === key ? 0 : -1}
                      aria-label={nameForm.format(one)}
                      aria-current={local === toDay(today) ? 'date' : undefined}
                      aria-disabled={isBarred(local)}
                      data-other={one.getMonth() !== at.getMonth()}
                      onClick={() => choose(one)}
                    >
                      {one.getDate()}
                    </button>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      <div className="calendar-foot">
        {withTime && (
          <>
            <label htmlFor={timeId}>Time</label>
            <select
              ref={time}
              id={timeId}
              value={chosenTime}
              onChange={(event) => onChoose(`${chosen.slice(0, 10) || key}T${event.currentTarget.value}`)}
            >
              {(halfHours.includes(chosenTime) ? halfHours : [...halfHours, chosenTime].toSorted()).map(
                (one) => (
                  <option key={one} value={one}>
                    {showTime(one)}
                  </option>
                ),
              )}
            </select>
          </>
        )}
        <button type="button" onClick={() => choose(today)}>
          Today
        </button>
        {withTime && (
          <button type="button" className="primary" onClick={() => onClose(false)}>
            Done
          </button>
        )}
      </div>
    </div>
  );
}
