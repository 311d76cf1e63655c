/**
 * The screen of the directory: search, a record, sources and loads.
 * Used by `web/app/screens.tsx`.
 * Begin with this file; each part of the screen has its file.
 */
import type { ReactNode } from 'react';
import { useParams } from 'wouter';
import { Screen, Tabs } from '../../components/screen.tsx';
import { RecordCard } from './record-card.tsx';
import { SearchPart } from './search-part.tsx';
import { SourcesPart } from './sources-part.tsx';
import { SuggestPart } from './suggest-part.tsx';

/**
 * Search, the one box, a record, and the sources with their loads: `/directory`, `/directory/find`,
 * `/directory/records/:id`, `/directory/sources`.
 */
export function DirectoryScreen(): ReactNode {
  const { part, id } = useParams<{ part?: string; id?: string }>();
  if (part === 'records' && id !== undefined) return <RecordCard id={id} />;
  const isSources = part === 'sources';
  const isFind = part === 'find';
  return (
    <Screen
      title={isSources ? 'Directory sources' : isFind ? 'Find in the directory' : 'Directory'}
      heading="Directory"
      lead={
        isSources
          ? 'The origin of the records, and the report of each load.'
          : 'Providers with a Direct address, as the API serves them.'
      }
    >
      <Tabs
        label="Directory"
        tabs={[
          { name: 'Find', href: '/directory/find', isCurrent: isFind },
          { name: 'Search by field', href: '/directory', isCurrent: !isSources && !isFind },
          { name: 'Sources and loads', href: '/directory/sources', isCurrent: isSources },
        ]}
      />
      {isSources ? <SourcesPart /> : isFind ? <SuggestPart /> : <SearchPart />}
    </Screen>
  );
}
