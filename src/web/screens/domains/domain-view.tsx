import { useQuery } from '@tanstack/react-query';
import { useMemo, useState, type ReactNode } from 'react';
import { Link } from 'wouter';
import type {
  DomainAnchor,
  DomainBundle,
  DomainDetails,
  DomainFindings,
} from '../../../app/console/contract/index.ts';
import type { ApiError } from '../../api/client.ts';
import { readView } from '../../api/pages.ts';
import { useMay, useMayWhole } from '../../api/session.ts';
import { Command } from '../../components/command.tsx';
import { Copy } from '../../components/copy.tsx';
import { Table } from '../../components/data-table.tsx';
import { Screen, Section } from '../../components/screen.tsx';
import { EmptyState, ErrorState, LoadingState, StateMark } from '../../components/states.tsx';
import { formatNumber, Time, useNow } from '../../components/time.tsx';
import { Addresses } from './addresses.tsx';
import { DnsRecords } from './dns-records.tsx';
import { KeyBars } from './key-bars.tsx';
import { KeyList } from './key-list.tsx';
import { RemoveDomain } from './remove-domain.tsx';
import { Rotation } from './rotation.tsx';
import { AnchorDialog, BundleDialog, RemoveTrust } from './trust-changes.tsx';

const up = { name: 'Domains and trust', href: '/domains' } as const;

/** One domain: keys by date, key rotation, expected and published DNS records, anchors and bundles. */
export function DomainView({ domain }: { readonly domain: string }): ReactNode {
  const path = `/domains/${encodeURIComponent(domain)}`;
  const mayChange = useMayWhole('settings.change');
  const [isRemoving, setRemoving] = useState(false);
  const details = useQuery<DomainDetails, ApiError>({
    queryKey: ['trust', 'domain', domain],
    queryFn: readView(path),
  });
  const shown = details.data;
  if (shown === undefined)
    return (
      <Screen title={domain} up={up}>
        {details.error === null ? (
          <LoadingState />
        ) : (
          <ErrorState error={details.error} onRetry={() => void details.refetch()} />
        )}
      </Screen>
    );
  return (
    <Screen
      title={domain}
      up={up}
      lead={<StateMark tone={shown.level}>{shown.text}</StateMark>}
      actions={
        mayChange && (
          <button type="button" onClick={() => setRemoving(true)}>
            Remove
          </button>
        )
      }
    >
      {isRemoving && <RemoveDomain domain={domain} path={path} onClose={() => setRemoving(false)} />}
      <Keys details={shown} path={path} mayChange={mayChange} />
      {mayChange && <Rotation path={path} domain={domain} keys={shown.keys} />}
      <DnsRecords path={path} domain={domain} />
      <Findings path={path} domain={domain} />
      <Bundles domain={domain} path={path} bundles={shown.bundles} mayChange={mayChange} />
      <Anchors
        domain={domain}
        path={path}
        anchors={shown.anchors}
        bundles={shown.bundles}
        mayChange={mayChange}
      />
      <Addresses domain={domain} path={path} unread={shown.unread} />
    </Screen>
  );
}

function Keys({
  details,
  path,
  mayChange,
}: {
  readonly details: DomainDetails;
  readonly path: string;
  readonly mayChange: boolean;
}): ReactNode {
  const now = useNow();
  const spans = useMemo(
    () =>
      details.keys.flatMap(({ certificate, status, id, owner, uses }) =>
        certificate === null || status === 'requested'
          ? []
          : [{ id, owner, uses, status, notBefore: certificate.notBefore, notAfter: certificate.notAfter }],
      ),
    [details],
  );
  return (
    <Section
      title="Keys"
      note="with the validity of their certificates"
      actions={spans.length > 0 && <Copy text={textForPartner(details)} label="Copy for a partner" />}
    >
      {spans.length === 0 ? (
        <EmptyState title="No key yet">
          <p>Without a key nothing can be signed, and no peer can encrypt to this domain.</p>
        </EmptyState>
      ) : (
        <KeyBars keys={spans} now={new Date(now)} />
      )}
      <KeyList keys={details.keys} path={path} mayChange={mayChange} />
    </Section>
  );
}

/** What another HISP needs in order to trust mail of the domain. */
function textForPartner({ domain, keys }: DomainDetails): string {
  return [
    `To accept mail of ${domain}, trust the issuer of its certificate as an anchor for incoming mail; to send to it, for outgoing mail.`,
    ...keys.flatMap(({ certificate, owner, status, uses }) =>
      certificate === null || status !== 'active'
        ? []
        : [
            '',
            `Owner    ${owner} (${uses.join(', ')})`,
            `Subject  ${certificate.subject}`,
            `Issuer   ${certificate.issuer}`,
            `Valid    ${certificate.notBefore} to ${certificate.notAfter}`,
            `SHA-256  ${certificate.fingerprint}`,
          ],
    ),
    '',
    `The certificate is published in the DNS: CERT ${domain}.`,
  ].join('\n');
}

function Findings({ path, domain }: { readonly path: string; readonly domain: string }): ReactNode {
  const found = useQuery<DomainFindings, ApiError>({
    queryKey: ['domain-findings', domain],
    queryFn: readView(`${path}/findings`),
    staleTime: 60_000,
    retry: false,
  });
  const all = found.data?.findings ?? [];
  const bad = all.filter(({ level }) => level !== 'ok');
  const good = all.filter(({ level }) => level === 'ok');
  return (
    <Section
      title="Findings"
      note={found.data === undefined ? 'examining' : <Time at={found.data.checkedAt} />}
      actions={
        <button type="button" disabled={found.isFetching} onClick={() => void found.refetch()}>
          Examine again
        </button>
      }
    >
      {found.error !== null && <ErrorState error={found.error} />}
      {found.error === null && found.data === undefined && <LoadingState lines={3} />}
      {found.data !== undefined && (
        <>
          <FindingList domain={domain} findings={bad} />
          {good.length > 0 && (
            <details className="findings-good">
              <summary>
                <StateMark tone="ok">
                  {bad.length === 0 ? 'All' : 'The other'} {formatNumber(good.length)} checks are fine.
                </StateMark>
              </summary>
              <FindingList domain={domain} findings={good} />
            </details>
          )}
        </>
      )}
      <Command words={['doctor', domain, '--all']} />
    </Section>
  );
}

function FindingList({
  domain,
  findings,
}: {
  readonly domain: string;
  readonly findings: DomainFindings['findings'];
}): ReactNode {
  return (
    <ul className="findings">
      {findings.map((finding) => (
        <li key={`${finding.check} ${finding.subject} ${finding.text}`}>
          <StateMark tone={finding.level}>{finding.text}</StateMark>
          {finding.subject !== domain && <span className="faint"> {finding.subject}</span>}
          {finding.advice !== '' && <p className="muted">{finding.advice}</p>}
        </li>
      ))}
    </ul>
  );
}

interface TrustProps {
  readonly domain: string;
  readonly path: string;
  readonly bundles: readonly DomainBundle[];
  readonly mayChange: boolean;
}

function Bundles({ domain, path, bundles, mayChange }: TrustProps): ReactNode {
  const [isAdding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<DomainBundle>();
  return (
    <Section
      title="Trust bundles"
      note="published sets of anchors that are refreshed regularly"
      actions={
        mayChange && (
          <button type="button" onClick={() => setAdding(true)}>
            Follow a bundle
          </button>
        )
      }
    >
      {isAdding && <BundleDialog domain={domain} path={path} onClose={() => setAdding(false)} />}
      {removing !== undefined && (
        <RemoveTrust path={path} bundle={removing} onClose={() => setRemoving(undefined)} />
      )}
      {bundles.length === 0 ? (
        <EmptyState title="No bundle">Anchors of this domain are added one by one.</EmptyState>
      ) : (
        <ul className="bundles">
          {bundles.map((bundle) => (
            <li key={bundle.id}>
              <div className="row">
                <p className="bundle-url">{bundle.url}</p>
                {mayChange && (
                  <button
                    type="button"
                    className="link at-end"
                    aria-label={`Remove the bundle ${bundle.url}`}
                    onClick={() => setRemoving(bundle)}
                  >
                    Remove
                  </button>
                )}
              </div>
              <p>
                <StateMark tone={bundle.level}>{bundle.text}</StateMark>
                <span className="faint">
                  {' '}
                  {formatNumber(bundle.anchorCount)} anchors, {bundle.direction},{' '}
                  {bundle.refreshedAt === null ? (
                    'never fetched'
                  ) : (
                    <>
                      fetched <Time at={bundle.refreshedAt} />
                    </>
                  )}
                  , next <Time at={bundle.nextRefreshAt} />
                </span>
              </p>
              {bundle.lastError !== '' && <p className="muted">{bundle.lastError}</p>}
              {bundle.changes.length > 0 && (
                <details>
                  <summary>What changed</summary>
                  <ul className="bundle-changes">
                    {bundle.changes.map((change) => (
                      <li key={change.at}>
                        <Time at={change.at} as="zoned" />
                        <ul>
                          {change.added.map((name) => (
                            <li key={`+${name}`}>
                              <ins>+ {name}</ins>
                            </li>
                          ))}
                          {change.removed.map((name) => (
                            <li key={`-${name}`}>
                              <del>− {name}</del>
                            </li>
                          ))}
                        </ul>
                      </li>
                    ))}
                  </ul>
                </details>
              )}
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

/** The rows of an action, which has an index, that name a domain or a certificate. */
function auditOf(action: string, object: string): string {
  return `/audit?${new URLSearchParams({ action, address: object }).toString()}`;
}

function Anchors({
  domain,
  path,
  anchors,
  bundles,
  mayChange,
}: TrustProps & { readonly anchors: readonly DomainAnchor[] }): ReactNode {
  const mayAudit = useMay('audit.read');
  const [isAdding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<DomainAnchor>();
  return (
    <Section
      title="Anchors"
      note="certificates this domain trusts, for mail in each direction"
      actions={
        <>
          {mayAudit && <Link href={auditOf('anchor.remove', domain)}>Who removed anchors</Link>}
          {mayChange && (
            <button type="button" onClick={() => setAdding(true)}>
              Trust a CA
            </button>
          )}
        </>
      }
    >
      {isAdding && <AnchorDialog domain={domain} path={path} onClose={() => setAdding(false)} />}
      {removing !== undefined && (
        <RemoveTrust path={path} anchor={removing} onClose={() => setRemoving(undefined)} />
      )}
      {anchors.length === 0 ? (
        <EmptyState title="No anchor">
          <p>
            Without an anchor no peer is trusted: no message can be sent, and no incoming message is accepted.
          </p>
        </EmptyState>
      ) : (
        <Table
          caption="Anchors"
          isLines
          rows={anchors}
          idOf={({ id }) => id}
          columns={[
            {
              name: 'Certificate',
              isFlexible: true,
              cell: ({ certificate, level }) => (
                <>
                  <StateMark tone={level}>{certificate.subject}</StateMark>{' '}
                  <span className="sub">{certificate.algorithm}</span>
                </>
              ),
              sortBy: ({ certificate }) => certificate.subject.toLowerCase(),
            },
            { name: 'Direction', cell: ({ direction }) => direction },
            {
              name: 'From',
              from: 'medium',
              cell: ({ bundleId, certificate, createdAt }) => (
                <>
                  {bundleId !== '' ? (
                    (bundles.find((bundle) => bundle.id === bundleId)?.url ?? 'a bundle')
                  ) : mayAudit ? (
                    <Link href={auditOf('anchor.add', certificate.fingerprint)}>an operator</Link>
                  ) : (
                    'an operator'
                  )}{' '}
                  <span className="sub">
                    added <Time at={createdAt} as="day" />
                  </span>
                </>
              ),
            },
            {
              name: 'Expires',
              cell: ({ certificate }) => <Time at={certificate.notAfter} as="day" />,
              sortBy: ({ certificate }) => Date.parse(certificate.notAfter),
            },
            {
              name: 'SHA-256',
              from: 'wide',
              cell: ({ certificate }) => <code className="fingerprint">{certificate.fingerprint}</code>,
            },
            ...(mayChange
              ? [
                  {
                    name: 'Change',
                    align: 'end',
                    isPlain: true,
                    cell: (anchor: (typeof anchors)[number]) => (
                      <button
                        type="button"
                        className="link"
                        aria-label={`Remove ${anchor.certificate.subject}`}
                        onClick={() => setRemoving(anchor)}
                      >
                        Remove
                      </button>
                    ),
                  } as const,
                ]
              : []),
          ]}
        />
      )}
    </Section>
  );
}
