import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from './create-log.ts';

function collect(isReadable: boolean): { lines: string[]; log: ReturnType<typeof createLog> } {
  const lines: string[] = [];
  return { lines, log: createLog({ level: 'info', isReadable, write: (line) => void lines.push(line) }) };
}

test('a line is JSON with level, time in UTC, text and fields', () => {
  const { lines, log } = collect(false);
  log.info({ messageId: 'm1', count: 2 }, 'sent');
  const line = JSON.parse(lines[0] ?? '') as Record<string, unknown>;
  assert.deepEqual([line['level'], line['msg'], line['messageId'], line['count']], ['info', 'sent', 'm1', 2]);
  assert.match(String(line['time']), /^\d{4}-\d\d-\d\dT.*Z$/);
});

test('less than the set level is not written', () => {
  const { lines, log } = collect(false);
  log.debug({}, 'no');
  assert.equal(lines.length, 0);
});

test('SEC-03: secrets, tokens and patient fields never get out, however deep they are', () => {
  const { lines, log } = collect(false);
  const secret = 'do-not-show';
  const names = [
    'authorization',
    'client_secret',
    'accessToken',
    'messageBody',
    'patientLastname',
    'attachmentContent',
    'privateKey',
  ];
  for (const name of names) {
    log.info({ [name]: secret }, 'one');
    log.info({ request: { [name]: secret } }, 'two');
    log.info({ request: { body: { [name]: secret }, headers: { [name]: secret } } }, 'three');
  }
  assert.ok(!lines.join('').includes(secret));
});

test('shows class, code and causes of an error, and no other properties', () => {
  const { lines, log } = collect(false);
  const cause = Object.assign(new Error('inner'), { code: 'E_INNER', payload: 'do-not-show' });
  log.error({ error: new Error('outer', { cause }) }, 'failed');
  const line = JSON.parse(lines[0] ?? '') as {
    error: { text: string; cause: { code: string; text: string } };
  };
  assert.deepEqual(
    [line.error.text, line.error.cause.code, line.error.cause.text],
    ['outer', 'E_INNER', 'inner'],
  );
  assert.ok(!lines.join('').includes('do-not-show'));
});

test('text of others obeys no terminal and forges no line, as JSON and on a terminal', () => {
  const hostile = '\u001b[2J\u009b1m\u202e\u2066\u200b\u2028\u0085\r\nok forged\u{e0041}';
  for (const isReadable of [false, true]) {
    const { lines, log } = collect(isReadable);
    log.warn({ reply: hostile, list: [{ [hostile]: hostile }] }, hostile);
    log.warn({ reply: hostile.replaceAll(/\s/g, '') }, 'no white space');
    log.error({ error: new Error(hostile, { cause: new Error(hostile) }) }, 'failed');
    for (const line of lines) assert.doesNotMatch(line, /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
    assert.equal(lines[0]?.split('\n').length, 2);
    if (isReadable) continue;
    for (const line of lines) assert.equal(line.split('\n').length, 2);
    const first = JSON.parse(lines[0] ?? '') as Record<string, unknown>;
    assert.deepEqual(
      [first['msg'], first['reply'], first['list']],
      [hostile, hostile, [{ [hostile]: hostile }]],
    );
  }
});

test('on a terminal a line reads well, with the stack of an error below it', () => {
  const { lines, log } = collect(true);
  log.child({ worker: 'delivery' }).warn({ attempt: 2, reason: 'no answer' }, 'try again');
  log.error({ error: new Error('outer', { cause: new Error('inner') }) }, 'failed');
  assert.match(
    lines[0] ?? '',
    /^\d\d:\d\d:\d\d\.\d{3} WARN {2}try again worker=delivery attempt=2 reason="no answer"\n$/,
  );
  assert.match(lines[1] ?? '', /failed\n {4}Error: outer\n[^]*caused by\n {4}Error: inner/);
});
