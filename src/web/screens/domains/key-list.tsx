import { useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import type { DomainKey, DoneAnswer } from '../../../app/console/contract/index.ts';
import { post } from '../../api/client.ts';
import { refreshTrust } from '../../api/refresh-trust.ts';
import { useAnnounce } from '../../components/announce.tsx';
import { CopyValue } from '../../components/copy.tsx';
import { Command } from '../../components/command.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { Facts } from '../../components/screen.tsx';
import { StateMark } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';

/** Each key with its certificate, and the button that retires it. */
export function KeyList({
  keys,
  path,
  mayChange,
}: {
  readonly keys: readonly DomainKey[];
  readonly path: string;
  readonly mayChange: boolean;
}): ReactNode {
  const [retiring, setRetiring] = useState<DomainKey>();
  return (
    <>
      <div className="keys-by-name">
        {keys
          .filter(({ status }) => status !== 'requested')
          .map((key) => (
            <details key={key.id}>
              <summary data-row="">
                <StateMark tone={key.level}>{key.text}</StateMark>
                <span className="key-owner">{key.owner}</span>
                <code className="faint fingerprint">{key.certificate?.fingerprint.slice(0, 16) ?? ''}</code>
              </summary>
              {key.certificate !== null && (
                <Facts
                  facts={[
                    ['Subject', key.certificate.subject],
                    ['Issuer', key.certificate.issuer],
                    ['Serial number', <code key="serial">{key.certificate.serialNumber}</code>],
                    ['Key', key.certificate.algorithm],
                    ['Uses', key.uses.join(' and ')],
                    [
                      'Valid',
                      <span key="dates">
                        <Time at={key.certificate.notBefore} as="day" /> to{' '}
                        <Time at={key.certificate.notAfter} as="day" />
                      </span>,
                    ],
                    [
                      'SHA-256',
                      <CopyValue key="print" value={key.certificate.fingerprint} label="fingerprint" />,
                    ],
                    ['Key id', <CopyValue key="id" value={key.id} label="key id" />],
                  ]}
                />
              )}
              {mayChange && key.status === 'active' && (
                <p className="key-actions">
                  <button type="button" onClick={() => setRetiring(key)}>
                    Retire this key
                  </button>
                </p>
              )}
            </details>
          ))}
      </div>
      {retiring !== undefined && (
        <RetireKey path={path} subject={retiring} onClose={() => setRetiring(undefined)} />
      )}
    </>
  );
}

export function RetireKey({
  path,
  subject,
  onClose,
}: {
  readonly path: string;
  readonly subject: DomainKey;
  onClose(): void;
}): ReactNode {
  const announce = useAnnounce();
  const client = useQueryClient();
  return (
    <Confirm
      title="Retire this key"
      action="Retire"
      isDangerous
      preview={async () => subject}
      canConfirm={({ canRetire }) => canRetire}
      render={(shown) =>
        shown.canRetire ? (
          <>
            <p>
              {shown.owner} stops signing with it and publishing it. It still decrypts mail that peers have
              encrypted to it. Peers with a cached certificate learn of the change within the TTL of the
              record.
            </p>
            {shown.status !== 'requested' && <Command words={['key', 'retire', shown.id]} />}
          </>
        ) : (
          <p>
            <StateMark tone="warning">This is the last valid key of {shown.owner}.</StateMark> Install another
            one first: without a key nothing is signed, and no peer can encrypt to it.
          </p>
        )
      }
      onConfirm={async () => {
        const done = await post<DoneAnswer>(`${path}/keys/${encodeURIComponent(subject.id)}/retire`);
        announce({ text: done.sentence });
        await refreshTrust(client);
      }}
      onClose={onClose}
    />
  );
}
