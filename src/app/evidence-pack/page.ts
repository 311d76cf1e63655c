import { escapeHidden } from '../../core/index.ts';
import type { PackPart } from './requirements.ts';
import type { EvidencePack } from './pack.ts';

/** Where the signed statement goes; before it is there, this alone. */
export const statementStart = '<script type="application/jose" id="statement">';
export const statementEnd = '</script>';

type Cell = string | number | undefined;

/** The whole page, without its statement. It loads nothing and runs no script. */
export function renderPage(pack: EvidencePack): string {
  const isIntact = pack.verification.every((finding) => finding.isIntact);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Evidence of operation, ${text(pack.from.slice(0, 10))} to ${text(lastDay(pack))}</title>
<style>${style}</style>
</head>
<body>
<h1>Evidence of operation</h1>
<p>${text(pack.product.name)} ${text(pack.product.version)}, from ${text(pack.from)} until ${text(pack.until)} (all times are UTC). Signed by the key
<code>${text(pack.publicKey?.kid ?? 'none')}</code> of the audit trail. To check this file: <code>openhisp evidence verify FILE</code>.</p>
<p class="${isIntact ? 'good' : 'bad'}">${isIntact ? 'All stored data was whole when this was made.' : 'Stored data was changed or is missing: see Verification.'}</p>
${sections(pack).join('\n')}
${statementStart}${statementEnd}
</body>
</html>
`;
}

const titles: Readonly<Record<PackPart, string>> = {
  product: 'Software',
  requirements: 'Where to find what',
  verification: 'Verification',
  auditTrail: 'Audit trail',
  domains: 'Domains, keys and anchors',
  operators: 'Operators',
  clients: 'Clients of the API',
  edgeAccounts: 'Edge accounts',
  changes: 'Changes',
  signIns: 'Sign-ins and tokens',
  activity: 'All actions',
  deliveries: 'Deliveries',
  serviceTime: 'Time in service',
  backups: 'Backups and restores',
  retention: 'Retention',
  settings: 'Settings',
  components: 'Bill of materials',
};

function sections(pack: EvidencePack): string[] {
  const { product, auditTrail } = pack;
  const section = (part: keyof typeof titles, ...content: string[]): string =>
    `<section id="${part}"><h2>${titles[part]}</h2>\n${content.join('\n')}</section>`;
  const counts = (rows: EvidencePack['activity']): string =>
    table(
      ['Month', 'Action', 'Outcome', 'Number'],
      rows.map(({ month, action, outcome, count }) => [month, action, outcome, count]),
    );
  const events = (rows: EvidencePack['changes']): string =>
    table(
      ['Event', 'Time', 'Action', 'Outcome', 'By', 'Concerning'],
      rows.map(({ sequence, time, action, outcome, actor, objects }) => [
        sequence,
        time,
        action,
        outcome,
        actor,
        Object.entries(objects)
          .map(([name, value]) => `${name} ${value}`)
          .join(', '),
      ]),
    );
  return [
    section(
      'requirements',
      tableOfHtml(
        ['Requirement', 'Heading', 'Parts'],
        pack.requirements.map(({ source, heading, parts }) => [
          text(source),
          text(heading),
          parts.map((part) => `<a href="#${part}">${titles[part]}</a>`).join(', '),
        ]),
      ),
    ),
    section(
      'verification',
      table(
        ['Check', 'Result', 'Finding'],
        pack.verification.map(({ check, isIntact, text: finding }) => [
          check,
          isIntact ? 'whole' : 'NOT WHOLE',
          finding,
        ]),
      ),
    ),
    section(
      'auditTrail',
      auditTrail === undefined
        ? none
        : `<p>${auditTrail.eventCount} events of the period, from event ${auditTrail.firstSequence} to event ${auditTrail.lastSequence}, whose hash is
<code>${text(auditTrail.lastHash)}</code>.</p>`,
    ),
    section('domains', ...pack.domains.flatMap(renderDomain), pack.domains.length === 0 ? none : ''),
    section(
      'operators',
      table(
        ['Name', 'Role', 'Organization', 'Signs in by', 'Created', 'Disabled'],
        pack.operators.map(({ name, role, organization, isExternal, created, disabled }) => [
          name,
          role,
          organization ?? 'all',
          isExternal ? 'OpenID provider' : 'passkey',
          created,
          disabled,
        ]),
      ),
    ),
    section(
      'clients',
      table(
        ['Client', 'Name', 'Scopes', 'Addresses', 'Created', 'Disabled'],
        pack.clients.map((one) => [
          one.clientId,
          one.name,
          one.scopes.join(' '),
          one.addresses.join(' '),
          one.created,
          one.disabled,
        ]),
      ),
    ),
    section(
      'edgeAccounts',
      table(
        ['User name', 'Client', 'Addresses', 'Protocols', 'Created', 'Disabled'],
        pack.edgeAccounts.map((one) => [
          one.username,
          one.clientId,
          one.addresses.join(' '),
          one.protocols.join(' '),
          one.created,
          one.disabled,
        ]),
      ),
    ),
    section('changes', events(pack.changes)),
    section('signIns', counts(pack.signIns)),
    section(
      'deliveries',
      '<p>Of messages that are still kept, by the month in which they were accepted; seconds until the last state of those delivered.</p>',
      table(
        ['Month', 'Recipients', 'States', 'Median', '95 %', 'Slowest'],
        pack.deliveries.map(({ month, recipients, states, delivered }) => [
          month,
          recipients,
          Object.entries(states)
            .map(([state, count]) => `${state} ${count}`)
            .join(', '),
          delivered?.median,
          delivered?.p95,
          delivered?.slowest,
        ]),
      ),
    ),
    section(
      'serviceTime',
      table(
        ['Month', 'In service', 'Seconds', 'Of'],
        pack.serviceTime.map(({ month, seconds, served }) => [
          month,
          share(served, seconds),
          served,
          seconds,
        ]),
      ),
    ),
    section('backups', events(pack.backups)),
    section(
      'retention',
      table(
        ['What', 'Setting', 'Days'],
        pack.retention.map(({ data, setting, days }) => [data, setting, days]),
      ),
    ),
    section(
      'settings',
      table(
        ['Setting', 'Value', ''],
        pack.settings.map(({ name, value, isDefault }) => [name, value, isDefault ? '' : 'not the default']),
      ),
    ),
    section('activity', counts(pack.activity)),
    section(
      'product',
      `<p>${text(product.name)} ${text(product.version)}, Node ${text(product.node)}, ${text(product.database)}.</p>`,
    ),
    section(
      'components',
      table(
        ['Package', 'Version', 'License'],
        pack.components.map(({ name, version, licenses }) => [
          name,
          version,
          licenses.map(({ expression }) => expression).join(', '),
        ]),
      ),
    ),
  ];
}

function renderDomain({
  domain,
  addresses,
  keys,
  anchors,
  bundles,
}: EvidencePack['domains'][number]): string[] {
  return [
    `<h3>${text(domain)}</h3><p>${addresses} addresses.</p>`,
    table(
      ['Certificate of', 'State', 'Subject', 'Valid from', 'Valid until', 'SHA-256'],
      keys.map((key) => [key.owner, key.status, key.subject, key.notBefore, key.notAfter, key.fingerprint]),
    ),
    table(
      ['Anchor', 'Direction', 'Of', 'Valid until', 'SHA-256'],
      anchors.map((anchor) => [
        anchor.subject,
        anchor.direction,
        anchor.isOfBundle ? 'a bundle' : 'this domain',
        anchor.notAfter,
        anchor.fingerprint,
      ]),
    ),
    bundles.length === 0
      ? ''
      : table(
          ['Bundle', 'Direction', 'Anchors'],
          bundles.map((bundle) => [bundle.url, bundle.direction, bundle.anchors]),
        ),
  ];
}

const none = '<p>None.</p>';

const table = (heads: readonly string[], rows: readonly (readonly Cell[])[]): string =>
  tableOfHtml(
    heads,
    rows.map((row) => row.map((cell) => breakable(text(shortTime(String(cell ?? '')))))),
  );

function tableOfHtml(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return none;
  const head = heads.map((word) => `<th>${text(word)}</th>`).join('');
  const body = rows.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`).join('\n');
  return `<table><thead><tr>${head}</tr></thead>\n<tbody>${body}</tbody></table>`;
}

/** Fingerprints and ids may be broken, words may not. */
const breakable = (html: string): string => html.replaceAll(/[\w-]{16}(?=[\w-]{8})/g, '$&<wbr>');

/** Without milliseconds, which the signed statement has. */
const shortTime = (cell: string): string =>
  cell.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)\.\d{3}Z$/, '$1 $2');

/** Never rounded up: a month with a second missing is not 100 %. */
const share = (part: number, whole: number): string =>
  whole === 0 ? '' : `${(Math.floor((part / whole) * 100_000) / 1000).toFixed(3)} %`;

const lastDay = ({ until }: EvidencePack): string =>
  new Date(Date.parse(until) - 1).toISOString().slice(0, 10);

/** Text of others may hold anything: what hides or turns text is shown by its code. */
function text(value: string): string {
  return escapeHidden(value).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const style = `body{font:14px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;color:#1a1d21}
h1{font-size:1.6rem}h2{font-size:1.15rem;margin:2rem 0 .5rem;border-bottom:1px solid #ccd2d9}h3{font-size:1rem}
table{border-collapse:collapse;width:100%;margin:.5rem 0 1rem}th,td{text-align:left;vertical-align:top;padding:.25rem .6rem .25rem 0;border-bottom:1px solid #e6e9ed}
th{font-weight:600}code{font-size:.9em;overflow-wrap:anywhere}.good{color:#0b6b3a}.bad{color:#a3161f;font-weight:700}
@media print{body{margin:0;max-width:none;font-size:10pt}thead{display:table-header-group}tr{break-inside:avoid}}`;
