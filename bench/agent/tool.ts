import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { peerPath } from '../../test/peer-messages/peer-files.ts';
import { at } from './keys.ts';

const warmUpCalls = 100;
const calls = 400;
/** Of the times in /proc. */
const msPerTick = 10;

/** CPU milliseconds of one line to `agent --stdin`, files read and written included. */
export async function measureTool(
  work: 'out' | 'in',
  plain: Uint8Array,
  sealed: Uint8Array,
  folder: string,
): Promise<number> {
  const file = (name: string): string => path.join(folder, name);
  writeFileSync(file('plain.eml'), plain);
  writeFileSync(file('sealed.eml'), sealed);
  const line = `${JSON.stringify(work === 'out' ? sealArguments(file) : openArguments(file))}\n`;
  const program = path.join(import.meta.dirname, '../../bin/openhisp.js');
  const child = spawn(process.execPath, [program, 'agent', '--stdin'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ask = async (): Promise<void> => {
    child.stdin.write(line);
    const answer = String((await answers.next()).value);
    if (!answer.includes('"accept"')) throw new Error(answer);
  };
  for (let index = 0; index < warmUpCalls; index++) await ask();
  const before = cpuMsOf(child.pid ?? 0);
  for (let index = 0; index < calls; index++) await ask();
  const spent = cpuMsOf(child.pid ?? 0) - before;
  child.stdin.end();
  return spent / calls;
}

const common = ['--at', at.toISOString(), '--offline'];
const key = (name: string): string[] => [
  '--key',
  peerPath(`pki/${name}.key`),
  '--cert',
  peerPath(`pki/${name}.pem`),
];

function sealArguments(file: (name: string) => string): string[] {
  const recipient = ['--recipient-cert', peerPath('pki/bob.pem'), '--anchor', peerPath('pki/betaCA.pem')];
  return [
    'seal',
    '--in',
    file('plain.eml'),
    ...key('alice'),
    ...recipient,
    '--out',
    file('out.eml'),
    ...common,
  ];
}

function openArguments(file: (name: string) => string): string[] {
  const anchor = ['--anchor', peerPath('pki/alphaCA.pem')];
  return [
    'open',
    '--in',
    file('sealed.eml'),
    ...key('bob'),
    ...anchor,
    '--out',
    file('opened.eml'),
    ...common,
  ];
}

/** User and system time, all threads (proc_pid_stat(5), fields 14 and 15). */
function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * msPerTick;
}
