/**
 * Verification of a synthetic nation on a real BIND and OpenLDAP:
 * `node bench/verification/run.ts [--domains 10000] [--largest 5000] [--output FILE]`. Without rates, so that it shows what the job can do;
 * then what a million addresses take at the default rates.
 */
import { appendFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { openTestStorage } from '../../test/support/storage.ts';
import { verifyNation } from '../../test/verification/national.ts';

const { values: options } = parseArgs({
  options: {
    domains: { type: 'string', default: '10000' },
    largest: { type: 'string', default: '5000' },
    output: { type: 'string' },
  },
});

/** The default of `verification.queriesPerSecond`. */
const politePerSecond = 10;
const million = 1_000_000;
const withinMs = 1_500_000;

const domains = Number(options.domains);
const storage = await openTestStorage();
const cpuBefore = process.cpuUsage();
const figures = await verifyNation(storage, {
  domains,
  largest: Number(options.largest),
  domainsPerOperator: 100,
  changes: { slots: 64 },
  withinMs,
});
const cpu = process.cpuUsage(cpuBefore);
const counts = storage.counts();
await storage.close();

const perDomain = figures.questions / domains;
const perAddress = figures.questions / figures.addresses;
const days = (questions: number): string => (questions / politePerSecond / 86_400).toFixed(2);
const lines = [
  '| measure | value |',
  '|---|---:|',
  `| domains, addresses | ${domains}, ${figures.addresses} |`,
  `| time | ${figures.seconds.toFixed(1)} s |`,
  `| addresses per second | ${(figures.addresses / figures.seconds).toFixed(0)} |`,
  `| processor time of the process, named and slapd apart | ${((cpu.user + cpu.system) / 1e6).toFixed(1)} s |`,
  `| questions, per domain, per address | ${figures.questions}, ${perDomain.toFixed(2)}, ${perAddress.toFixed(2)} |`,
  `| DNS packets that reached the proxy | ${figures.dnsQueries} |`,
  `| transactions | ${counts.transactions} |`,
  ...Object.entries(figures.expected).map(
    ([state, count]) => `| ${state}: found, published | ${figures.states[state] ?? 0}, ${count} |`,
  ),
  `| a million addresses with this mix at ${politePerSecond} questions per second | ${days(perAddress * million)} days |`,
  '',
  `Machine: ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}, shared with other work.`,
];
console.log(lines.join('\n'));
if (options.output !== undefined) await appendFile(options.output, `${lines.join('\n')}\n`);
