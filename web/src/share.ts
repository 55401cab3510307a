// Makes links that contain a scenario, and saves files.

export interface Shared {
  /** Version of this format. */
  v: 1;
  engine: string;
  text: string;
  files?: Record<string, string>;
  point?: number;
}

/** Largest number of characters of a scenario in a link. The engine has the same limit. */
const MOST = 1 << 20;

async function through(bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  const out = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(out).arrayBuffer());
}

/** Encodes a scenario as the fragment of a link: JSON, deflated, in base64url. */
export async function fragment(shared: Shared): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(shared));
  const packed = await through(bytes, new CompressionStream("deflate-raw"));
  let binary = "";
  for (const byte of packed) binary += String.fromCharCode(byte);
  return `#s=${btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** Decodes the scenario in a fragment. Returns null for a fragment without a scenario. Throws if it
 * is invalid. */
export async function unpacked(hash: string): Promise<Shared | null> {
  const found = /^#s=([\w-]+)$/.exec(hash);
  if (found === null) return null;
  const binary = atob((found[1] ?? "").replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
  const text = new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
  return checked(JSON.parse(text));
}

/** Returns only the fields that this page supports. */
export function checked(data: unknown): Shared {
  const given = data as Partial<Shared> | null;
  if (typeof given !== "object" || given === null || typeof given.text !== "string" || given.text.length > MOST) {
    throw new Error("no scenario");
  }
  const files = Object.entries(given.files ?? {}).filter(([, text]) => typeof text === "string");
  return {
    v: 1,
    engine: String(given.engine ?? ""),
    text: given.text,
    files: Object.fromEntries(files),
    point: Number.isInteger(given.point) ? Number(given.point) : 0,
  };
}

export function save(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
