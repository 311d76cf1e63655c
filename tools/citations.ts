/** The grammar of citations and the tables of docs/specifications.md; the program around it is check-citations.ts. */

/** A file of the repository. */
export interface SourceText {
  readonly name: string;
  readonly text: string;
}

/** A row of the requirement tables: `| AS-30 | MUST | … | yes | lib/direct |`. */
export interface Requirement {
  readonly id: string;
  readonly level: string;
  readonly status: string;
  readonly note: string;
}

export interface SpecificationsPage {
  /** Names as cited, for example `RFC 8098` or `IHE ITI TF-3`. */
  readonly documents: ReadonlyMap<string, string>;
  readonly requirements: ReadonlyMap<string, Requirement>;
  /** `Directory spec: Radius rules` and so on. */
  readonly headings: ReadonlySet<string>;
}

const idForm =
  /\b(?:VER|AS|TRUST|BUNDLE|DISC|HOST|MDN|DSN|XDM|META|XDR|EDGE|CTX|EVT|DIR|HOOK|ASM|OAUTH|SEC)-\d\d[a-z]?\b/g;
const documentForm =
  /\b(?:RFC \d{3,5}|IHE ITI TF-\d|ITU-T X\.\d+|NIST SP \d+-\d+\w*|FIPS \d+|CWE-\d+|45 CFR \d+\.\d+|Applicability Statement|Delivery Notification IG|Standard Webhooks)\b/g;
const decisionForm = /\bDecision (\d{4})\b/g;
const headingForm = /\b(?:Directory|Messaging) spec: [A-Z][a-z]+(?: (?!and\b)[A-Za-z]+)*/g;

const wholeDocumentForm = new RegExp(`^${documentForm.source}$`);
const wholeIdForm = new RegExp(`^${idForm.source}$`);
const literalForm = /'[^'\n]*'|`[^`\n]*`?|"[^"\n]*"/g;

const documentStatuses = new Set(['yes', 'partial', 'no', 'planned', 'reference']);
/** Begins the note of a row that no program can prove. */
const byReview = 'By review:';
const statuses = ['yes', 'partial', 'no', 'planned'] as const;

/** One line for each citation of something that is not there. */
export function findCitationProblems(
  sources: readonly SourceText[],
  page: SpecificationsPage,
  decisions: ReadonlySet<string>,
): string[] {
  return sources.flatMap(({ name, text }) =>
    text
      .split('\n')
      .flatMap((line, index) =>
        findLineProblems(line, page, decisions).map((problem) => `${name}:${index + 1}: ${problem}`),
      ),
  );
}

function findLineProblems(line: string, page: SpecificationsPage, decisions: ReadonlySet<string>): string[] {
  const problems: string[] = [];
  for (const [document] of line.matchAll(documentForm)) {
    if (!page.documents.has(document)) problems.push(`cites ${document}, which is not listed`);
  }
  for (const [id] of line.matchAll(idForm)) {
    if (!page.requirements.has(id)) problems.push(`cites ${id}, which is not listed`);
  }
  for (const [, number = ''] of line.matchAll(decisionForm)) {
    if (!decisions.has(number)) problems.push(`cites Decision ${number}, which does not exist`);
  }
  for (const [heading] of line.matchAll(headingForm)) {
    if (!hasHeading(page, heading)) problems.push(`cites "${heading}", which is no heading`);
  }
  return problems;
}

/** The words after a heading may continue with the sentence, so that a listed heading needs only to begin the citation. */
function hasHeading({ headings }: SpecificationsPage, citation: string): boolean {
  for (const heading of headings) {
    if (`${citation} `.startsWith(`${heading} `) || heading.startsWith(`${citation} and `)) return true;
  }
  return false;
}

/** Reads the tables of the page by the form of their first cell. */
export function readPage(text: string): SpecificationsPage {
  const documents = new Map<string, string>();
  const requirements = new Map<string, Requirement>();
  const headings = new Set<string>();
  for (const line of text.split('\n')) {
    const cells = line.startsWith('|')
      ? line
          .split(/(?<!\\)\|/)
          .slice(1, -1)
          .map((cell) => cell.trim())
      : [];
    const [first = '', second = '', third = '', fourth = '', fifth = ''] = cells;
    if (wholeIdForm.test(first)) {
      requirements.set(first, { id: first, level: second, status: fourth, note: fifth });
    } else if (/^(?:Directory|Messaging) spec: /.test(first)) headings.add(first);
    else if (wholeDocumentForm.test(first)) documents.set(first, third);
  }
  return { documents, requirements, headings };
}

/** Ids that a test names: in its title, or in a table of cases that titles are made from. Comments do not count. */
export function testedIds(sources: readonly SourceText[]): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const { name, text } of sources) {
    if (!name.endsWith('.test.ts')) continue;
    const code = text.split('\n').filter((line) => !/^\s*(?:\/\/|\/?\*)/.test(line));
    for (const line of code) {
      for (const [literal] of line.matchAll(literalForm)) addIds(literal, ids);
    }
  }
  return ids;
}

function addIds(text: string, ids: Set<string>): void {
  for (const [id] of text.matchAll(idForm)) ids.add(id);
}

/** Faults of the page itself. */
export function findPageProblems(
  text: string,
  page: SpecificationsPage,
  tested: ReadonlySet<string>,
): string[] {
  const problems: string[] = [];
  for (const [name, status] of page.documents) {
    if (!documentStatuses.has(status)) problems.push(`${name} has no known status`);
  }
  for (const { id, level, status, note } of page.requirements.values()) {
    if (!statuses.some((known) => known === status)) problems.push(`${id} has no known status`);
    if (status !== 'yes' && note === '') problems.push(`${id} is ${status} without a reason`);
    if (status === 'yes' && level.startsWith('MUST') && !tested.has(id) && !note.startsWith(byReview))
      problems.push(`${id} is a MUST with status yes, but no test names it`);
  }
  if (!text.includes(countsBlock(page))) problems.push('the counts are stale; renew them with --write');
  return problems;
}

const countsStart = '<!-- counts -->';
const countsEnd = '<!-- end of counts -->';

/** The generated paragraph between two markers. */
export function countsBlock({ requirements }: SpecificationsPage): string {
  const rows = [...requirements.values()];
  const count = (list: readonly Requirement[], status: string): number =>
    list.filter((row) => row.status === status).length;
  const musts = rows.filter((row) => row.level.startsWith('MUST'));
  const line = (name: string, list: readonly Requirement[]): string =>
    `| ${name} | ${list.length} | ${statuses.map((status) => count(list, status)).join(' | ')} |`;
  const header = ['| | Rows | Yes | Partial | No | Planned |', '|---|---|---|---|---|---|'];
  return [countsStart, ...header, line('All', rows), line('MUST and MUST NOT', musts), countsEnd].join('\n');
}

/** The page with its counts replaced. */
export function renewCounts(text: string, block: string): string {
  const start = text.indexOf(countsStart);
  const end = text.indexOf(countsEnd);
  return start < 0 || end < 0 ? text : `${text.slice(0, start)}${block}${text.slice(end + countsEnd.length)}`;
}
