import { useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import type {
  AnchorAnswer,
  DomainAnchor,
  DomainBundle,
  DoneAnswer,
  InboundDetails,
  NewAnchor,
  NewBundle,
} from '../../../app/console/contract/index.ts';
import { ask, post, remove } from '../../api/client.ts';
import { refreshTrust } from '../../api/refresh-trust.ts';
import { useAnnounce } from '../../components/announce.tsx';
import { Command } from '../../components/command.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { Field, SelectField, TextField, type Option } from '../../components/fields.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Facts } from '../../components/screen.tsx';
import { StateMark } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';

type Direction = NewAnchor['direction'];
const directions: readonly Option[] = [
  ['both', 'both: sent and received mail'],
  ['incoming', 'incoming: received mail only'],
  ['outgoing', 'outgoing: sent mail only'],
];

interface OfDomain {
  readonly domain: string;
  readonly path: string;
  readonly onClose: () => void;
}

/**
 * A CA certificate is read and shown first; the second step trusts it. `offered`: CAs above the signer of
 * refused mail, lowest first, to choose from.
 */
export function AnchorDialog({
  domain,
  path,
  offered = [],
  onClose,
}: OfDomain & { readonly offered?: InboundDetails['authorities'] }): ReactNode {
  const [certificate, setCertificate] = useState(offered.at(-1)?.pem ?? '');
  const [direction, setDirection] = useState<Direction>('both');
  const [shown, setShown] = useState<AnchorAnswer>();
  const announce = useAnnounce();
  const queries = useQueryClient();
  const request = { certificate, direction };
  return (
    <FormDialog<AnchorAnswer>
      key={shown === undefined ? 'read' : 'trust'}
      title={`Trust a CA for ${domain}`}
      action={shown === undefined ? 'Next' : 'Trust this CA'}
      fields={['certificate']}
      canSend={certificate.trim() !== ''}
      send={() =>
        shown === undefined
          ? ask<AnchorAnswer>(`${path}/anchors`, { ...request, preview: true } satisfies NewAnchor)
          : post<AnchorAnswer>(`${path}/anchors`, { ...request, preview: false } satisfies NewAnchor)
      }
      onDone={(answer) => {
        if (shown === undefined) return setShown(answer);
        announce({ text: answer.sentence });
        void refreshTrust(queries);
        return onClose();
      }}
      onClose={onClose}
    >
      {(problemOf) =>
        shown === undefined ? (
          <>
            {offered.length > 1 && (
              <SelectField
                label="CA"
                options={offered.map(({ pem, subject }): Option => [pem, subject])}
                value={certificate}
                onValue={setCertificate}
              />
            )}
            <Pem
              label="Certificate of the CA"
              value={certificate}
              onText={setCertificate}
              error={problemOf('certificate')}
            />
            <SelectField
              label="For"
              options={directions}
              value={direction}
              onValue={(value) => setDirection(value as Direction)}
            />
            <Command
              words={[
                'anchor',
                'add',
                domain,
                'ca.pem',
                ...(direction === 'both' ? [] : ['--direction', direction]),
              ]}
            />
          </>
        ) : (
          <>
            <p>{shown.sentence}</p>
            {shown.warning !== '' && <StateMark tone="warning">{shown.warning}</StateMark>}
            <Facts
              facts={[
                ['Subject', shown.certificate.subject],
                ['Issuer', shown.certificate.issuer],
                [
                  'Valid',
                  <span key="valid">
                    <Time at={shown.certificate.notBefore} as="day" /> to{' '}
                    <Time at={shown.certificate.notAfter} as="day" />
                  </span>,
                ],
                ['Key', shown.certificate.algorithm],
                ['SHA-256', <code key="print">{shown.certificate.fingerprint}</code>],
              ]}
            />
            <p className="muted">Compare the fingerprint with the partner's by another way than e-mail.</p>
          </>
        )
      }
    </FormDialog>
  );
}

/** Text of a PEM file, pasted or chosen. */
function Pem({
  label,
  hint = 'PEM: paste it, or choose the file',
  value,
  onText,
  error,
}: {
  readonly label: string;
  readonly hint?: string;
  readonly value: string;
  readonly onText: (text: string) => void;
  readonly error: string | undefined;
}): ReactNode {
  return (
    <Field label={label} hint={hint} error={error}>
      {(tie) => (
        <>
          <textarea
            {...tie}
            rows={5}
            spellCheck={false}
            className="mono"
            value={value}
            onChange={(event) => onText(event.currentTarget.value)}
          />
          <input
            type="file"
            aria-label={`File: ${label}`}
            accept=".pem,.crt,.cer"
            onChange={(event) => {
              void event.currentTarget.files?.[0]?.text().then(onText);
            }}
          />
        </>
      )}
    </Field>
  );
}

/** Follows a published bundle. */
export function BundleDialog({ domain, path, onClose }: OfDomain): ReactNode {
  const [typed, setTyped] = useState({ url: '', direction: 'both', hours: '24', signer: '' });
  const type = (change: Partial<typeof typed>): void => setTyped({ ...typed, ...change });
  const announce = useAnnounce();
  const queries = useQueryClient();
  const { url, direction, hours, signer } = typed;
  return (
    <FormDialog<DoneAnswer>
      title={`Follow a trust bundle for ${domain}`}
      action="Add"
      fields={['url', 'refreshHours', 'signer']}
      canSend={url.trim() !== ''}
      send={() =>
        post<DoneAnswer>(`${path}/bundles`, {
          url: url.trim(),
          direction: direction as Direction,
          refreshHours: Number(hours),
          ...(signer.trim() !== '' && { signer }),
        } satisfies NewBundle)
      }
      onDone={({ sentence }) => {
        announce({ text: sentence });
        void refreshTrust(queries);
        onClose();
      }}
      onClose={onClose}
    >
      {(problemOf) => (
        <>
          <TextField
            label="URL"
            type="url"
            placeholder="https://bundles.example/direct.p7b"
            required
            maxLength={2000}
            value={url}
            onText={(text) => type({ url: text })}
            error={problemOf('url')}
          />
          <SelectField
            label="For"
            options={directions}
            value={direction}
            onValue={(value) => type({ direction: value })}
          />
          <TextField
            label="Hours between fetches"
            inputMode="decimal"
            value={hours}
            onText={(text) => type({ hours: text })}
            error={problemOf('refreshHours')}
          />
          <Pem
            label="Signer"
            hint="optional: the certificate that must have signed the bundle; without it the URL is https"
            value={signer}
            onText={(text) => type({ signer: text })}
            error={problemOf('signer')}
          />
          <Command
            words={[
              'bundle',
              'add',
              domain,
              url.trim() === '' ? 'https://…' : url.trim(),
              ...(direction === 'both' ? [] : ['--direction', direction]),
              ...(hours === '24' ? [] : ['--refresh-hours', hours]),
              ...(signer.trim() === '' ? [] : ['--signer', 'signer.pem']),
            ]}
          />
        </>
      )}
    </FormDialog>
  );
}

/** What ends with an anchor or a bundle, before it is removed. */
export function RemoveTrust({
  path,
  anchor,
  bundle,
  onClose,
}: {
  readonly path: string;
  readonly anchor?: DomainAnchor | undefined;
  readonly bundle?: DomainBundle | undefined;
  readonly onClose: () => void;
}): ReactNode {
  const announce = useAnnounce();
  const queries = useQueryClient();
  const id = anchor?.id ?? bundle?.id ?? '';
  return (
    <Confirm
      title={anchor === undefined ? 'Remove this bundle' : 'Stop trusting this CA'}
      action="Remove"
      isDangerous
      preview={async () => id}
      render={() => (
        <>
          <p>
            {anchor === undefined
              ? `${bundle?.url ?? ''}: its ${bundle?.anchorCount ?? 0} anchors are no longer trusted, and mail of their holders is refused.`
              : `Mail of everybody with a certificate under ${anchor.certificate.subject} is refused, and none can be sent to them.`}
          </p>
          <Command words={[anchor === undefined ? 'bundle' : 'anchor', 'remove', id]} />
        </>
      )}
      onConfirm={async () => {
        const part = anchor === undefined ? 'bundles' : 'anchors';
        const done = await remove<DoneAnswer>(`${path}/${part}/${encodeURIComponent(id)}`);
        announce({ text: done.sentence });
        await refreshTrust(queries);
      }}
      onClose={onClose}
    />
  );
}
