import type { Command } from 'commander';
import { silentLog, systemClock } from '../../../core/index.ts';
import { createGazetteer, loadBuiltInZip } from '../../../lib/geo/index.ts';
import { createDirectory, type Suggestion, type SuggestionAnswer } from '../../../service/directory/index.ts';
import type { CliContext } from '../context.ts';
import { withInstallation } from '../with-installation.ts';
import { printLines } from '../print-list.ts';

/** Only distances from a ZIP code need a place. */
const noPlaces = createGazetteer(Buffer.from('zip,00000,,,,'));

interface FindFlags {
  readonly state?: string;
  readonly specialty?: string;
  readonly verified?: true;
  readonly kind?: string;
  readonly zip?: string;
  readonly limit?: string;
  readonly json?: true;
}

/** Adds `directory find WORDS`: the suggestions of the REST API, for operators. */
export function addFindCommand(directory: Command, context: CliContext): void {
  directory
    .command('find')
    .description(
      'find people and organizations by words of name, organization, specialty, place, NPI or address',
    )
    .argument('<words...>', 'in any order; the last one may be unfinished')
    .option('--state <code>', 'only in this state')
    .option('--specialty <words>', 'only with this specialty')
    .option('--verified', 'only with a verified Direct address')
    .option('--kind <kind>', 'only addresses of this kind: person or organization')
    .option('--zip <code>', 'tell distances from this ZIP code, and name the nearer ones first')
    .option('--limit <number>', 'suggestions, at most 50; default: 10')
    .option('--json', 'print JSON')
    .action((words: string[], flags: FindFlags) =>
      withInstallation(context, async ({ storage, audit, config }) => {
        const { createAddressStates } = await import('../../../service/verification/index.ts');
        const found = await createDirectory({
          storage,
          audit,
          clock: systemClock,
          log: silentLog,
          gazetteer: flags.zip === undefined ? noPlaces : loadBuiltInZip(flags.zip),
          snapshotDir: config.directory.snapshotDir,
          searchThreads: 0,
          states: createAddressStates(storage),
        });
        try {
          await found.refresh();
          const answer = await found.as(context.actor()).suggest(parametersOf(words, flags), {});
          if (flags.json === true) context.print(JSON.stringify(answer, null, 2));
          else printLines(context, formatAnswer(answer));
        } finally {
          await found.close();
        }
      }),
    );
}

function parametersOf(words: readonly string[], flags: FindFlags): (readonly [string, string])[] {
  const { state, specialty, verified, kind, zip, limit } = flags;
  const given: readonly (readonly [string, string | undefined])[] = [
    ['q', words.join(' ')],
    ['state', state],
    ['specialty', specialty],
    ['verified', verified === true ? 'true' : undefined],
    ['kind', kind],
    ['org_zip', zip],
    ['limit', limit],
  ];
  return given.filter((one): one is readonly [string, string] => one[1] !== undefined);
}

function formatAnswer({ suggestions, totalCount, misspelt, nearlyMeant }: SuggestionAnswer): string[] {
  if (suggestions.length === 0) return ['Nothing fits.', ...nearlyMeant.map((text) => `Nearly: ${text}`)];
  const count = `${totalCount} ${totalCount === '1' ? 'record fits' : 'records fit'}${misspelt ? ', words taken as misspelt' : ''}.`;
  return [...suggestions.flatMap(formatSuggestion), count];
}

function formatSuggestion(one: Suggestion): string[] {
  const person = [one.prov_first_name, one.prov_mid_name, one.prov_last_name, one.prov_suffix];
  const name = one.kind === 'person' ? person.filter(Boolean).join(' ') : one.org_name;
  const specialty = one.prov_spec_text.split(':').at(-1);
  const place = [one.org_addr_1, one.org_city, one.org_state, one.org_zip].filter(Boolean).join(', ');
  const about = [one.kind === 'person' ? one.org_name : '', specialty, place].filter(Boolean).join(' · ');
  const miles = one.distance === undefined || one.distance === null ? '' : ` · ${one.distance} miles`;
  return [
    name,
    `    ${about}${miles}`,
    ...one.addresses.map(
      ({ serv_direct_addr: address, verification }) =>
        `    ${address}${verification === null ? '' : ` (${verification.state})`}`,
    ),
    ...(one.addressCount > one.addresses.length
      ? [`    and ${one.addressCount - one.addresses.length} more`]
      : []),
  ];
}
