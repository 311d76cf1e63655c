import { decodeUtf16 } from './utf16.ts';

/** Character sets that the runtime does not decode, by the label that `findLabel` gives them. */
export const ownDecoders: ReadonlyMap<string, (bytes: Uint8Array) => string> = new Map([
  ['utf-7', decodeUtf7],
  ['iso-2022-jp', decodeIso2022Jp],
  ['iso-2022-kr', decodeIso2022Kr],
  ['hz-gb-2312', decodeHz],
  ['ibm437', (bytes) => decodeTable(bytes, ibm437)],
  ['ibm850', (bytes) => decodeTable(bytes, ibm850)],
  ['ibm852', (bytes) => decodeTable(bytes, ibm852)],
  // The code page 850 with the sign of the euro.
  ['ibm858', (bytes) => decodeTable(bytes, ibm850.replace('ı', '€'))],
]);

function latinOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

// ESC, and the character set that it shifts to.
const shift = String.raw`\u001b(?:\([BJI]|\$[@B])`;
const idleShifts = new RegExp(`(?:${shift})+(?=${shift})`, 'g');
const japanese = new RegExp(String.raw`\u001b\$[@B](?:[!-~]{2})+\u001b\([BJ]`);
const shiftedOut = new RegExp(String.raw`\u000e([^\u000f\r\n]*)\u000f?`, 'g');

/** True for octets that only ISO-2022-JP explains: a shift to Japanese, and one back. */
export function hasJapaneseShifts(bytes: Uint8Array): boolean {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (!buffer.includes('\u001b$')) return false;
  return japanese.test(buffer.toString('latin1'));
}

/**
 * A shift that another follows at once, as between two encoded words, is an error to the decoder; it has no
 * effect.
 */
function decodeIso2022Jp(bytes: Uint8Array): string {
  const plain = latinOf(bytes).replaceAll(idleShifts, '');
  return new TextDecoder('iso-2022-jp').decode(Buffer.from(plain, 'latin1'));
}

/** RFC 1557: between SO and SI, or the end of the line, the octets of EUC-KR without their high bits. */
function decodeIso2022Kr(bytes: Uint8Array): string {
  const plain = latinOf(bytes)
    .replaceAll('\u001b$)C', '')
    .replaceAll(shiftedOut, (_, hangul: string) => withHighBits(hangul))
    .replaceAll('\u000f', '');
  return new TextDecoder('euc-kr').decode(Buffer.from(plain, 'latin1'));
}

/** RFC 1843: between `~{` and `~}` the octets of GB 2312 without their high bits; `~~` is a tilde. */
function decodeHz(bytes: Uint8Array): string {
  const plain = latinOf(bytes).replaceAll(
    /~(?:\{((?:[!-w][!-~])*)(?:~\})?|~|\r?\n)/g,
    (whole, hanzi: string | undefined) => (hanzi === undefined ? whole.slice(1).trim() : withHighBits(hanzi)),
  );
  return new TextDecoder('gbk').decode(Buffer.from(plain, 'latin1'));
}

function withHighBits(text: string): string {
  return text.replaceAll(/[!-~]/g, (one) => String.fromCharCode(one.charCodeAt(0) | 0x80));
}

/** RFC 2152: `+`, UTF-16 in base64, and a hyphen that may be missing; `+-` is a plus sign. */
function decodeUtf7(bytes: Uint8Array): string {
  return latinOf(bytes).replaceAll(/\+([A-Za-z0-9+/]*)-?/g, (whole, base64: string) => {
    if (base64 === '') return whole === '+-' ? '+' : whole;
    const units = Buffer.from(base64, 'base64');
    return units.length < 2 ? whole : decodeUtf16(units.subarray(0, units.length & ~1), 'utf-16be');
  });
}

function decodeTable(bytes: Uint8Array, upperHalf: string): string {
  return latinOf(bytes).replaceAll(/[\x80-\xff]/g, (one) => upperHalf.charAt(one.charCodeAt(0) - 0x80));
}

// The characters of the octets from 0x80 to 0xff in the code pages of DOS.
const ibm437 =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐' +
  '└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0';
const ibm850 =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐' +
  '└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u00ad±‗¾¶§÷¸°¨·¹³²■\u00a0';
const ibm852 =
  'ÇüéâäůćçłëŐőîŹÄĆÉĹĺôöĽľŚśÖÜŤťŁ×čáíóúĄąŽžĘę¬źČş«»░▒▓│┤ÁÂĚŞ╣║╗╝Żż┐' +
  '└┴┬├─┼Ăă╚╔╩╦╠═╬¤đĐĎËďŇÍÎě┘┌█▄ŢŮ▀ÓßÔŃńňŠšŔÚŕŰýÝţ´\u00ad˝˛ˇ˘§÷¸°¨˙űŘř■\u00a0';
