// Reads the data that build.mjs has packed into the page. The data are deflated, and stored as text
// with seven bits in each byte.

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

/** Values of seven bits that would need escaping. The data has characters of two bytes instead. */
const AVOIDED = [0x00, 0x0d, 0x3c];

/** Decodes bytes from text. */
function fromText(text: string, size: number): ArrayBuffer {
  const bytes = new Uint8Array(size);
  let [held, bits, length] = [0, 0, 0];
  const push = (seven: number) => {
    held = (held << 7) | seven;
    bits += 7;
    if (bits >= 8) {
      bits -= 8;
      // The last bits of the text are padding. If they make up a byte beyond the end of `bytes`,
      // the assignment has no effect.
      bytes[length] = held >> bits;
      length += 1;
      held &= (1 << bits) - 1;
    }
  };
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code >= 128) {
      push(AVOIDED[(code - 128) >> 7] ?? 0);
      push(code & 127);
    } else {
      push(code);
    }
  }
  return bytes.buffer;
}
