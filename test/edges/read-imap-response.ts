import assert from 'node:assert/strict';

type Value = string | readonly Value[] | null;

/**
 * Reads a response as strict clients do (RFC 9051 §9): a status with a text, or data in atoms, quoted strings,
 * literals and lists with one blank between them. Literals are as `Dialogue.imap` gives them: behind a line end.
 */
export function readResponse(line: string, of = ''): readonly Value[] {
  const fault = `${of} is answered ${JSON.stringify(line)}`;
  assert.ok(line.startsWith('* '), fault);
  const status = /^\* (?:OK|NO|BAD|BYE|PREAUTH) (?:\[[^\]\r\n]+\] )?[^[\r\n]+$/;
  if (/^\* (?:OK|NO|BAD|BYE|PREAUTH)\b/.test(line)) {
    assert.match(line, status, fault);
    return [];
  }
  let at = 2;
  const values: Value[] = [];
  for (;;) {
    values.push(readValue());
    if (at === line.length) return values;
    assert.equal(line[at++], ' ', fault);
  }

  function readValue(): Value {
    const rest = line.slice(at);
    if (rest[0] === '(') return readList();
    const literal = /^\{(\d+)\}\n/.exec(rest);
    if (literal !== null) {
      // The test's own lines are text: octets are counted again.
      const octets = Buffer.from(rest.slice(literal[0].length)).subarray(0, Number(literal[1]));
      assert.equal(octets.length, Number(literal[1]), fault);
      at += literal[0].length + octets.toString().length;
      return octets.toString();
    }
    const quoted = /^"((?:[^"\\\r\n]|\\["\\])*)"/.exec(rest);
    const atom = /^(?:\\?[^\s(){}%*"\\\][\x80-\uffff]+(?:\[[^\]]*\](?:<\d+>)?)?|\\\*)/.exec(rest);
    const found = quoted ?? atom;
    assert.ok(found !== null, fault);
    at += found[0].length;
    if (quoted !== null) return quoted[1] ?? '';
    return found[0] === 'NIL' ? null : found[0];
  }

  function readList(): Value {
    const items: Value[] = [];
    for (at++; line[at] !== ')';) {
      items.push(readValue());
      // Addresses and the parts of a multipart follow each other without a blank.
      if (line[at] === ' ') at++;
      else assert.ok(line[at] === ')' || line[at] === '(', fault);
      assert.ok(at < line.length, fault);
    }
    at++;
    return items;
  }
}
