import type { ReactNode } from 'react';
import type { CertificatePath, PathNode } from '../../app/console/contract/index.ts';
import { StateMark, StateShape } from './states.tsx';
import { Time } from './time.tsx';

const tones = { ok: 'ok', failed: 'failed', 'not-reached': 'none' } as const;
const roleWords = {
  recipient: "recipient's certificate",
  signer: "signer's certificate",
  issuer: 'issued by',
  anchor: 'anchor',
  missing: 'missing',
} as const;

/** Each candidate certificate with its path to an anchor, and the error at the node where the path ends. */
export function CertificatePaths({ paths }: { readonly paths: readonly CertificatePath[] }): ReactNode {
  return (
    <ul className="paths">
      {paths.map((path, index) => (
        <li key={`${index} ${path.nodes[0]?.fingerprint ?? ''}`}>
          <p>
            <StateMark tone={path.state === 'trusted' ? 'ok' : 'failed'}>{path.state}</StateMark>{' '}
            <span className="muted">{path.text}</span>
          </p>
          <PathTree nodes={path.nodes} />
        </li>
      ))}
    </ul>
  );
}

function PathTree({ nodes }: { readonly nodes: readonly PathNode[] }): ReactNode {
  const [node, ...rest] = nodes;
  if (node === undefined) return null;
  return (
    <ul className="path-tree">
      <li data-state={node.state}>
        <Node node={node} />
        <PathTree nodes={rest} />
      </li>
    </ul>
  );
}

function Node({ node }: { readonly node: PathNode }): ReactNode {
  const { role, state, subject, notBefore, notAfter, fingerprint, code, text } = node;
  return (
    <div className="path-node">
      <span className="path-subject">
        <StateShape tone={tones[state]} /> <span className="muted">{roleWords[role]}</span>{' '}
        <b>{subject === '' ? (role === 'missing' ? 'no certificate' : 'name not stored') : subject}</b>
      </span>
      {state === 'failed' && (text !== '' || code !== '') && (
        <span className="path-reason">
          {text} {code !== '' && <code>{code}</code>}
        </span>
      )}
      <span className="path-facts">
        {notBefore !== null && notAfter !== null && (
          <span>
            valid <Time at={notBefore} as="day" /> to <Time at={notAfter} as="day" />
          </span>
        )}
        {fingerprint !== '' && <code title={`SHA-256 ${fingerprint}`}>{fingerprint.slice(0, 16)}</code>}
      </span>
    </div>
  );
}
