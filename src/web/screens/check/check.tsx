import { useCallback, useEffect, useRef, useState, type ReactNode } from 'react';
import { useSearchParams } from 'wouter';
import type { AddressCheckEvent } from '../../../app/console/contract/index.ts';
import { postForLines } from '../../api/client.ts';
import { useMay, useSession } from '../../api/session.ts';
import { CertificatePaths } from '../../components/certificate-paths.tsx';
import { Copy } from '../../components/copy.tsx';
import { SelectField, TextField } from '../../components/fields.tsx';
import { Screen, Section } from '../../components/screen.tsx';
import { EmptyState, ErrorState, StateShape } from '../../components/states.tsx';
import { formatDuration } from '../../components/time.tsx';
import { SendTest } from './send-test.tsx';

type Started = Extract<AddressCheckEvent, { type: 'started' }>;
type Step = Extract<AddressCheckEvent, { type: 'step' }>;
type Certificate = Extract<AddressCheckEvent, { type: 'certificate' }>;
type Decision = Extract<AddressCheckEvent, { type: 'decision' }>;

interface Check {
  readonly isRunning: boolean;
  readonly events: readonly AddressCheckEvent[];
  readonly error: Error | undefined;
}

const noCheck: Check = { isRunning: false, events: [], error: undefined };

/**
 * Runs discovery and validation for an address as a delivery would, and shows whether a message could be
 * sent.
 */
export function CheckScreen(): ReactNode {
  const { hisp } = useSession();
  const [parameters, setParameters] = useSearchParams();
  const wanted = parameters.get('address') ?? '';
  const [address, setAddress] = useState(wanted);
  const [fromDomain, setFromDomain] = useState(
    hisp.domains.find((domain) => domain === parameters.get('from')) ?? hisp.domains[0] ?? '',
  );
  const [check, run] = useCheck();
  const asked = useRef('');
  useEffect(() => {
    setAddress(wanted);
    if (wanted === '' || asked.current === wanted) return;
    asked.current = wanted;
    run(wanted, fromDomain);
  }, [wanted, fromDomain, run]);
  return (
    <Screen
      title="Check an address"
      lead="Finds the address's certificates as a delivery would, validates them against the anchors of your domain, and shows whether a message could be sent. Nothing is sent."
    >
      <form
        className="check-form"
        onSubmit={(event) => {
          event.preventDefault();
          const text = address.trim();
          if (text === '') return;
          asked.current = text;
          setParameters({ address: text }, { replace: true });
          run(text, fromDomain);
        }}
      >
        <TextField
          label="Direct address"
          type="text"
          inputMode="email"
          placeholder="name@direct.example.org"
          data-search=""
          required
          maxLength={255}
          value={address}
          onText={setAddress}
        />
        {hisp.domains.length > 1 && (
          <SelectField
            label="Anchors of"
            options={hisp.domains.map((domain) => [domain, domain] as const)}
            value={fromDomain}
            onValue={setFromDomain}
          />
        )}
        <button type="submit" className="primary" disabled={check.isRunning}>
          {check.isRunning ? 'Checking' : 'Check'}
        </button>
      </form>
      {check.error !== undefined && <ErrorState error={check.error} />}
      {check.events.length === 0 && check.error === undefined && !check.isRunning && (
        <EmptyState title="No address checked yet">
          <p>Enter the address that somebody cannot reach. The check is recorded in the audit trail.</p>
        </EmptyState>
      )}
      <Result check={check} />
    </Screen>
  );
}

function useCheck(): readonly [Check, (address: string, fromDomain: string) => void] {
  const [check, setCheck] = useState<Check>(noCheck);
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const run = useCallback((address: string, fromDomain: string) => {
    running.current?.abort();
    const control = new AbortController();
    running.current = control;
    setCheck({ ...noCheck, isRunning: true });
    const read = async (): Promise<void> => {
      const body = { address, ...(fromDomain === '' ? {} : { fromDomain }) };
      let isDecided = false;
      for await (const event of postForLines<AddressCheckEvent>('/address-checks', body, control.signal)) {
        isDecided ||= event.type === 'decision' || event.type === 'failed';
        setCheck((before) => ({ ...before, events: [...before.events, event] }));
      }
      if (!isDecided) throw new Error('The check ended without a result. Run it again.');
    };
    read().then(
      () => setCheck((before) => ({ ...before, isRunning: false })),
      (error: unknown) => {
        if (control.signal.aborted) return;
        setCheck((before) => ({
          ...before,
          isRunning: false,
          error: error instanceof Error ? error : new Error(String(error)),
        }));
      },
    );
  }, []);
  return [check, run];
}

function Result({ check: { events, isRunning } }: { readonly check: Check }): ReactNode {
  const started = events.find((event): event is Started => event.type === 'started');
  const steps = events.filter((event): event is Step => event.type === 'step');
  const certificates = events.filter((event): event is Certificate => event.type === 'certificate');
  const decision = events.find((event): event is Decision => event.type === 'decision');
  const failed = events.find((event) => event.type === 'failed');
  if (started === undefined && failed === undefined) return null;
  return (
    <>
      <div aria-live="polite">
        {decision !== undefined && <DecisionView decision={decision} />}
        {failed?.type === 'failed' && <ErrorState error={new Error(failed.text)} />}
      </div>
      {decision !== undefined && started !== undefined && <Test of={started} />}
      {started !== undefined && (
        <Section title="Discovery" note="Places are queried in order until one has a certificate.">
          <Steps
            started={started}
            steps={steps}
            isRunning={isRunning && decision === undefined}
            isDecided={decision !== undefined}
          />
        </Section>
      )}
      {certificates.length > 0 && (
        <Section
          title="Certificates and path"
          note={`Validated against the anchors of ${started?.fromDomain ?? ''}.`}
        >
          <CertificatePaths paths={certificates.map(({ path }) => path)} />
        </Section>
      )}
      {decision !== undefined && decision.letter !== '' && (
        <Section
          title="For the operator of the other HISP"
          actions={<Copy text={decision.letter} label="Copy the text" />}
        >
          <pre>{decision.letter}</pre>
        </Section>
      )}
    </>
  );
}

/** What a check cannot tell: whether the other HISP takes a message, and answers it. */
function Test({ of: { address, fromDomain } }: { readonly of: Started }): ReactNode {
  const maySend = useMay('messages.send');
  const [isOpen, setOpen] = useState(false);
  if (!maySend) return null;
  return (
    <>
      <p className="check-test">
        <button type="button" onClick={() => setOpen(true)}>
          Send a test message
        </button>
      </p>
      {isOpen && <SendTest to={address} domain={fromDomain} onClose={() => setOpen(false)} />}
    </>
  );
}

function DecisionView({ decision }: { readonly decision: Decision }): ReactNode {
  const { level, sentence, whatToDo, reason, code, statusCode, elapsedMs, isTransient } = decision;
  const codes = [reason, code, statusCode].filter((word) => word !== '').join(' · ');
  return (
    <div className="verdict check-decision" data-tone={level}>
      <p className="verdict-sentence">
        <StateShape tone={level} /> {sentence}
      </p>
      {whatToDo !== '' && (
        <p>
          <b>What to do:</b> {whatToDo}
        </p>
      )}
      <p className="verdict-facts">
        {codes !== '' && <code>{codes}</code>}
        {isTransient && <span>may be temporary: deliveries are retried</span>}
        <span>took {formatDuration(elapsedMs)}</span>
      </p>
    </div>
  );
}

function Steps({
  started,
  steps,
  isRunning,
  isDecided,
}: {
  readonly started: Started;
  readonly steps: readonly Step[];
  readonly isRunning: boolean;
  readonly isDecided: boolean;
}): ReactNode {
  const next = started.places.find(({ source }) => !steps.some((step) => step.source === source));
  return (
    <ol className="steps">
      {started.places.map(({ source, title }) => {
        const step = steps.find((one) => one.source === source);
        const isNext = isRunning && next?.source === source;
        return (
          <li key={source} data-reached={step !== undefined}>
            <StateShape tone={step?.level ?? (isNext ? 'waiting' : 'none')} />
            <span className="step-title">{step?.title ?? title}</span>
            <span className="step-text">
              {step === undefined ? (
                <span className="muted">
                  {isNext ? 'querying …' : isDecided ? 'not needed' : 'not queried'}
                </span>
              ) : (
                <>
                  <b>{step.outcome}:</b> {step.text}{' '}
                  <span className="sub">
                    <code>{step.query}</code>{' '}
                    {[step.via, step.ttlSeconds > 0 ? `TTL\u00A0${step.ttlSeconds}\u00A0s` : '', step.detail]
                      .filter((word) => word !== '')
                      .join(' · ')}
                  </span>
                </>
              )}
            </span>
            <span className="step-time">{step !== undefined && formatDuration(step.elapsedMs)}</span>
          </li>
        );
      })}
    </ol>
  );
}
