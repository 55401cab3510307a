// Reads the Parquet files that tailback writes: pages of version 1, compressed with Snappy, with
// plain or dictionary encoding. Files are untrusted. A read beyond the end throws a RangeError, and
// the memory and time for a file are limited.

/** The largest number of bytes in a page, decompressed. */
const MOST_PAGE = 1 << 26;

/** The largest number of columns. */
const MOST_COLUMNS = 16;

type Cell = number | string | null;

/** The value of a field of Thrift's compact protocol. */
type Thrift = number | Uint8Array | Thrift[] | Fields;
interface Fields {
  [id: number]: Thrift | undefined;
}

class Cursor {
  at = 0;
  private readonly view: DataView;

  constructor(readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  byte(): number {
    return this.view.getUint8(this.at++);
  }

  /** Reads an unsigned number in groups of seven bits. */
  number(): number {
    let [value, factor] = [0, 1];
    for (;;) {
      const byte = this.byte();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
      if (factor > 2 ** 63) throw new RangeError("number");
    }
  }

  signed(): number {
    const value = this.number();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  take(length: number): Uint8Array {
    if (!(length >= 0 && this.at + length <= this.bytes.length)) throw new RangeError("length");
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  /** Reads a little-endian number of 32 bits. */
  word(): number {
    this.at += 4;
    return this.view.getUint32(this.at - 4, true);
  }

  int64(): number {
    this.at += 8;
    return Number(this.view.getBigInt64(this.at - 8, true));
  }

  float64(): number {
    this.at += 8;
    return this.view.getFloat64(this.at - 8, true);
  }

  value(kind: number, depth: number): Thrift {
    if (depth > 16) throw new RangeError("depth");
    if (kind === 1 || kind === 2) return 2 - kind;
    if (kind === 3) return this.byte();
    if (kind >= 4 && kind <= 6) return this.signed();
    if (kind === 7) return this.float64();
    if (kind === 8) return this.take(this.number());
    if (kind === 9 || kind === 10) {
      const head = this.byte();
      const count = head >> 4 === 15 ? this.number() : head >> 4;
      const list: Thrift[] = [];
      // Each entry has at least one byte, so the loop cannot continue beyond the end of the file.
      for (let place = 0; place < count; place += 1) list.push((head & 15) < 3 ? this.byte() : this.value(head & 15, depth + 1));
      return list;
    }
    if (kind === 12) return this.struct(depth + 1);
    throw new RangeError("type");
  }

  struct(depth = 0): Fields {
    const fields: Fields = {};
    for (let id = 0; ; ) {
      const head = this.byte();
      if (head === 0) return fields;
      id = head >> 4 === 0 ? this.signed() : id + (head >> 4);
      fields[id] = this.value(head & 15, depth);
    }
  }
}

const field = (of: Thrift | undefined, id: number): Thrift | undefined => (of as Fields | undefined)?.[id];
const number = (of: Thrift | undefined): number => (typeof of === "number" ? of : NaN);
const list = (of: Thrift | undefined): Thrift[] => (Array.isArray(of) ? of : []);

/** Decompresses a block of Snappy. */
function snappy(bytes: Uint8Array): Uint8Array {
  const from = new Cursor(bytes);
  const size = from.number();
  // Three compressed bytes encode at most 64 bytes.
  if (size > Math.min(MOST_PAGE, 22 * bytes.length)) throw new RangeError("page");
  const out = new Uint8Array(size);
  let at = 0;
  while (from.at < bytes.length) {
    const tag = from.byte();
    let length = tag >> 2;
    if ((tag & 3) === 0) {
      if (length >= 60) {
        const count = length - 59;
        length = 0;
        for (let place = 0; place < count; place += 1) length += from.byte() * 256 ** place;
      }
      out.set(from.take(length + 1), at);
      at += length + 1;
      continue;
    }
    let back = 0;
    if ((tag & 3) === 1) {
      back = ((tag >> 5) << 8) | from.byte();
      length = ((tag >> 2) & 7) + 4;
    } else {
      back = from.byte() | (from.byte() << 8);
      if ((tag & 3) === 3) back += (from.byte() | (from.byte() << 8)) * 65536;
      length += 1;
    }
    if (back === 0 || back > at || at + length > size) throw new RangeError("copy");
    for (let place = 0; place < length; place += 1) out[at + place] = out[at + place - back] ?? 0;
    at += length;
  }
  if (at !== size) throw new RangeError("page");
  return out;
}

/** Reads `count` numbers of `width` bits each. They are stored in runs, either of equal numbers or
 * of packed numbers. */
function runs(from: Cursor, width: number, count: number): number[] {
  if (width > 24) throw new RangeError("width");
  const found: number[] = [];
  while (found.length < count) {
    const head = from.number();
    if (head % 2 === 0) {
      let value = 0;
      for (let place = 0; 8 * place < width; place += 1) value += from.byte() * 256 ** place;
      if (head === 0) throw new RangeError("run");
      for (let left = Math.min(head / 2, count - found.length); left > 0; left -= 1) found.push(value);
      continue;
    }
    let [held, bits] = [0, 0];
    for (let left = 8 * ((head - 1) / 2); left > 0 && found.length < count; left -= 1) {
      while (bits < width) {
        held += from.byte() * 2 ** bits;
        bits += 8;
      }
      found.push(held % 2 ** width);
      held = Math.floor(held / 2 ** width);
      bits -= width;
    }
    if (head === 1) throw new RangeError("run");
  }
  return found;
}

/** Types of values in Parquet. */
const INT64 = 2;
const DOUBLE = 5;

function plain(from: Cursor, type: number, count: number): Cell[] {
  const text = new TextDecoder();
  const found: Cell[] = [];
  for (let place = 0; place < count; place += 1) {
    found.push(type === INT64 ? from.int64() : type === DOUBLE ? from.float64() : text.decode(from.take(from.word())));
  }
  return found;
}

/** Returns the `rows` values of a column of a row group. */
function column(bytes: Uint8Array, about: Thrift | undefined, rows: number, optional: boolean): Cell[] {
  const [type, codec, count] = [number(field(about, 1)), number(field(about, 4)), number(field(about, 5))];
  if (codec > 1 || count !== rows) throw new RangeError("codec");
  const from = new Cursor(bytes);
  from.at = Math.min(...[9, 11].map((id) => field(about, id)).filter((one): one is number => typeof one === "number" && one > 0));
  let dictionary: Cell[] = [];
  const found: Cell[] = [];
  while (found.length < count) {
    const head = from.struct();
    const body = from.take(number(head[3]));
    const page = new Cursor(codec === 1 ? snappy(body) : body);
    if (number(head[1]) === 2) {
      dictionary = plain(page, type, number(field(head[7], 1)));
      continue;
    }
    if (number(head[1]) !== 0) throw new RangeError("page");
    const values = number(field(head[5], 1));
    if (!(values > 0 && found.length + values <= count)) throw new RangeError("values");
    const there = optional ? runs(new Cursor(page.take(page.word())), 1, values) : null;
    const known = there === null ? values : there.reduce((sum, one) => sum + one, 0);
    const own = number(field(head[5], 2)) === 0 ? plain(page, type, known) : runs(page, page.byte(), known).map((one) => dictionary[one] ?? null);
    let next = 0;
    for (let place = 0; place < values; place += 1) found.push(there === null || there[place] === 1 ? (own[next++] ?? null) : null);
  }
  return found;
}

/** Returns whether a file begins like Parquet. */
export function isParquet(start: Uint8Array): boolean {
  return String.fromCharCode(...start.subarray(0, 4)) === "PAR1";
}

/** Returns the columns of each row group by name. Throws if the file has more than `most` rows. */
export function parquet(bytes: Uint8Array, most: number): Record<string, Cell[]>[] {
  const end = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(bytes.length - 8, true);
  const about = new Cursor(bytes.subarray(bytes.length - 8 - end, bytes.length - 8)).struct();
  const text = new TextDecoder();
  const name = (of: Thrift | undefined) => (of instanceof Uint8Array ? text.decode(of) : "");
  const optional = new Set(list(about[2]).filter((one) => field(one, 3) === 1).map((one) => name(field(one, 4))));
  let left = most;
  return list(about[4]).map((group) => {
    const [chunks, rows] = [list(field(group, 1)), number(field(group, 3))];
    left -= rows;
    if (!(rows >= 0 && left >= 0 && chunks.length <= MOST_COLUMNS)) throw new RangeError("rows");
    const columns = chunks.map((chunk): [string, Cell[]] => {
      const meta = field(chunk, 3);
      const path = list(field(meta, 3)).map(name).join(".");
      return [path, column(bytes, meta, rows, optional.has(path))];
    });
    return Object.fromEntries(columns);
  });
}
