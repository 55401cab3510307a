// Reads the data that build.mjs has packed into the page. The data are deflated, and then stored as
// text. A character of one byte stores seven bits, and a character of two bytes stores 16 bits.

/** Returns the bytes in an element of the page, or null if the element does not exist. */
export function packed(id: string): ArrayBuffer | null {
  const place = document.getElementById(id);
  return place === null ? null : fromText(place.textContent ?? "", Number(place.dataset["bytes"]));
}

/** Returns the text in an element of the page. */
export async function text(id: string): Promise<string> {
  const bytes = packed(id) ?? new ArrayBuffer(0);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).text();
}

/** Values of seven bits whose characters would need escaping. The text has characters of two bytes
 * instead. */
const AVOIDED = [0x00, 0x0d, 0x3c];

/** Decodes bytes from text. */
function fromText(text: string, size: number): ArrayBuffer {
  const bytes = new Uint8Array(size);
  let [held, bits, length] = [0, 0, 0];
  const push = (value: number, width: number) => {
    held = (held << width) | value;
    // The last bits of the text are padding. If they form a byte beyond the end of `bytes`, the
    // assignment has no effect.
    for (bits += width; bits >= 8; held &= (1 << bits) - 1) {
      bits -= 8;
      bytes[length++] = held >> bits;
    }
  };
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code >= 128) {
      push(AVOIDED[(code - 128) >> 9] ?? 0, 7);
      push((code - 128) & 511, 9);
    } else {
      push(code, 7);
    }
  }
  return bytes.buffer;
}
