/**
 * The screen of hosted domains: keys, rotation, DNS records, anchors.
 * Used by `web/app/screens.tsx`.
 * Begin with this file, then `domain-view.tsx`.
 */
import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { useParams } from 'wouter';
import type { DomainList, DomainSummary } from '../../../app/console/contract/index.ts';
import type { ApiError } from '../../api/client.ts';
import { readView } from '../../api/pages.ts';
import { useMayWhole } from '../../api/session.ts';
import { Table } from '../../components/data-table.tsx';
import { Screen } from '../../components/screen.tsx';
import { EmptyState, ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { formatNumber } from '../../components/time.tsx';
import { DomainView } from './domain-view.tsx';
import { NewDomainDialog } from './new-domain.tsx';
import { formatDays } from './key-spans.ts';

/** All hosted domains, and one domain: `/domains`, `/domains/:domain`. */
export function DomainsScreen(): ReactNode {
  const { domain } = useParams<{ domain?: string }>();
  return domain === undefined ? <DomainOverview /> : <DomainView key={domain} domain={domain} />;
}

function DomainOverview(): ReactNode {
  const mayChange = useMayWhole('settings.change');
  const [isAdding, setAdding] = useState(false);
  const domains = useQuery<DomainList, ApiError>({
    queryKey: ['trust', 'domains'],
    queryFn: readView('/domains'),
  });
  return (
    <Screen
      title="Domains and trust"
      lead="The domains that this HISP hosts, their keys and their trust anchors."
      actions={
        mayChange && (
          <button type="button" className="primary" onClick={() => setAdding(true)}>
            Add a domain
          </button>
        )
      }
    >
      {isAdding && <NewDomainDialog onClose={() => setAdding(false)} />}
      {domains.data === undefined && domains.error !== null && (
        <ErrorState error={domains.error} onRetry={() => void domains.refetch()} />
      )}
      {domains.error === null && domains.data === undefined && <LoadingState />}
      {domains.data?.result.length === 0 && (
        <EmptyState title="No domain is hosted">
          <p>Nothing can be sent or received without one.</p>
        </EmptyState>
      )}
      {domains.data !== undefined && domains.data.result.length > 0 && (
        <Table
          caption="Hosted domains"
          rows={domains.data.result}
          idOf={({ domain }) => domain}
          hrefOf={({ domain }) => `/domains/${encodeURIComponent(domain)}`}
          columns={[
            {
              name: 'Domain',
              cell: ({ domain }) => domain,
              isFlexible: true,
              sortBy: ({ domain }) => domain,
            },
            { name: 'State', cell: ({ level, text }) => <StateMark tone={level}>{text}</StateMark> },
            {
              name: 'First key expires',
              from: 'medium',
              cell: (domain) => describeDays(domain),
              sortBy: ({ daysLeft }) => daysLeft ?? undefined,
            },
            {
              name: 'Addresses',
              align: 'end',
              from: 'medium',
              cell: ({ addressCount }) => formatNumber(addressCount),
              sortBy: ({ addressCount }) => addressCount,
            },
            {
              name: 'Anchors',
              align: 'end',
              from: 'medium',
              cell: ({ anchorCount }) => formatNumber(anchorCount),
              sortBy: ({ anchorCount }) => anchorCount,
            },
          ]}
        />
      )}
    </Screen>
  );
}

function describeDays({ daysLeft }: DomainSummary): string {
  if (daysLeft === null) return 'no key';
  return daysLeft < 0 ? `${formatDays(Math.ceil(-daysLeft))} ago` : `in ${formatDays(Math.floor(daysLeft))}`;
}
